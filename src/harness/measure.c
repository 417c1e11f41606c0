/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/measure.h"
#include "harness/statistics.h"
#include "harness/text.h"
#include "machine/topology.h"

enum { MOST_PER_BATCH = 32 };

/* A sample is noisy when more of it than this was lost to others: a share of its wall time, and what reading the evidence costs; s. */
#define DISTURBED_SHARE 0.01
#define DISTURBED_LEAST 5e-6

/* A sample of several workers lasts this many times the skew of their starts. */
#define SKEW_FACTOR 1000.0
/* ... but no more than this many times what the benchmark aims at: a skew beyond is the scheduler's, not the barrier's. */
#define LONGEST_FACTOR 20.0

#define CHAIN 49152 /* links: about 16 us */

/* Calibration takes disturbed samples again for so many times the length of one; on a core that is never quiet it must end too. */
#define RETRY_FACTOR 5

struct result {
	struct series *series;
	double wall;
};

unsigned metric_count(const struct benchmark *b)
{
	unsigned n = 0;

	while (b->metrics && b->metrics[n].name)
		n++;
	return n;
}

int series_open(struct series *s, struct planned *p)
{
	*s = (struct series){ .planned = p, .skew = INFINITY };
	s->value = calloc(metric_count(p->trial.benchmark) + 1, sizeof(*s->value));
	return s->value ? 0 : -1;
}

void series_close(struct series *s)
{
	for (unsigned i = 0; s->value && i < metric_count(s->planned->trial.benchmark); i++)
		free(s->value[i]);
	free(s->value);
	free(s->time);
	free(s->skews);
	free(s->noisy);
	free(s->batch);
	free(s->failure);
	free(s->impossible);
	free(s->wrong);
	if (s->placed) {
		placement_free(&s->before);
		placement_free(&s->after);
	}
}

static bool grow(struct series *s)
{
	const struct benchmark *b = s->planned->trial.benchmark;
	size_t room = s->room ? s->room * 2 : 256;
	double *time, *skews;
	unsigned char *noisy;

	if (s->samples < s->room)
		return true;
	if ((time = realloc(s->time, room * sizeof(*time))))
		s->time = time;
	if ((skews = realloc(s->skews, room * sizeof(*skews))))
		s->skews = skews;
	if ((noisy = realloc(s->noisy, room)))
		s->noisy = noisy;
	if (!time || !skews || !noisy)
		return false;
	for (unsigned i = 0; i < metric_count(b); i++) {
		double *value;

		if (b->metrics[i].amount)
			continue;
		value = realloc(s->value[i], room * sizeof(*value));
		if (!value)
			return false;
		s->value[i] = value;
	}
	s->room = room;
	return true;
}

void report(struct result *r, unsigned metric, double value)
{
	struct series *s = r->series;

	if (metric < metric_count(s->planned->trial.benchmark) && s->value[metric])
		s->value[metric][s->samples] = value;
}

double elapsed(const struct result *r)
{
	return r->wall;
}

static bool seat(struct series *s, struct team *team)
{
	const struct trial *t = &s->planned->trial;
	const struct role *role = t->benchmark->roles;
	unsigned culprit, left;

	if (team_seat(team, t->place, t->threads, &culprit)) {
		free(s->failure);
		s->failure = text_of("thread %u could not be pinned to CPU %d: %s", culprit, culprit < t->threads ? t->place[culprit].cpu : -1,
				     strerror(errno));
		return false;
	}
	left = role ? role->threads : 0;
	for (unsigned i = 0, number = 0; role && i < t->threads; i++) {
		while (left == 0 && role[number].threads && role[number + 1].name)
			left = role[++number].threads;
		team_worker(team, i)->role = number;
		left -= left > 0;
	}
	return true;
}

/* The workers whose units count, and whose end ends the sample: those of the first role. */
static unsigned leading(const struct trial *t)
{
	const struct role *role = t->benchmark->roles;

	return role && role->threads && role->threads < t->threads ? role->threads : t->threads;
}

static enum bound bound_of(const struct trial *t)
{
	return t->benchmark->roles ? t->benchmark->roles[0].bound : t->benchmark->bound;
}

/* Units that a worker is to do, by the part that it plays. */
static uint64_t share(const struct series *s, const struct worker *w)
{
	const struct benchmark *b = s->planned->trial.benchmark;
	uint64_t fixed = b->count ? b->count(&s->planned->trial, w->index) : 0;

	if ((b->roles ? b->roles[w->role].bound : b->bound) == BY_DEADLINE)
		return UINT64_MAX;
	return fixed && !s->warming ? fixed : s->units;
}

