/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/sample/evidence.h"
#include "harness/sample/samples.h"
#include "kit/agree.h"
#include "machine/clock.h"
#include "machine/usage.h"

/* --- noise --- */

/*
 * A sample is noisy if it lost more than this share of its wall time, besides the time to read the
 * evidence (s).
 */
#define DISTURBED_SHARE 0.01
#define DISTURBED_LEAST 5e-6

/* s in which a neighbour that never rests certainly has a tick of /proc/stat */
#define OTHERS_TICK 0.015

static bool lost(double seconds, double wall)
{
	return seconds > DISTURBED_LEAST + DISTURBED_SHARE * wall;
}

/*
 * The lesser of two readings counts: an interrupt within one may make the core seem wider than it
 * is.
 */
static bool is_crowded(struct noise *n, const struct attendance *a, double *widest)
{
	const double width = fmin(a->width[0], a->width[1]);

	if (!widest || !(width > 0))
		return false;
	*widest = fmax(*widest, width);
	n->seats++;
	if (width >= NOISE_CROWDED * *widest)
		return false;
	n->crowded++;
	n->narrow += width / *widest;
	return true;
}

unsigned noise_witness(struct noise *n, const struct attendance *a, int cpu, double *widest)
{
	const struct usage *x = &a->before, *y = &a->after;
	double wall = y->wall - x->wall, off = fmax(0, wall - (y->cpu - x->cpu)),
	       delay = y->delay - x->delay;
	bool moved = cpu == ANY_CPU ? x->on_cpu != y->on_cpu : x->on_cpu != cpu || y->on_cpu != cpu;
	/* then the time off the CPU is the work's own */
	bool blocked = y->voluntary != x->voluntary, disturbed;

	n->off_cpu += off;
	n->delay += delay;
	n->involuntary += y->involuntary - x->involuntary;
	n->voluntary += y->voluntary - x->voluntary;
	n->minor_faults += y->minor_faults - x->minor_faults;
	n->major_faults += y->major_faults - x->major_faults;
	n->migrations += moved;
	disturbed = y->major_faults != x->major_faults;
	if (cpu != ANY_CPU)
		disturbed |= moved || y->involuntary != x->involuntary || lost(delay, wall) ||
			     (!blocked && lost(off, wall));
	return (disturbed ? SAMPLE_DISTURBED : 0) | (is_crowded(n, a, widest) ? SAMPLE_CROWDED : 0);
}

static double process_cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void others_begin(struct others *n, struct cpu_time_set ours, struct cpu_time_set beside)
{
	n->of[0] = ours;
	n->of[1] = beside;
	n->known = !cpu_time_read_sets(n->of) && n->of[0].found == ours.cpus;
	n->own = process_cpu();
	n->at = clock_now();
}

bool others_rested(double cpu, double wall)
{
	return cpu <= 0 && wall >= OTHERS_TICK;
}

bool others_end(const struct others *n, struct noise *noise)
{
	struct cpu_time_set after[2] = { n->of[0], n->of[1] };
	double beside, watched;

	if (!n->known || cpu_time_read_sets(after) || after[0].found != n->of[0].found ||
	    after[1].found != n->of[1].found) {
		noise->steal = noise->foreign = noise->beside = NAN;
		return false;
	}
	noise->steal += after[0].sum.steal - n->of[0].sum.steal;
	/*
	 * Ticks minus nanoseconds: rounding errors of the batches cancel out, but the sum may end a
	 * tick below zero.
	 */
	noise->foreign += after[0].sum.busy - n->of[0].sum.busy - (process_cpu() - n->own);
	beside = after[1].sum.busy - n->of[1].sum.busy;
	watched = clock_now() - n->at;
	noise->beside += beside;
	noise->watched += watched;
	return others_rested(beside, watched);
}

/* Sums times (s) as whole ns; unknown on one rank makes the sum unknown. */
static void sum_time(const struct ranks *ranks, double *s)
{
	int64_t x[] = { isfinite(*s) ? llround(*s * 1e9) : 0, !isfinite(*s) };

	agree_total(ranks, x, 2);
	*s = x[1] ? NAN : (double)x[0] * 1e-9;
}

static void noise_sum(const struct ranks *ranks, struct noise *n)
{
	double *time[] = { &n->wall, &n->off_cpu, &n->delay, &n->steal, &n->foreign };
	uint64_t *count[] = { &n->involuntary, &n->voluntary, &n->minor_faults, &n->major_faults,
			      &n->migrations };

	for (size_t i = 0; i < sizeof(time) / sizeof(*time); i++)
		sum_time(ranks, time[i]);
	for (size_t i = 0; i < sizeof(count) / sizeof(*count); i++)
		agree_total(ranks, (int64_t *)count[i], 1);
}

