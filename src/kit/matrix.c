/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "kit/csv.h"
#include "kit/npy.h"
#include "kit/matrix.h"

struct matrix {
	struct input input;
	char *name; /* for messages */
	bool is_npy;
	struct npy npy; /* or */
	struct csv csv;
};

/* As the format that its first bytes say. */
static int open_either(struct matrix *f, struct refusal why)
{
	char start[NPY_MAGIC];
	const ssize_t n = input_read_some(&f->input, start, sizeof(start), 0, why);

	if (n == 0)
		return refusal_write(why, "is empty; expected numbers");
	if (n < 0)
		return -1;
	f->is_npy = npy_is(start, (size_t)n);
	return f->is_npy ? npy_open(&f->npy, &f->input, why) : csv_open(&f->csv, &f->input, why);
}

struct matrix *matrix_open(const char *path, char *why, size_t size)
{
	const struct refusal reason = { strcmp(path, "-") ? path : "standard input", why, size };
	struct matrix *f = calloc(1, sizeof(*f));

	if (!f) {
		refusal_write(reason, "%m");
		return NULL;
	}
	f->input.file = -1;
	f->name = strdup(reason.file);
	if (!f->name)
		refusal_write(reason, "%m");
	else if (!input_open(&f->input, path, reason) && !open_either(f, reason))
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

enum real matrix_real(const struct matrix *f)
{
	return f->is_npy ? f->npy.real : REAL_DOUBLE;
}

int matrix_read(const struct matrix *f, size_t first, size_t n, enum real as, void *to, char *why,
		size_t size)
{
	const struct refusal reason = { f->name, why, size };

	if (!n)
		return 0;
	return f->is_npy ? npy_read(&f->npy, &f->input, first, n, as, to, reason)
			 : csv_read(&f->csv, &f->input, first, n, as, to, reason);
}

void matrix_close(struct matrix *f)
{
	csv_close(&f->csv);
	input_close(&f->input);
	free(f->name);
	free(f);
}
