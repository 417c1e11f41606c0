/* SPDX-License-Identifier: Apache-2.0 */
/* The record: JSON Lines, written as it happens (doc/schema/README.md says what they hold). */
#ifndef LOCUS_RECORD_H
#define LOCUS_RECORD_H

#include <stdbool.h>
#include <jansson.h>

#include "harness/record/earlier.h"

/* Stands for standard output, in the place of a path. */
#define RECORD_STDOUT "-"

struct record;

enum record_mode { RECORD_NEW, RECORD_RESUME, RECORD_APPEND };

/*
 * Opens a file for writing; `path` NULL writes nothing, and all calls below do nothing. RECORD_NEW
 * refuses a file that exists; the others make one that does not, check what is in one that does,
 * cut off an unfinished last line, or what a failed disk left of an unfinished run, and write
 * behind it. Nothing is ever overwritten. 0, or the status to exit with after a message.
 */
int record_open(struct record **, const char *path, enum record_mode);

/*
 * With RECORD_RESUME: the run ids of the file's last run and of those that it resumed; whether a
 * trial is complete in these, measured on this host, and has this counter. Else there are none.
 */
json_t *record_runs(const struct record *); /* borrowed; a list */
bool record_has(const struct record *, const char *trial_id);
bool record_has_counter(const struct record *, const char *trial_id, const char *event);

/*
 * Writes one line (type and run are added) and drops the reference. A line is written whole, or not
 * at all: what a full disk left of it is cut off again. `sync` puts all lines on the disk as
 * well; where that fails, all since the last time are cut off. After a failure, of which it speaks
 * once, it writes nothing more.
 */
void record_line(struct record *, const char *type, json_t *object, bool sync);
bool record_failed(const struct record *);

/* Returns record_failed(). */
bool record_close(struct record *);

/* The time of day as records write it: "2026-01-31T23:59:59.999Z". Returns `text`. */
enum { RECORD_TIME = 40 };
char *record_time(char text[RECORD_TIME]);

#endif
