/* SPDX-License-Identifier: Apache-2.0 */
/* Files of numbers in a folder (tree.h), read or refused with a reason. */
#ifndef LOCUS_TEST_MATRIX_H
#define LOCUS_TEST_MATRIX_H

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/arithmetic.h"
#include "kit/matrix.h"
#include "tree.h"

struct rows {
	enum real real;
	size_t n;
	unsigned d;
	void *x;
};

static inline double value(const struct rows *p, size_t row, unsigned column)
{
	return real_get(p->real, p->x, row * p->d + column);
}

static const char *why;

/* Simulates a full disk. 0: no limit. */
static inline void file_size_limit(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, bytes ? SIG_IGN : SIG_DFL);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* `why` is one line of more than 15 characters, and contains this word. */
static inline void assert_reason(const char *word)
{
	assert_true(strlen(why) > 15 && !strchr(why, '\n'));
	if (!strstr(why, word))
		fail_msg("'%s' is not in: %s", word, why);
}

static inline struct matrix *opened(const char *path)
{
	struct matrix *s = matrix_open(path, &why);

	if (!s)
		fail_msg("%s", why);
	return s;
}

/* Reads into memory that ends with the last row, so that a sanitizer sees writes beyond it. */
static inline struct rows read_rows(const struct matrix *s, size_t first, size_t n, enum real as)
{
	struct rows p = { as, n, matrix_columns(s),
			  malloc(n * matrix_columns(s) * real_bytes(as) + !n) };

	assert_non_null(p.x);
	if (matrix_read(s, first, n, as, p.x, &why))
		fail_msg("%s", why);
	return p;
}

static inline void assert_points(const char *path, size_t n, unsigned d, const double *values)
{
	struct matrix *s = opened(path);

	assert_int_equal(matrix_rows(s), n);
	assert_int_equal(matrix_columns(s), d);
	for (enum real as = REAL_DOUBLE; as <= REAL_FLOAT; as++) {
		struct rows p = read_rows(s, 0, n, as);

		for (size_t i = 0; i < n * d; i++)
			assert_true(value(&p, i / d, i % d) ==
				    (as == REAL_FLOAT ? (double)(float)values[i] : values[i]));
		free(p.x);
	}
	matrix_close(s);
}

/* Opening or reading fails, and the reason contains the word and the path. */
static inline void assert_refused(const char *path, const char *word)
{
	struct matrix *s = matrix_open(path, &why);

	if (s) {
		double *x = malloc(matrix_rows(s) * matrix_columns(s) * sizeof(*x));

		assert_non_null(x);
		assert_int_equal(matrix_read(s, 0, matrix_rows(s), REAL_DOUBLE, x, &why), -1);
		free(x);
		matrix_close(s);
	}
	assert_reason(word);
	if (!strstr(why, path))
		fail_msg("no name in: %s", why);
}

struct bytes {
	unsigned char at[1024];
	size_t n;
};

static inline void append(struct bytes *b, const void *what, size_t n)
{
	assert_true(b->n + n <= sizeof(b->at));
	memcpy(b->at + b->n, what, n);
	b->n += n;
}

static inline struct bytes npy(unsigned version, const char *header, const void *values, size_t n)
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

static inline const char *put_npy(unsigned version, const char *header, const void *values,
				  size_t n)
{
	const struct bytes b = npy(version, header, values, n);

	put_bytes("/points.npy", b.at, b.n);
	return in_tree("/points.npy");
}

#define NPY_ENTRIES(type, fortran, shape) \
	"{'descr': " type ", 'fortran_order': " fortran ", 'shape': " shape ", }\n"

#endif
