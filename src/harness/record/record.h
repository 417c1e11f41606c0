/* SPDX-License-Identifier: Apache-2.0 */
/* The record: JSON Lines, written during the run (doc/schema/README.md says what they hold). */
#ifndef LOCUS_RECORD_H
#define LOCUS_RECORD_H

#include <stdbool.h>
#include <time.h>
#include <jansson.h>

#include "harness/record/earlier.h"

/* Stands for standard output in place of a path. */
#define RECORD_STDOUT "-"

struct record;

enum record_mode { RECORD_NEW, RECORD_RESUME, RECORD_APPEND };

/*
 * Opens a file for writing; with `path` NULL, nothing is written, and all calls below do nothing.
 * RECORD_NEW refuses a file that exists. The other modes create a file that does not exist; in one
 * that does, they check the lines, cut off an unfinished last line or what a failed disk left of an
 * unfinished run, and append. Nothing is ever overwritten. 0, or the status to exit with after a
 * message. Messages name the file's option: `option` of a command without --resume, or with NULL
 * the usual --output. The string has to outlive the record.
 */
int record_open(struct record **, const char *path, enum record_mode, const char *option);

/*
 * With RECORD_RESUME: the ids of the file's last run and of the runs that it resumed; whether a
 * trial is complete in these, measured on this host, and has this counter; whether the last run was
 * measured on another host. Several hosts may have one name, such as localhost: record_compare is
 * given what the header will say of this machine. Other modes have no earlier runs.
 */
void record_compare(struct record *, const json_t *machine);
json_t *record_runs(const struct record *); /* borrowed; a list */
bool record_has(const struct record *, const char *trial_id);
bool record_has_counter(const struct record *, const char *trial_id, const char *event);
bool record_is_of_another_host(const struct record *);

/*
 * Writes one line (adding type and run) and drops the reference. A line is written whole or not at
 * all: a part that a full disk took is cut off again. `sync` also puts all lines on the disk; if
 * that fails, all lines since the last sync are cut off. The first failure is reported, and nothing
 * is written after it.
 */
void record_line(struct record *, const char *type, json_t *object, bool sync);
bool record_failed(const struct record *);

/* Returns record_failed(). */
bool record_close(struct record *);

/*
 * The time of day as records write it: "2026-01-31T23:59:59.999Z"; beyond the years 1 to 9999, the
 * first or last moment of these. Returns `text`.
 */
enum { RECORD_TIME = 80 };
char *record_time(char text[RECORD_TIME]);
char *record_time_of(struct timespec, char text[RECORD_TIME]);

/* Numbers as records write them: null for NAN and infinity, which JSON does not have. */
json_t *record_number(double);
json_t *record_count(double);			  /* a whole number has all its digits */
json_t *record_interval(double low, double high); /* a list of both; null if there are none */
double record_real(const json_t *);		  /* NAN: not a number, or NULL */

#endif
