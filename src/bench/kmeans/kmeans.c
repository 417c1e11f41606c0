/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kmeans - a program that became slower the more threads it had, and what cures it.
 *
 * Lloyd's k-means. The variants 2p, 2q and 3p, 200,000 points of two dimensions, 81 clusters and
 * 108 iterations are those of P. Sestoft, "A multicore performance mystery solved" (2017), sections
 * 1 to 3; so is the padding that cures 2q. `best` is as fast as we know how.
 */
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/kmeans/check.h"
#include "bench/kmeans/ladder.h"
#include "bench/kmeans/lloyd.h"
#include "bench/kmeans/points.h"
#include "benchmark.h"
#include "harness/values.h"
#include "kit/agree.h"
#include "machine/topology.h"

enum {
	POINTS,
	DIMENSIONS,
	CLUSTERS,
	ITERATIONS,
	TYPE,
	DATA,
	SPREAD,
	CENTRES,
	PRUNE,
	SAVE_LABELS,
	SAVE_CENTRES,
	ROWS
};
enum { FROM_FILE = BLOBS + 1 };
enum { MOST_DIMENSIONS = 65536 };
#define NONE  "none"
#define DRAWN "drawn"
static const struct parameter parameters[] = {
	[POINTS] = { "points", NULL,
		     "how many to generate (of locus-mpi, also for each rank: 200k/rank), or a "
		     "FILE of them: NPY, CSV, or - for standard input (a file with a number's name "
		     "is ./NAME)",
		     P_PATH, .value = { "2000", "20000", "200000" } },
	[DIMENSIONS] = { "dimensions", NULL, "of a point; a file's are its own", P_COUNT,
			 .value = { "2" } },
	[CLUSTERS] = { "clusters", NULL, "how many; a file of centres has its own", P_COUNT,
		       .value = { "81" } },
	[ITERATIONS] = { "iterations", NULL,
			 "how many; 0: until no assignment changes, and 10000 at most", P_COUNT,
			 .value = { "0", NULL, "108" } },
	[TYPE] = { "type", NULL, "of coordinates", P_CHOICE, .choices = REAL_CHOICES,
		   .value = { "double" } },
	[DATA] = { "data", NULL,
		   "points to generate: uniform in [0,1), or Gaussian blobs, as many as clusters, "
		   "about middles uniform in [-10,10); a file's are its own",
		   P_CHOICE, .choices = SHAPE_CHOICES ",file", .value = { "uniform" } },
	[SPREAD] = { "spread", NULL, "standard deviation of blobs", P_REAL, .value = { "1" } },
	[CENTRES] = { "centres", NULL,
		      "FILE of those to start from; drawn: points drawn by the seed", P_PATH,
		      .value = { DRAWN } },
	[PRUNE] = { "prune", NULL,
		    "what best leaves out: none, by bounds of each point's distances, or by cells "
		    "of a grid, in few dimensions",
		    P_CHOICE, .choices = PRUNE_CHOICES, .value = { "auto" } },
	[SAVE_LABELS] = { "save-labels", NULL,
			  "FILE (NPY) for the cluster of each point; none: nowhere", P_PATH,
			  .value = { NONE }, .output = true },
	[SAVE_CENTRES] = { "save-centres", NULL, "FILE (NPY) for the centres found; none: nowhere",
			   P_PATH, .value = { NONE }, .output = true },
	[ROWS] = { "rows", NULL, "points of all ranks, of a file or generated", P_FOUND },
	{ 0 }
};

enum { TIME, PAIR_TIME, TOTAL, TURNS, INERTIA, COMPUTED, FMA_SHARE, COMMUNICATION };
static const struct metric metrics[] = {
	[TIME] = TIME_METRIC("iteration"),
	[PAIR_TIME] = { "pair-time", "s", "an iteration's time, for each point and cluster",
			LOWER_IS_BETTER, NULL },
	[TOTAL] = { "total", "s", "the whole clustering", LOWER_IS_BETTER, NULL },
	[TURNS] = { "iterations", "iteration", "done", NEITHER, NULL },
	[INERTIA] = { "inertia", "1", "sum of squared distances of points to their centres",
		      NEITHER, NULL },
	[COMPUTED] = { "computed", "1",
		       "share of the distances between points and centres that were computed",
		       NEITHER, NULL },
	[FMA_SHARE] = { "fma-share", "1",
			"of the multiply-adds that the cores can do, those that computed distances",
			HIGHER_IS_BETTER, NULL },
	[COMMUNICATION] = { "communication", "s",
			    "an iteration's time in calls to other ranks: of the rank that waits "
			    "least",
			    LOWER_IS_BETTER, NULL },
	{ 0 }
};

