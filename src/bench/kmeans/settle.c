/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values derived from the parameters: the number of points and, from files of points or centres,
 * dimensions and clusters; a trial's memory; the problem that it solves.
 */
#include <float.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/numbers.h"
#include "bench/kmeans/kmeans.h"
#include "bench/kmeans/ladder.h"
#include "kit/matrix.h"
#include "kit/shares.h"
#include "machine/topology/topology.h"

/* ---- parameters ---- */

/* True if --points is a number (of points, or N/rank); sets it. */
static bool generated(const struct trial *t, const union value *value, uint64_t *points)
{
	static const char each[] = "/rank";
	const size_t length = strlen(value[POINTS].text), number = length - (sizeof(each) - 1);
	const bool of_each =
		length > sizeof(each) - 1 && !strcmp(value[POINTS].text + number, each);
	char text[64], why[128];

	if (length >= sizeof(text))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)(of_each ? number : length), value[POINTS].text);
	if (quantity_count(text, points, why, sizeof(why)))
		return false;
	return !__builtin_mul_overflow(*points, of_each ? ranks_of(t->ranks) : 1, points);
}

static const char *replace(union value *value, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return "out of memory";
	free((char *)value->text);
	value->text = copy;
	return NULL;
}

/* Takes the number of dimensions or clusters from a file, unless the user gave another one. */
static bool take_found(union value *value, size_t found, bool given)
{
	if (given && value->count != found)
		return false;
	value->count = found;
	return true;
}

/* Finds a file's rows and columns. Returns NULL, or the fault. */
static const char *shape_of(const char *option, const char *path, size_t *rows, unsigned *columns,
			    char *why, size_t size)
{
	const char *reason;
	struct matrix *file = matrix_open(path, &reason);

	if (!file) {
		snprintf(why, size, "--%s: %s", option, reason);
		return why;
	}
	*rows = matrix_rows(file);
	*columns = matrix_columns(file);
	matrix_close(file);
	return NULL;
}

bool kmeans_reads_points(const union value *value)
{
	return value[DATA].choice == FROM_FILE;
}

bool kmeans_reads_centres(const union value *value)
{
	return !is(value, CENTRES, DRAWN);
}

static const char *settle_points(const struct trial *t, union value *value, uint64_t given,
				 char *why, size_t size)
{
	char number[32];
	const char *wrong;
	unsigned d;
	size_t n;

	if (generated(t, value, &value[ROWS].count)) {
		if (value[DATA].choice == FROM_FILE)
			return "--data file: needs points from a file; give --points FILE";
		snprintf(number, sizeof(number), "%llu", (unsigned long long)value[ROWS].count);
		if (value[DATA].choice == SHAPE_UNIFORM)
			value[SPREAD].real = 0;
		return replace(&value[POINTS], number);
	}
	if (is(value, POINTS, "-") && ranks_of(t->ranks) > 1)
		return "--points: only one rank has standard input; give a file that all can read";
	wrong = shape_of("points", value[POINTS].text, &n, &d, why, size);
	if (wrong && strchr("+-0123456789", *value[POINTS].text) &&
	    access(value[POINTS].text, F_OK) && !is(value, POINTS, "-"))
		snprintf(why + strlen(why), size - strlen(why),
			 "; and it is no number of points, such as 12, 1e9, 10k, 2M");
	if (wrong)
		return wrong;
	if (given & BIT(DATA) && value[DATA].choice != FROM_FILE)
		return "--data: is for generated points, but --points is a file; drop one of them";
	if (!take_found(&value[DIMENSIONS], d, given & BIT(DIMENSIONS))) {
		snprintf(why, size, "--dimensions: points of %s have %u, not %llu",
			 value[POINTS].text, d, (unsigned long long)value[DIMENSIONS].count);
		return why;
	}
	value[ROWS].count = n;
	value[DATA].choice = FROM_FILE;
	value[SPREAD].real = 0;
	return NULL;
}

static const char *settle_centres(const struct trial *t, union value *value, uint64_t given,
				  char *why, size_t size)
{
	const char *wrong;
	unsigned d;
	size_t k;

	if (is(value, CENTRES, DRAWN))
		return NULL;
	if (is(value, CENTRES, "-") && is(value, POINTS, "-"))
		return "--centres: standard input holds the points already";
	if (is(value, CENTRES, "-") && ranks_of(t->ranks) > 1)
		return "--centres: only one rank has standard input; give a file that all can "
		       "read";
	wrong = shape_of("centres", value[CENTRES].text, &k, &d, why, size);
	if (wrong)
		return wrong;
	if (d != value[DIMENSIONS].count) {
		snprintf(why, size, "--centres: %s has %u dimensions, the points have %llu",
			 value[CENTRES].text, d, (unsigned long long)value[DIMENSIONS].count);
		return why;
	}
	if (!take_found(&value[CLUSTERS], k, given & BIT(CLUSTERS))) {
		snprintf(why, size, "--clusters: %s has %zu centres, not %llu", value[CENTRES].text,
			 k, (unsigned long long)value[CLUSTERS].count);
		return why;
	}
	return NULL;
}

