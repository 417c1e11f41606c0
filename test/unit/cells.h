/* SPDX-License-Identifier: Apache-2.0 */
/* Points in up to three dimensions that are easy, hard or degenerate for cells. */
#ifndef LOCUS_TEST_CELLS_H
#define LOCUS_TEST_CELLS_H

#include <float.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arithmetic.h"
#include "cases.h"
#include "kit/random.h"
#include "kit/instructions.h"
#include "solve/kmeans/method.h"

static uint64_t turns;

static inline double uniform(void)
{
	return (double)(random_mix(++turns) >> 11) * 0x1p-53;
}

/* ---- points ---- */

static inline double spread_out(size_t i, unsigned j)
{
	(void)i, (void)j;
	return uniform();
}

/* Lumps, some much denser than others. */
static inline double lumps(size_t i, unsigned j)
{
	const double width = i % 7 == 0 ? 1 : 1e-3;

	return (double)(i % 7 * (j + 1)) + width * (uniform() + uniform() + uniform() - 1.5);
}

/* Points and centres on a lattice: many points are equally near to two or more centres. */
static inline double lattice(size_t i, unsigned j)
{
	(void)i, (void)j;
	return floor(uniform() * 9);
}

/* Almost equally near: floats cannot tell which of two centres is nearer. */
static inline double near_lattice(size_t i, unsigned j)
{
	return lattice(i, j) + 1e-12 * uniform();
}

static inline double collinear(size_t i, unsigned j)
{
	return (double)(i % 1000) * (j + 1) / 7;
}

static inline double twice(size_t i, unsigned j)
{
	return (double)(i % 50 * (j + 3) % 11) + (double)(i % 50) * 0.1;
}

static inline double equal(size_t i, unsigned j)
{
	(void)i;
	return 0.1 * (j + 1);
}

/* Two points so far away that all others fall into one cell, at several depths. */
static inline double outlier(size_t i, unsigned j)
{
	(void)j;
	return i == 3 ? 1e7 : i == 4 ? -1e3 : uniform();
}

static inline double far_away(size_t i, unsigned j)
{
	(void)i;
	return (j ? -1e6 : 1e6) + uniform();
}

static const struct {
	const char *name;
	double (*value)(size_t i, unsigned j);
} kinds[] = {
	{ "spread out", spread_out }, { "lumps", lumps },	{ "lattice", lattice },
	{ "collinear", collinear },   { "twice", twice },	{ "equal", equal },
	{ "outlier", outlier },	      { "far away", far_away }, { "near a lattice", near_lattice },
};

/* Points of a kind; the centres are some of the points, and some occur twice. */
static inline struct problem make(unsigned kind, enum real real, size_t n, unsigned d, unsigned k)
{
	const size_t value = real_bytes(real);
	char *x = malloc(n * d * value), *start = malloc((size_t)k * d * value);

	assert_true(x && start);
	for (size_t i = 0; i < n; i++)
		for (unsigned j = 0; j < d; j++)
			real_set(real, x, i * d + j, kinds[kind].value(i, j));
	for (unsigned c = 0; c < k; c++)
		memcpy(start + c * d * value,
		       x + (c % 16 == 15 ? 0 : (size_t)(uniform() * (double)n)) * d * value,
		       d * value);
	return (struct problem){
		.points = { real, n, d, x }, .all = n, .k = k, .start = start, .threads = 1
	};
}

static inline void unmake(struct problem *p)
{
	free(p->points.x);
	free((void *)p->start);
}

#endif