static const struct ratio ratios[] = {
	{ "slowdown", "what the one phase costs that gains where nothing is shared", P_VARIANT,
	  "2q", "2p", NULL },
	{ "slowdown", "what is left of that when means and sums are apart", P_VARIANT, "2q-padded",
	  "2p", NULL },
	{ "slowdown", "what false sharing of threads' own sums costs", P_VARIANT, "private-dense",
	  "private-padded", NULL },
	{ "gain", "by all that we know", P_VARIANT, "2p", "best", NULL },
	{ "gain", "by pruning", PRUNE, "none", "auto", NULL },
	{ "speed-up", "by threads", P_THREADS, "fewest", "more", NULL },
	{ 0 }
};

struct state {
	struct problem problem;
	size_t first; /* row of this rank's first point */
	struct recipe recipe;
	struct source *source; /* NULL: points are generated */
	void *start;
	struct ladder *ladder; /* or */
	struct lloyd *lloyd;
	atomic_flag told;	  /* why is taken */
	char why[PATH_MAX + 256]; /* what is wrong with the points; "": nothing is */
	double rate[];		  /* of each worker, multiply-adds/s */
};

/* Planning. */

/* Points to be generated: so many, or so many for each rank, which are the same points. */
static bool generated(const struct trial *t, const union value *value, uint64_t *points)
{
	static const char each[] = "/rank";
	const size_t length = strlen(value[POINTS].text), number = length - (sizeof(each) - 1);
	const bool of_each =
		length > sizeof(each) - 1 && !strcmp(value[POINTS].text + number, each);
	char text[64], why[128];

	if (length >= sizeof(text))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)(of_each ? number : length), value[POINTS].text);
	if (parse_count(text, points, why, sizeof(why)))
		return false;
	return !__builtin_mul_overflow(*points, of_each ? ranks_of(t->ranks) : 1, points);
}

static bool is(const union value *value, unsigned parameter, const char *word)
{
	return !strcmp(value[parameter].text, word);
}

static const char *replace(union value *value, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return "out of memory";
	free((char *)value->text);
	value->text = copy;
	return NULL;
}

/* Takes a dimension or a number of clusters from a file, unless the user said another one. */
static bool agree(union value *value, size_t found, bool given)
{
	if (given && value->count != found)
		return false;
	value->count = found;
	return true;
}

/* NULL, or what is wrong with a file; its shape in rows and columns. */
static const char *shape_of(const char *option, const char *path, size_t *rows, unsigned *columns,
			    char *why, size_t size)
{
	const int used = snprintf(why, size, "--%s: ", option);
	struct source *source = source_open(path, why + used, size - (size_t)used);

	if (!source)
		return why;
	*rows = source_points(source);
	*columns = source_dimensions(source);
	source_close(source);
	return NULL;
}

static const char *settle_points(const struct trial *t, union value *value, uint64_t given,
				 char *why, size_t size)
{
	char number[32];
	const char *wrong;
	unsigned d;
	size_t n;

	if (generated(t, value, &value[ROWS].count)) {
		if (value[DATA].choice == FROM_FILE)
			return "--data file: that is for points from a FILE, as in --points FILE";
		snprintf(number, sizeof(number), "%llu", (unsigned long long)value[ROWS].count);
		if (value[DATA].choice == UNIFORM)
			value[SPREAD].real = 0;
		return replace(&value[POINTS], number);
	}
	if (is(value, POINTS, "-") && ranks_of(t->ranks) > 1)
		return "--points: standard input is one rank's only; give a file that all can read";
	wrong = shape_of("points", value[POINTS].text, &n, &d, why, size);
	if (wrong && strchr("+-0123456789", *value[POINTS].text) &&
	    access(value[POINTS].text, F_OK) && !is(value, POINTS, "-"))
		snprintf(why + strlen(why), size - strlen(why),
			 "; nor is that a number of points, as 12, 1e9, 10k, 2M");
	if (wrong)
		return wrong;
	if (given & BIT(DATA) && value[DATA].choice != FROM_FILE)
		return "--data: that is for points to be generated, and not for those of a file";
	if (!agree(&value[DIMENSIONS], d, given & BIT(DIMENSIONS))) {
		snprintf(why, size, "--dimensions: points of %s have %u, not %llu",
			 value[POINTS].text, d, (unsigned long long)value[DIMENSIONS].count);
		return why;
	}
	value[ROWS].count = n;
	value[DATA].choice = FROM_FILE;
	value[SPREAD].real = 0;
	return NULL;
}

