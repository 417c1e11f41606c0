/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kmeans - false sharing that cancels the gain of threads, its fixes, and a fast version.
 *
 * Lloyd's k-means. The variants 2p, 2q and 3p, 200,000 points of two dimensions, 81 clusters and
 * 108 iterations come from P. Sestoft, "A multicore performance mystery solved" (2017), sections 1
 * to 3, as does the padding that fixes 2q. `best` is the fastest version.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "bench/kmeans/kmeans.h"
#include "bench/kmeans/ladder.h"
#include "kit/agree.h"
#include "kit/events.h"
#include "kit/matrix.h"
#include "machine/memory/arena.h"

static const struct parameter parameters[] = {
	[POINTS] = { "points", NULL,
		     "number of points to generate (locus-mpi: also per rank, 200k/rank), or a "
		     "FILE of points: NPY, CSV, or - for standard input; write ./NAME for a file "
		     "named like a number",
		     P_PATH, .value = { "2000", "20000", "200000" }, .input = kmeans_reads_points,
		     .guess = matrix_guess },
	[DIMENSIONS] = { "dimensions", NULL, "dimensions of generated points; a file sets its own",
			 P_COUNT, .value = { "2" } },
	[CLUSTERS] = { "clusters", NULL, "number of clusters; a file of centres sets its own",
		       P_COUNT, .value = { "81" } },
	[ITERATIONS] = { "iterations", NULL,
			 "number of iterations; 0: until no assignment changes, at most 10000",
			 P_COUNT, .value = { "0", NULL, "108" }, .zero = "all" },
	[TYPE] = { "type", NULL, "type of coordinates", P_CHOICE, .choices = REAL_CHOICES,
		   .value = { "double" } },
	[DATA] = { "data", NULL, "distribution of the points", P_CHOICE,
		   .choices = SHAPE_CHOICES ",file",
		   .meaning = { "uniform in [0,1)",
				"as many Gaussian blobs as clusters, around centres uniform in "
				"[-10,10)",
				"set by --points FILE" },
		   .value = { "uniform" } },
	[SPREAD] = { "spread", NULL, "standard deviation of blobs", P_REAL, .value = { "1" },
		     .zero = "none" },
	[CENTRES] = { "centres", NULL, "FILE of start centres; drawn: points chosen by the seed",
		      P_PATH, .value = { DRAWN }, .input = kmeans_reads_centres,
		      .guess = matrix_guess },
	[PRUNE] = { "prune", NULL, "method by which best avoids computing distances", P_CHOICE,
		    .choices = PRUNE_CHOICES,
		    .meaning = { [PRUNE_AUTO] =
					 "method expected to be fastest for these data and threads",
				 [PRUNE_NONE] = "computes every distance",
				 [PRUNE_CELLS] = "grid of cells, up to 3 dimensions",
				 [PRUNE_BALLS] = "balls of points (metric trees: Moore)",
				 [PRUNE_BOXES] = "boxes of points in a k-d tree (Kanungo et al.)" },
		    .value = { "auto" } },
	[SAVE_LABELS] = { "save-labels", NULL,
			  "FILE (NPY) for the cluster of each point; none: not saved", P_PATH,
			  .value = { NONE }, .output = true },
	[SAVE_CENTRES] = { "save-centres", NULL,
			   "FILE (NPY) for the final centres; none: not saved", P_PATH,
			   .value = { NONE }, .output = true },
	[ROWS] = { "rows", NULL, "points of all ranks, of a file or generated", P_DERIVED },
};

/* Equal labels have equal inertia, apart from the rounding of floats. */
#define SAME_INERTIA 1e-6

enum { TIME, PAIR_TIME, TOTAL, TURNS, INERTIA, COMPUTED, FMA_SHARE, COMMUNICATION };
static const struct metric metrics[] = {
	[TIME] = TIME_METRIC("iteration"),
	[PAIR_TIME] = { "pair-time", "s", "time of an iteration, per pair of point and cluster",
			LOWER_IS_BETTER, NULL },
	[TOTAL] = { "total", "s", "time of the whole clustering", LOWER_IS_BETTER, NULL },
	[TURNS] = { "iterations", "iteration", "number of iterations", NEITHER_IS_BETTER, NULL },
	[INERTIA] = { "inertia", "1", "sum of squared distances of points to their centres",
		      NEITHER_IS_BETTER, NULL, .same = SAME_INERTIA },
	[COMPUTED] = { "computed", "1",
		       "share of the distances between points and centres that were computed",
		       NEITHER_IS_BETTER, NULL },
	[FMA_SHARE] = { "fma-share", "1",
			"share of the cores' peak multiply-adds that was spent on distances",
			HIGHER_IS_BETTER, NULL },
	[COMMUNICATION] = { "communication", "s",
			    "time per iteration in MPI calls, on the rank that waits least",
			    LOWER_IS_BETTER, NULL },
};

