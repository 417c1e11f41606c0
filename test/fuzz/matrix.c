/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "kit/matrix.h"

/* A reason or a guess is one printable line that begins with the file's name. */
static void check_reason(const char *why, const char *path)
{
	must(!strncmp(why, path, strlen(path)) && strlen(why) > strlen(path) + 10);
	for (; *why; why++)
		must((unsigned char)*why >= ' ' && *why != 0x7f);
}

static void read_part(const struct matrix *s, size_t first, size_t n, enum real as,
		      const char *whole)
{
	const size_t row = matrix_columns(s) * real_bytes(as);
	const char *why;
	char *part = malloc(n * row);

	must(part && !matrix_read(s, first, n, as, part, &why));
	must(!memcmp(part, whole + first * row, n * row));
	free(part);
}

static void read_all(const struct matrix *s, enum real as, size_t cut, const char *path)
{
	const size_t n = matrix_rows(s), d = matrix_columns(s);
	const char *why;
	char *whole = malloc(n * d * real_bytes(as));

	must(whole);
	if (matrix_read(s, 0, n, as, whole, &why)) {
		check_reason(why, path);
		free(whole);
		return;
	}
	for (size_t i = 0; i < n * d; i++)
		must(isfinite(real_get(as, whole, i)));
	if (cut)
		read_part(s, 0, cut, as, whole);
	read_part(s, cut, n - cut, as, whole);
	free(whole);
}

static void check_guess(const char *path)
{
	char *guess = matrix_guess(path);

	if (guess)
		check_reason(guess, path);
	free(guess);
}

void fuzz_matrix(const uint8_t *data, size_t size)
{
	const struct memory_file *m = memory_file(data, size);
	const char *why = NULL;
	struct matrix *s = matrix_open(m->path, &why);

	if (!s) {
		check_reason(why, m->path);
		return;
	}
	/* Their product may exceed the size: missing values are noticed only when rows are read. */
	must(matrix_rows(s) && matrix_rows(s) <= size);
	must(matrix_columns(s) && matrix_columns(s) <= size + 1);
	check_guess(m->path);
	read_all(s, size % 2 ? REAL_FLOAT : REAL_DOUBLE, size % matrix_rows(s), m->path);
	matrix_close(s);
}
