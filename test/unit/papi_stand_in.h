/* SPDX-License-Identifier: Apache-2.0 */
/* Counting with a stand-in for PAPI (test/stand-in/papi.c), which returns known counts. */
#ifndef LOCUS_TEST_PAPI_STAND_IN_H
#define LOCUS_TEST_PAPI_STAND_IN_H

#include "config.h"

#include <err.h>
#include <libgen.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "seats.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

enum { THREADS = 3 };

/* Rows of the stand-in's table. */
enum {
	CYCLES = 1,
	INSTRUCTIONS,
	L1,
	L2,
	L3,
	TLB,
	READS = 20,
	PACKAGE_0 = 23,
	PACKAGE_1,
	NET = 26,
	ENERGY
};

static inline struct counters *opened(const char *told, bool multiplex, unsigned n,
				      const char *const *names)
{
	struct counters *c;

	setenv("PAPI_STAND_IN", told, 1);
	c = counters_open(names, n, multiplex);
	assert_non_null(c);
	assert_int_equal(counters_events(c), n);
	return c;
}

#define OPEN(told, multiplex, ...)                                              \
	opened(told, multiplex, LENGTH(((const char *const[]){ __VA_ARGS__ })), \
	       (const char *const[]){ __VA_ARGS__ })

static inline const char *why(const struct counters *c, unsigned event)
{
	const struct event *e = counters_event(c, event);

	assert_true(!e->source == !!e->why);
	assert_false(!e->source && e->proven);
	return e->why ? e->why : "";
}

static inline void nothing(void *argument, struct worker *w)
{
	(void)argument, (void)w;
}

/* The count of each worker in each task; NAN: the worker does not count this event. */
struct expected {
	struct counters *c;
	unsigned pass, event;
	double count[THREADS];
};

static inline void check_one(struct team *t, const struct expected *e)
{
	start(e->c, t, e->pass);
	for (unsigned turn = 0; turn < 3; turn++) {
		team_time(t, nothing, NULL, 0, 0, 0);
		for (unsigned i = 0; i < THREADS; i++) {
			double value = counters_value(e->c, i, e->event);

			assert_true(isnan(e->count[i]) ? isnan(value) : value == e->count[i]);
		}
	}
	counters_stop(e->c, t);
}

static inline int check_all(struct team *t, void *argument)
{
	seat(t, THREADS);
	for (const struct expected *e = argument; e->c; e++)
		check_one(t, e);
	return 0;
}

/*
 * Checks counts of a team. The stand-in numbers threads as they register; only worker 0's number is
 * certain.
 */
static inline void check(struct expected *e)
{
	assert_int_equal(team_open(THREADS, check_all, e), 0);
}

/* Runs this program again with LD_LIBRARY_PATH set, so that the stand-in is loaded as PAPI. */
static inline bool stand_in(char *program)
{
	char folder[PATH_MAX], path[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	int major = 0, minor = 0;

	if (getenv("PAPI_STAND_IN"))
		return true;
	if (n < 0)
		err(1, "/proc/self/exe");
	folder[n] = '\0';
	sscanf(LOCUS_PAPI_VERSION, "%d.%d", &major, &minor);
	snprintf(path, sizeof(path), "%s/../stand-in", dirname(folder));
	setenv("LD_LIBRARY_PATH", path, 1);
	setenv("PAPI_STAND_IN", "", 1);
	snprintf(path + strlen(path), 32, "/libpapi.so.%d.%d", major, minor);
	if (!access(path, R_OK))
		execl("/proc/self/exe", program, NULL);
	fprintf(stderr, "%s: no stand-in for PAPI beside it: make check builds it\n", program);
	return false;
}

#endif
