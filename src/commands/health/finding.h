/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `locus health`: whether this node agrees with a file of expected values (locus export --expect).
 * First it checks facts of the machine, then some trials; the answer is one line.
 */
#ifndef LOCUS_HEALTH_FINDING_H
#define LOCUS_HEALTH_FINDING_H

#include <jansson.h>
#include <stdbool.h>

#include "commands/commands.h"

/* most bytes of the line; most bytes of a part of it */
enum { HEALTH_LINE = 160, HEALTH_TEXT = 256 };

/* The state of a node, as far as it is known. */
struct health {
	unsigned facts, trials;	     /* how many were judged; the class is a fact */
	unsigned findings;	     /* how many deviate from the expected values */
	unsigned unknowns;	     /* how many are unknown */
	char finding[HEALTH_TEXT];   /* the gravest finding */
	char unknown[HEALTH_TEXT];   /* why the first of these is unknown */
	char no_trials[HEALTH_TEXT]; /* why no trial was measured; "": they were */
	char no_record[HEALTH_TEXT]; /* why the record lacks this run: says nothing of the node */
};

/* Each counts one, a finding or an unknown, and keeps the text of the first. */
void health_finding(struct health *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void health_unknown(struct health *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "locus: n0150 memory bandwidth 352.0 GB/s, at least 391 expected (4 of 5)", whatever the names.
 */
void health_line(const struct health *, const char *host, char line[HEALTH_LINE + 1]);

/* The text of this name in an object; NULL: there is none. */
static inline const char *health_string(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* ---- expected.c: the file ---- */

/*
 * The classes of a file of expected values: a list of objects, checked, so that each has `class`,
 * `cpu`, `facts`, `metrics` and `health` as doc/health.md describes them. NULL, and why.
 */
json_t *expected_parse(const char *text, size_t size, char why[HEALTH_TEXT]);
json_t *expected_read(const char *path, char why[HEALTH_TEXT]);
/* The bounds of a metric of a trial, or NULL. */
const json_t *expected_bounds(const json_t *of_class, const char *trial, const char *metric);

/* ---- facts.c: the machine ---- */

/*
 * Compares the machine (provenance.h) with the file. Returns its class in the file; NULL after a
 * finding or a reason why the class is unknown.
 */
const json_t *facts_judge(struct health *, const json_t *classes, const json_t *machine);

#endif
