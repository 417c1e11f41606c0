/* SPDX-License-Identifier: Apache-2.0 */
/* Balls of points: what they hold is bounded, and no nearer centre is left out. */
#include "lloyd.h"
#include "solve/kmeans/balls.h"

enum { MANY = 700 };

/* Of a share's point from a row that is relative. */
static double distance_from(const struct share *s, const struct frame *f, size_t i, const void *row)
{
	const unsigned d = f->stage.d;
	const double unit = real_get(f->stage.real, f->origin, d);
	double square = 0;

	for (unsigned j = 0; j < d; j++) {
		const double x = (real_get(f->stage.real, s->x, i * d + j) -
				  real_get(f->stage.real, f->origin, j)) *
				 unit,
			     at = real_get(f->stage.real, row, j);

		square += (x - at) * (x - at);
	}
	return sqrt(square);
}

static double distance(const struct share *s, const struct frame *f, size_t i, unsigned c)
{
	return distance_from(s, f, i, centre_of(&f->stage, c));
}

/* The error of distance(). */
static double off(const struct frame *f)
{
	return f->stage.real == REAL_FLOAT ? 1e-6 : 1e-13;
}

/* What is listed by a ball, or all if nothing is. */
static bool is_listed(const struct ball *b, unsigned c)
{
	bool listed = b->listed == 0;

	for (unsigned i = 0; i < b->listed; i++)
		listed |= b->list[i] == c;
	return listed;
}

/* How a ball bounds one of its points. Returns whether there is a bound. */
static bool check_ball(const struct share *s, const struct frame *f, const struct balls *x,
		       const struct ball *b, uint32_t i)
{
	const uint32_t label = x->label[i];
	const double none = 10 * off(f), own = distance(s, f, i, label);

	assert_true(distance_from(s, f, i, x->middle + (b - x->ball) * row_bytes(&f->stage)) <=
		    (double)b->radius);
	if (b->listed)
		assert_true(distance(s, f, i, b->nearest) >= own - none && own <= (double)b->upper);
	for (unsigned c = 0; c < f->stage.k; c++) {
		const double way = distance(s, f, i, c);

		if (!is_listed(b, c))
			assert_true(way - distance(s, f, i, b->nearest) >= (double)b->room - none);
		if (b->own && c != label)
			assert_true(way - own >= (double)x->room[i] - none);
	}
	return b->own ? x->room[i] > 0 : b->listed > 0 && b->room > 0;
}

/* The balls have all points; they hold those; room is what is left to other centres. */
static size_t check_balls(const struct share *s, const struct frame *f)
{
	const struct balls *x = s->memory;
	size_t checked = 0, points = 0;

	for (const struct ball *b = x->ball; b < x->ball + x->balls; b++) {
		points += b->n;
		for (uint32_t i = b->first; i < b->first + b->n; i++)
			checked += check_ball(s, f, x, b, x->order[i]);
	}
	assert_int_equal(points, s->n);
	return checked;
}

/*
 * Bounds made and used in iterations with small moves and some large ones. Every ninth centre is
 * nearer to the first than a float can tell, so in groups by number each has its own; and two are
 * at the same place. Labels are those of brute force. Points spread about centres.
 */
static void bounds_hold(double spread, size_t n)
{
	for (unsigned turn = 0; turn < 12; turn++) {
		const enum real real = turn & 1 ? REAL_FLOAT : REAL_DOUBLE;
		const unsigned d = turn & 2 ? 5 : 20;
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
		a = alone_begin(&method_balls, &g, -2 * spread, 1 + 2 * spread);
		plain = alone_begin(&method_brute, &g, -2 * spread, 1 + 2 * spread);
		a->frame.stage.forced = true;
		for (unsigned i = 0; i < 8; i++) {
			assign_as_brute(a, &method_balls, plain, i);
			checked += i ? check_balls(&a->s, &a->frame) : 0;
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
	bounds_hold(0.1, MANY);
	bounds_hold(0.8, MANY);
	/* so many that planes are looked at */
	bounds_hold(0.2, 3 * MANY);
}

/* Blobs have few rivals, uniform points of many dimensions have many; a lump has too many ties. */
static void test_methods_give_up_where_they_do_not_pay(void **state)
{
	enum { POINTS = 20000, CENTRES = 256 };
	static const struct {
		const char *kind;
		unsigned d;
		enum real real;
		bool gives_up;
	} cases[] = {
		{ "blobs", 8, REAL_DOUBLE, false },   { "blobs", 32, REAL_FLOAT, false },
		{ "uniform", 16, REAL_DOUBLE, true }, { "uniform", 8, REAL_FLOAT, true },
		{ "lump", 4, REAL_DOUBLE, true },
	};

	(void)state;
	for (unsigned i = 0; i < LENGTH(cases); i++) {
		const unsigned d = cases[i].d;
		const bool blobs = cases[i].kind[0] == 'b', lump = cases[i].kind[0] == 'l';
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
		g = problem_of(cases[i].real, POINTS, d, CENTRES, x, start);
		a = alone_begin(&method_balls, &g, 0, 1.1);
		alone_assign(a, &method_balls, 0);
		method_brute.labels(&a->s, &a->frame.stage);
		a->s.built = a->frame.stage.iteration = 1;
		method_balls.build(&a->s, &a->frame.stage);
		if (method_balls.gives_up(&a->s, &a->frame.stage) != cases[i].gives_up)
			fail_msg("%s x %u", cases[i].kind, d);
		alone_end(a);
		forget(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room_of_balls_is_a_bound),
		cmocka_unit_test(test_methods_give_up_where_they_do_not_pay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
