/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/why.h"
#include "bench/kmeans/data.h"
#include "bench/kmeans/parameters.h"
#include "kit/matrix.h"
#include "kit/shares.h"
#include "machine/memory/arena.h"

struct data {
	const struct problem *problem;
	struct matrix *file; /* of points; NULL: they are generated */
	struct recipe recipe;
	size_t first;		  /* row of this rank's first point */
	atomic_flag told;	  /* a worker has taken `why` */
	char why[PATH_MAX + 256]; /* why there are no points; "": there are */
};

/* From any worker: the first to fail says why. */
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
	start = malloc(centres_bytes(p));
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
