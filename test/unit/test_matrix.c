/* SPDX-License-Identifier: Apache-2.0 */
/* Files of numbers: the same however their rows are divided; no file crashes the reader. */
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "kit/npy.h"
#include "kit/shares.h"
#include "matrix.h"

/* A number that fits a double may not fit a float. */
static void test_what_no_float_holds_is_refused(void **state)
{
	static const double x[] = { 1, 2, 3, -1e39 };
	float f[4];
	struct matrix *s = opened(put_npy(1, NPY_ENTRIES("'<f8'", "False", "(2, 2)"), x, 32));

	(void)state;
	assert_int_equal(matrix_read(s, 0, 2, REAL_FLOAT, f, &why), -1);
	assert_reason("row 2, column 2): -1e+39; expected a finite number of type float");
	matrix_close(s);
	put_file("/points.csv", "1,2\n3,-1e39\n");
	s = opened(in_tree("/points.csv"));
	assert_int_equal(matrix_read(s, 0, 2, REAL_FLOAT, f, &why), -1);
	assert_reason("line 2, value 2: '-1e39'; expected a finite number of type float");
	matrix_close(s);
}

/*
 * Writes the same rows as CSV and as NPY. The CSV file has empty lines and comments, so line
 * numbers are not row numbers, and is longer than one block and than the rows between marks.
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
	assert_int_equal(npy_save(in_tree("/many.npy"), "<f8", x, n, d, &why), 0);
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
		struct matrix *s = opened(in_tree(files[f]));

		assert_int_equal(matrix_rows(s), n);
		for (unsigned parts = 1; parts < 20; parts += 3)
			for (unsigned i = 0; i < parts; i++) {
				const size_t first = share_begin(n, i, parts),
					     rows = share_size(n, i, parts);
				struct rows p = read_rows(s, first, rows, REAL_DOUBLE);

				assert_memory_equal(p.x, x + first * 3, rows * 3 * sizeof(*x));
				free(p.x);
			}
		for (size_t first = 1020; first < 1030; first++) {
			struct rows p = read_rows(s, first, 1, REAL_FLOAT);

			assert_true(value(&p, 0, 2) == (double)(float)x[first * 3 + 2]);
			free(p.x);
		}
		assert_int_equal(matrix_read(s, n, 0, REAL_DOUBLE, NULL, &why), 0);
		matrix_close(s);
	}
	free(x);
}

struct reading {
	const struct matrix *s;
	const double *x;
	size_t first, n;
	bool right;
};

static void *read_part(void *argument)
{
	struct reading *r = argument;
	double *x = malloc(r->n * 3 * sizeof(*x));
	const char *reason;

	r->right = x && !matrix_read(r->s, r->first, r->n, REAL_DOUBLE, x, &reason) &&
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
		struct matrix *s = opened(in_tree(files[f]));

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
		matrix_close(s);
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
		struct matrix *s = opened(in_tree(files[f]));

		assert_int_equal(truncate(in_tree(files[f]), 1000), 0);
		assert_int_equal(matrix_read(s, 5000, 100, REAL_DOUBLE, x, &why), -1);
		assert_reason("the file ends");
		matrix_close(s);
	}
	free(x);
}

/* The alarm ends the test if opening a file waits. */
static void test_what_is_no_file_is_refused_at_once(void **state)
{
	(void)state;
	alarm(300);
	assert_refused(root, "is a folder; expected a file");
	assert_refused("/dev/zero", "is a device; expected a file");
	assert_int_equal(mkfifo(in_tree("/pipe"), 0666), 0);
	assert_refused(in_tree("/pipe"), "is a pipe; expected a file, or - for standard input");
	assert_refused(in_tree("/nowhere"), "No such file");
	assert_refused("/proc/self/mem", "byte 0 can't be read: ");
	alarm(0);
}

/*
 * Reads standard input twice while it is `input`; -1: it is closed. With a word: it is refused, and
 * the reason contains this word.
 */
static bool reads_input(int input, const char *word)
{
	const int kept = dup(STDIN_FILENO);
	struct matrix *s[2] = { NULL };
	bool right = kept >= 0;

	if (input < 0)
		close(STDIN_FILENO);
	else
		dup2(input, STDIN_FILENO);
	for (unsigned i = 0; right && i < 2; i++) {
		double values[4];

		s[i] = matrix_open("-", &why);
		if (!s[i]) {
			right = word && strstr(why, "standard input: ") && strstr(why, word);
			break;
		}
		right = !word && matrix_rows(s[i]) == 2 && matrix_columns(s[i]) == 2 &&
			!matrix_read(s[i], 0, 2, REAL_DOUBLE, values, &why);
		for (unsigned j = 0; j < 4; j++)
			right = right && values[j] == j + 1;
	}
	for (unsigned i = 0; i < 2; i++)
		if (s[i])
			matrix_close(s[i]);
	dup2(kept, STDIN_FILENO);
	close(kept);
	if (input >= 0)
		close(input);
	return right;
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
	assert_true(reads_input(-1, "Bad file descriptor"));
	setenv("TMPDIR", "/nowhere", 1);
	assert_true(reads_input(pipe_with("1,2\n3,4\n", 8),
				"can't be put into a file in /nowhere: No such file"));
	setenv("TMPDIR", root, 1);
	file_size_limit(1);
	assert_true(reads_input(pipe_with("1,2\n3,4\n", 8), "can't be put into a file in "));
	file_size_limit(0);
	unsetenv("TMPDIR");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_no_float_holds_is_refused),
		cmocka_unit_test(test_parts_are_the_whole),
		cmocka_unit_test(test_threads_read_at_once),
		cmocka_unit_test(test_a_file_that_shrinks_is_noticed),
		cmocka_unit_test(test_what_is_no_file_is_refused_at_once),
		cmocka_unit_test(test_standard_input_is_read_twice),
	};

	return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
