/* SPDX-License-Identifier: Apache-2.0 */
/* The method cells alone: labels are the nearest centres, and sums follow the labels. */
#include "cells.h"

/* ---- the method alone ---- */

/* What the driver would pass to the method. */
struct scene {
	struct problem p;
	struct stage stage;
	struct joint joint;
	struct share share;
	char origin[4 * 8], *x, *centre, *half;
	double low[3], high[3], scale[3], *moved, *given;
	int64_t *row, *total;
	uint32_t *label, *before; /* `before`: in the last iteration */
};

/* The squared distance of a point from a centre, both as given. */
static long double square_of(const struct scene *s, size_t i, unsigned c)
{
	const unsigned d = s->p.points.d;
	long double sum = 0;

	for (unsigned j = 0; j < d; j++) {
		const long double apart =
			(long double)real_get(s->p.points.real, s->p.points.x, i * d + j) -
			s->given[c * d + j];

		sum += apart * apart;
	}
	return sum;
}

/* Moves a centre to this place, or to the nearest one in the box. */
static void put(struct scene *s, unsigned c, const double *to)
{
	const enum real real = s->p.points.real;
	double square = 0, way = 0, least = 0;

	for (unsigned j = 0; j < s->p.points.d; j++) {
		const size_t at = (size_t)c * s->p.points.d + j;
		const double old = real_get(real, s->centre, at), was = s->given[at],
			     origin = real_get(real, s->origin, j);

		/* as given, in the points' type; then relative to the origin */
		real_set(real, s->centre, at, fmin(fmax(to[j], s->low[j]), s->high[j]) + origin);
		s->given[at] = real_get(real, s->centre, at);
		real_set(real, s->centre, at, s->given[at] - origin);
		least = s->given[at] < was || s->given[at] > was ? (double)FLT_MIN : least;
		square += real_get(real, s->centre, at) * real_get(real, s->centre, at);
		way += pow(real_get(real, s->centre, at) - old, 2);
	}
	real_set(real, s->half, c, square / 2);
	s->moved[c] = fmax(sqrt(way) * (1 + 16 * DBL_EPSILON), least);
}

static void *some(size_t bytes)
{
	void *memory = aligned_alloc(APART, (bytes + APART) / APART * APART);

	assert_non_null(memory);
	return memset(memory, 0x5a, bytes);
}

static void open_scene(struct scene *s, struct problem p, enum isa widest)
{
	const enum real real = p.points.real;
	const unsigned d = p.points.d;
	const size_t n = p.points.n, value = real_bytes(real),
		     length = sums_length(d, p.k) * sizeof(int64_t);
	double square = 0;

	*s = (struct scene){ .p = p,
			     .x = some(n * d * value),
			     .centre = some(p.k * d * value),
			     .half = some(p.k * value) };
	s->moved = some(p.k * sizeof(double));
	s->given = memset(some(p.k * d * sizeof(double)), 0, p.k * d * sizeof(double));
	s->row = some(length);
	s->total = memset(some(length), 0, length);
	s->label = some(n * sizeof(uint32_t));
	s->before = memset(some(n * sizeof(uint32_t)), 0xff, n * sizeof(uint32_t)); /* none */
	for (unsigned j = 0; j < d; j++) {
		s->low[j] = INFINITY;
		s->high[j] = -INFINITY;
		for (size_t i = 0; i < n; i++) {
			s->low[j] = fmin(s->low[j], real_get(real, p.points.x, i * d + j));
			s->high[j] = fmax(s->high[j], real_get(real, p.points.x, i * d + j));
		}
		real_set(real, s->origin, j, s->low[j] / 2 + s->high[j] / 2);
		real_set(real, s->origin, d, 1);
		for (size_t i = 0; i < n; i++)
			real_set(real, s->x, i * d + j,
				 real_get(real, p.points.x, i * d + j) -
					 real_get(real, s->origin, j));
		real_set(real, s->half, 0, s->low[j] - real_get(real, s->origin, j));
		s->low[j] = real_get(real, s->half, 0);
		real_set(real, s->half, 0, s->high[j] - real_get(real, s->origin, j));
		s->high[j] = real_get(real, s->half, 0);
		s->scale[j] = sum_scale(fmax(-s->low[j], s->high[j]), n);
		square += pow(fmax(-s->low[j], s->high[j]), 2);
	}
	memset(s->centre, 0, p.k * d * value);
	for (unsigned c = 0; c < p.k; c++) {
		double to[3];

		for (unsigned j = 0; j < d; j++)
			to[j] = real_get(real, p.start, (size_t)c * d + j) -
				real_get(real, s->origin, j);
		put(s, c, to);
		s->moved[c] = 0;
	}
	s->stage = (struct stage){ .widest = widest,
				   .real = real,
				   .d = d,
				   .k = p.k,
				   .all = n,
				   .origin = s->origin,
				   .centre = s->centre,
				   .half = s->half,
				   .given = s->given,
				   .low = s->low,
				   .high = s->high,
				   .moved = s->moved,
				   .scale = s->scale,
				   .reach = sqrt(square) * (1 + 16 * DBL_EPSILON),
				   .forced = true };
	s->stage.slack =
		(d + 4) * ((real == REAL_FLOAT ? FLT_EPSILON : DBL_EPSILON) * 1.5 * square +
			   (real == REAL_FLOAT ? FLT_MIN : DBL_MIN));
	s->stage.margin = 4 * s->stage.slack;
	s->share = (struct share){ .n = n,
				   .x = p.points.x,
				   .memory = some(method_cells.bytes(&p, n)),
				   .joint = &s->joint,
				   .place = some(n * sizeof(uint32_t)),
				   .label = s->label };
	s->joint = (struct joint){ .points = n,
				   .share = &s->share,
				   .workers = 1,
				   .row = some(points_bytes(&p.points)),
				   .label = some(n * sizeof(uint32_t)) };
	s->share.change = sums_at(s->row, d, p.k);
}

