/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences about CPUs and nodes: what was asked for and is not there. */
#ifndef LOCUS_EXPLAIN_H
#define LOCUS_EXPLAIN_H

#include <stdbool.h>
#include <hwloc.h>

struct machine;

/* *why becomes the sentence, until the thread's next one; errno becomes ENODEV. */
void explain(const char **why, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* in sight, so that checkers know that it has failed */
#define say(why, ...) (explain(why, __VA_ARGS__), -1)
/* EINVAL: what was said is no word of ours, on whatever machine. */
int misunderstood(int failed);

#define MORE "more threads than CPUs: --oversubscribe" /* of a sentence, the mend */

struct text {
	char of[32];
};
struct text count_text(unsigned n, const char *what); /* "3 CPUs" */

/*
 * A decimal number up to `most`, with no sign or blank before it; *at is moved behind it. False: it
 * is none.
 */
bool number_at(const char **at, unsigned most, unsigned *number);

/* Numbers as short as they can be written: "0-63,128-191", "0-254:2". */
#define NUMBERS 256
const char *list_of(hwloc_const_bitmap_t, char text[NUMBERS]);
#define ANY (-1)
const char *cpu_list(const struct machine *, int node, char text[NUMBERS]); /* ANY: of all nodes */
const char *cpu_node_list(const struct machine *, char text[NUMBERS]);	    /* nodes with CPUs */

#endif
