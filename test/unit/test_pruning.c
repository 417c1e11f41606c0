/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Balls and boxes of points: their points are within the bounds, and no nearer centre is left out.
 */
#include "lloyd.h"
#include "solve/kmeans/balls.h"
#include "solve/kmeans/boxes.h"

enum { MANY = 700 };

/*
 * The step from one case to the next. In slow lanes: every `some`th case, which still covers all
 * types.
 */
static unsigned step(unsigned some)
{
	return cases(100) < 100 ? some : 1;
}

/* The distance of a point from a row that is relative to the origin. */
static double distance_from(const struct given *g, const struct frame *f, size_t i, const void *row)
{
	const unsigned d = g->problem.points.d;
	double square = 0;

	for (unsigned j = 0; j < d; j++) {
		const double unit = real_get(f->stage.real, f->origin, d),
			     x = (g->x[i * d + j] - real_get(f->stage.real, f->origin, j)) * unit,
			     at = real_get(f->stage.real, row, j);

		square += (x - at) * (x - at);
	}
	return sqrt(square);
}

static double distance(const struct given *g, const struct frame *f, size_t i, unsigned c)
{
	return distance_from(g, f, i, centre_of(&f->stage, c));
}

/* The error of distance(). */
static double off(const struct frame *f)
{
	return f->stage.real == REAL_FLOAT ? 1e-6 : 1e-13;
}

/* The centre is listed by the ball, or the ball lists nothing, which stands for all. */
static bool is_listed(const struct ball *b, unsigned c)
{
	bool listed = b->listed == 0;

	for (unsigned i = 0; i < b->listed; i++)
		listed |= b->list[i] == c;
	return listed;
}

/* Checks a ball's bound for one of its points. Returns whether there is a bound. */
static bool check_ball(const struct given *g, const struct frame *f, const struct balls *x,
		       const struct ball *b, uint32_t point)
{
	const size_t i = x->points.point[point];
	const uint32_t label = x->points.label[point];
	const double none = 10 * off(f), own = distance(g, f, i, label);

	assert_true(distance_from(g, f, i, x->middle + (b - x->ball) * row_bytes(&f->stage)) <=
		    (double)b->radius);
	if (b->listed)
		assert_true(distance(g, f, i, b->nearest) >= own - none && own <= (double)b->upper);
	for (unsigned c = 0; c < g->problem.k; c++) {
		const double way = distance(g, f, i, c);

		if (!is_listed(b, c))
			assert_true(way - distance(g, f, i, b->nearest) >= (double)b->room - none);
		if (b->own && c != label)
			assert_true(way - own >= (double)x->room[point] - none);
	}
	return b->own ? x->room[point] > 0 : b->listed > 0 && b->room > 0;
}

/* The balls have all points, and hold them; `room` is the distance left to other centres. */
static size_t check_balls(const struct given *g, const struct frame *f, const void *memory)
{
	const struct balls *x = memory;
	size_t checked = 0, points = 0;

	if (!x->points.done)
		return 0;
	for (const struct ball *b = x->ball; b < x->ball + x->balls; b++) {
		points += b->n;
		for (uint32_t i = b->first; i < b->first + b->n; i++)
			checked += check_ball(g, f, x, b, x->order[i]);
	}
	assert_int_equal(points, g->problem.points.n);
	return checked;
}

/*
 * Whether n coordinates are within `extent` of the middle, and `extent` is no larger than needed.
 */
static void is_within(const struct box *b, const float *low, const float *high, unsigned d)
{
	for (unsigned j = 0; j < d; j++) {
		assert_true(low[j] >= b->middle[j] - b->extent[j] * (1 + 0x1p-20F) - 0x1p-24F);
		assert_true(high[j] <= b->middle[j] + b->extent[j] * (1 + 0x1p-20F) + 0x1p-24F);
		assert_true(b->extent[j] <= (high[j] - low[j]) * 0.51F + 0x1p-20F);
	}
}

/* The corners of a box's points, which must agree with its places, and have its block's values. */
static void corners_of(const struct boxes *x, const struct share *s, const struct stage *g,
		       const struct box *b, float *low, float *high)
{
	const unsigned d = g->d, lanes = x->rough.floats->block;

	for (uint32_t i = 0; i < b->n; i++)
		for (unsigned j = 0; j < d; j++) {
			const size_t point = x->points.point[b->first + i];
			const float value = (float)((real_get(g->real, s->x, point * d + j) -
						     real_get(g->real, g->origin, j)) *
						    real_get(g->real, g->origin, d)),
				    *block = x->block + (size_t)(b - x->box) * FULL * d +
					     i / lanes * lanes * d;

			assert_true(block[j * lanes + i % lanes] == value);
			low[j] = i ? smaller_of(low[j], value) : value;
			high[j] = i ? larger_of(high[j], value) : value;
		}
}

