/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/why.h"
#include "kit/csv.h"
#include "kit/matrix.h"
#include "kit/npy.h"

struct matrix {
	struct input input;
	char *path;
	bool is_npy;
	struct npy npy; /* or */
	struct csv csv;
};

/* Opens the file in the format that its first bytes indicate. */
static int open_either(struct matrix *f, const char **why)
{
	char start[NPY_MAGIC];
	const ssize_t n = input_read_some(&f->input, start, sizeof(start), 0, why);

	if (n == 0)
		return why_fail(why, "%s: is empty; expected numbers", f->input.name);
	if (n < 0)
		return -1;
	f->is_npy = npy_is(start, (size_t)n);
	return f->is_npy ? npy_open(&f->npy, &f->input, why) : csv_open(&f->csv, &f->input, why);
}

struct matrix *matrix_open(const char *path, const char **why)
{
	struct matrix *f = calloc(1, sizeof(*f));

	if (!f) {
		why_set(why, "%s: %m", path);
		return NULL;
	}
	f->input.file = -1;
	f->path = strdup(path);
	if (!f->path)
		why_set(why, "%s: %m", path);
	else if (!input_open(&f->input, f->path, why) && !open_either(f, why))
		return f;
	matrix_close(f);
	return NULL;
}

size_t matrix_rows(const struct matrix *f)
{
	return f->is_npy ? f->npy.rows : f->csv.rows;
}

unsigned matrix_columns(const struct matrix *f)
{
	return f->is_npy ? f->npy.columns : f->csv.columns;
}

int matrix_read(const struct matrix *f, size_t first, size_t n, enum real as, void *to,
		const char **why)
{
	if (!n)
		return 0;
	return f->is_npy ? npy_read(&f->npy, &f->input, first, n, as, to, why)
			 : csv_read(&f->csv, &f->input, first, n, as, to, why);
}

void matrix_close(struct matrix *f)
{
	csv_close(&f->csv);
	input_close(&f->input);
	free(f->path);
	free(f);
}

char *matrix_guess(const char *path)
{
	const char *why;
	struct matrix *f = matrix_open(path, &why);
	char *guess = f && *f->csv.guess ? text_of("%s: %s", f->input.name, f->csv.guess) : NULL;

	if (f)
		matrix_close(f);
	return guess;
}