static const char *settle_centres(const struct trial *t, union value *value, uint64_t given,
				  char *why, size_t size)
{
	const char *wrong;
	unsigned d;
	size_t k;

	if (is(value, CENTRES, DRAWN))
		return NULL;
	if (is(value, CENTRES, "-") && is(value, POINTS, "-"))
		return "--centres: standard input holds the points already";
	if (is(value, CENTRES, "-") && ranks_of(t->ranks) > 1)
		return "--centres: standard input is one rank's only; give a file that all can "
		       "read";
	wrong = shape_of("centres", value[CENTRES].text, &k, &d, why, size);
	if (wrong)
		return wrong;
	if (d != value[DIMENSIONS].count) {
		snprintf(why, size,
			 "--centres: those of %s have %u dimensions, but the points %llu",
			 value[CENTRES].text, d, (unsigned long long)value[DIMENSIONS].count);
		return why;
	}
	if (!agree(&value[CLUSTERS], k, given & BIT(CLUSTERS))) {
		snprintf(why, size, "--clusters: %s has %zu centres, not %llu", value[CENTRES].text,
			 k, (unsigned long long)value[CLUSTERS].count);
		return why;
	}
	return NULL;
}

/* Better now than when the work is done. */
static const char *settle_output(const union value *value, unsigned parameter, char *why,
				 size_t size)
{
	if (is(value, parameter, NONE) || access(value[parameter].text, F_OK))
		return NULL;
	snprintf(why, size, "--%s: %s exists already", parameters[parameter].name,
		 value[parameter].text);
	return why;
}

static const char *settle(const struct trial *t, union value *value, uint64_t given)
{
	static _Thread_local char why[2 * PATH_MAX];
	const char *wrong = settle_points(t, value, given, why, sizeof(why));

	if (!wrong)
		wrong = settle_centres(t, value, given, why, sizeof(why));
	for (unsigned i = SAVE_LABELS; !wrong && i <= SAVE_CENTRES; i++)
		wrong = settle_output(value, i, why, sizeof(why));
	if (!wrong && !is(value, SAVE_LABELS, NONE) &&
	    is(value, SAVE_CENTRES, value[SAVE_LABELS].text))
		wrong = "--save-centres: that is the file of --save-labels; give another name";
	return wrong;
}

/* Numbers of 32 bits, also after they are rounded up to whole vectors. */
#define MOST_CLUSTERS UINT32_C(0xffff0000)

/* NULL: it is best. */
static const enum rung *rung_of(const struct trial *t)
{
	return t->variant->data;
}

/* NULL: it makes sense. */
static const char *pointless(const struct trial *t)
{
	const double farthest = t->value[TYPE].choice == FLOAT ? (double)FLT_MAX : DBL_MAX;
	const uint64_t rows = t->value[ROWS].count, clusters = t->value[CLUSTERS].count;

	if (rows < ranks_of(t->ranks))
		return ranks_of(t->ranks) > 1 ? "--points: each rank needs at least one"
					      : "--points: at least one is needed";
	if (!t->value[DIMENSIONS].count || t->value[DIMENSIONS].count > MOST_DIMENSIONS)
		return "--dimensions: points have 1 to 65536";
	if (t->value[DATA].choice == BLOBS &&
	    !(farthest_of_blobs(t->value[SPREAD].real) <= farthest))
		return "--spread: blobs that wide have points that no number of the type can be";
	if (!clusters || clusters > rows)
		return "--clusters: at least one is needed, and no more than there are points";
	if (clusters > MOST_CLUSTERS)
		return "--clusters: more than 4294901760 cannot be numbered; choose fewer";
	return NULL;
}

static struct problem problem_of(const struct trial *t)
{
	return (struct problem){
		.points = { .real = (enum real)t->value[TYPE].choice,
			    .n = share_size(t->value[ROWS].count, rank_of(t->ranks),
					    ranks_of(t->ranks)),
			    .d = (unsigned)t->value[DIMENSIONS].count },
		.all = t->value[ROWS].count,
		.k = (unsigned)t->value[CLUSTERS].count,
		.iterations = t->value[ITERATIONS].count,
		.threads = t->threads,
		.team = t->team,
		.ranks = t->ranks,
	};
}