/* Each point is in one box, which holds it, and each box in one branch, which holds the box. */
static size_t check_all_boxes(const struct share *s, const struct stage *g)
{
	const struct boxes *x = s->memory;
	float low[64], high[64], least[64], most[64];
	uint32_t box = 0, place = 0;
	bool *seen;

	if (!x->points.done)
		return 0;
	seen = calloc(s->n, sizeof(*seen));
	assert_non_null(seen);
	for (size_t i = 0; i < s->n; i++) {
		assert_false(seen[x->points.point[i]]);
		seen[x->points.point[i]] = true;
	}
	for (const struct box *h = x->branch; h < x->branch + x->branches; h++) {
		assert_int_equal(h->first, box);
		assert_in_range(h->n, 1, SIBLINGS);
		for (; box < h->first + h->n; box++) {
			const struct box *b = &x->box[box];

			assert_int_equal(b->first, place);
			assert_in_range(b->n, 1, FULL);
			place += b->n;
			corners_of(x, s, g, b, low, high);
			is_within(b, low, high, g->d);
			for (unsigned j = 0; j < g->d; j++) {
				least[j] = box > h->first ? smaller_of(least[j], low[j]) : low[j];
				most[j] = box > h->first ? larger_of(most[j], high[j]) : high[j];
			}
		}
		is_within(h, least, most, g->d);
	}
	assert_int_equal(box, x->boxes);
	assert_int_equal(place, s->n);
	free(seen);
	return s->n;
}

/*
 * Bounds are made and used in iterations with small moves and some large ones. Every ninth centre
 * is nearer to the first than a float can tell, so in groups by number each group has its own such
 * centre; and two are at the same place. Labels are those of brute force. Points spread about
 * centres.
 */
static void bounds_hold(const struct method *method, bool forced_always, double spread, size_t n,
			size_t (*check)(const struct given *, const struct frame *, const void *))
{
	for (unsigned turn = 0; turn < 12; turn += step(3)) {
		const enum real real = turn & 1 ? REAL_FLOAT : REAL_DOUBLE;
		const unsigned d = turn & 2 ? 5 : 20;
		const bool forced = forced_always || turn >= 8;
		const unsigned k = turn < 4 ? 128 : 32;
		struct dice dice = { turn, 0 };
		double *x = malloc(sizeof(*x) * n * d), *start = malloc(sizeof(*start) * k * d);
		struct alone *a, *plain;
		struct given g;
		size_t checked = 0;

		for (size_t e = 0; e < (size_t)k * d; e++) {
			const size_t c = e / d;

			start[e] = c > 0 && c % 9 == 0 && c < 81
					   ? start[e % d] + 1e-9 * uniform(&dice)
				   : c == 17 ? start[e - d]
					     : uniform(&dice);
		}
		for (size_t e = 0; e < n * d; e++)
			x[e] = start[e / d % k * d + e % d] + spread * (uniform(&dice) - 0.5);
		g = problem_of(real, n, d, k, x, start);
		a = alone_begin(method, &g, -2 * spread, 1 + 2 * spread);
		plain = alone_begin(&method_brute, &g, -2 * spread, 1 + 2 * spread);
		a->frame.stage.forced = forced;
		for (unsigned i = 0; i < 8; i++) {
			assign_as_brute(a, method, plain, i);
			checked += check ? check(&g, &a->frame, a->s.memory)
					 : check_all_boxes(&a->s, &a->frame.stage);
			for (unsigned c = 0; c < k; c++) {
				const double far = c % 9 == 0 || c == 16 || c == 17 ? 0
						   : c % 16 == i		    ? 0.2
										    : 0.001;

				for (unsigned j = 0; j < d; j++)
					a->scratch[j] =
						a->given[c * d + j] + far * (uniform(&dice) - 0.5);
				a->frame.moved[c] = frame_put_centre(&a->frame, c, a->scratch);
				frame_put_centre(&plain->frame, c, a->scratch);
			}
		}
		assert_true(checked >= n);
		alone_end(a);
		alone_end(plain);
		forget(&g);
	}
}

static void test_room_of_balls_is_a_bound(void **state)
{
	(void)state;
	bounds_hold(&method_balls, true, 0.1, MANY, check_balls);
	bounds_hold(&method_balls, true, 0.8, MANY, check_balls);
	/* so many that planes are examined */
	bounds_hold(&method_balls, true, 0.2, 3 * MANY, check_balls);
}

static void test_boxes_leave_out_none_that_is_nearest(void **state)
{
	(void)state;
	bounds_hold(&method_boxes, true, 0.1, MANY, NULL);
	bounds_hold(&method_boxes, true, 0.8, MANY, NULL);
	bounds_hold(&method_boxes, true, 0.02, 3 * MANY, NULL);
}