static bool lost(double seconds, double wall)
{
	return seconds > DISTURBED_LEAST + DISTURBED_SHARE * wall;
}

/* Adds what one worker saw to the sums; true if its sample was disturbed. */
static bool witness(struct noise *n, const struct attendance *a, int cpu)
{
	const struct usage *x = &a->before, *y = &a->after;
	double wall = y->wall - x->wall, off = fmax(0, wall - (y->cpu - x->cpu)), delay = y->delay - x->delay;
	bool moved = x->on_cpu != cpu || y->on_cpu != cpu;
	bool blocked = y->voluntary != x->voluntary; /* time off the CPU is then the work's own */

	n->off_cpu += off;
	n->delay += delay;
	n->involuntary += y->involuntary - x->involuntary;
	n->voluntary += y->voluntary - x->voluntary;
	n->minor_faults += y->minor_faults - x->minor_faults;
	n->major_faults += y->major_faults - x->major_faults;
	n->migrations += moved;
	return moved || y->involuntary != x->involuntary || y->major_faults != x->major_faults || lost(delay, wall) ||
	       (!blocked && lost(off, wall));
}

struct sample {
	double wall, time, skew;           /* s; s per unit; s */
	bool noisy;
};

/* One timed execution. */
static struct sample take(struct series *s, struct team *team, struct noise *noise)
{
	const struct trial *t = &s->planned->trial;
	const struct variant *v = t->variant;
	const unsigned lead = leading(t);
	const bool by_deadline = bound_of(t) == BY_DEADLINE;
	double first = INFINITY, last = 0, late = 0, end = 0, units = 0;
	struct sample sample = { 0 };

	if (v->reset)
		v->reset(s->state);
	for (unsigned i = 0; i < t->threads; i++) {
		struct worker *w = team_worker(team, i);

		w->count = share(s, w);
		w->done = 0;
	}
	team_time(team, v->work, s->state, by_deadline ? s->duration : 0, by_deadline ? 0 : lead);
	for (unsigned i = 0; i < t->threads; i++) {
		const struct attendance *a = team_attendance(team, i);

		sample.noisy |= witness(noise, a, t->place[i].cpu);
		first = fmin(first, a->begin);
		late = fmax(late, a->begin);
		last = fmax(last, a->end);
		if (i >= lead)
			continue;
		end = fmax(end, a->end);
		units += (double)team_worker(team, i)->done / lead;
	}
	s->worked = true;
	s->did = team_worker(team, 0)->done;
	sample.wall = (lead < t->threads ? end : last) - first;
	sample.time = units > 0 ? sample.wall / units : NAN;
	sample.skew = late - first;
	noise->wall += sample.wall * t->threads;
	return sample;
}

/* Keeps the placement with the most pages astray: what a reader must know of. Takes over both. */
static void keep_placement(struct series *s, struct placement *after)
{
	struct placement *before = &s->now;

	if (s->placed && before->misplaced + after->misplaced <= s->before.misplaced + s->after.misplaced) {
		placement_free(before);
		placement_free(after);
	} else {
		if (s->placed) {
			placement_free(&s->before);
			placement_free(&s->after);
		}
		s->before = *before;
		s->after = *after;
		s->placed = true;
	}
	*before = (struct placement){ 0 };
}

/* One execution of as many units as the benchmark says; it counts for nothing. */
static void warm_up(struct series *s, struct team *team)
{
	const struct trial *t = &s->planned->trial;
	const uint64_t units = s->units;
	struct noise unused = { 0 };

	if (!t->benchmark->warm || bound_of(t) != BY_COUNT)
		return;
	s->units = t->benchmark->warm(t);
	s->warming = true;
	if (s->units)
		take(s, team, &unused);
	s->warming = false;
	s->units = units;
}

bool series_allocate(struct series *s, struct team *team)
{
	struct trial *t = &s->planned->trial;
	const struct variant *v = t->variant;
	double began = clock_now();

	if (s->failure || s->impossible || !seat(s, team))
		return false;
	t->allocation = s->allocations;
	t->team = team;
	t->arena = arena_open(t->machine);
	errno = t->arena ? 0 : errno;
	s->state = t->arena && v->prepare ? v->prepare(t) : NULL;
	if (!t->arena || (v->prepare && !s->state)) {
		const char *refusal = t->arena ? arena_refusal(t->arena) : NULL;

		if (refusal)
			s->impossible = strdup(refusal);
		else
			s->failure = text_of("its memory could not be prepared: %s", strerror(errno ? errno : ENOMEM));
		if (t->arena)
			arena_close(t->arena);
		t->arena = NULL;
		return false;
	}
	if (v->enter)
		team_run(team, v->enter, s->state);
	if (arena_placement(t->arena, &s->now))
		s->now = (struct placement){ 0 };
	s->allocations++;
	s->ready = true;
	s->worked = false;
	warm_up(s, team);
	s->elapsed += clock_now() - began;
	return true;
}

