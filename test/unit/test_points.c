/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points that are made, and points that are read: whatever the division, the same; whatever the
 * file, no harm.
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "bench/kmeans/points.h"
#include "cases.h"
#include "tree.h"

#define LENGTH(list) (sizeof(list) / sizeof(*(list)))

/* Making */

static const struct recipe uniform = { .shape = UNIFORM, .seed = 7 },
			   blobs = { .shape = BLOBS, .seed = 7, .k = 5, .spread = 0.5 };

static struct points made(const struct recipe *r, enum real real, size_t first, size_t n,
			  unsigned d)
{
	struct points p = { real, n, d, calloc(n * d, real_bytes(real)) };

	assert_non_null(p.x);
	points_generate(r, first, &p);
	return p;
}

static double value(const struct points *p, size_t row, unsigned column)
{
	return real_get(p->real, p->x, row * p->d + column);
}

/*
 * Seeds are written into records: the numbers that they stand for stay what they are. (Computed by
 * another program, too.)
 */
static void test_a_seed_stands_for_its_points(void **state)
{
	struct points p = made(&uniform, DOUBLE, 1000, 1, 2), q = made(&blobs, DOUBLE, 1000, 1, 2);

	(void)state;
	assert_true(value(&p, 0, 0) == 0x1.51860f53a9e4cp-2 &&
		    value(&p, 0, 1) == 0x1.de507ac4795ep-6);
	assert_true(fabs(value(&q, 0, 0) - 6.0513789012635666) < 1e-12 &&
		    fabs(value(&q, 0, 1) - 2.4961080694822693) < 1e-12);
	free(p.x);
	free(q.x);
}

/*
 * Any row from anywhere, as either type, in more dimensions or fewer. Uniform floats are rounded
 * down, so that none is 1.
 */
static void test_rows_do_not_depend_on_the_division(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 4; turn++) {
		const struct recipe *r = turn % 2 ? &blobs : &uniform;
		const enum real real = turn / 2 ? FLOAT : DOUBLE;
		struct points whole = made(r, DOUBLE, 0, 1000, 5),
			      part = made(r, real, 300, 100, 4);

		for (size_t i = 0; i < 100; i++)
			for (unsigned j = 0; j < 4; j++) {
				const double x = value(&whole, 300 + i, j), y = value(&part, i, j);

				if (real == DOUBLE)
					assert_true(y == x);
				else if (r->shape == BLOBS)
					assert_true(y == (float)x);
				else
					assert_true(y <= x && x - y < 0x1p-24);
			}
		free(whole.x);
		free(part.x);
	}
}

/*
 * Values in units of their deviation, z, are held against what independent ones would be, within 5
 * deviations of each estimate. Of fixed seeds, so that a test that passes once always does.
 * Neighbours are those in a row (the two of a Box-Muller pair, and of two pairs) and in a column.
 */
static void moments(const struct points *p, double mean, double deviation, double fourth)
{
	for (unsigned j = 0; j < p->d; j++) {
		double sum[5] = { 0 }; /* of z, z^2, z^4, and products with the neighbours */
		/*
		 * of what z^2 and the neighbour's z^2 are beyond 1: a pair that shares its radius
		 * shows here
		 */
		double squares = 0;

		for (size_t i = 0; i + 1 < p->n; i++) {
			const double z = (value(p, i, j) - mean) / deviation,
				     right = (value(p, i, (j + 1) % p->d) - mean) / deviation,
				     below = (value(p, i + 1, j) - mean) / deviation;

			sum[0] += z;
			sum[1] += z * z;
			sum[2] += z * z * z * z;
			sum[3] += z * right;
			sum[4] += z * below;
			squares += (z * z - 1) * (right * right - 1);
		}
		assert_true(fabs(sum[0]) < 5 * sqrt((double)p->n));
		assert_true(fabs(sum[1] / (double)p->n - 1) <
			    5 * sqrt((fourth - 1) / (double)p->n));
		assert_true(fabs(sum[2] / (double)p->n - fourth) < 5 * sqrt(96 / (double)p->n));
		assert_true(fabs(sum[3]) < 5 * sqrt((double)p->n));
		assert_true(fabs(sum[4]) < 5 * sqrt((double)p->n));
		assert_true(fabs(squares) < 5 * (fourth - 1) * sqrt((double)p->n));
	}
}

/* Counts that are as uneven as chance makes them: neither more nor less. */
static void assert_even(const unsigned *count, unsigned bins, double expected)
{
	double squares = 0;

	for (unsigned i = 0; i < bins; i++)
		squares += (count[i] - expected) * (count[i] - expected) / expected;
	assert_true(fabs(squares - (bins - 1)) < 5 * sqrt(2. * (bins - 1)));
}

