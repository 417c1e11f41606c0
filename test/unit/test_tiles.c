/* SPDX-License-Identifier: Apache-2.0 */
/* The loops over blocks of points, in each instruction set that this CPU has. */
#include "kit/instructions.h"
#include "lloyd.h"

/* The least score of a point, the second least, and the centre of the least. */
struct winner {
	double score, second;
	uint32_t label;
};

/* The winner among n centres. */
static struct winner plain_winner(const double *x, const double *c, const double *half, unsigned d,
				  unsigned k, unsigned first, unsigned n)
{
	struct winner w = { INFINITY, INFINITY, 0 };

	for (unsigned e = first; e < first + n && e < k; e++) {
		double s = half[e];

		for (unsigned j = 0; j < d; j++)
			s -= x[j] * c[(size_t)e * d + j];
		if (s < w.score) {
			w.second = w.score;
			w.score = s;
			w.label = e;
		} else {
			w.second = fmin(w.second, s);
		}
	}
	return w;
}

/* Points, centres and halves of their squares. */
struct plain {
	const double *x, *c, *half;
};

/* Points whose nearest centre is nearer than any other by more than a margin are reported. */
static void apart_is_right(const struct tiles *t, const void *block, const struct packed *packed,
			   const uint32_t *label, const struct plain *plain)
{
	const unsigned n = t->block;
	uint32_t found[MOST_BLOCK];

	for (unsigned margin = 0; margin <= 8; margin += 4) {
		const uint64_t apart = t->nearest_apart(block, packed, margin, found);

		assert_memory_equal(found, label, n * sizeof(*label));
		for (unsigned i = 0; i < n; i++) {
			const struct winner w =
				plain_winner(plain->x + (size_t)i * packed->d, plain->c,
					     plain->half, packed->d, packed->k, 0, packed->k);

			assert_int_equal(apart >> i & 1, w.second - w.score > margin);
		}
	}
}

/* Up to FEW_ROWS rows at once. If two centres are equally near, either may be reported. */
static void two_are_right(const struct tiles *t, enum real real, const char *given,
			  const struct packed *packed, const struct plain *plain)
{
	const size_t d = packed->d, row = d * real_bytes(real);
	_Alignas(64) double score[FEW_ROWS], second[FEW_ROWS];
	double *all = apart_alloc((packed->k + t->group) * sizeof(*all));
	uint32_t found[FEW_ROWS];

	for (unsigned first = 0, n = 1; first + n <= t->block; first += n, n = n % FEW_ROWS + 1) {
		t->two_of_rows(given + first * row, n, packed, found, score, second);
		for (unsigned i = 0; i < n; i++) {
			const double *x = plain->x + (first + i) * d;
			const struct winner w = plain_winner(x, plain->c, plain->half, packed->d,
							     packed->k, 0, packed->k);

			assert_true(real_get(real, score, i) == w.score);
			assert_true(real_get(real, second, i) == w.second);
			if (w.second > w.score)
				assert_int_equal(found[i], w.label);
			assert_true(t->scores(given + (first + i) * row, packed, all) == w.score);
			assert_true(found[i] < packed->k &&
				    real_get(real, all, found[i]) == w.score);
			for (unsigned c = 0; c < packed->k; c++)
				assert_true(real_get(real, all, c) ==
					    plain_winner(x, plain->c, plain->half, packed->d,
							 packed->k, c, 1)
						    .score);
		}
	}
	free(all);
}