static size_t points_bytes(const struct points *p)
{
	return p->n * p->d * real_bytes(p->real);
}

static size_t centres_bytes(const struct problem *p)
{
	return (size_t)p->k * p->points.d * real_bytes(p->points.real);
}

/* The memory that is left beside the points and the check. */
static size_t room_of(const struct trial *t, const struct problem *p)
{
	struct problem largest = *p; /* of the ranks' parts, so that all choose alike */
	size_t beside;

	largest.points.n = share_size(p->all, 0, ranks_of(t->ranks));
	beside = points_bytes(&largest.points) + solution_check_bytes(&largest);
	if (!t->memory)
		return 0;
	return t->memory > beside ? t->memory - beside : 1;
}

static size_t bytes_of(const struct trial *t)
{
	struct problem p = problem_of(t);
	const enum rung *rung = rung_of(t);
	double values;

	/* the largest part: ranks are to refuse alike */
	p.points.n = share_size(p.all, 0, ranks_of(t->ranks));
	values = ((double)p.points.n + (double)p.k * (p.threads + 1.0)) * (p.points.d + 64.0);
	if (values > 0x1p50) /* more than any machine has, and than may be counted */
		return (size_t)1 << 60;
	p.room = room_of(t, &p);
	return points_bytes(&p.points) + solution_check_bytes(&p) +
	       (rung ? ladder_bytes(*rung, p.points.n, p.points.d, p.k, p.threads, p.points.real)
		     : lloyd_bytes(&p, (enum prune)t->value[PRUNE].choice));
}

/* Points and centres. */

/* The first to fail says why. */
static void tell(struct state *s, const char *why)
{
	if (!atomic_flag_test_and_set(&s->told))
		snprintf(s->why, sizeof(s->why), "%s", why);
}

/* Rows of all points, from `first` on. */
static bool get_rows(struct state *s, size_t first, size_t n, void *to)
{
	struct points part = { s->problem.points.real, n, s->problem.points.d, to };
	char why[sizeof(s->why)];

	if (!s->source)
		points_generate(&s->recipe, first, &part);
	else if (source_read(s->source, first, n, part.real, to, why, sizeof(why)))
		return tell(s, why), false;
	return true;
}

/* Each worker brings its own part, and so touches it first. */
static void bring(void *state, struct worker *self)
{
	struct state *s = state;
	const struct points *p = &s->problem.points;
	const size_t row = p->d * real_bytes(p->real),
		     begin = share_begin(p->n, self->index, self->threads),
		     end = share_begin(p->n, self->index + 1, self->threads);

	if (!get_rows(s, s->first + begin, end - begin, (unsigned char *)p->x + begin * row))
		memset((unsigned char *)p->x + begin * row, 0, (end - begin) * row);
}

static int map_points(struct state *s, const struct trial *t)
{
	struct points *p = &s->problem.points;
	const size_t row = p->d * real_bytes(p->real);
	struct region *region = region_map(t->arena, "points", points_bytes(p), PAGES_BASE);

	if (!region)
		return -1;
	p->x = region_base(region);
	for (unsigned i = 0; i < t->threads; i++) {
		const size_t begin = share_begin(p->n, i, t->threads) * row,
			     end = share_begin(p->n, i + 1, t->threads) * row;

		region_home(region, begin, end - begin, t->place[i].node);
		region_user(region, begin, end - begin, t->place[i].node);
	}
	team_run(t->team, bring, s);
	return 0;
}

/*
 * A file may have been written anew since the trials were planned: what there is room for is what
 * it had then.
 */
static bool is_as_planned(struct state *s, const struct source *file, const char *path, size_t rows)
{
	char why[sizeof(s->why)];

	if (source_points(file) == rows && source_dimensions(file) == s->problem.points.d)
		return true;
	snprintf(why, sizeof(why),
		 "%s: has %zu rows of %u now; when the trials were planned it had %zu of %u", path,
		 source_points(file), source_dimensions(file), rows, s->problem.points.d);
	tell(s, why);
	return false;
}