/* Without a count of its own, the work is doubled and doubled until a sample is long enough. */
void series_calibrate(struct series *s, struct team *team, double target, double batch, double until)
{
	const struct trial *t = &s->planned->trial;
	struct noise unused = { 0 };
	const uint64_t fixed = t->benchmark->count ? t->benchmark->count(t, 0) : 0;
	double began = clock_now(), aim = target > 0 ? target : t->benchmark->sample;

	seat(s, team);
	s->duration = aim;
	if (bound_of(t) == BY_COUNT)
		s->units = fixed ? fixed : 1;
	for (int turn = 0; turn < 64 && clock_now() < until;) {
		struct sample sample = take(s, team, &unused);
		double goal = aim;

		if (sample.noisy && clock_now() - began < RETRY_FACTOR * aim)
			continue; /* a sample that was interrupted looks long enough, and is not */
		turn++;
		s->skew = fmin(s->skew, sample.skew);
		if (t->threads > 1)
			goal = fmin(fmax(goal, SKEW_FACTOR * s->skew), LONGEST_FACTOR * aim);
		if (bound_of(t) != BY_DEADLINE)
			s->duration = sample.wall;
		else
			s->duration = goal;
		if (bound_of(t) != BY_COUNT || sample.wall >= 0.7 * goal || fixed)
			break;
		s->units = (uint64_t)ceil((double)s->units * fmin(16, fmax(1.5, goal / fmax(sample.wall, 1e-9))));
	}
	s->per_batch = (unsigned)fmin(MOST_PER_BATCH, fmax(1, round(batch / fmax(s->duration, 1e-6))));
	s->elapsed += clock_now() - began;
}

/* Workers measure their core's cycle at the same time, so that as many cores are busy as in the samples. */
struct cycles {
	double of[1024];
};

static void time_cycle(void *argument, struct worker *w)
{
	struct cycles *c = argument;

	if (w->index < sizeof(c->of) / sizeof(*c->of))
		c->of[w->index] = clock_cycle(CHAIN);
}

static double median_cycle(struct team *team)
{
	struct cycles c;
	size_t n = team_threads(team);

	team_run(team, time_cycle, &c);
	n = n < sizeof(c.of) / sizeof(*c.of) ? n : sizeof(c.of) / sizeof(*c.of);
	sort(c.of, n);
	return quantile(c.of, n, 0.5);
}

static double process_cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* What the host gave to others on our CPUs while a batch ran. */
struct neighbours {
	struct cpu_time before;
	double own;
	bool known;
};

static void neighbours_begin(struct neighbours *n, const struct planned *p)
{
	n->known = !cpu_time_read(p->cpu, p->cpus, &n->before);
	n->own = process_cpu();
}

static void neighbours_end(const struct neighbours *n, const struct planned *p, struct noise *noise)
{
	struct cpu_time after;

	if (!n->known || cpu_time_read(p->cpu, p->cpus, &after)) {
		noise->steal = noise->foreign = NAN;
		return;
	}
	noise->steal += after.steal - n->before.steal;
	/* Ticks against nanoseconds: what a batch rounds away, another gains; the sum may still end a tick below zero. */
	noise->foreign += after.busy - n->before.busy - (process_cpu() - n->own);
}

static double batch_quantile(const struct series *s, const struct batch *b, bool clean)
{
	double sorted[b->samples];
	size_t n = 0;

	for (size_t i = b->first; i < b->first + b->samples; i++)
		if (!clean || !s->noisy[i])
			sorted[n++] = s->time[i];
	if (!n)
		return NAN;
	sort(sorted, n);
	return quantile(sorted, n, s->planned->trial.benchmark->quantile);
}

static struct batch *new_batch(struct series *s)
{
	if (s->batches == s->batch_room) {
		unsigned room = s->batch_room ? s->batch_room * 2 : 64;
		struct batch *grown = realloc(s->batch, room * sizeof(*grown));

		if (!grown)
			return NULL;
		s->batch = grown;
		s->batch_room = room;
	}
	s->batch[s->batches] = (struct batch){ .first = s->samples, .allocation = s->allocations - 1 };
	return &s->batch[s->batches++];
}