static void test_uniform_points_are_uniform(void **state)
{
	(void)state;
	for (enum real real = DOUBLE; real <= FLOAT; real++) {
		struct points p = made(&uniform, real, 0, 100000, 3);
		unsigned count[100] = { 0 };

		for (size_t i = 0; i < p.n; i++)
			for (unsigned j = 0; j < p.d; j++) {
				assert_true(value(&p, i, j) >= 0 && value(&p, i, j) < 1);
				count[(unsigned)(100 * value(&p, i, j))]++;
			}
		assert_even(count, 100, 3000);
		moments(&p, 0.5, sqrt(1 / 12.), 1.8);
		free(p.x);
	}
}

/* One of a standard normal deviate's hundred equally likely ranges. */
static unsigned hundredth(double z)
{
	const double part = 50 * erfc(-z / sqrt(2));

	return part < 100 ? (unsigned)part : 99;
}

static void test_a_blob_is_gaussian(void **state)
{
	struct recipe sharp = { .shape = BLOBS, .seed = 11, .k = 1, .spread = 0 }, wide = sharp;
	struct points middle = made(&sharp, DOUBLE, 0, 2, 3), p;
	unsigned count[100] = { 0 };

	(void)state;
	wide.spread = 3;
	p = made(&wide, DOUBLE, 0, 100000, 3);
	for (unsigned j = 0; j < 3; j++) {
		assert_true(value(&middle, 0, j) == value(&middle, 1, j));
		for (size_t i = 0; i < p.n; i++) {
			double *x = (double *)p.x + i * p.d + j;

			*x -= value(&middle, 0, j);
			count[hundredth(*x / 3)]++;
		}
	}
	assert_even(count, 100, 3000);
	moments(&p, 0, 3, 3);
	free(p.x);
	free(middle.x);
}

static void test_blobs_have_middles_and_shares(void **state)
{
	const struct recipe many = { .shape = BLOBS, .seed = 3, .k = 1000 },
			    few = { .shape = BLOBS, .seed = 3, .k = 20 };
	struct points p = made(&many, DOUBLE, 0, 20000, 2), q = made(&few, FLOAT, 0, 100000, 1);
	unsigned count[20] = { 0 }, bins[10] = { 0 }, found = 0;
	float middle[20];

	(void)state;
	for (size_t i = 0; i < p.n; i++)
		for (unsigned j = 0; j < 2; j++)
			assert_true(value(&p, i, j) >= -10 && value(&p, i, j) < 10);
	for (size_t i = 0; i < q.n; i++) {
		const float x = ((float *)q.x)[i];
		unsigned b = 0;

		while (b < found && middle[b] != x)
			b++;
		assert_true(b < 20);
		if (b == found)
			middle[found++] = x;
		count[b]++;
	}
	assert_int_equal(found, 20);
	assert_even(count, 20, 5000);
	for (unsigned seed = 0; seed < 1000; seed++) {
		const struct recipe one = { .shape = BLOBS, .seed = seed, .k = 1 };
		struct points m = made(&one, DOUBLE, 0, 1, 1);

		bins[(unsigned)((value(&m, 0, 0) + 10) / 2)]++;
		free(m.x);
	}
	assert_even(bins, 10, 100);
	free(p.x);
	free(q.x);
}

static void test_seeds_have_nothing_in_common(void **state)
{
	struct recipe other = uniform;
	struct points p = made(&uniform, DOUBLE, 0, 1000, 1);

	(void)state;
	for (other.seed = 0; other.seed < 20; other.seed++) {
		struct points q = made(&other, DOUBLE, 0, 1000, 1);
		unsigned same = 0;

		for (size_t i = 0; i < 1000; i++)
			for (size_t j = 0; j < 1000; j++)
				same += value(&p, i, 0) == value(&q, j, 0);
		assert_int_equal(same, other.seed == uniform.seed ? 1000 : 0);
		free(q.x);
	}
	free(p.x);
}

static void test_drawn_rows_are_distinct(void **state)
{
	unsigned count[10] = { 0 };

	(void)state;
	for (size_t n = 1; n < 200; n++) {
		bool taken[200] = { false };

		for (size_t turn = 0; turn < n; turn++) {
			const size_t row = points_drawn(n, n, turn);

			assert_true(row < n && !taken[row]);
			taken[row] = true;
		}
	}
	for (uint64_t seed = 0; seed < 10000; seed++)
		count[points_drawn(seed, 10, 0)]++;
	assert_even(count, 10, 1000);
	assert_true(points_drawn(1, (size_t)1 << 40, 0) > 1u << 20);
}

/* Reading */

static char why[512];

/* One line that says enough. */
static void assert_reason(const char *word)
{
	assert_true(strlen(why) > 15 && !strchr(why, '\n'));
	if (!strstr(why, word))
		fail_msg("'%s' is not in: %s", word, why);
}

