/* SPDX-License-Identifier: Apache-2.0 */
/* There is no maintained C library for NPY, and its header is only one line. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/why.h"
#include "kit/npy.h"

static const char magic[] = "\x93NUMPY";
_Static_assert(sizeof(magic) - 1 == NPY_MAGIC, "the magic has as many bytes as the header says");

bool npy_is(const char *start, size_t bytes)
{
	return bytes >= NPY_MAGIC && memcmp(start, magic, NPY_MAGIC) == 0;
}

/* Finds where the header begins, and its length. */
static int find_header(const struct input *in, size_t *begin, size_t *length, const char **why)
{
	unsigned char start[12] = "";

	if (input_read(in, start, NPY_MAGIC + 4, 0, why))
		return -1;
	if (start[6] < 1 || start[6] > 3 || start[7])
		return why_fail(why, "%s: byte 6: NPY version %u.%u; expected 1.0, 2.0 or 3.0",
				in->name, start[6], start[7]);
	*begin = start[6] == 1 ? 10 : 12;
	if (input_read(in, start, *begin, 0, why))
		return -1;
	*length = start[8] | (size_t)start[9] << 8 | (size_t)start[10] << 16 |
		  (size_t)start[11] << 24;
	if (*length > UINT16_MAX)
		return why_fail(why, "%s: byte 8: a header of %zu B; expected at most %u", in->name,
				*length, UINT16_MAX);
	return 0;
}

static int read_header(const struct input *in, struct npy_header *h, size_t *end, const char **why)
{
	size_t begin = 0, length = 0;
	const char *expected;
	char *text, *at;
	int status;

	if (find_header(in, &begin, &length, why))
		return -1;
	at = text = calloc(length + 1, 1);
	if (!text)
		return why_fail(why, "%s: %m", in->name);
	status = input_read(in, text, length, begin, why);
	expected = status ? NULL : npy_header_parse(h, &at, text + length);
	if (expected)
		status = why_fail(why, "%s: byte %zu: the header has '%s'; expected %s", in->name,
				  begin + (size_t)(at - text), why_quotable(at), expected);
	free(text);
	*end = begin + length;
	return status;
}

/* Takes the header's shape and type, if supported. */
static int understand(struct npy *f, const struct input *in, struct npy_header *h, const char **why)
{
	const char *other = npy_type_parse(&f->type, h->type);

	if (other)
		return why_fail(why,
				"%s: the header says type '%s', %s; expected f2, f4, f8, i1 to i8, "
				"u1 to u8 or b1",
				in->name, why_quotable(h->type), other);
	if (h->dimensions < 1 || h->dimensions > 2)
		return why_fail(
			why,
			"%s: the header says %u dimensions; expected rows and columns, or one "
			"column",
			in->name, h->dimensions);
	f->by_column = h->fortran;
	f->rows = h->shape[0];
	f->columns = h->dimensions == 1 ? 1 : (unsigned)h->shape[1];
	if (!f->rows || !f->columns || (h->dimensions == 2 && h->shape[1] > UINT_MAX))
		return why_fail(
			why,
			"%s: the header says %zu rows of %zu values; expected at least one, and "
			"at most %u in a row",
			in->name, f->rows, h->dimensions == 1 ? 1 : h->shape[1], UINT_MAX);
	return 0;
}

/* Checks that the file is as long as its header says. */
static int check_length(const struct npy *f, const struct input *in, const char **why)
{
	const size_t there = in->bytes > f->values ? in->bytes - f->values : 0;
	size_t expected = 0;
	const bool huge = __builtin_mul_overflow(f->rows, f->columns, &expected) ||
			  __builtin_mul_overflow(expected, f->type.bytes, &expected);

	if (!huge && expected == there)
		return 0;
	return why_fail(
		why, "%s: byte %zu: %zu B of values; expected %zu rows of %u, of %u B each: %s",
		in->name, f->values, there, f->rows, f->columns, f->type.bytes,
		huge || expected > there ? "it is cut off" : "there is more than its header says");
}

int npy_open(struct npy *f, const struct input *in, const char **why)
{
	struct npy_header h = { .dimensions = 0 };

	return read_header(in, &h, &f->values, why) || understand(f, in, &h, why) ||
			       check_length(f, in, why)
		       ? -1
		       : 0;
}

/* A reader of consecutive values. */
struct reading {
	const struct npy *npy;
	const struct input *in;
	void *block; /* of INPUT_BLOCK */
	enum real as;
	const char **why;
};

/* Says which value is refused: the i-th of the block, of index `at` in the file. */
static int refuse_value(const struct reading *r, size_t i, size_t at)
{
	const struct npy *f = r->npy;
	const size_t row = f->by_column ? at % f->rows : at / f->columns,
		     column = f->by_column ? at / f->rows : at % f->columns;
	char text[NPY_TYPE_TEXT];

	return why_fail(r->why, "%s: byte %zu (row %zu, column %zu): %s; expected %s%s",
			r->in->name, f->values + at * f->type.bytes, row + 1, column + 1,
			npy_type_print(&f->type, r->block, i, text),
			f->type.kind == 'f' ? "a finite number"
					    : "an integer that a double holds exactly",
			f->type.kind == 'f' && r->as == REAL_FLOAT ? " of type float" : "");
}