/* The centres in reverse order, and rows by a list. */
static void lists_are_right(const struct tiles *t, enum real real, const void *given,
			    const struct packed *packed, const void *centre, const void *halves,
			    const double *x)
{
	const unsigned d = packed->d, k = packed->k, n = t->block - 1,
		       few = t->block < FEW_ROWS ? t->block : FEW_ROWS;
	struct carver none = { .memory = NULL }, carver = { .memory = NULL };
	struct packed reversed = packed_carve(&none, d, k, real);
	uint32_t *list = malloc((k > n ? k : n) * sizeof(*list)), found[FEW_ROWS], again[FEW_ROWS];
	_Alignas(64) double score[2][FEW_ROWS], second[2][FEW_ROWS];
	double *square = malloc(n * sizeof(*square));
	float *floats = malloc((size_t)n * d * sizeof(*floats));

	carver.memory = apart_alloc(none.used);
	reversed = packed_carve(&carver, d, k, real);
	reversed.groups = packed->groups;
	for (unsigned c = 0; c < k; c++)
		list[c] = k - 1 - c;
	t->pack(&reversed, centre, halves, list);
	t->two_of_rows(given, few, packed, found, score[0], second[0]);
	t->two_of_rows(given, few, &reversed, again, score[1], second[1]);
	for (unsigned i = 0; i < few; i++) {
		assert_true(real_get(real, score[0], i) == real_get(real, score[1], i));
		assert_true(real_get(real, second[0], i) == real_get(real, second[1], i));
		if (real_get(real, second[0], i) > real_get(real, score[0], i))
			assert_int_equal(found[i], k - 1 - again[i]);
	}
	for (unsigned i = 0; i < n; i++)
		list[i] = (i * 5 + 1) % (n + 1);
	t->squares(given, list, n, given, d, square);
	t->floats(floats, given, list, n, d);
	for (unsigned i = 0; i < n; i++) {
		double sum = 0;

		for (unsigned j = 0; j < d; j++) {
			const double value = x[(size_t)list[i] * d + j];

			sum += (value - x[j]) * (value - x[j]);
			assert_true((double)floats[i * d + j] == value);
		}
		assert_true(square[i] == sum);
	}
	free(list);
	free(square);
	free(floats);
	free(carver.memory);
}

/* Each third centre, for the points of a block; gaps of scores are multiples of a half. */
static void listed_are_right(const struct tiles *t, const void *block, const void *centre,
			     const void *halves, unsigned d, unsigned k, const struct plain *plain)
{
	uint32_t *list = malloc((k / 3 + 1) * sizeof(*list)), label[MOST_BLOCK];
	unsigned listed = 0;
	uint64_t told;

	for (unsigned c = k % 3 % k; c < k; c += 3)
		list[listed++] = c;
	told = t->nearest_listed(block, centre, halves, list, listed, d, 0.75, label);
	for (unsigned i = 0; i < t->block; i++) {
		struct winner least = { INFINITY, INFINITY, 0 };

		for (unsigned e = 0; e < listed; e++) {
			const struct winner one = plain_winner(plain->x + (size_t)i * d, plain->c,
							       plain->half, d, k, list[e], 1);

			if (one.score < least.score)
				least = (struct winner){ one.score, least.score, list[e] };
			else
				least.second = fmin(least.second, one.score);
		}
		assert_int_equal(label[i], least.label);
		assert_int_equal(told >> i & 1, least.second - least.score > 0.75);
	}
	free(list);
}

/* Whether these are exactly the rivals of centre `nearest`. */
static bool are_rivals_of(unsigned nearest, const uint16_t *found, unsigned n, const double *extent,
			  const double *score, unsigned d, unsigned k, const double *c)
{
	unsigned wanted = 0;

	for (unsigned e = 0; e < k; e++) {
		double gain = 0;

		for (unsigned j = 0; j < d; j++)
			gain += extent[j] * fabs(c[(size_t)e * d + j] - c[(size_t)nearest * d + j]);
		if (score[e] - gain > score[nearest] + 0.25)
			continue;
		if (wanted == n || found[wanted] != e)
			return false;
		wanted++;
	}
	return wanted == n;
}

/* The rivals in a box around the first point, for each centre that is nearest to it. */
static void rivals_are_right(const struct tiles *t, enum real real, const void *given,
			     const struct packed *packed, struct dice *dice,
			     const struct plain *plain)
{
	const unsigned d = packed->d, k = packed->k, groups = packed->groups * t->group;
	double *extent = malloc(d * sizeof(*extent)), *score = malloc(k * sizeof(*score)),
	       least = INFINITY;
	void *wide, *scores = aligned_alloc(64, round_up(groups * sizeof(double), 64));
	uint16_t *found = malloc(groups * sizeof(*found));
	bool right = false;
	unsigned n;

	for (unsigned j = 0; j < d; j++)
		extent[j] = below(dice, 8) / 8.0;
	wide = typed(extent, d, real);
	n = t->rivals(given, wide, packed, 0.25, scores, found);
	for (unsigned c = 0; c < k; c++) {
		score[c] = plain_winner(plain->x, plain->c, plain->half, d, k, c, 1).score;
		assert_true(real_get(real, scores, c) == score[c]);
		least = fmin(least, score[c]);
	}
	for (unsigned c = 0; c < k; c++)
		right |= score[c] <= least &&
			 are_rivals_of(c, found, n, extent, score, d, k, plain->c);
	assert_true(right);
	if (real == REAL_FLOAT)
		free(wide);
	free(extent);
	free(score);
	free(scores);
	free(found);
}