static struct source *opened(const char *path)
{
	struct source *s = source_open(path, why, sizeof(why));

	if (!s)
		fail_msg("%s", why);
	return s;
}

/* Into memory that ends where the rows do, so that a sanitizer sees what is written behind them. */
static struct points read_rows(const struct source *s, size_t first, size_t n, enum real as)
{
	struct points p = { as, n, source_dimensions(s),
			    malloc(n * source_dimensions(s) * real_bytes(as) + !n) };

	assert_non_null(p.x);
	if (source_read(s, first, n, as, p.x, why, sizeof(why)))
		fail_msg("%s", why);
	return p;
}

static void assert_points(const char *path, size_t n, unsigned d, enum real real,
			  const double *values)
{
	struct source *s = opened(path);

	assert_int_equal(source_points(s), n);
	assert_int_equal(source_dimensions(s), d);
	assert_int_equal(source_real(s), real);
	for (enum real as = DOUBLE; as <= FLOAT; as++) {
		struct points p = read_rows(s, 0, n, as);

		for (size_t i = 0; i < n * d; i++)
			assert_true(value(&p, i / d, i % d) ==
				    (as == FLOAT ? (double)(float)values[i] : values[i]));
		free(p.x);
	}
	source_close(s);
}

/* As opening or reading says it. */
static void assert_refused(const char *path, const char *word)
{
	struct source *s = source_open(path, why, sizeof(why));

	if (s) {
		double *x = malloc(source_points(s) * source_dimensions(s) * sizeof(*x));

		assert_non_null(x);
		assert_int_equal(source_read(s, 0, source_points(s), DOUBLE, x, why, sizeof(why)),
				 -1);
		free(x);
		source_close(s);
	}
	assert_reason(word);
	if (!strstr(why, path))
		fail_msg("no name in: %s", why);
}

struct bytes {
	unsigned char at[1024];
	size_t n;
};

static void append(struct bytes *b, const void *what, size_t n)
{
	assert_true(b->n + n <= sizeof(b->at));
	memcpy(b->at + b->n, what, n);
	b->n += n;
}

static struct bytes npy(unsigned version, const char *header, const void *values, size_t n)
{
	const size_t length = strlen(header);
	struct bytes b = { .n = 0 };

	append(&b, "\x93NUMPY", 6);
	append(&b, (const char[]){ (char)version, 0, (char)length, (char)(length >> 8), 0, 0 },
	       version == 1 ? 4 : 6);
	append(&b, header, length);
	append(&b, values, n);
	return b;
}

static const char *put_npy(unsigned version, const char *header, const void *values, size_t n)
{
	const struct bytes b = npy(version, header, values, n);

	put_bytes("/points.npy", b.at, b.n);
	return in_tree("/points.npy");
}

/* numpy.save(file, numpy.array([[1, 2], [3, 4.5]], "<f4")), with numpy 2.0. */
static const char of_numpy[] =
	"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"
	"                                                          \n"
	"\x00\x00\x80?\x00\x00\x00@\x00\x00@@\x00\x00\x90@";

static void test_npy_is_read(void **state)
{
	static const double x[] = { 1, 2, 3, 4.5, 0.1, -6e300 };
	static const float f[] = { 1, 2, 3, 4.5f };

	(void)state;
	put_bytes("/numpy.npy", of_numpy, sizeof(of_numpy) - 1);
	assert_points(in_tree("/numpy.npy"), 2, 2, FLOAT, x);
	for (unsigned version = 1; version <= 3; version++) {
		assert_points(
			put_npy(version,
				"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), } \n", x,
				32),
			2, 2, DOUBLE, x);
		assert_points(put_npy(version,
				      "{\"shape\":(1L,2L),'descr':'<f4','fortran_order':False}", f,
				      8),
			      1, 2, FLOAT, x);
	}
	assert_points(
		put_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }", x, 32), 4,
		1, DOUBLE, x);
	assert_points(put_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3), }", x, 24),
		      3, 1, DOUBLE, x);
}

#define NPY_ENTRIES(type, fortran, shape) \
	"{'descr': " type ", 'fortran_order': " fortran ", 'shape': " shape ", }\n"

