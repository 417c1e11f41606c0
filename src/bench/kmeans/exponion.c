/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pruning by the distances between centres (exponion: Newling and Fleuret 2016). A point at most
 * `upper` from its centre can only be nearer to another one that is within 2 * upper of that
 * centre. So only the scores of those are computed: all points of a label by one list, ordered by
 * distance in rings. Bounds of each point's distances, as in bounds.c but without groups, tell
 * which points keep their label without a score.
 *
 * It needs no bounds of an iteration before, so it prunes from the second one on, while centres
 * still move far. But in many dimensions distances are alike, and nearly all centres are within
 * twice the distance of the nearest. So a sample of points is asked first, once labels are known.
 */
#include <math.h>
#include <string.h>

#include "bench/kmeans/exponion.h"
#include "bench/kmeans/exponion_state.h"
#include "kit/shares.h"
#include "trial.h"

enum {
	MOST_D = 32, /* in 48, and with few centres in 32, bounds by groups took less time */
	MOST_D_OF_FEW = 24,
	FEW_CENTRES = 256,
	LEAST_POINTS = 64, /* for each centre: fewer are not worth a list of its neighbours */
	SAMPLE = 256,	   /* points */
	POINT = 2000,	   /* what one costs on top: see promises() */
};

/* A larger share of the distances does not pay. */
#define MOST_COMPUTED 0.3

/* What a point costs by brute force, in its multiply-adds: comparing a score takes 1.6. */
static double cost_of(unsigned d, unsigned k)
{
	return (d + 1.6) * k;
}

static bool pays(const struct problem *p)
{
	const unsigned most = p->k < FEW_CENTRES ? MOST_D_OF_FEW : MOST_D;

	return p->points.d <= most && sorted_points(p) / LEAST_POINTS >= p->k &&
	       2 * cost_of(p->points.d, p->k) > POINT;
}

static size_t bytes(const struct problem *p, size_t n)
{
	struct carver c = { .memory = NULL };
	struct exponion x;

	exponion_lay_out(&x, &c, n, p->points.d, p->k, p->points.real);
	return c.used;
}

static void build(struct share *s, const struct stage *g)
{
	struct carver c = { .memory = s->memory };
	struct exponion *x = s->memory;

	exponion_lay_out(x, &c, s->n, g->d, g->k, g->real);
	labels_before(x->points.label, s);
	for (unsigned i = 0; i < g->k; i++)
		x->zero[i] = 0;
}

/*
 * Whether lists will take less time than brute force, by a sample of the points. Measured (Zen 4):
 * a multiply-add of brute force takes 0.02 ns, one of a list a third more, and a point 40 ns on
 * top. Of the points that are looked at, later iterations look at about the same share again.
 */
static bool promises(struct exponion *x, const struct share *s, const struct stage *g)
{
	const unsigned sample = s->n < SAMPLE ? (unsigned)s->n : SAMPLE;
	size_t rivals = 0, suspects = 0;
	double cost;

	for (unsigned i = 0; i < sample; i++) {
		const size_t point = share_begin(s->n, i, sample);
		const char *centre = centre_of(g, x->points.label[point]);
		unsigned found;

		sorted_relate(&x->points, x->rough.tiles, s, g, 0, point);
		found = exponion_rivals(
			x, g, x->points.label[point],
			upper_of(x->rough.tiles->square(x->points.row, centre, g->d), g));
		rivals += found;
		suspects += found > 0;
	}
	cost = POINT * (double)suspects + 1.3 * (g->d + 6) * (double)rivals;
	return cost * (double)suspects / sample < 0.9 * cost_of(g->d, g->k) * sample;
}

/* Bounds follow the centres. Lists the points that may get another label. Returns how many. */
static size_t find_suspects(struct exponion *x, size_t n, const struct stage *g)
{
	size_t found = 0;

	for (uint32_t c = 0; c < g->k; c++)
		x->around[c] = (struct around){ .moved = (float)g->moved[c] * UPPER };
	for (size_t i = 0; i < n; i++) {
		struct around *a = &x->around[x->points.label[i]];
		const float upper = (x->range[i].upper + a->moved) * UPPER;

		x->range[i].upper = upper;
		a->most = larger_of(a->most, upper);
	}
	exponion_look_around(x, g);
	for (size_t i = 0; i < n; i++) {
		const struct around *a = &x->around[x->points.label[i]];
		struct range *r = &x->range[i];

		r->lower = smaller_of(r->lower - a->drop, a->far - r->upper) * LOWER;
		x->suspect[found] = (uint32_t)i;
		found += !is_settled(r, a, g);
	}
	return found;
}

static void assign(struct share *s, const struct stage *g)
{
	struct exponion *x = s->memory;
	size_t suspects;

	exponion_pack(x, g);
	if (g->iteration == 0) {
		rough_force(&x->rough, x->points.label, s, g);
		return;
	}
	if (!x->points.done) {
		sorted_make(&x->points, s, g, x->end, x->suspect);
		for (size_t i = 0; i < s->n; i++)
			x->range[i] = (struct range){ INFINITY, 0 };
	}
	suspects = find_suspects(x, s->n, g);
	order_by_label(x->points.label, g->k, x->suspect, suspects, x->end, x->order);
	for (uint32_t c = 0; c < g->k; c++) {
		const uint32_t begin = c ? x->end[c - 1] : 0;

		exponion_decide(x, s, g, c, x->order + begin, x->end[c] - begin);
	}
	*s->change.computed += (int64_t)rough_computed(&x->rough, g);
}

/*
 * After the first iteration, if floats don't tell scores apart or a sample of points has too many
 * rivals; later, if many distances are computed.
 */
static bool gives_up(struct share *s, const struct stage *g)
{
	struct exponion *x = s->memory;

	if (x->points.done)
		return (double)rough_computed(&x->rough, g) > MOST_COMPUTED * (double)s->n * g->k;
	if (!rough_helps(&x->rough))
		return true;
	exponion_pack(x, g);
	return !promises(x, s, g);
}

static void labels(struct share *s, const struct stage *g)
{
	const struct exponion *x = s->memory;

	(void)g;
	sorted_labels(&x->points, s);
}

const struct method method_exponion = { "exponion", 0,	   sorted_fits, pays,	bytes,
					NULL,	    build, assign,	labels, gives_up };