static double minor_faults(const struct noise *n)
{
	return (double)n->minor_faults;
}

static double major_faults(const struct noise *n)
{
	return (double)n->major_faults;
}

static double voluntary(const struct noise *n)
{
	return (double)n->voluntary;
}

static double involuntary(const struct noise *n)
{
	return (double)n->involuntary;
}

static double migrations(const struct noise *n)
{
	return (double)n->migrations;
}

static double steal(const struct noise *n)
{
	return n->steal;
}

const struct noise_counter noise_counters[NOISE_COUNTERS] = {
	{ "minor-faults", "1", minor_faults },	  { "major-faults", "1", major_faults },
	{ "voluntary-switches", "1", voluntary }, { "involuntary-switches", "1", involuntary },
	{ "migrations", "1", migrations },	  { "steal", "s", steal },
};

/* --- placements --- */

void placements_begin(struct placements *p, const struct arena *arena)
{
	if (arena_placement(arena, &p->now))
		p->now = (struct placement){ 0 };
}

static void free_kept(struct placements *p)
{
	if (p->known) {
		placement_free(&p->before);
		placement_free(&p->after);
	}
}

/* Takes over p->now and *after: keeps them if they are the worst so far, else frees them. */
static void keep_worst(struct placements *p, struct placement *after)
{
	if (p->known &&
	    p->now.misplaced + after->misplaced <= p->before.misplaced + p->after.misplaced) {
		placement_free(&p->now);
		placement_free(after);
	} else {
		free_kept(p);
		p->before = p->now;
		p->after = *after;
		p->known = true;
	}
}

bool placements_end(const struct placements *p, const struct arena *arena, struct placement *after)
{
	return p->now.pages && !arena_placement(arena, after);
}

void placements_keep(struct placements *p, struct placement *after)
{
	if (after)
		keep_worst(p, after);
	else
		placement_free(&p->now);
	p->now = (struct placement){ 0 };
}

bool placement_is_astray(const struct placement *p)
{
	return (double)p->misplaced > PLACEMENTS_MOST_ASTRAY * (double)p->pages;
}

bool placements_astray(const struct placements *p)
{
	return p->known && (placement_is_astray(&p->before) || placement_is_astray(&p->after));
}

/* Sums node by node: node 1 of each host counts as node 1. */
static void sum_nodes(const struct ranks *ranks, struct placement *p)
{
	unsigned nodes = (unsigned)agree_most(ranks, p->nodes);
	uint64_t *grown = nodes > p->nodes ? realloc(p->on_node, nodes * sizeof(*grown)) : NULL;

	if (grown) {
		memset(grown + p->nodes, 0, (nodes - p->nodes) * sizeof(*grown));
		p->on_node = grown;
		p->nodes = nodes;
	}
	for (unsigned i = 0; i < nodes; i++) {
		int64_t pages = i < p->nodes ? (int64_t)p->on_node[i] : 0;

		agree_total(ranks, &pages, 1);
		if (i < p->nodes)
			p->on_node[i] = (uint64_t)pages;
	}
}

static void sum_placement(const struct ranks *ranks, struct placement *p)
{
	uint64_t *count[] = { &p->pages, &p->unmapped, &p->misplaced, &p->local,
			      &p->used,	 &p->huge,     &p->thp };

	for (size_t i = 0; i < sizeof(count) / sizeof(*count); i++)
		agree_total(ranks, (int64_t *)count[i], 1);
	sum_nodes(ranks, p);
	p->how = (unsigned)agree_most(ranks, p->how);
	agree_words(ranks, &p->why_not);
	p->page = (size_t)agree_most(ranks, (double)p->page);
	p->huge_page = (size_t)agree_most(ranks, (double)p->huge_page);
	p->huge_unknown = agree_any(ranks, p->huge_unknown);
}

static void placements_sum(const struct ranks *ranks, struct placements *p)
{
	p->known = agree_any(ranks, p->known);
	if (p->known) {
		sum_placement(ranks, &p->before);
		sum_placement(ranks, &p->after);
	}
}

/* --- both --- */

void evidence_gather(struct evidence *e, const struct ranks *ranks)
{
	noise_sum(ranks, &e->noise);
	placements_sum(ranks, &e->placements);
	agree_words(ranks, &e->moved);
}

void evidence_close(struct evidence *e)
{
	neighbours_close(&e->neighbours);
	free_kept(&e->placements);
	free(e->failure);
	free(e->impossible);
	free(e->wrong);
	free(e->moved);
}