static void test_npy_is_refused(void **state)
{
	static const double x[] = { 1, 2, NAN, INFINITY };
	static const struct {
		const char *header;
		size_t bytes;
		const char *word;
	} wrong[] = {
		{ NPY_ENTRIES("'>f8'", "False", "(2, 1)"), 16,
		  "type '>f8'; expected '<f8' or '<f4'" },
		{ NPY_ENTRIES("'<i8'", "False", "(2, 1)"), 16, "type '<i8'" },
		{ NPY_ENTRIES("[('x', '<f8')]", "False", "(2,)"), 16,
		  "byte 20: the header has '[('x'" },
		{ NPY_ENTRIES("'<f8'", "True", "(1, 2)"), 16, "Fortran order; expected C order" },
		{ NPY_ENTRIES("'<f8'", "Maybe", "(1, 2)"), 16, "expected True or False" },
		{ NPY_ENTRIES("'<f8'", "False", "()"), 8, "0 dimensions" },
		{ NPY_ENTRIES("'<f8'", "False", "(1, 1, 2)"), 16, "3 dimensions" },
		{ NPY_ENTRIES("'<f8'", "False", "(0, 3)"), 0, "0 rows of 3" },
		{ NPY_ENTRIES("'<f8'", "False", "(0,)"), 0, "0 rows of 1" },
		{ NPY_ENTRIES("'<f8'", "False", "(3, 0)"), 0, "3 rows of 0" },
		{ NPY_ENTRIES("'<f8'", "False", "(1, 4294967297)"), 8,
		  "of 4294967297 values; expected at least one, and at most 4294967295" },
		{ NPY_ENTRIES("'<f8'", "False", "(-1, 2)"), 16, "'-1, 2), }" },
		{ NPY_ENTRIES("'<f8'", "False", "(99999999999999999999, 2)"), 16, "below 2^64" },
		{ NPY_ENTRIES("'<f8'", "False", "(4611686018427387904, 2)"), 16, "cut off" },
		{ NPY_ENTRIES("'<f8'", "False", "(2305843009213693953, 1)"), 8, "cut off" },
		{ NPY_ENTRIES("'<f8'", "False", "(2, 2)"), 31,
		  "31 B of values; expected 2 rows of 2, of 8 B each: it is cut off" },
		{ NPY_ENTRIES("'<f8'", "False", "(2, 1)"), 17,
		  "there is more than its header says" },
		{ NPY_ENTRIES("'<f8'", "False", "(2 1)"), 16, "',' or ')'" },
		{ NPY_ENTRIES("'<f8'", "False", "2"), 16, "expected '('" },
		{ NPY_ENTRIES("'<f8'", "False", "(3, 1)"), 24,
		  "row 3, column 1): nan; expected a finite number" },
		{ NPY_ENTRIES("'<f8'", "False", "(2, 2)"), 32, "row 2, column 1): nan" },
		{ "{'descr': '<f8', 'shape': (2, 1)}", 16, "descr, fortran_order and shape" },
		{ "{'descr': '<f8', 'descr': '<f8'}", 16, "each once" },
		{ "{'descr': '<f8', 'color': 'red'}", 16, "'color': 'red'}" },
		{ "{'descr' '<f8'}", 16, "':'" },
		{ "{'descr': '<f8' 'shape'}", 16, "',' or '}'" },
		{ "{'descr': '<a-name-that-no-type-has'}", 16, "the name of a type" },
		{ "{'descr", 0, "a name in quotes" },
		{ "[1, 2]", 16, "expected '{'" },
		{ "", 16, "expected '{'" },
		{ "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1)} and so on", 16,
		  "the end of the header" },
		{ "{\x01\xff\n\x7f: 1}", 16, "'??" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(wrong); i++)
		assert_refused(put_npy(1, wrong[i].header, x, wrong[i].bytes), wrong[i].word);
	assert_refused(put_npy(4, wrong[0].header, x, 16), "NPY version 4.0");
	assert_refused(put_npy(0, wrong[0].header, x, 16), "NPY version 0.0");
	put_bytes("/short", of_numpy, 8);
	assert_refused(in_tree("/short"), "byte 8: the file ends; expected 2 B more");
	put_bytes("/short", of_numpy, 100);
	assert_refused(in_tree("/short"), "byte 100: the file ends; expected 28 B more");
	put_bytes("/long", "\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14);
	assert_refused(in_tree("/long"), "a header of 4294967295 B");
	put_bytes("/magic", "\x93NUMPE\x01\x00v\x00{}", 12);
	assert_refused(in_tree("/magic"), "byte 6 is 0x01; expected an NPY file");
}

/* What fits a double may not fit a float. */
static void test_what_no_float_holds_is_refused(void **state)
{
	static const double x[] = { 1, 2, 3, -1e39 };
	float f[4];
	struct source *s = opened(put_npy(1, NPY_ENTRIES("'<f8'", "False", "(2, 2)"), x, 32));

	(void)state;
	assert_int_equal(source_read(s, 0, 2, FLOAT, f, why, sizeof(why)), -1);
	assert_reason("row 2, column 2): -1e+39; expected a finite number of type float");
	source_close(s);
	put_file("/points.csv", "1,2\n3,-1e39\n");
	s = opened(in_tree("/points.csv"));
	assert_int_equal(source_read(s, 0, 2, FLOAT, f, why, sizeof(why)), -1);
	assert_reason("line 2, value 2: '-1e39'; expected a finite number of type float");
	source_close(s);
}

static void test_csv_is_read(void **state)
{
	static const double x[] = { 1, 2.5, -3e2, .25 };
	static const struct {
		const char *text;
		size_t n;
		unsigned d;
	} good[] = {
		{ "1,2.5\n-3e2,.25\n", 2, 2 },
		{ "1,2.5\n-3e2,.25", 2, 2 },
		{ "1,2.5\r\n-3E+2,0.25\r\n", 2, 2 },
		{ "\xef\xbb\xbf"
		  "1,2.5\n-3e2,.25\n",
		  2, 2 },
		{ "x,y\n1,2.5\n-300,+0.25\n", 2, 2 },
		{ "\n\n \r\nx,y\n\n  1 ,  2.5 \n\n\n-300, 0.25\n \n\n", 2, 2 },
		{ "1;2.5\n-3e2 ;  .25\n", 2, 2 },
		{ "1\t2.5\n -3e2\t .25 \n", 2, 2 },
		{ "1 2.5\n-3e2 .25\n", 2, 2 },
		{ "  1   2.5  \r\n\t-3e2\t\t.25\t\r\n", 2, 2 },
		{ "# x y\n1 2.5\n# half\n-3e2 .25\n#", 2, 2 },
		{ "1\n2.5\n-3e2\n.25\n", 4, 1 },
		{ "x\n1\n2.5\n-3e2\n.25\n", 4, 1 },
		{ "1,2.5,-3e2,.25", 1, 4 },
		{ "\"x 1\",\"one, or 2\",z,\xc3\xa4\n1,2.5,-3e2,.25", 1, 4 },
		{ "width, cm;height, cm\n1;2.5\n-3e2;.25", 2, 2 },
		{ "x y\n1\t2.5\n", 0, 0 },
		{ "1."
		  "00000000000000000000000000000000000000000000000000000000000000000000000000000000"
		  "000,2.5\n",
		  1, 2 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(good); i++) {
		put_file("/points.csv", good[i].text);
		if (good[i].n)
			assert_points(in_tree("/points.csv"), good[i].n, good[i].d, DOUBLE, x);
		else
			assert_refused(
				in_tree("/points.csv"),
				"line 2: 2 values; expected 1, as there are names in line 1");
	}
}

static void test_csv_is_refused(void **state)
{
	static const struct {
		const char *text, *word;
	} wrong[] = {
		{ "", "is empty" },
		{ "\n", "line 2: the file ends; expected points" },
		{ "# nothing\n\n# more", "the file ends" },
		{ "only,names\n", "line 2: the file ends, after a line without numbers" },
		{ "1,2\n1,2\n3\n", "line 3: 1 value; expected 2, as in line 1" },
		{ "x,y\n\n1,2\n3,4,5\n", "line 4: 3 values; expected 2, as in line 3" },
		{ "1,2\n3,\n", "line 2, value 2: ''; expected a finite number" },
		{ "1,2,\n3,4,\n", "line 1, value 3: ''" },
		{ "1\t2\n\t2\n", "line 2, value 1: ''" },
		{ "1,2\n,\n", "line 2, value 1: ''" },
		{ "1,2\n3,four\n", "line 2, value 2: 'four'" },
		{ "1,two\n3,4\n", "line 1, value 2: 'two'" },
		{ "x,y\na,b\n", "line 2, value 1: 'a'" },
		{ "x,y\n1,nan\n", "line 2, value 2: 'nan'; expected a finite number" },
		{ "-inf\n", "line 1, value 1: '-inf'" },
		{ "Infinity,NaN\n", "'Infinity'" },
		{ "1e999\n", "line 1, value 1: '1e999'" },
		{ "0,1\n0x1,1\n", "line 2, value 1: '0x1'" },
		{ "1,2\n3 4,5\n", "'3 4'" },
		{ "1\r2\r3\r", "line 2: the file ends, after a line without numbers" },
		{ "0,1\n1 \xc3\xa4,\n", "'1 ?\?'" },
		{ "1,5;2,5\n", "line 1: has two of comma, semicolon and tab" },
		{ "x;y\n1,5;2,5\n", "line 2: has two of comma, semicolon and tab" },
		{ "1,\t2\n", "line 1: has two of comma, semicolon and tab" },
		{ "1,2\n3;4\n", "line 2, value 1: '3;4'" },
		{ "a,b,c\n1,2\n", "line 2: 2 values; expected 3, as there are names in line 1" },
		{ "\"1\",\"2\"\n\"3\",\"4\"\n", "line 2, value 1: '\"3\"'" },
		{ "1,2\n1.1.1,2\n", "'1.1.1'" },
		{ "PK\x03\x04", "byte 2 is 0x03; expected an NPY file" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(wrong); i++) {
		put_file("/points.csv", wrong[i].text);
		assert_refused(in_tree("/points.csv"), wrong[i].word);
	}
	put_bytes("/points.csv", "1,2\n3,\0\n", 8);
	assert_refused(in_tree("/points.csv"), "byte 6 is 0x00");
}

/*
 * A name longer than what is read at once; a number longer than any; a name of a file that would
 * break the line.
 */
static void test_csv_has_long_fields(void **state)
{
	const size_t length = 1 << 19;
	char *text = malloc(length + 64);

	(void)state;
	assert_non_null(text);
	memset(text, 'x', length);
	strcpy(text + length, "\n1e1\n");
	put_file("/points.csv", text);
	assert_points(in_tree("/points.csv"), 1, 1, DOUBLE, (const double[]){ 10 });
	strcpy(text, "3,4\n");
	memset(text + 4, '1', length);
	strcpy(text + 4 + length, ",2\n");
	put_file("/points.csv", text);
	assert_refused(in_tree("/points.csv"),
		       "line 2, value 1: '11111111111111111111111111111111'");
	put_file("/a\nb", "1\nx\n");
	assert_null(source_open(in_tree("/a\nb\033c"), why, sizeof(why)));
	assert_reason("/a?b?c: No such file");
	free(text);
}

/*
 * Rows among empty lines and comments, so that lines are no rows; more than one block, more than
 * one mark.
 */
static void write_both(size_t n, unsigned d, double *x)
{
	FILE *f = fopen(in_tree("/many.csv"), "w");
	uint64_t seed = 5;

	assert_non_null(f);
	fprintf(f, "a,b,c\n");
	for (size_t i = 0; i < n; i++) {
		for (unsigned empty = random_number(&seed) % 3; empty--;)
			fputs(random_number(&seed) % 2 ? "\n" : "# 1,2,3\n", f);
		for (unsigned j = 0; j < d; j++) {
			x[i * d + j] = (double)random_number(&seed) * 0x1p-40;
			fprintf(f, "%s%.17g", j ? "," : "", x[i * d + j]);
		}
		fputs("\n", f);
	}
	assert_int_equal(fclose(f), 0);
	remove(in_tree("/many.npy"));
	assert_int_equal(save_npy(in_tree("/many.npy"), "<f8", x, n, d, why, sizeof(why)), 0);
}

static void test_parts_are_the_whole(void **state)
{
	static const char *const files[] = { "/many.csv", "/many.npy" };
	const size_t n = 12345;
	double *x = malloc(n * 3 * sizeof(*x));

	(void)state;
	assert_non_null(x);
	write_both(n, 3, x);
	for (unsigned f = 0; f < 2; f++) {
		struct source *s = opened(in_tree(files[f]));

		assert_int_equal(source_points(s), n);
		for (unsigned parts = 1; parts < 20; parts += 3)
			for (unsigned i = 0; i < parts; i++) {
				const size_t first = share_begin(n, i, parts),
					     rows = share_size(n, i, parts);
				struct points p = read_rows(s, first, rows, DOUBLE);

				assert_memory_equal(p.x, x + first * 3, rows * 3 * sizeof(*x));
				free(p.x);
			}
		for (size_t first = 1020; first < 1030; first++) {
			struct points p = read_rows(s, first, 1, FLOAT);

			assert_true(value(&p, 0, 2) == (double)(float)x[first * 3 + 2]);
			free(p.x);
		}
		assert_int_equal(source_read(s, n, 0, DOUBLE, NULL, why, sizeof(why)), 0);
		source_close(s);
	}
	free(x);
}

/* Where an error is does not depend on where one begins to read. */
static void test_parts_know_their_lines(void **state)
{
	FILE *f = fopen(in_tree("/points.csv"), "w");
	struct source *s;
	double x[2];

	(void)state;
	assert_non_null(f);
	for (unsigned i = 1; i <= 8 * 1024; i++)
		fprintf(f, i == 4000 ? "\n1,2,3\n" : "1,2\n");
	fclose(f);
	s = opened(in_tree("/points.csv"));
	assert_int_equal(source_points(s), 8 * 1024);
	assert_int_equal(source_read(s, 8 * 1024, 0, DOUBLE, NULL, why, sizeof(why)), 0);
	assert_int_equal(source_read(s, 3998, 1, DOUBLE, x, why, sizeof(why)), 0);
	assert_int_equal(source_read(s, 4000, 1, DOUBLE, x, why, sizeof(why)), 0);
	assert_int_equal(source_read(s, 3999, 1, DOUBLE, x, why, sizeof(why)), -1);
	assert_reason("line 4001: 3 values; expected 2, as in line 1");
	source_close(s);
}

struct reading {
	const struct source *s;
	const double *x;
	size_t first, n;
	bool right;
};

static void *read_part(void *argument)
{
	struct reading *r = argument;
	double *x = malloc(r->n * 3 * sizeof(*x));
	char reason[256];

	r->right = x && !source_read(r->s, r->first, r->n, DOUBLE, x, reason, sizeof(reason)) &&
		   memcmp(x, r->x + r->first * 3, r->n * 3 * sizeof(*x)) == 0;
	free(x);
	return NULL;
}

static void test_threads_read_at_once(void **state)
{
	static const char *const files[] = { "/many.csv", "/many.npy" };
	const size_t n = 12345;
	double *x = malloc(n * 3 * sizeof(*x));
	struct reading reading[8];
	pthread_t thread[8];

	(void)state;
	assert_non_null(x);
	write_both(n, 3, x);
	for (unsigned f = 0; f < 2; f++) {
		struct source *s = opened(in_tree(files[f]));

		for (unsigned i = 0; i < 8; i++) {
			const size_t first = share_begin(n, i, 8);

			reading[i] = (struct reading){ s, x, first, share_size(n, i, 8), false };
			assert_int_equal(pthread_create(thread + i, NULL, read_part, reading + i),
					 0);
		}
		for (unsigned i = 0; i < 8; i++) {
			pthread_join(thread[i], NULL);
			assert_true(reading[i].right);
		}
		source_close(s);
	}
	free(x);
}

static void test_a_file_that_shrinks_is_noticed(void **state)
{
	static const char *const files[] = { "/many.csv", "/many.npy" };
	double *x = malloc((size_t)12345 * 3 * sizeof(*x));

	(void)state;
	assert_non_null(x);
	write_both(12345, 3, x);
	for (unsigned f = 0; f < 2; f++) {
		struct source *s = opened(in_tree(files[f]));

		assert_int_equal(truncate(in_tree(files[f]), 1000), 0);
		assert_int_equal(source_read(s, 5000, 100, DOUBLE, x, why, sizeof(why)), -1);
		assert_reason("the file ends");
		source_close(s);
	}
	free(x);
}

/* A locale in which 1.5 is written 1,5. */
static void test_a_locale_changes_nothing(void **state)
{
	static const double x[] = { 1.5, 2.5 };
	char command[3 * PATH_MAX];

	(void)state;
	snprintf(command, sizeof(command), "localedef -i de_DE -f UTF-8 %s >/dev/null 2>&1",
		 in_tree("/de_DE.UTF-8"));
	if (system(command) || setenv("LOCPATH", root, 1) || !setlocale(LC_ALL, "de_DE.UTF-8")) {
		print_message(
			"no German locale, nor localedef with its sources (Debian: locales)\n");
		skip();
	}
	put_file("/points.csv", "1.5,2.5\n");
	assert_points(in_tree("/points.csv"), 1, 2, DOUBLE, x);
	setlocale(LC_ALL, "C");
	unsetenv("LOCPATH");
}

/* What waits ends this test. */
static void test_what_is_no_file_is_refused_at_once(void **state)
{
	(void)state;
	alarm(300);
	assert_refused(root, "is a folder; expected a file");
	assert_refused("/dev/zero", "is a device; expected a file");
	assert_int_equal(mkfifo(in_tree("/pipe"), 0666), 0);
	assert_refused(in_tree("/pipe"), "is a pipe; expected a file, or - for standard input");
	assert_refused(in_tree("/nowhere"), "No such file");
	alarm(0);
}

/*
 * Runs in a child whose standard input is what `text` came through. Its status is 0 where it is
 * read twice.
 */
static bool reads_input(int input, const char *word)
{
	const pid_t child = fork();
	int status;

	if (child == 0) {
		struct source *s[2];
		bool right = true;

		dup2(input, STDIN_FILENO);
		for (unsigned i = 0; i < 2; i++) {
			double values[4];

			s[i] = source_open("-", why, sizeof(why));
			if (!s[i])
				_exit(word && strstr(why, "standard input: ") && strstr(why, word)
					      ? 0
					      : 1);
			right = right && source_points(s[i]) == 2 && source_dimensions(s[i]) == 2;
			right = right && !source_read(s[i], 0, 2, DOUBLE, values, why, sizeof(why));
			for (unsigned j = 0; j < 4; j++)
				right = right && values[j] == j + 1;
		}
		source_close(s[0]);
		source_close(s[1]);
		_exit(word || !right);
	}
	close(input);
	return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int pipe_with(const void *bytes, size_t n)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], bytes, n), n);
	close(ends[1]);
	return ends[0];
}

static void test_standard_input_is_read_twice(void **state)
{
	static const double x[] = { 1, 2, 3, 4 };
	const struct bytes b = npy(1, NPY_ENTRIES("'<f8'", "False", "(2, 2)"), x, 32);
	int file;

	(void)state;
	put_file("/points.csv", "x,y\n1,2\n3,4\n");
	assert_true(reads_input(pipe_with("1,2\n3,4\n", 8), NULL));
	assert_true(reads_input(pipe_with(b.at, b.n), NULL));
	assert_true(reads_input(open(in_tree("/points.csv"), O_RDONLY), NULL));
	/* The rest of a file that others have begun to read. */
	put_file("/points.csv", "5,6,7\n1,2\n3,4\n");
	file = open(in_tree("/points.csv"), O_RDONLY);
	assert_int_equal(lseek(file, 6, SEEK_SET), 6);
	assert_true(reads_input(file, NULL));
	assert_true(reads_input(pipe_with("", 0), "is empty"));
	assert_true(reads_input(pipe_with("1\n2,3\n", 6), NULL) == false);
	assert_true(
		reads_input(open("/dev/null", O_RDONLY), "is a device; expected a file or a pipe"));
	assert_true(reads_input(open(root, O_RDONLY), "is a folder"));
	assert_true(reads_input(open(in_tree("/points.csv"), O_WRONLY), "Bad file descriptor"));
	setenv("TMPDIR", "/nowhere", 1);
	assert_true(reads_input(pipe_with("1,2\n3,4\n", 8),
				"can't be put into a file in /nowhere: No such file"));
	unsetenv("TMPDIR");
}

/* Writing */

static void test_what_is_saved_is_read(void **state)
{
	static const float f[] = { 1, 2, 3, 4.5f };
	static const double x[] = { 0.1, -2, 3e-30, 1e30, 5, 6 };
	static const uint32_t label[] = { 0, 80, UINT32_MAX };
	const char *path = in_tree("/saved.npy");
	unsigned char bytes[256];
	FILE *file;

	(void)state;
	assert_int_equal(save_npy(path, "<f4", f, 2, 2, why, sizeof(why)), 0);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fread(bytes, 1, sizeof(bytes), file), sizeof(of_numpy) - 1);
	fclose(file);
	assert_memory_equal(bytes, of_numpy, sizeof(of_numpy) - 1);

	assert_int_equal(save_npy(path, "<f8", x, 3, 2, why, sizeof(why)), -1);
	assert_reason("saved.npy: exists");
	assert_int_equal(remove(path), 0);
	assert_int_equal(save_npy(path, "<f8", x, 3, 2, why, sizeof(why)), 0);
	assert_points(path, 3, 2, DOUBLE, x);

	assert_int_equal(remove(path), 0);
	assert_int_equal(save_npy(path, "<u4", label, 3, 0, why, sizeof(why)), 0);
	assert_refused(path, "type '<u4'");
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fread(bytes, 1, sizeof(bytes), file), 128 + sizeof(label));
	fclose(file);
	assert_non_null(strstr((char *)bytes + 10,
			       "{'descr': '<u4', 'fortran_order': False, 'shape': (3,), } "));
	assert_memory_equal(bytes + 128, label, sizeof(label));
}