/* Output files must not exist: refused now, and not after the work. */
static const char *settle_output(const struct trial *t, const union value *value,
				 unsigned parameter, char *why, size_t size)
{
	if (is(value, parameter, NONE) || access(value[parameter].text, F_OK))
		return NULL;
	snprintf(why, size, "--%s: %s exists already", t->benchmark->parameters[parameter].name,
		 value[parameter].text);
	return why;
}

const char *kmeans_settle(const struct trial *t, union value *value, uint64_t given)
{
	static _Thread_local char why[2 * PATH_MAX];
	const char *wrong = settle_points(t, value, given, why, sizeof(why));

	if (!wrong)
		wrong = settle_centres(t, value, given, why, sizeof(why));
	for (unsigned i = SAVE_LABELS; !wrong && i <= SAVE_CENTRES; i++)
		wrong = settle_output(t, value, i, why, sizeof(why));
	if (!wrong && !is(value, SAVE_LABELS, NONE) &&
	    is(value, SAVE_CENTRES, value[SAVE_LABELS].text))
		wrong = "--save-centres: same file as --save-labels; give another name";
	return wrong;
}

/* ---- needs ---- */

enum { MOST_DIMENSIONS = 65536 };

/* Cluster numbers have 32 bits, also when rounded up to whole vectors. */
#define MOST_CLUSTERS UINT32_C(0xffff0000)

/* Why the parameters make no sense; NULL: they do. */
static const char *pointless(const struct trial *t)
{
	const double farthest = t->value[TYPE].choice == REAL_FLOAT ? (double)FLT_MAX : DBL_MAX;
	const uint64_t rows = t->value[ROWS].count, clusters = t->value[CLUSTERS].count;

	if (rows < ranks_of(t->ranks))
		return ranks_of(t->ranks) > 1 ? "--points: each rank needs at least one"
					      : "--points: at least one is needed";
	if (!t->value[DIMENSIONS].count || t->value[DIMENSIONS].count > MOST_DIMENSIONS)
		return "--dimensions: 1 to 65536";
	if (t->value[DATA].choice == SHAPE_BLOBS &&
	    !(farthest_of_blobs(t->value[SPREAD].real) <= farthest))
		return "--spread: blobs that wide overflow the type; choose a smaller spread";
	if (!clusters || clusters > rows)
		return "--clusters: at least one is needed, and no more than there are points";
	if (clusters > MOST_CLUSTERS)
		return "--clusters: more than 4294901760 can't be numbered; choose fewer";
	return NULL;
}

/* Memory left beside the points and the check; 0: no limit known. */
static size_t room_of(const struct trial *t, const struct problem *p)
{
	struct problem largest = *p; /* the largest share, so that all ranks choose alike */
	size_t beside;

	largest.points.n = share_size(p->all, 0, ranks_of(t->ranks));
	beside = points_bytes(&largest.points) + solution_verify_bytes(&largest);
	if (!t->memory)
		return 0;
	return t->memory > beside ? t->memory - beside : 1;
}

struct problem problem_of(const struct trial *t)
{
	struct problem p = {
		.points = { .real = (enum real)t->value[TYPE].choice,
			    .n = share_size(t->value[ROWS].count, rank_of(t->ranks),
					    ranks_of(t->ranks)),
			    .d = (unsigned)t->value[DIMENSIONS].count },
		.all = t->value[ROWS].count,
		.k = (unsigned)t->value[CLUSTERS].count,
		.iterations = t->value[ITERATIONS].count,
		.threads = t->threads,
		.team = t->team,
		.ranks = t->ranks,
		.huge = t->machine->huge_page,
	};

	p.room = room_of(t, &p);
	return p;
}

static size_t bytes_of(const struct trial *t)
{
	struct problem p = problem_of(t);
	const enum rung *rung = t->variant->data;
	double values;

	/* the largest share, so that all ranks refuse alike */
	p.points.n = share_size(p.all, 0, ranks_of(t->ranks));
	values = ((double)p.points.n + (double)p.k * (p.threads + 1.0)) * (p.points.d + 64.0);
	if (values > 0x1p50) /* no machine has it, and products would overflow */
		return (size_t)1 << 60;
	return points_bytes(&p.points) + solution_verify_bytes(&p) +
	       (rung ? ladder_bytes(*rung, &p)
		     : lloyd_bytes(&p, (enum prune)t->value[PRUNE].choice));
}

struct needs kmeans_needs(const struct trial *t)
{
	const char *why = pointless(t);

	return why ? (struct needs){ .pointless = why } : (struct needs){ .bytes = bytes_of(t) };
}
