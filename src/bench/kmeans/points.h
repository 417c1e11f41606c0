/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where points come from: a recipe, or a file (NPY or CSV); and where results go (NPY). Each
 * reader, be it a thread or a rank, asks for its own rows: what they are does not depend on how
 * they were divided.
 *
 * What goes wrong with a file is said in one line that names it, where in it, what was found, and
 * what was expected.
 */
#ifndef LOCUS_POINTS_H
#define LOCUS_POINTS_H

#include "bench/kmeans/kmeans.h"

enum shape { UNIFORM, BLOBS };
/* the choices of a parameter, in the order of enum shape */
#define SHAPE_CHOICES "uniform,blobs"

struct recipe {
	/* UNIFORM: in [0,1)^d. BLOBS: Gaussian about middles that are uniform in [-10,10)^d */
	enum shape shape;
	uint64_t seed;
	/* BLOBS: how many; each point is of one of them at random */
	unsigned k;
	double spread; /* BLOBS: standard deviation in each dimension */
};

/*
 * No coordinate of blobs is beyond it: the middle is below 10, and normal deviates of 53 bits end
 * at 8.57.
 */
static inline double farthest_of_blobs(double spread)
{
	return 10 + 8.6 * spread;
}

/*
 * Makes rows first..first+part->n-1 of part->d values. A value depends on seed, row and dimension
 * alone: more dimensions leave the first ones as they are. (Of blobs, the last bits also depend on
 * the processor, where libm uses its multiply-add.)
 */
void points_generate(const struct recipe *, size_t first, struct points *part);

/*
 * The row of n that start centre `turn` is a copy of, 0 <= turn < n: rows at random, none twice,
 * the same in each process. Where rows have equal values, so may centres: then the first has all
 * their points, and the others stay where they are, without any.
 */
size_t points_drawn(uint64_t seed, size_t n, size_t turn);

/*
 * A file of points. NPY: version 1 to 3, float32 or float64, little endian, C order, of one
 * dimension (d is 1) or two. CSV: numbers with a decimal point, in any locale, between commas,
 * semicolons, tabs or blanks; perhaps with a line of names. Empty lines and those that begin with #
 * count for nothing. It is looked through once, when it is opened, for where its rows are: so large
 * files had better be NPY. Nothing is kept in memory but that, about 16 B for 1024 rows.
 */
struct source;

/*
 * NULL, and why, if it is none, or has no points. "-" is standard input, be it a file or a pipe:
 * what came through a pipe is put into an unlinked file in TMPDIR that replaces descriptor 0, so
 * that it can be opened again (but not by two threads at once).
 */
struct source *source_open(const char *path, char *why, size_t size);
size_t source_points(const struct source *);
unsigned source_dimensions(const struct source *);
enum real source_real(const struct source *); /* what it holds; CSV: DOUBLE */
/*
 * Rows first..first+n-1, which it has, as the type wanted. Threads may read at once. -1, and why,
 * where a value is no finite number or a row has too few or too many.
 */
int source_read(const struct source *, size_t first, size_t n, enum real as, void *to, char *why,
		size_t size);
void source_close(struct source *);

/*
 * A new NPY file of "<f8", "<f4" or "<u4", of rows x columns; columns 0: of one dimension. Its
 * values come in pieces, in their order. NULL or -1, and why: it exists, or could not be written
 * whole, and is then removed again. The path has to be there until the end.
 */
struct npy;
struct npy *npy_create(const char *path, const char *type, size_t rows, size_t columns, char *why,
		       size_t size);
void npy_add(struct npy *, const void *, size_t bytes);
int npy_finish(struct npy *, char *why, size_t size);

/* In one piece. */
int save_npy(const char *path, const char *type, const void *, size_t rows, size_t columns,
	     char *why, size_t size);

#endif