/* Reads n values, from index `from` in the file on, to to[0], to[apart], to[2 * apart] ... */
static int read_values(const struct reading *r, size_t from, size_t n, void *to, size_t apart)
{
	const struct npy_type *type = &r->npy->type;
	const size_t most = INPUT_BLOCK / type->bytes;

	for (size_t done = 0, m; done < n; done += m) {
		m = n - done < most ? n - done : most;
		if (input_read(r->in, r->block, m * type->bytes,
			       r->npy->values + (from + done) * type->bytes, r->why))
			return -1;
		for (size_t i = 0; i < m; i++) {
			const size_t place = (done + i) * apart;

			real_set(r->as, to, place, npy_type_get(type, r->block, i));
			if (!isfinite(real_get(r->as, to, place)))
				return refuse_value(r, i, from + done + i);
		}
	}
	return 0;
}

/*
 * Rows of a file that is written column by column: reads each column's values for some rows at a
 * time, enough for long reads, and few enough for the rows to stay in a cache.
 */
static int read_columns(const struct reading *r, size_t first, size_t n, void *to)
{
	enum { LEAST = 512 };
	const size_t d = r->npy->columns, row = d * real_bytes(r->as), fit = INPUT_BLOCK / row,
		     some = fit > LEAST ? fit : LEAST;
	int status = 0;

	for (size_t i = 0; i < n; i += some)
		for (size_t j = 0; !status && j < d; j++)
			status = read_values(r, j * r->npy->rows + first + i,
					     n - i < some ? n - i : some,
					     (char *)to + i * row + j * real_bytes(r->as), d);
	return status;
}

int npy_read(const struct npy *f, const struct input *in, size_t first, size_t n, enum real as,
	     void *to, const char **why)
{
	const struct reading r = { f, in, malloc(INPUT_BLOCK), as, why };
	int status;

	if (!r.block)
		return why_fail(why, "%s: %m", in->name);
	status = f->by_column ? read_columns(&r, first, n, to)
			      : read_values(&r, first * f->columns, n * f->columns, to, 1);
	free(r.block);
	return status;
}

struct npy_writer {
	const char *path;
	FILE *file;
	int error; /* errno of the first failure; 0: none */
};

struct npy_writer *npy_create(const char *path, const char *type, size_t rows, size_t columns,
			      const char **why)
{
	struct npy_writer *w = calloc(1, sizeof(*w));
	char shape[64], header[128];
	int length;

	if (!w) {
		why_set(why, "%s: %m", path);
		return NULL;
	}
	w->path = path;
	w->file = fopen(path, "wxe");
	if (!w->file) {
		if (errno == EEXIST)
			why_set(why, "%s: exists; give another name", path);
		else
			why_set(why, "%s: %m", path);
		free(w);
		return NULL;
	}
	/* Version 1.0, padded so that values begin at a multiple of 64. */
	snprintf(shape, sizeof(shape), columns ? "%zu, %zu" : "%zu,", rows, columns);
	length = snprintf(header, sizeof(header),
			  "%s%c%c%c%c{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
			  magic, 1, 0, (int)(sizeof(header) - NPY_MAGIC - 4), 0, type, shape);
	memset(header + length, ' ', sizeof(header) - (size_t)length);
	header[sizeof(header) - 1] = '\n';
	npy_add(w, header, sizeof(header));
	return w;
}

void npy_add(struct npy_writer *w, const void *values, size_t bytes)
{
	if (!w->error && fwrite(values, 1, bytes, w->file) < bytes)
		w->error = errno;
}

int npy_finish(struct npy_writer *w, const char **why)
{
	int status = 0;

	/* a full disk may show only now, over a network only when the file is closed */
	if (!w->error &&
	    (TEMP_FAILURE_RETRY(fflush(w->file)) || TEMP_FAILURE_RETRY(fsync(fileno(w->file)))))
		w->error = errno;
	if (fclose(w->file) && errno != EINTR && !w->error)
		w->error = errno;
	if (w->error) {
		errno = w->error;
		status = why_fail(why, "%s: can't be written: %m; removed the incomplete file",
				  w->path);
		unlink(w->path);
	}
	free(w);
	return status;
}

int npy_save(const char *path, const char *type, const void *values, size_t rows, size_t columns,
	     const char **why)
{
	struct npy_writer *w = npy_create(path, type, rows, columns, why);

	if (!w)
		return -1;
	npy_add(w, values, rows * (columns ? columns : 1) * (size_t)(type[2] - '0'));
	return npy_finish(w, why);
}