/* A limit of file size stands for a full disk. */
static void test_no_half_file_is_left(void **state)
{
	static const double x[1000] = { 0 };
	const struct rlimit little = { 1000, RLIM_INFINITY };
	struct rlimit before;
	const char *path = in_tree("/half.npy");
	int status;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	status = save_npy(path, "<f8", x, 1000, 1, why, sizeof(why));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(status, -1);
	assert_reason("half.npy: can't be written: File too large");
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(save_npy("/nowhere/x.npy", "<f8", x, 1, 1, why, sizeof(why)), -1);
	assert_reason("/nowhere/x.npy: No such file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_seed_stands_for_its_points),
		cmocka_unit_test(test_rows_do_not_depend_on_the_division),
		cmocka_unit_test(test_uniform_points_are_uniform),
		cmocka_unit_test(test_a_blob_is_gaussian),
		cmocka_unit_test(test_blobs_have_middles_and_shares),
		cmocka_unit_test(test_seeds_have_nothing_in_common),
		cmocka_unit_test(test_drawn_rows_are_distinct),
		cmocka_unit_test(test_npy_is_read),
		cmocka_unit_test(test_npy_is_refused),
		cmocka_unit_test(test_what_no_float_holds_is_refused),
		cmocka_unit_test(test_csv_is_read),
		cmocka_unit_test(test_csv_is_refused),
		cmocka_unit_test(test_csv_has_long_fields),
		cmocka_unit_test(test_parts_are_the_whole),
		cmocka_unit_test(test_parts_know_their_lines),
		cmocka_unit_test(test_threads_read_at_once),
		cmocka_unit_test(test_a_file_that_shrinks_is_noticed),
		cmocka_unit_test(test_a_locale_changes_nothing),
		cmocka_unit_test(test_what_is_no_file_is_refused_at_once),
		cmocka_unit_test(test_standard_input_is_read_twice),
		cmocka_unit_test(test_what_is_saved_is_read),
		cmocka_unit_test(test_no_half_file_is_left),
	};

	return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