static const struct ratio ratios[] = {
	{ "slowdown", "by false sharing of means and sums", P_VARIANT, "2q", "2p", NULL },
	{ "slowdown", "that remains with means and sums on lines of their own", P_VARIANT,
	  "2q-padded", "2p", NULL },
	{ "slowdown", "by false sharing of the threads' own sums", P_VARIANT, "private-dense",
	  "private-padded", NULL },
	{ "gain", "of the fastest version", P_VARIANT, "2p", "best", NULL },
	{ "gain", "by pruning", PRUNE, "none", "auto", NULL },
	{ "speed-up", "by threads", P_THREADS, "fewest", "more", NULL },
};

struct state {
	struct problem problem;
	void *start;
	/* one of the two is NULL */
	struct ladder *ladder;
	struct lloyd *lloyd;
	double rate[]; /* multiply-adds/s of each worker */
};

/* ---- the phases of a trial ---- */

/* NULL: the variant is `best`. */
static const enum rung *rung_of(const struct trial *t)
{
	return t->variant->data;
}

static void release(void *state)
{
	struct state *s = state;

	ladder_close(s->ladder);
	lloyd_close(s->lloyd);
	free(s->start);
	free(s);
}

/* Memory for the solver: regions of the trial's arena. */
struct regions {
	const struct trial *trial;
	struct region *last;
};

static void *map(void *regions, const char *name, size_t bytes, bool huge)
{
	struct regions *r = regions;

	r->last = region_map(r->trial->arena, name, bytes, huge ? PAGES_THP : PAGES_BASE);
	return r->last ? region_base(r->last) : NULL;
}

static void claim(void *regions, void *part, size_t bytes, unsigned worker, bool alone)
{
	const struct regions *r = regions;
	const size_t offset = (size_t)((char *)part - (char *)region_base(r->last));
	const int node = team_worker(r->trial->team, worker)->place.node;

	region_home(r->last, offset, bytes, node);
	if (alone)
		region_user(r->last, offset, bytes, node);
}

static int open_solver(struct state *s, const struct trial *t)
{
	struct regions regions = { t, NULL };
	const struct lloyd_memory memory = { &regions, map, claim };

	if (rung_of(t)) {
		s->ladder = ladder_open(&s->problem, *rung_of(t), t->arena);
		return s->ladder ? 0 : -1;
	}
	s->lloyd = lloyd_open(&s->problem, (enum prune)t->value[PRUNE].choice, &memory);
	if (!s->lloyd && errno == EINVAL)
		arena_cannot(t->arena,
			     "--prune: that method can't handle so many dimensions, clusters, "
			     "or points per thread; use auto");
	return s->lloyd ? 0 : -1;
}

static void *prepare(const struct trial *t)
{
	struct state *s = calloc(1, sizeof(*s) + t->threads * sizeof(*s->rate));

	if (!s)
		return NULL;
	s->problem = problem_of(t);
	s->start = data_bring(t, &s->problem);
	if (s->start && !open_solver(s, t))
		return s;
	release(s);
	return NULL;
}

static const struct solution *solution_of(const struct state *s)
{
	return s->ladder ? ladder_solution(s->ladder) : lloyd_solution(s->lloyd);
}

static void enter(void *state, struct worker *self)
{
	ladder_enter(((struct state *)state)->ladder, self);
}

/*
 * All ranks take rank 0's start centres: the last bits of generated blobs depend on a rank's libm.
 */
static void enter_best(void *state, struct worker *self)
{
	struct state *s = state;

	if (self->index == 0)
		agree_copy(s->problem.ranks, 0, s->start, problem_start_bytes(&s->problem));
	lloyd_enter(s->lloyd, self);
}

static void work(void *state, struct worker *self)
{
	ladder_work(((struct state *)state)->ladder, self);
}

static void work_best(void *state, struct worker *self)
{
	const struct state *s = state;

	lloyd_work(s->lloyd, self);
	self->done = lloyd_solution(s->lloyd)->iterations;
}

static void measure_rate(void *state, struct worker *self)
{
	struct state *s = state;

	s->rate[self->index] = kmeans_peak_rate(s->problem.points.real);
}

/* The rate of all workers together, measured while all run, as in a sample. */
static double rate_of_all(struct state *s)
{
	double sum = 0;

	team_run(s->problem.team, measure_rate, s);
	for (unsigned i = 0; i < s->problem.threads; i++)
		sum += s->rate[i];
	return sum;
}