static bool get_centres(struct state *s, const struct trial *t)
{
	const struct problem *p = &s->problem;
	const size_t row = p->points.d * real_bytes(p->points.real);
	struct source *file;
	char why[sizeof(s->why)] = "";
	bool got = true;

	if (is(t->value, CENTRES, DRAWN)) {
		for (size_t c = 0; c < p->k && got; c++)
			got = get_rows(s, points_drawn(t->seed, p->all, c), 1,
				       (unsigned char *)s->start + c * row);
		return got;
	}
	file = source_open(t->value[CENTRES].text, why, sizeof(why));
	got = file && is_as_planned(s, file, t->value[CENTRES].text, p->k) &&
	      !source_read(file, 0, p->k, p->points.real, s->start, why, sizeof(why));
	if (!got)
		tell(s, why);
	if (file)
		source_close(file);
	return got;
}

/* The life of a trial. */

static void release(void *state)
{
	struct state *s = state;

	if (s->source)
		source_close(s->source);
	ladder_close(s->ladder);
	lloyd_close(s->lloyd);
	free(s->start);
	free(s);
}

static int fill(struct state *s, const struct trial *t)
{
	if (t->value[DATA].choice == FROM_FILE) {
		s->source = source_open(t->value[POINTS].text, s->why, sizeof(s->why));
		if (!s->source ||
		    !is_as_planned(s, s->source, t->value[POINTS].text, s->problem.all))
			return -1;
	}
	s->start = malloc(centres_bytes(&s->problem));
	if (!s->start || map_points(s, t))
		return -1;
	if (*s->why || !get_centres(s, t))
		return -1;
	s->problem.start = s->start;
	if (rung_of(t)) {
		s->ladder = ladder_open(&s->problem, *rung_of(t), t->arena);
	} else {
		s->lloyd = lloyd_open(&s->problem, (enum prune)t->value[PRUNE].choice);
		if (!s->lloyd && errno == EINVAL)
			tell(s, "this kind of pruning is none for so many dimensions, or points of "
				"a thread (--prune)");
	}
	return s->ladder || s->lloyd ? 0 : -1;
}