/*
 * Two points at opposite corners of a box, a centre near its middle, and another as far from the
 * first corner on the other side: only rounding decides which centre is nearer to this corner.
 */
static void test_a_tie_at_the_corner_of_a_box_is_seen(void **state)
{
	enum { CENTRES = 2, POINTS = 2, D = 3 };
	const unsigned trials = cases(3000);
	unsigned others = 0;

	(void)state;
	for (unsigned trial = 0; trial < 2 * trials; trial++) {
		struct dice dice = { trial / 2, 0 };
		double *x = malloc(sizeof(*x) * POINTS * D),
		       *start = malloc(sizeof(*start) * CENTRES * D);
		struct alone *a, *plain;
		struct given g;

		/*
		 * Multiples of 2^-12, which floats hold. The box is small, and the centre is about
		 * as far from its middle as the middle from 0: so the margins of the bounds, a part
		 * of a gain and of a score, are less than rounding.
		 */
		for (unsigned j = 0; j < D; j++) {
			x[j] = ((double)below(&dice, 8192) - 4096) / 4096;
			x[D + j] = x[j] - ((double)below(&dice, 17) - 8) / 4096;
			start[D + j] = (below(&dice, 2) ? x[j] + x[D + j] : 0) +
				       (double)below(&dice, 3) / 4096;
			start[j] = 2 * x[j] - start[D + j];
		}
		g = problem_of(trial & 1 ? REAL_FLOAT : REAL_DOUBLE, POINTS, D, CENTRES, x, start);
		a = alone_begin(&method_boxes, &g, -4, 4);
		plain = alone_begin(&method_brute, &g, -4, 4);
		a->frame.stage.forced = true;
		assign_as_brute(a, &method_boxes, plain, 0);
		others += plain->s.label[0] == 0 && plain->s.label[1] == 1;
		alone_end(a);
		alone_end(plain);
		forget(&g);
	}
	assert_true(others > trials / 4);
}

/*
 * Centres of a grid in the plane; two at a time go astray: only the branches of boxes near them are
 * examined.
 */
static void test_boxes_stay_where_nothing_moves(void **state)
{
	enum { SIDE = 12, CENTRES = SIDE * SIDE, POINTS = 60000, D = 2 };
	const unsigned iterations = cases(12);

	(void)state;
	for (unsigned turn = 0; turn < 2; turn++) {
		const enum real real = turn ? REAL_FLOAT : REAL_DOUBLE;
		struct dice dice = { turn, 0 };
		double *x = malloc(sizeof(*x) * POINTS * D),
		       *start = malloc(sizeof(*start) * CENTRES * D);
		struct alone *a, *plain;
		struct given g;

		for (size_t e = 0; e < POINTS * D; e++)
			x[e] = SIDE * uniform(&dice);
		for (unsigned c = 0; c < CENTRES; c++) {
			const unsigned row = c / SIDE;

			start[c * D] = c % SIDE + 0.5;
			start[c * D + 1] = row + 0.5;
		}
		g = problem_of(real, POINTS, D, CENTRES, x, start);
		a = alone_begin(&method_boxes, &g, 0, SIDE);
		plain = alone_begin(&method_brute, &g, 0, SIDE);
		a->frame.stage.forced = true;
		for (unsigned i = 0; i < iterations; i++) {
			assign_as_brute(a, &method_boxes, plain, i);
			/* 20,000 for the branches' middles; all points took 150,000 more */
			if (i)
				assert_true(((struct boxes *)a->s.memory)->rough.scores < POINTS);
			for (unsigned c = 0; c < CENTRES; c++) {
				a->frame.moved[c] = 0;
				if (c % 61 != 5 * i % 61)
					continue;
				for (unsigned j = 0; j < D; j++)
					a->scratch[j] =
						a->given[c * D + j] + 0.2 * (uniform(&dice) - 0.5);
				a->frame.moved[c] = frame_put_centre(&a->frame, c, a->scratch);
				frame_put_centre(&plain->frame, c, a->scratch);
			}
		}
		alone_end(a);
		alone_end(plain);
		forget(&g);
	}
}

/* Value j of point i of n. */
static double value_of_kind(const char *kind, struct dice *dice, size_t i, size_t n, unsigned j)
{
	switch (kind[0]) {
	case 'e': /* equal */
		return j;
	case 't': /* two places */
		return (double)(i * 7 % 11 < 5);
	case 's': /* sorted */
		return (double)i + j;
	case 'o': /* organ pipes */
		return (double)(i < n / 2 ? i : n - i);
	case 'l': /* a lump, and one far away */
		return i ? 1e-9 * uniform(dice) : 1;
	default:
		return uniform(dice);
	}
}

