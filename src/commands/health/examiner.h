/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child does the examination, so that the command ends in time even if the child hangs on a
 * broken disk or core. It reports its progress to the parent in shared memory.
 */
#ifndef LOCUS_HEALTH_EXAMINER_H
#define LOCUS_HEALTH_EXAMINER_H

#include "commands/health/finding.h"
#include "harness/ask/options.h"

/* What the command line says. */
struct asked {
	const struct program *program;
	const char *expect, *record; /* record: NULL: none */
	double time_budget;	     /* s, of the trials */
	double foreign;		     /* CPUs that other work may take beside trials */
	double last;		     /* s from the start until the parent stops waiting */
};

/* Clock readings: wall time, CPU time of the host and of this program (s, from any origin). */
struct foreign {
	double wall;
	double busy; /* CPU time that all CPUs of the host spent on work; 0: unknown */
	double own;  /* CPU time of this program */
};

/* The memory that parent and child share. */
struct examiner {
	const struct asked *asked;
	struct health health;
	double began;		  /* clock_now() */
	bool measured;		  /* a trial was measured, so the record has a run */
	bool done;		  /* the examination has come to its end */
	char does[HEALTH_TEXT];	  /* "reading facts of the machine" */
	char trial[OPTIONS_HAND]; /* the trial that is being measured; "": none */
	int printed;		  /* file that has what the child prints; -1: none */
	struct foreign load;	  /* when measuring began */
};

/* ---- trials.c ---- */

/*
 * Measures the trials that the class names, and compares them with their bounds, unless other work
 * runs.
 */
void trials_examine(struct examiner *, const json_t *of_class);
/* Appends a run without trials to the record: the machine, and why there are none. */
void trials_append_none(struct examiner *);
/* Compares lines of a record ({id: line}) with the bounds. */
void trials_judge(struct health *, const json_t *of_class, const json_t *lines);

/*
 * If other work has run since e->load was read, discards what the trials reported: only `facts`
 * remain.
 */
void trials_settle(struct examiner *, const struct health *facts);

/* ---- examiner.c ---- */

/*
 * Reads the host's times from /proc/stat (`root` as in base/sysfs.h), and this process's: `who` as
 * in getrusage(2), this process or its ended children.
 */
void foreign_read(const char *root, struct foreign *, int who);
/* CPUs that others used between the two readings; 0 if unknown. */
double foreign_cpus(const struct foreign *before, const struct foreign *after);

/* The first line that the child has printed since the last call, or "". */
void examiner_said(const struct examiner *, char line[HEALTH_TEXT]);

/* Notes what the child does from now on. */
void examiner_turns_to(struct examiner *, const char *does);

/*
 * Runs the function in a child, which fills in e->health. If the child does not complete, e->health
 * reports that, too. Returns the signal that ended this program, after a message; 0: none did.
 */
int examiner_run(void (*examine)(struct examiner *), const struct asked *, struct health *);

#endif