static void collect(void *state, const struct trial *t, struct result *result)
{
	struct state *s = state;
	const struct problem *p = &s->problem;
	const struct solution *solution = solution_of(s);
	const double iterations = (double)solution->iterations;
	int64_t of_all[] = { (int64_t)solution->distances, s->lloyd ? llround(rate_of_all(s)) : 0 };

	if (t->ranks)
		t->ranks->sum(of_all, 2);
	report(result, PAIR_TIME, elapsed(result) / iterations / (double)p->all / p->k);
	report(result, TOTAL, elapsed(result));
	report(result, TURNS, iterations);
	report(result, INERTIA, solution_inertia(p, solution));
	report(result, COMPUTED, (double)of_all[0] / iterations / (double)p->all / p->k);
	if (s->lloyd)
		report(result, FMA_SHARE,
		       (double)of_all[0] * p->points.d / elapsed(result) / (double)of_all[1]);
	report(result, COMMUNICATION, communicated(result) / iterations);
}

static const char *verify(void *state, const struct trial *t)
{
	const struct state *s = state;
	const char *wrong = solution_verify(&s->problem, solution_of(s));

	return agree_any(t->ranks, wrong) ? wrong : kmeans_save(t, &s->problem, solution_of(s));
}

static const enum rung two_phases = RUNG_TWO_PHASES, one_phase = RUNG_ONE_PHASE,
		       one_phase_padded = RUNG_ONE_PHASE_PADDED, three_phases = RUNG_THREE_PHASES,
		       private_dense = RUNG_PRIVATE_DENSE, private_padded = RUNG_PRIVATE_PADDED;

static const struct ops best_ops = {
	prepare, enter_best, NULL, work_best, collect, verify, release
};
static const struct variant variants[] = {
	{ "2p", "assigns all points, then adds each to its cluster under the cluster's lock",
	  &two_phases, BIT(PRUNE) },
	{ "2q",
	  "adds a point as soon as it is assigned, to the line from which others read the mean",
	  &one_phase, BIT(PRUNE) },
	{ "2q-padded", "as 2q, with means and sums on lines of their own", &one_phase_padded,
	  BIT(PRUNE) },
	{ "3p", "each thread groups its own points, then the groups are merged: nothing is shared",
	  &three_phases, BIT(PRUNE) },
	{ "private-dense", "each thread has its own sums, packed beside other threads' sums",
	  &private_dense, BIT(PRUNE) },
	{ "private-padded", "each thread has its own sums, on lines of their own", &private_padded,
	  BIT(PRUNE) },
	{ "best", "fastest: SIMD, pruning, order-independent integer sums", .ops = &best_ops,
	  .divided = true },
};

static const struct role roles[] = { { "thread", NULL, TO_COMPLETION } };

/* Pairs of a point and a cluster, on all ranks. */
static double distances(const struct trial *trial)
{
	return (double)trial->value[ROWS].count * (double)trial->value[CLUSTERS].count;
}

static const struct explained counters[] = {
	{ EVENT_INSTRUCTIONS, "instructions, which pruning and SIMD save" },
	{ EVENT_CYCLES, "with instructions: whether threads compute or wait for cache lines" },
	{ "PAPI_DP_OPS|PAPI_FP_OPS|PAPI_VEC_DP|PAPI_FP_INS",
	  "floating-point operations: 3 per dimension if every distance is computed" },
	{ EVENT_L2_MISSES, "lines from other cores or L3: sums that threads share" },
	{ EVENT_L3_MISSES, "lines from memory: points that exceed the last-level cache" },
};

const struct benchmark kmeans_benchmark = {
	.name = "kmeans",
	.summary = "k-means: false sharing of sums, its fixes, and a fast version",
	.protocol = { 1,
		      "Lloyd's iterations from the same centres, until no assignment changes or "
		      "--iterations are done; a sample is a whole clustering with all its "
		      "preparation",
		      "sestoft2017" },
	.unit = { "iteration", .part = "point x cluster", .parts = distances },
	ROWS(parameters, parameters),
	ROWS(metrics, metrics),
	ROWS(counters, counters),
	ROWS(ratios, ratios),
	ROWS(variants, variants),
	.ops = { prepare, enter, NULL, work, collect, verify, release },
	ROWS(roles, roles),
	.preset = {
		[QUICK] = { "2p,2q,2q-padded,3p,private-padded,best", "1,auto", .sample = 10e-3 },
		[STANDARD] = { "2p,2q,2q-padded,3p,private-dense,private-padded,best",
			       "1..auto*2,auto" },
		[PAPER] = { .threads = "1,8,48,auto" },
	},
	.resolve = kmeans_settle,
	.needs = kmeans_needs,
};