static void *prepare(const struct trial *t)
{
	struct state *s = calloc(1, sizeof(*s) + t->threads * sizeof(*s->rate));

	if (!s)
		return NULL;
	s->problem = problem_of(t);
	s->problem.room = room_of(t, &s->problem);
	s->first = share_begin(s->problem.all, rank_of(t->ranks), ranks_of(t->ranks));
	s->recipe = (struct recipe){ .shape = (enum shape)t->value[DATA].choice,
				     .seed = t->seed,
				     .k = s->problem.k,
				     .spread = t->value[SPREAD].real };
	atomic_flag_clear(&s->told);
	if (!fill(s, t))
		return s;
	if (*s->why)
		cannot(t->arena, "%s", s->why);
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
 * Each rank has the start centres, but its libm may be another, and so the last bits of blobs: rank
 * 0's are everybody's.
 */
static void enter_best(void *state, struct worker *self)
{
	struct state *s = state;

	if (self->index == 0)
		agree_copy(s->problem.ranks, 0, s->start, centres_bytes(&s->problem));
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

	s->rate[self->index] = fma_rate(s->problem.points.real);
}

/* Of all workers at once, as they were in the sample. */
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

static bool saves(const struct trial *t, unsigned parameter)
{
	return t->allocation == 0 && !is(t->value, parameter, NONE);
}

/* Rank 0 writes all, some of a rank's at a time. */
static const char *save_labels(const struct state *s, const struct trial *t)
{
	static _Thread_local char why[PATH_MAX + 256];
	uint32_t piece[1 << 13];
	struct npy *file = NULL;

	*why = 0;
	if (is_first(t->ranks))
		file = npy_create(t->value[SAVE_LABELS].text, "<u4", s->problem.all, 0, why,
				  sizeof(why));
	for (unsigned rank = 0; rank < ranks_of(t->ranks); rank++) {
		const size_t n = share_size(s->problem.all, rank, ranks_of(t->ranks));

		for (size_t at = 0, length; at < n; at += length) {
			length = n - at < sizeof(piece) / sizeof(*piece)
					 ? n - at
					 : sizeof(piece) / sizeof(*piece);
			if (rank == rank_of(t->ranks))
				memcpy(piece, solution_of(s)->label + at, length * sizeof(*piece));
			agree_copy(t->ranks, rank, piece, length * sizeof(*piece));
			if (file)
				npy_add(file, piece, length * sizeof(*piece));
		}
	}
	if (file)
		npy_finish(file, why, sizeof(why));
	return *why ? why : NULL;
}

static const char *save_centres(const struct state *s, const struct trial *t)
{
	static _Thread_local char why[PATH_MAX + 256];
	const struct problem *p = &s->problem;

	if (!is_first(t->ranks) ||
	    !save_npy(t->value[SAVE_CENTRES].text, "<f8", solution_of(s)->centre, p->k, p->points.d,
		      why, sizeof(why)))
		return NULL;
	return why;
}

static const char *verify(void *state, const struct trial *t)
{
	const struct state *s = state;
	const char *wrong = solution_check(&s->problem, solution_of(s));

	if (!agree_any(t->ranks, wrong) && saves(t, SAVE_LABELS))
		wrong = save_labels(s, t);
	if (!agree_any(t->ranks, wrong) && saves(t, SAVE_CENTRES))
		wrong = save_centres(s, t);
	return wrong;
}

static const enum rung two_phases = TWO_PHASES, one_phase = ONE_PHASE,
		       one_phase_padded = ONE_PHASE_PADDED, three_phases = THREE_PHASES,
		       private_dense = PRIVATE_DENSE, private_padded = PRIVATE_PADDED;

static struct needs needs(const struct trial *t)
{
	const char *why = pointless(t);

	return why ? (struct needs){ .pointless = why } : (struct needs){ .bytes = bytes_of(t) };
}

static const struct ops best_ops = {
	prepare, enter_best, NULL, work_best, collect, verify, release
};
static const struct variant variants[] = {
	{ "2p",
	  "all points are assigned; then each is added to its cluster under the cluster's lock",
	  &two_phases, BIT(PRUNE) },
	{ "2q",
	  "a point is added as soon as it is assigned, to the line from which others read the mean",
	  &one_phase, BIT(PRUNE) },
	{ "2q-padded", "the same, with means and sums on lines of their own", &one_phase_padded,
	  BIT(PRUNE) },
	{ "3p", "each thread groups its own points; then the groups are merged: nothing is shared",
	  &three_phases, BIT(PRUNE) },
	{ "private-dense", "each thread has sums of its own, packed beside those of others",
	  &private_dense, BIT(PRUNE) },
	{ "private-padded", "each thread has sums of its own, on lines of their own",
	  &private_padded, BIT(PRUNE) },
	{ "best", "fastest: SIMD, pruning, order-independent integer sums", .ops = &best_ops,
	  .divided = true },
	{ 0 }
};

static const struct role roles[] = { { "thread", 0, TO_COMPLETION }, { 0 } };

/* Of all ranks. */
static double distances(const struct trial *trial)
{
	return (double)trial->value[ROWS].count * (double)trial->value[CLUSTERS].count;
}

static const struct explained counters[] = {
	{ "PAPI_TOT_INS|perf::INSTRUCTIONS", "what pruning and vectors save" },
	{ "PAPI_TOT_CYC|perf::CPU-CYCLES",
	  "with the instructions, whether threads work or wait for lines" },
	{ "PAPI_DP_OPS|PAPI_FP_OPS|PAPI_VEC_DP|PAPI_FP_INS",
	  "floating-point operations: 3 a dimension where every distance is computed" },
	{ "PAPI_L2_DCM",
	  "lines that moved between cores, or came from below: sums that threads share" },
	{ "PAPI_L3_TCM|perf::CACHE-MISSES",
	  "lines that no cache had: points that are more than the last cache" },
	{ 0 }
};

const struct benchmark kmeans_benchmark = {
	.name = "kmeans",
	.summary = "k-means: false sharing that cancels the gain of threads, its fixes, "
		   "and a fast version",
	.protocol = "Lloyd's iterations from the same centres, until no assignment changes or as "
		    "many as asked for; a sample is a whole clustering, all that is built for it "
		    "included",
	.source = "sestoft2017",
	.unit = "iteration",
	.parameters = parameters,
	.metrics = metrics,
	.counters = counters,
	.part = { "point x cluster", distances },
	.ratios = ratios,
	.variants = variants,
	.ops = { prepare, enter, NULL, work, collect, verify, release },
	.roles = roles,
	.preset = {
		[QUICK] = { "2p,2q,2q-padded,3p,private-padded,best", "1,auto", .sample = 10e-3 },
		[STANDARD] = { "2p,2q,2q-padded,3p,private-dense,private-padded,best",
			       "1..auto*2,auto" },
		[PAPER] = { .threads = "1,8,48,auto" },
	},
	.settle = settle,
	.needs = needs,
};
