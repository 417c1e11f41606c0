/* SPDX-License-Identifier: Apache-2.0 */
/* A trial's points, generated or from a file; its start centres; and the answer, saved to files. */
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/why.h"
#include "bench/kmeans/kmeans.h"
#include "kit/agree.h"
#include "kit/matrix.h"
#include "kit/npy.h"
#include "kit/random.h"
#include "kit/shares.h"
#include "machine/memory/arena.h"

/* ---- generated ---- */

/* The use of a stream of random words. */
enum use { OF_ROWS, OF_CHOICES, OF_MIDDLES, OF_STARTS };

static uint64_t stream(uint64_t seed, enum use use)
{
	return random_word(random_word(seed, 0), use);
}

static void put(const struct points *p, size_t at, double value)
{
	real_set(p->real, p->x, at, value);
}

/* Float keeps only the upper 24 bits: rounding to nearest could yield 1. */
static void uniform_row(const struct points *p, size_t at, uint64_t row)
{
	const uint64_t kept = p->real == REAL_FLOAT ? UINT64_MAX << 40 : UINT64_MAX;

	for (unsigned j = 0; j < p->d; j++)
		put(p, at + j, random_unit(random_word(row, j) & kept));
}

/*
 * Two normal deviates from two words (Box and Muller 1958). With 53 bits they are at most 8.57
 * standard deviations.
 */
static void blob_row(const struct points *p, size_t at, uint64_t row, uint64_t middle,
		     double spread)
{
	for (unsigned j = 0; j < p->d; j += 2) {
		const double radius = spread * sqrt(-2 * log(1 - random_unit(random_word(row, j)))),
			     angle = 2 * M_PI * random_unit(random_word(row, j + 1));

		put(p, at + j, 20 * random_unit(random_word(middle, j)) - 10 + radius * cos(angle));
		if (j + 1 < p->d)
			put(p, at + j + 1,
			    20 * random_unit(random_word(middle, j + 1)) - 10 +
				    radius * sin(angle));
	}
}

void generate_points(const struct recipe *r, size_t first, struct points *part)
{
	const uint64_t rows = stream(r->seed, OF_ROWS), choices = stream(r->seed, OF_CHOICES),
		       middles = stream(r->seed, OF_MIDDLES);

	for (size_t i = 0; i < part->n; i++) {
		const uint64_t row = random_word(rows, first + i);

		if (r->shape == SHAPE_UNIFORM)
			uniform_row(part, i * part->d, row);
		else
			blob_row(part, i * part->d, row,
				 random_word(middles,
					     (random_word(choices, first + i) >> 32) * r->k >> 32),
				 r->spread);
	}
}

/* Permutes twice: a single permutation of few rows draws some a tenth more often than others. */
size_t drawn_row(uint64_t seed, size_t n, size_t turn)
{
	const uint64_t starts = stream(seed, OF_STARTS);

	return random_permute(random_permute(turn, n, random_word(starts, 0)), n,
			      random_word(starts, 1));
}

/* ---- data from files ---- */

struct data {
	const struct problem *problem;
	struct matrix *file; /* of points; NULL: they are generated */
	struct recipe recipe;
	size_t first;		  /* row of this rank's first point */
	atomic_flag told;	  /* a worker has set `why`, or is about to */
	char why[PATH_MAX + 256]; /* why there are no points; "": there are */
};

/* May be called by any worker: keeps the reason of the first that fails. */
static void tell(struct data *d, const char *why)
{
	if (!atomic_flag_test_and_set(&d->told))
		snprintf(d->why, sizeof(d->why), "%s", why);
}

/* Copies n rows, from row `first` of all ranks' points on. */
static bool get_rows(struct data *d, size_t first, size_t n, void *to)
{
	struct points rows = { d->problem->points.real, n, d->problem->points.d, to };
	const char *why;

	if (!d->file)
		generate_points(&d->recipe, first, &rows);
	else if (matrix_read(d->file, first, n, rows.real, to, &why))
		return tell(d, why), false;
	return true;
}

static void get_share(void *data, struct worker *self)
{
	struct data *d = data;
	const struct points *p = &d->problem->points;
	const size_t row = p->d * real_bytes(p->real),
		     begin = share_begin(p->n, self->index, self->threads),
		     end = share_begin(p->n, self->index + 1, self->threads);

	if (!get_rows(d, d->first + begin, end - begin, (unsigned char *)p->x + begin * row))
		memset((unsigned char *)p->x + begin * row, 0, (end - begin) * row);
}

/* Each worker's share is to lie on its node. */
static void *map_points(const struct trial *t, const struct points *p)
{
	const size_t row = p->d * real_bytes(p->real);
	struct region *region = region_map(t->arena, "points", points_bytes(p), PAGES_BASE);

	if (!region)
		return NULL;
	for (unsigned i = 0; i < t->threads; i++) {
		const size_t begin = share_begin(p->n, i, t->threads) * row,
			     end = share_begin(p->n, i + 1, t->threads) * row;

		region_home(region, begin, end - begin, t->place[i].node);
		region_user(region, begin, end - begin, t->place[i].node);
	}
	return region_base(region);
}