static void close_scene(struct scene *s)
{
	free(s->share.memory);
	free(s->share.place);
	free(s->joint.row);
	free(s->joint.label);
	free(s->x);
	free(s->centre);
	free(s->half);
	free(s->moved);
	free(s->given);
	free(s->row);
	free(s->total);
	free(s->label);
	free(s->before);
}

/*
 * Checks that each label is the nearest centre, that the changes add up to the sums of the
 * clusters, and that each point with a new label is counted.
 */
static void check_scene(struct scene *s, const char *kind)
{
	const unsigned d = s->p.points.d, k = s->p.k;
	const size_t n = s->p.points.n;
	struct sums total = sums_at(s->total, d, k),
		    fresh = sums_at(some(sums_length(d, k) * sizeof(int64_t)), d, k);
	int64_t moves = 0;

	for (size_t i = 0; i < sums_length(d, k); i++)
		s->total[i] = (int64_t)((uint64_t)s->total[i] + (uint64_t)s->row[i]);
	sums_clear(&fresh);
	for (size_t i = 0; i < n; i++) {
		const uint32_t label = s->label[i];
		long double least = INFINITY;
		unsigned nearest = 0;

		for (unsigned c = 0; c < k; c++) {
			const long double square = square_of(s, i, c);

			nearest = square < least ? c : nearest;
			least = fminl(square, least);
		}
		if (label >= k || square_of(s, i, label) > least * (1 + 8 * DBL_EPSILON))
			fail_msg("%s: n %zu, d %u, k %u, %s, up to %s, iteration %d: point %zu has "
				 "label %u, not %u",
				 kind, n, d, k, s->p.points.real == REAL_FLOAT ? "float" : "double",
				 isa_name(s->stage.widest), (int)s->stage.iteration, i, label,
				 nearest);
		if (s->p.points.real == REAL_FLOAT)
			sums_move_float(&fresh, (const float *)s->x + i * d, s->scale, SUM_NONE,
					label);
		else
			sums_move_double(&fresh, (const double *)s->x + i * d, s->scale, SUM_NONE,
					 label);
	}
	for (size_t i = 0; i < n; i++)
		moves += s->label[i] != s->before[i];
	memcpy(s->before, s->label, n * sizeof(*s->label));
	assert_int_equal(*s->share.change.moves, moves);
	assert_memory_equal(total.sum, fresh.sum, (size_t)k * (d + 1) * sizeof(int64_t));
	free(fresh.sum);
}

/*
 * Centres go to the means of their points, or almost; in some iterations one of them jumps, or none
 * moves.
 */
static void next_centres(struct scene *s)
{
	const unsigned d = s->p.points.d, k = s->p.k;
	struct sums total = sums_at(s->total, d, k);

	for (unsigned c = 0; c < k; c++) {
		const double count = (double)total.count[c];
		double to[3];

		for (unsigned j = 0; j < d; j++) {
			const uint64_t sum = (uint64_t)total.sum[c * d + j] -
					     (uint64_t)total.count[c] * (uint64_t)SUM_MAGIC_BITS;

			to[j] = real_get(s->stage.real, s->centre, c * d + j);
			if (s->stage.iteration % 5 == 3 && c == 0)
				to[j] = s->low[j] + uniform() * (s->high[j] - s->low[j]);
			else if (s->stage.iteration % 5 != 2 && count > 0)
				to[j] = (double)(int64_t)sum / s->scale[j] / count;
		}
		put(s, c, to);
	}
	s->stage.iteration++;
}

/* ---- tests ---- */

static const struct {
	size_t n;
	unsigned k;
} sizes[] = { { 1, 1 }, { 9, 9 }, { 300, 1 }, { 600, 300 }, { 1100, 40 } };

static void always_nearest(void **argument)
{
	static const enum isa widths[] = { ISA_AVX512, ISA_AVX2, ISA_BASELINE };
	const unsigned kind = *(const unsigned *)*argument;

	for (unsigned d = 1; d <= 3; d++)
		for (int real = REAL_DOUBLE; real <= REAL_FLOAT; real++)
			for (size_t i = 0; i < LENGTH(sizes) * LENGTH(widths); i++) {
				const enum isa width = widths[i / LENGTH(sizes)];
				struct problem p;
				struct scene s;

				if (!isa_usable(width))
					continue;
				p = make(kind, real, sizes[i % LENGTH(sizes)].n, d,
					 sizes[i % LENGTH(sizes)].k);
				open_scene(&s, p, width);
				method_cells.build(&s.share, &s.stage);
				for (int turn = 0; turn < (int)cases(8); turn++) {
					sums_clear(&s.share.change);
					method_cells.assign(&s.share, &s.stage);
					method_cells.labels(&s.share, &s.stage);
					check_scene(&s, kinds[kind].name);
					next_centres(&s);
				}
				close_scene(&s);
				unmake(&p);
			}
}

int main(void)
{
	static unsigned number[LENGTH(kinds)];
	static char name[LENGTH(kinds)][64];
	struct CMUnitTest tests[LENGTH(kinds) + 4];
	size_t n = 0;

	for (unsigned i = 0; i < LENGTH(kinds); i++) {
		number[i] = i;
		snprintf(name[n], sizeof(name[n]), "%s: labels are those of the nearest centres",
			 kinds[i].name);
		tests[n] = (struct CMUnitTest){ name[n], always_nearest, NULL, NULL, &number[i] };
		n++;
	}
	return _cmocka_run_group_tests("cells", tests, n, NULL, NULL);
}