static void test_boxes_hold_all_points(void **state)
{
	static const char *const kinds_of_points[] = { "equal",	      "two places", "sorted",
						       "organ pipes", "lump",	    "uniform" };
	enum { CENTRES = 3 };

	(void)state;
	for (unsigned turn = 0; turn < 24; turn += step(5)) {
		const char *kind = kinds_of_points[turn % LENGTH(kinds_of_points)];
		const enum real real = turn & 1 ? REAL_DOUBLE : REAL_FLOAT;
		const unsigned d = turn < 12 ? 1 : 9;
		const size_t n = turn % 12 < 6 ? 33000 + turn : 97 + turn;
		struct dice dice = { turn, 0 };
		double *x = malloc(sizeof(*x) * n * d),
		       *start = malloc(sizeof(*start) * CENTRES * d);
		double low = INFINITY, high = -INFINITY;
		struct alone *a, *plain;
		struct given g;

		for (size_t e = 0; e < n * d; e++) {
			x[e] = value_of_kind(kind, &dice, e / d, n, (unsigned)(e % d));
			low = fmin(low, x[e]);
			high = fmax(high, x[e]);
		}
		for (unsigned e = 0; e < CENTRES * d; e++)
			start[e] = x[e / d * (n / 4) * d + e % d];
		g = problem_of(real, n, d, CENTRES, x, start);
		a = alone_begin(&method_boxes, &g, low, high);
		plain = alone_begin(&method_brute, &g, low, high);
		a->frame.stage.forced = true;
		assign_as_brute(a, &method_boxes, plain, 0);
		assert_int_equal(check_all_boxes(&a->s, &a->frame.stage), n);
		alone_end(a);
		alone_end(plain);
		forget(&g);
	}
}

/* Blobs have few rivals, uniform points of many dimensions have many; a lump has too many ties. */
static void test_methods_give_up_where_they_do_not_pay(void **state)
{
	enum { POINTS = 20000, CENTRES = 256 };
	static const struct {
		const struct method *method;
		const char *kind;
		unsigned d;
		enum real real;
		bool gives_up;
	} of[] = {
		{ &method_balls, "blobs", 8, REAL_DOUBLE, false },
		{ &method_balls, "blobs", 32, REAL_FLOAT, false },
		{ &method_balls, "uniform", 16, REAL_DOUBLE, true },
		{ &method_balls, "uniform", 8, REAL_FLOAT, true },
		{ &method_balls, "lump", 4, REAL_DOUBLE, true },
		{ &method_boxes, "uniform", 4, REAL_DOUBLE, false },
		{ &method_boxes, "uniform", 4, REAL_FLOAT, false },
		{ &method_boxes, "uniform", 16, REAL_DOUBLE, true },
		{ &method_boxes, "uniform", 16, REAL_FLOAT, true },
		{ &method_boxes, "lump", 4, REAL_DOUBLE, true },
	};

	(void)state;
	for (unsigned i = 0; i < LENGTH(of); i += step(3)) {
		const unsigned d = of[i].d;
		const bool blobs = of[i].kind[0] == 'b', lump = of[i].kind[0] == 'l';
		struct dice dice = { i + 5, 0 };
		double *x = malloc(sizeof(*x) * POINTS * d),
		       *start = malloc(sizeof(*start) * CENTRES * d);
		struct alone *a;
		struct given g;

		for (size_t e = 0; e < (size_t)CENTRES * d; e++)
			start[e] = lump ? 0.9 + 1e-8 * uniform(&dice) : uniform(&dice);
		for (size_t e = 0; e < (size_t)POINTS * d; e++)
			x[e] = blobs  ? start[e / d % CENTRES * d + e % d] + 0.1 * uniform(&dice)
			       : lump ? 0.9 + 1e-8 * uniform(&dice)
				      : uniform(&dice);
		g = problem_of(of[i].real, POINTS, d, CENTRES, x, start);
		a = alone_begin(of[i].method, &g, 0, 1.1);
		alone_assign(a, of[i].method, 0);
		a->frame.stage.iteration = 1;
		if (of[i].method->gives_up(&a->s, &a->frame.stage) != of[i].gives_up)
			fail_msg("%s, %s x %u", of[i].method->name, of[i].kind, d);
		alone_end(a);
		forget(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room_of_balls_is_a_bound),
		cmocka_unit_test(test_boxes_leave_out_none_that_is_nearest),
		cmocka_unit_test(test_a_tie_at_the_corner_of_a_box_is_seen),
		cmocka_unit_test(test_boxes_stay_where_nothing_moves),
		cmocka_unit_test(test_boxes_hold_all_points),
		cmocka_unit_test(test_methods_give_up_where_they_do_not_pay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