bool series_batch(struct series *s, struct team *team, unsigned samples, bool warm)
{
	const struct trial *t = &s->planned->trial;
	struct noise unused = { 0 };
	struct neighbours neighbours;
	struct result result = { .series = s };
	double began = clock_now();
	struct batch *b;

	if (!seat(s, team) || !(b = new_batch(s)))
		return false;
	b->cycle = median_cycle(team);
	if (warm) /* the trials in between took the caches */
		take(s, team, &unused);
	neighbours_begin(&neighbours, s->planned);
	for (unsigned i = 0; i < samples && grow(s); i++) {
		struct sample sample = take(s, team, &s->noise);

		s->time[s->samples] = sample.time;
		s->skews[s->samples] = sample.skew;
		s->noisy[s->samples] = sample.noisy;
		for (unsigned m = 0; m < metric_count(t->benchmark); m++)
			if (s->value[m])
				s->value[m][s->samples] = NAN;
		result.wall = sample.wall;
		if (t->variant->collect)
			t->variant->collect(s->state, t, &result);
		s->samples++;
		b->samples++;
	}
	neighbours_end(&neighbours, s->planned, &s->noise);
	b->estimate = batch_quantile(s, b, false);
	b->clean = batch_quantile(s, b, true);
	s->elapsed += clock_now() - began;
	return true;
}

void series_release(struct series *s, struct team *team)
{
	struct trial *t = &s->planned->trial;
	struct placement after;
	const char *wrong;

	if (!s->ready)
		return;
	if (s->now.pages && !arena_placement(t->arena, &after))
		keep_placement(s, &after);
	else
		placement_free(&s->now);
	seat(s, team);
	wrong = s->worked && t->variant->verify ? t->variant->verify(s->state, t) : NULL;
	if (wrong && !s->wrong)
		s->wrong = strdup(wrong);
	if (t->variant->release)
		t->variant->release(s->state);
	arena_close(t->arena);
	t->arena = NULL;
	s->state = NULL;
	s->ready = false;
}

struct estimate series_estimate(const struct series *s, int allocation, const double *of)
{
	double *x = calloc(s->batches + 1, sizeof(*x));
	unsigned *group = calloc(s->batches + 1, sizeof(*group));
	struct estimate e = { NAN, NAN, NAN };
	size_t n = 0;

	for (unsigned i = 0; x && group && i < s->batches; i++) {
		if (allocation >= 0 && s->batch[i].allocation != (unsigned)allocation)
			continue;
		x[n] = of ? of[i] : s->batch[i].estimate;
		group[n++] = s->batch[i].allocation;
	}
	if (x && group)
		e = estimate_grouped(x, group, n);
	free(x);
	free(group);
	return e;
}

static const double sketched[] = { 0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1 };

json_t *quantiles_json(double *values, size_t n)
{
	json_t *object = json_object();
	char key[16];

	sort(values, n);
	for (size_t i = 0; n && i < sizeof(sketched) / sizeof(*sketched); i++) {
		snprintf(key, sizeof(key), "%g", sketched[i]);
		json_object_set_new(object, key, number(quantile(values, n, sketched[i])));
	}
	return object;
}

static json_t *list_of(const double *values, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, number(values[i]));
	return list;
}

json_t *series_batch_json(const struct series *s, double at)
{
	const struct trial *t = &s->planned->trial;
	const struct batch *b = &s->batch[s->batches - 1];
	const double *time = s->time + b->first;
	const bool raw = s->samples <= MOST_RAW_SAMPLES;
	json_t *noisy = json_array(), *values = json_object(), *line;

	for (size_t i = 0; raw && i < b->samples; i++)
		if (s->noisy[b->first + i])
			json_array_append_new(noisy, json_integer((json_int_t)i));
	for (unsigned m = 0; raw && m < metric_count(t->benchmark); m++)
		if (s->value[m])
			json_object_set_new(values, t->benchmark->metrics[m].name, list_of(s->value[m] + b->first, b->samples));
	line = json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "trial", s->planned->id, "allocation", (int)b->allocation, "batch",
			 (int)s->batches - 1, "at", number(at), "units", json_integer((json_int_t)s->did), "times",
			 raw ? list_of(time, b->samples) : json_null(), "noisy", noisy, "cycle", b->cycle > 0 ? number(b->cycle) : json_null(),
			 "values", values);
	if (!raw) {
		double sorted[b->samples + 1];

		memcpy(sorted, time, b->samples * sizeof(*sorted));
		json_object_set_new(line, "sketch",
				    json_pack("{s:i, s:o}", "n", (int)b->samples, "quantiles", quantiles_json(sorted, b->samples)));
	}
	return line;
}