/* A block's points and rows are moved alike, and the others stay. */
static void moves_are_right(const struct tiles *t, const void *block, const void *given, unsigned d,
			    const uint32_t *label)
{
	enum { CENTRES = 128 };
	const size_t length = sums_length(d, CENTRES);
	int64_t *one = calloc(length, sizeof(*one)), *other = calloc(length, sizeof(*other));
	struct sums by_block = sums_at(one, d, CENTRES), by_row = sums_at(other, d, CENTRES);
	uint32_t before[2][MOST_BLOCK];
	double *scale = malloc(d * sizeof(*scale));

	for (unsigned j = 0; j < d; j++)
		scale[j] = ldexp(1, (int)j % 20);
	for (unsigned i = 0; i < t->block; i++)
		before[0][i] = before[1][i] = i % 3 == 0   ? SUM_NONE
					      : i % 3 == 1 ? label[i]
							   : CENTRES - 1;
	t->move(&by_block, block, scale, t->block - 1, before[0], label);
	t->move_rows(&by_row, given, scale, t->block - 1, before[1], label);
	assert_memory_equal(one, other, length * sizeof(*one));
	assert_memory_equal(before[0], before[1], t->block * sizeof(**before));
	assert_memory_equal(before[1], label, (t->block - 1) * sizeof(**before));
	assert_true(*by_row.moves > 0);
	free(one);
	free(other);
	free(scale);
}

/* The kernels of one instruction set, on whole numbers, whose scores are all exact. */
static void tiles_are_right(const struct tiles *t, enum real real, unsigned d, unsigned k)
{
	const size_t bytes = real_bytes(real), n = t->block;
	struct dice dice = { d * 1000 + k, 0 };
	double *x = malloc(n * d * sizeof(*x)), *c = malloc((size_t)k * d * sizeof(*c)),
	       *half = calloc(k, sizeof(*half));
	void *block = aligned_alloc(64, 64 * n * d);
	struct carver none = { .memory = NULL }, carver = { .memory = NULL };
	struct packed packed = packed_carve(&none, d, k, real);
	void *given, *centre, *halves, *origin, *shifted;
	double *zero = calloc(d + 1, sizeof(*zero)), *there = malloc((d + 1) * sizeof(*there));
	uint32_t label[MOST_BLOCK];

	for (size_t e = 0; e < n * d; e++)
		x[e] = (double)below(&dice, 9) - 4;
	for (size_t e = 0; e < (size_t)k * d; e++) {
		c[e] = (double)below(&dice, 9) - 4;
		half[e / d] += c[e] * c[e] / 2;
	}
	given = typed(x, n * d, real);
	centre = typed(c, (size_t)k * d, real);
	halves = typed(half, k, real);
	zero[d] = 1;
	for (unsigned j = 0; j <= d; j++)
		there[j] = j < d ? (double)j - 3 : 0.25;
	origin = typed(zero, d + 1, real);
	shifted = typed(there, d + 1, real);
	carver.memory = apart_alloc(none.used);
	assert_non_null(carver.memory);
	packed = packed_carve(&carver, d, k, real);
	packed.groups = (k + t->group - 1) / t->group;
	t->pack(&packed, centre, halves, NULL);
	t->transpose(block, given, origin, n, d);
	for (size_t i = 0; i < n; i++)
		label[i] = plain_winner(x + i * d, c, half, d, k, 0, k).label;
	apart_is_right(t, block, &packed, label, &(struct plain){ x, c, half });
	two_are_right(t, real, given, &packed, &(struct plain){ x, c, half });
	lists_are_right(t, real, given, &packed, centre, halves, x);
	listed_are_right(t, block, centre, halves, d, k, &(struct plain){ x, c, half });
	rivals_are_right(t, real, given, &packed, &dice, &(struct plain){ x, c, half });
	moves_are_right(t, block, given, d, label);
	for (size_t i = 1; i < n; i++) {
		double square = 0;

		for (unsigned j = 0; j < d; j++)
			square += (x[j] - x[i * d + j]) * (x[j] - x[i * d + j]);
		assert_true(t->square(given, (const char *)given + i * d * bytes, d) == square);
	}
	t->relate(block, given, shifted, d);
	for (unsigned j = 0; j < d; j++)
		assert_true(real_get(real, block, j) == (x[j] - there[j]) * 0.25);
	t->transpose(block, given, shifted, n - 1, d);
	for (size_t i = 0; i < n; i++)
		for (unsigned j = 0; j < d; j++)
			assert_true(real_get(real, block, j * n + i) ==
				    (i < n - 1 ? (x[i * d + j] - there[j]) * 0.25 : 0));
	if (real == REAL_FLOAT) {
		free(given);
		free(centre);
		free(halves);
		free(origin);
		free(shifted);
	}
	free(x);
	free(c);
	free(half);
	free(block);
	free(carver.memory);
	free(zero);
	free(there);
}