/*
 * The file may have changed since the trials were planned: refuses another shape, for which there
 * may be no room.
 */
static struct matrix *open_as_planned(struct data *d, const char *path, size_t rows)
{
	const char *why;
	struct matrix *file = matrix_open(path, &why);

	if (file && matrix_rows(file) == rows && matrix_columns(file) == d->problem->points.d)
		return file;
	if (file) {
		why_set(&why,
			"%s: has %zu rows of %u now, but %zu of %u when the trials were planned",
			path, matrix_rows(file), matrix_columns(file), rows, d->problem->points.d);
		matrix_close(file);
	}
	tell(d, why);
	return NULL;
}

static void draw_centres(struct data *d, uint64_t seed, unsigned char *start)
{
	const struct problem *p = d->problem;
	const size_t row = p->points.d * real_bytes(p->points.real);

	for (size_t c = 0; c < p->k && !*d->why; c++)
		get_rows(d, drawn_row(seed, p->all, c), 1, start + c * row);
}

static void read_centres(struct data *d, const char *path, void *start)
{
	const struct problem *p = d->problem;
	struct matrix *file = open_as_planned(d, path, p->k);
	const char *why;

	if (!file)
		return;
	if (matrix_read(file, 0, p->k, p->points.real, start, &why))
		tell(d, why);
	matrix_close(file);
}

/* On failure sets d->why. */
static void fill(struct data *d, const struct trial *t, void *start)
{
	team_run(t->team, get_share, d);
	if (*d->why)
		return;
	if (is(t->value, CENTRES, DRAWN))
		draw_centres(d, t->seed, start);
	else
		read_centres(d, t->value[CENTRES].text, start);
}

void *data_bring(const struct trial *t, struct problem *p)
{
	struct data d = { .problem = p,
			  .first = share_begin(p->all, rank_of(t->ranks), ranks_of(t->ranks)),
			  .recipe = { .shape = (enum shape)t->value[DATA].choice,
				      .seed = t->seed,
				      .k = p->k,
				      .spread = t->value[SPREAD].real },
			  .told = ATOMIC_FLAG_INIT };
	void *start = NULL;

	if (t->value[DATA].choice == FROM_FILE) {
		d.file = open_as_planned(&d, t->value[POINTS].text, p->all);
		if (!d.file)
			goto end;
	}
	start = malloc(problem_start_bytes(p));
	p->points.x = start ? map_points(t, &p->points) : NULL;
	if (p->points.x)
		fill(&d, t, start);
end:
	if (d.file)
		matrix_close(d.file);
	if (*d.why)
		arena_cannot(t->arena, "%s", d.why);
	if (p->points.x && !*d.why) {
		p->start = start;
		return start;
	}
	free(start);
	return NULL;
}

/* ---- saved ---- */

/* Rank 0 writes the labels of all ranks, which it gets piece by piece. */
static const char *save_labels(const struct trial *t, const struct problem *p,
			       const struct solution *s)
{
	uint32_t piece[1 << 13];
	struct npy_writer *file = NULL;
	const char *why = NULL;

	if (rank_is_first(t->ranks))
		file = npy_create(t->value[SAVE_LABELS].text, "<u4", p->all, 0, &why);
	for (unsigned rank = 0; rank < ranks_of(t->ranks); rank++) {
		const size_t n = share_size(p->all, rank, ranks_of(t->ranks));

		for (size_t at = 0, length; at < n; at += length) {
			length = n - at < sizeof(piece) / sizeof(*piece)
					 ? n - at
					 : sizeof(piece) / sizeof(*piece);
			if (rank == rank_of(t->ranks))
				memcpy(piece, s->label + at, length * sizeof(*piece));
			agree_copy(t->ranks, rank, piece, length * sizeof(*piece));
			if (file)
				npy_add(file, piece, length * sizeof(*piece));
		}
	}
	if (file)
		npy_finish(file, &why);
	return why;
}

static const char *save_centres(const struct trial *t, const struct problem *p,
				const struct solution *s)
{
	const char *why;

	if (!rank_is_first(t->ranks) ||
	    !npy_save(t->value[SAVE_CENTRES].text, "<f8", s->centre, p->k, p->points.d, &why))
		return NULL;
	return why;
}

/* Only the first allocation saves: the others find the same solution. */
static bool saves(const struct trial *t, unsigned parameter)
{
	return t->allocation == 0 && !is(t->value, parameter, NONE);
}

const char *kmeans_save(const struct trial *t, const struct problem *p, const struct solution *s)
{
	const char *wrong = saves(t, SAVE_LABELS) ? save_labels(t, p, s) : NULL;

	if (!agree_any(t->ranks, wrong) && saves(t, SAVE_CENTRES))
		wrong = save_centres(t, p, s);
	return wrong;
}
