/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps from a request to a planned trial, in their order: the lists of a variant (factors.c),
 * each combination of their values (expand.c) added as a trial (planned.c), with its places and
 * memory (fit.c) and its identity (identity.c).
 */
#ifndef LOCUS_REQUEST_H
#define LOCUS_REQUEST_H

#include "harness/ask/parameters.h"
#include "harness/plan/plan.h"

/* A request for trials: a benchmark, the command line, and this machine. */
struct request {
	const struct benchmark *benchmark;
	const struct options *options; /* options->benchmark is NULL in a suite */
	const struct setting *setting;
};

/* Prints "locus BENCHMARK: why"; returns EXIT_COMMAND_LINE. */
int request_refuse(const struct request *, const char *why);
/* Prints an option's fault; returns EXIT_COMMAND_LINE. */
int request_refuse_option(const struct request *, const char *option, const char *why);

/* ---- factors.c ---- */

/* The lists whose product is the trials: numbers of threads, values of parameters. */
struct factors {
	const struct request *request;
	const struct variant *variant;
	struct values threads; /* 0: as many as the layout says */
	/* by parameter of the benchmark; empty if the variant does not use it */
	struct values parameter[MOST_PARAMETERS];
	uint64_t reported; /* BIT() of layouts whose duplicates have been reported */
};

/*
 * Finds the requested variants, by index: wanted[] has room for all. Returns 0, or an exit status
 * after a message.
 */
int factors_variants(const struct request *, bool *wanted);
/*
 * Reads the lists of one variant. Words for a layout that mean the same on this machine make one
 * trial: this is reported on stderr, once for all variants. Returns 0, or an exit status after a
 * message; the lists are to be freed in both cases.
 */
int factors_read(struct factors *, const struct variant *);
void factors_free(struct factors *);
/* Whether trials of the variant have a layout, and which parameter that is. */
bool factors_layout(const struct benchmark *, const struct variant *, unsigned *which);

/* ---- planned.c ---- */

/* One combination of the lists. */
struct point {
	const struct variant *variant;
	/* by parameter; copied. A P_LAYOUT is the threads on each node: "8+8" */
	const union value *value;
	unsigned threads;
	const char *layout; /* NULL: it has none */
};

/*
 * Adds the trial, unless it makes no sense or is planned already, as two layouts may be the same.
 * A trial that is impossible here is added with its refusal. Returns 0, or an exit status after a
 * message.
 */
int planned_add(struct plan *, const struct request *, const struct point *);
/* Counts a combination that is left out, and keeps the first reason, a constant. */
void planned_leave_out(struct plan *, const char *why);
/* Frees what a trial owns. */
void planned_free(struct planned *);

/* ---- fit.c ---- */

/*
 * Seats the threads of a trial by its layout (NULL: it has none), by --bind, or as bound from
 * outside. If the machine can't seat them, the trial gets its refusal. Returns 0, or EXIT_BAD: no
 * memory.
 */
int fit_threads(struct planned *, const struct request *, const char *layout);
/* Bytes of the largest trial that fits on every rank; 0: no limit. */
size_t fit_most(const struct setting *);
/*
 * Why a trial that maps so many bytes is impossible: too little memory, or a requested node without
 * usable memory. To be freed; NULL: it is possible.
 */
char *fit_refusal(const struct setting *, const struct trial *, size_t bytes);

/* ---- identity.c ---- */

/*
 * The identity of a trial is a canonical text of all that changes what is measured: "numa/static
 * kernel=sum ... threads=4 bind=close protocol=1", to be freed; NULL with why: no memory, or a file
 * that can't be read. It contains neither the profile nor output parameters. An input file is
 * represented by the hash of its contents, "points=fnv1a64:0123456789abcdef", which `contents`
 * keeps by path, so that each file is read once.
 */
char *identity_text(const struct trial *, const char *bind, json_t *contents, const char **why);

#endif