/* Several scores, among them the least, and some at the limit. */
static void near_is_right(const struct tiles *t, enum real real, unsigned n)
{
	struct dice dice = { n, 0 };
	double *score = malloc((n + 1) * sizeof(*score)), least, is;
	uint16_t near[128];
	void *scores;

	for (unsigned i = 0; i < n; i++)
		score[i] = below(&dice, 100);
	scores = typed(score, n, real);
	for (int limit = -20; limit < 110; limit += 10) {
		const unsigned found = t->near(scores, n, limit, near, &is);
		unsigned wanted = 0;

		least = INFINITY;
		for (unsigned i = 0; i < n; i++) {
			least = fmin(least, score[i]);
			if (score[i] <= limit)
				assert_int_equal(near[wanted++], i);
		}
		assert_int_equal(found, wanted);
		assert_true(is == least);
	}
	if (real == REAL_FLOAT)
		free(scores);
	free(score);
}

static void box_is_right(const struct tiles *t, enum real real, size_t n, unsigned d)
{
	struct dice dice = { n * 100 + d, 0 };
	double *x = malloc(n * d * sizeof(*x) + 1), least[64], negated[64];
	void *given, *scratch = aligned_alloc(64, (size_t)2 * d * MOST_WIDTH);

	for (size_t e = 0; e < n * d; e++)
		x[e] = uniform(&dice) - 0.5;
	given = typed(x, n * d, real);
	t->box(given, n, d, least, negated, scratch);
	for (unsigned j = 0; j < d; j++) {
		double low = INFINITY, high = -INFINITY;

		for (size_t i = 0; i < n; i++) {
			low = fmin(low, x[i * d + j]);
			high = fmax(high, x[i * d + j]);
		}
		assert_true(least[j] == low && negated[j] == -high);
	}
	if (real == REAL_FLOAT)
		free(given);
	free(x);
	free(scratch);
}

static void test_each_instruction_set(void **state)
{
	static const unsigned d[] = { 1, 2, 3, 7, 8, 16, 33 },
			      k[] = { 1, 2, 7, 8, 9, 16, 17, 31, 64, 100 };
	unsigned sets = 0;

	(void)state;
	for (unsigned real = REAL_DOUBLE; real <= REAL_FLOAT; real++)
		for (unsigned set = 0; tiles_usable(set, real); set++, sets++) {
			const struct tiles *t = tiles_usable(set, real);

			assert_true(t->block <= MOST_BLOCK &&
				    t->lanes * real_bytes(real) <= MOST_WIDTH &&
				    t->block % t->lanes == 0);
			for (unsigned i = 0; i < 100; i += 1 + i / 20) {
				near_is_right(t, real, i);
			}
			for (unsigned i = 0; i < LENGTH(d); i++) {
				for (unsigned j = 0; j < LENGTH(k); j++) {
					tiles_are_right(t, real, d[i], k[j]);
					box_is_right(t, real, k[j] - 1, d[i]);
				}
			}
		}
	assert_true(sets >= 2);
}

/* Wider sets come later in the order, and a processor that has one has those before it. */
static void test_sets_of_instructions(void **state)
{
	(void)state;
	for (int set = ISA_SCALAR + 1; set < ISAS; set++) {
		assert_string_not_equal(isa_name(set), isa_name(set - 1));
		assert_true(isa_width(set) > isa_width(set - 1));
		assert_true(isa_usable(set - 1) || !isa_usable(set));
	}
	assert_true(isa_usable(ISA_BASELINE));
}

static void test_rate_is_a_number(void **state)
{
	(void)state;
	for (unsigned real = REAL_DOUBLE; real <= REAL_FLOAT; real++)
		assert_true(isfinite(kmeans_peak_rate(real)) && kmeans_peak_rate(real) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_instruction_set),
		cmocka_unit_test(test_sets_of_instructions),
		cmocka_unit_test(test_rate_is_a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
