/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kit/agree.h"
#include "harness/measure.h"
#include "kit/shares.h"
#include "harness/statistics.h"
#include "base/text.h"
#include "machine/topology.h"
#include "machine/watchdog.h"

enum { MOST_PER_BATCH = 32 };

/*
 * A sample is noisy when more of it than this was lost to others: a share of its wall time, and
 * what reading the evidence costs; s.
 */
#define DISTURBED_SHARE 0.01
#define DISTURBED_LEAST 5e-6

/* A sample of pairs is noisy when more than this share of them is. */
#define NOISY_PAIRS 0.1

/* A sample of several workers lasts this many times the skew of their starts. */
#define SKEW_FACTOR 1000.0
/* ... and of those that end by a deadline, this many times what they last beyond it. */
#define LATE_FACTOR 100.0
/*
 * ... but no more than this many times what the benchmark aims at: a skew beyond is the
 * scheduler's, not the barrier's.
 */
#define LONGEST_FACTOR 20.0

#define CHAIN 49152 /* links: about 16 us */

/*
 * A sample of so many times what was aimed at is believed when it is seen twice: a pause of a
 * host's looks like it.
 */
#define PAUSE_FACTOR 2

/*
 * Calibration takes disturbed samples again for so many times the length of one; on a core that is
 * never quiet it must end too.
 */
#define RETRY_FACTOR 5
/* ... and no longer than this (s): something disturbs every sample of seconds. */
#define RETRY_MOST 1.0

/* What the main thread does while it is away from the books: the object is a trial. */
#define PREPARING "preparing"
#define MEASURING "measuring"
#define CHECKING  "checking"

struct result {
	struct series *series;
	double wall, communicated;
};

bool is_time(const struct metric *m)
{
	return !strcmp(m->name, "time");
}

static bool is_reported(const struct metric *m)
{
	return !m->amount && !is_time(m);
}

unsigned metric_count(const struct benchmark *b)
{
	unsigned n = 0;

	while (b->metrics && b->metrics[n].name)
		n++;
	return n;
}

int series_open(struct series *s, struct planned *p, struct counting *counting)
{
	const struct trial *t = &p->trial;

	*s = (struct series){ .planned = p, .skew = INFINITY };
	s->value = calloc(metric_count(t->benchmark) + 1, sizeof(*s->value));
	if (t->benchmark->scored == IN_PAIRS && t->threads > 1) {
		s->meetings = p->needs.meetings;
		s->pairs = pairs_open(t);
	}
	if (tally_open(&s->tally, counting, t) && s->value && !s->meetings == !s->pairs)
		return 0;
	series_close(s);
	return -1;
}

void series_close(struct series *s)
{
	for (unsigned i = 0; s->value && i < metric_count(s->planned->trial.benchmark); i++)
		free(s->value[i]);
	free(s->value);
	pairs_close(s->pairs);
	tally_close(&s->tally);
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

/* Room for n more samples. */
static bool grow(struct series *s, size_t n)
{
	const struct benchmark *b = s->planned->trial.benchmark;
	size_t room = s->room ? s->room : 256;
	double *time, *skews;
	unsigned char *noisy;

	if (s->samples + n <= s->room)
		return true;
	while (room < s->samples + n)
		room *= 2;
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

		if (!is_reported(&b->metrics[i]))
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

double communicated(const struct result *r)
{
	return r->communicated;
}

static const struct ops *ops_of(const struct trial *t)
{
	return t->variant->ops ? t->variant->ops : &t->benchmark->ops;
}

static const struct role *roles_of(const struct trial *t)
{
	return t->variant->roles ? t->variant->roles : t->benchmark->roles;
}

static bool seat(struct series *s, struct team *team)
{
	const struct trial *t = &s->planned->trial;
	const struct role *role = roles_of(t);
	unsigned culprit, left;
	int failed;

	watchdog_away(PREPARING);
	failed = team_seat(team, t->place, t->threads, &culprit);
	watchdog_back();
	if (failed) {
		free(s->failure);
		s->failure =
			text_of("thread %u could not be pinned to CPU %d: %s", culprit,
				culprit < t->threads ? t->place[culprit].cpu : -1, strerror(errno));
		return false;
	}
	left = role->workers;
	for (unsigned i = 0, number = 0; i < t->threads; i++) {
		while (left == 0 && role[number].workers && role[number + 1].name)
			left = role[++number].workers;
		team_worker(team, i)->role = number;
		left -= left > 0;
	}
	return true;
}

/* On all ranks; else it fails on all. */
static bool all_seated(struct series *s, struct team *team)
{
	bool seated = seat(s, team);

	agree_words(s->planned->trial.ranks, &s->failure);
	return seated && !s->failure;
}

/* The workers whose units count, and whose end ends the sample: those of the first role. */
static unsigned leading(const struct trial *t)
{
	const unsigned workers = roles_of(t)->workers;

	return workers && workers < t->threads ? workers : t->threads;
}

/*
 * What ends the work of those who play a role. Where all play the same one, fixed units end it and
 * no deadline.
 */
static enum until until_of_role(const struct series *s, unsigned number)
{
	const struct role *role = roles_of(&s->planned->trial);
	const bool fixed = s->planned->needs.units && !role[1].name;

	return role[number].until == BY_DEADLINE && fixed ? BY_COUNT : role[number].until;
}

static enum until until_of(const struct series *s)
{
	return until_of_role(s, 0);
}

/* More workers than CPUs are never at work together. */
static bool scored_together(const struct series *s)
{
	return s->planned->trial.benchmark->scored == TOGETHER && !s->planned->trial.oversubscribed;
}

/* Units that a worker is to do. It may be none, where there are more workers than units. */
static uint64_t share(const struct series *s, const struct worker *w)
{
	const uint64_t units = s->warming ? 0 : s->planned->needs.units;

	if (until_of_role(s, s->pairs ? 0 : w->role) == BY_DEADLINE)
		return UINT64_MAX;
	return units ? share_size(units, w->index, leading(&s->planned->trial)) : s->units;
}

static bool lost(double seconds, double wall)
{
	return seconds > DISTURBED_LEAST + DISTURBED_SHARE * wall;
}

/* Adds what one worker saw to the sums; true if its sample was disturbed. */
static bool witness(struct noise *n, const struct attendance *a, int cpu)
{
	const struct usage *x = &a->before, *y = &a->after;
	double wall = y->wall - x->wall, off = fmax(0, wall - (y->cpu - x->cpu)),
	       delay = y->delay - x->delay;
	bool moved = x->on_cpu != cpu || y->on_cpu != cpu;
	bool blocked = y->voluntary != x->voluntary; /* time off the CPU is then the work's own */

	n->off_cpu += off;
	n->delay += delay;
	n->involuntary += y->involuntary - x->involuntary;
	n->voluntary += y->voluntary - x->voluntary;
	n->minor_faults += y->minor_faults - x->minor_faults;
	n->major_faults += y->major_faults - x->major_faults;
	n->migrations += moved;
	return moved || y->involuntary != x->involuntary || y->major_faults != x->major_faults ||
	       lost(delay, wall) || (!blocked && lost(off, wall));
}

struct sample {
	double wall, time, skew; /* s; s per unit; s */
	double communicated;	 /* s; NAN: there are no ranks */
	/*
	 * units of the workers of the first role together; of pairs, of the first of each: this
	 * rank's
	 */
	double done;
	bool noisy;
};

/* Whose turn it is, where workers meet in pairs. */
struct turn {
	unsigned round, meeting;
	unsigned table; /* the pair that plays; EVERY: each of the round */
};
#define EVERY (~0u)

/* Seats the pairs of a round at their tables. */
static void pair_up(struct series *s, struct team *team, struct turn turn)
{
	const unsigned players = s->planned->trial.threads;

	for (unsigned i = 0; i < players; i++)
		team_worker(team, i)->group = IDLE;
	for (unsigned table = 0, pair = 0, a, b; table < pairs_tables(players); table++) {
		/* a table with one player is no pair */
		if (!pairs_at(players, turn.round, table, &a, &b))
			continue;
		for (unsigned i = 0; i < 2 && (turn.table == EVERY || turn.table == table); i++) {
			struct worker *w = team_worker(team, i ? b : a);

			w->group = pair;
			w->meeting = turn.meeting;
			/* each of the two begins in half of their meetings */
			w->role = i ^ (turn.meeting & 1);
		}
		pair++; /* the same alone as beside others */
	}
}

static void work_in_pair(void *argument, struct worker *w)
{
	const struct series *s = argument;

	if (w->group != IDLE)
		ops_of(&s->planned->trial)->work(s->state, w);
}

/*
 * What each pair took, from when both were there until both were done; the median of all, with its
 * noise, is the sample.
 */
static void score_pairs(struct series *s, struct team *team, struct turn turn, struct noise *noise,
			bool keep, struct sample *sample)
{
	const struct trial *t = &s->planned->trial;
	double *times = calloc(t->threads / 2 + 1, sizeof(*times));
	size_t n = 0, disturbed = 0;

	for (unsigned table = 0, a, b; table < pairs_tables(t->threads); table++) {
		const struct attendance *one, *other;
		bool disturbed_one, disturbed_other;
		double time, units;

		if ((turn.table != EVERY && turn.table != table) ||
		    !pairs_at(t->threads, turn.round, table, &a, &b))
			continue;
		one = team_attendance(team, a);
		other = team_attendance(team, b);
		units = (double)team_worker(team, a)->done;
		time = fmax(one->end, other->end) - fmax(one->begin, other->begin);
		disturbed_one = witness(noise, one, t->place[a].cpu);
		disturbed_other = witness(noise, other, t->place[b].cpu);
		disturbed += disturbed_one || disturbed_other;
		noise->wall += 2 * time;
		sample->wall = fmax(sample->wall, time);
		if (times && units > 0)
			times[n++] = time / units;
		if (keep && units > 0)
			pairs_add(s->pairs, a, b, time / units, turn.table != EVERY);
		s->did = team_worker(team, a)->done;
		sample->done += units;
	}
	sort(times, n);
	sample->time = n ? quantile(times, n, 0.5) : NAN;
	sample->noisy = (double)disturbed > NOISY_PAIRS * (double)n;
	free(times);
}

static void score(struct series *s, struct team *team, struct noise *noise, struct sample *sample)
{
	const struct trial *t = &s->planned->trial;
	const unsigned lead = leading(t);
	double first = INFINITY, last = 0, late = 0, soon = INFINITY, end = 0, units = 0;

	for (unsigned i = 0; i < t->threads; i++) {
		const struct attendance *a = team_attendance(team, i);
		const struct worker *w = team_worker(team, i);

		sample->noisy |= witness(noise, a, t->place[i].cpu);
		first = fmin(first, a->begin);
		late = fmax(late, a->begin);
		last = fmax(last, a->end);
		if (i >= lead)
			continue;
		soon = fmin(soon, a->end);
		end = fmax(end, a->end);
		units += (double)(scored_together(s) ? w->together : w->done) / lead;
		sample->done += (double)w->done;
	}
	s->did = team_worker(team, 0)->done;
	sample->wall = (lead < t->threads ? end : last) - first;
	sample->time = (scored_together(s) ? soon - late : sample->wall) / units;
	if (!(units > 0) || !(sample->time > 0))
		sample->time = NAN;
	sample->skew = late - first;
	noise->wall += sample->wall * t->threads;
}

/*
 * All ranks have the same samples: it takes as long as the last of them; the least that one spends
 * in calls to others is what these take.
 */
static void agree_sample(const struct ranks *ranks, struct sample *s)
{
	double x[] = { s->wall, isfinite(s->time) ? s->time : INFINITY, s->skew, s->noisy,
		       -s->communicated };

	agree_largest(ranks, x, sizeof(x) / sizeof(*x));
	*s = (struct sample){ x[0], isfinite(x[1]) ? x[1] : NAN, x[2], -x[4], s->done, x[3] > 0 };
}

/* One timed execution; `keep`: what pairs took is kept. */
static struct sample take(struct series *s, struct team *team, struct noise *noise,
			  struct turn turn, bool keep)
{
	const struct trial *t = &s->planned->trial;
	const struct ops *ops = ops_of(t);
	const unsigned lead = leading(t);
	const bool by_deadline = until_of(s) == BY_DEADLINE;
	struct sample sample = { .communicated = NAN };
	double spent;

	watchdog_away(MEASURING);
	if (ops->reset)
		ops->reset(s->state);
	if (s->pairs)
		pair_up(s, team, turn);
	for (unsigned i = 0; i < t->threads; i++) {
		struct worker *w = team_worker(team, i);

		w->count = share(s, w);
		w->done = w->together = 0;
	}
	agree_any(t->ranks, false); /* all are here: none waits for another's reset in its sample */
	spent = t->ranks ? t->ranks->spent() : NAN;
	team_time(team, s->pairs ? work_in_pair : ops->work, s->pairs ? s : s->state,
		  by_deadline ? s->duration : 0, by_deadline ? 0 : lead,
		  t->benchmark->scored == TOGETHER ? 1 : lead);
	sample.communicated = t->ranks ? t->ranks->spent() - spent : NAN;
	watchdog_back();
	s->worked = true;
	if (s->pairs)
		score_pairs(s, team, turn, noise, keep, &sample);
	else
		score(s, team, noise, &sample);
	if (t->ranks)
		agree_sample(t->ranks, &sample);
	return sample;
}

/* Turn i of a batch: all rounds, and again, until every pair has met so often. */
static struct turn turn_of(const struct series *s, unsigned i)
{
	const unsigned rounds = s->pairs ? pairs_rounds(s->planned->trial.threads) : 1;

	return (struct turn){ i % rounds, i / rounds, EVERY };
}

/* Some pairs once more, while nobody else is at work. */
static void take_alone(struct series *s, struct team *team)
{
	struct noise unused = { 0 };

	for (unsigned i = 0; i < pairs_alone(s->pairs); i++)
		for (unsigned meeting = 0; meeting < s->meetings && !watchdog_signal(); meeting++) {
			struct turn turn = { .meeting = meeting };

			pairs_alone_at(s->pairs, i, &turn.round, &turn.table);
			take(s, team, &unused, turn, true);
		}
}

/* Keeps the placement with the most pages astray: what a reader must know of. Takes over both. */
static void keep_placement(struct series *s, struct placement *after)
{
	struct placement *before = &s->now;

	if (s->placed &&
	    before->misplaced + after->misplaced <= s->before.misplaced + s->after.misplaced) {
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
	const uint64_t units = s->units;
	struct noise unused = { 0 };

	if (!s->planned->needs.warm || until_of(s) != BY_COUNT)
		return;
	s->units = s->planned->needs.warm;
	s->warming = true;
	take(s, team, &unused, turn_of(s, 0), false);
	s->warming = false;
	s->units = units;
}

/* The state and its memory. */
static void give_back(struct series *s)
{
	struct trial *t = &s->planned->trial;

	watchdog_away("giving back the memory of");
	if (s->state && ops_of(t)->release)
		ops_of(t)->release(s->state);
	if (t->arena)
		arena_close(t->arena);
	watchdog_back();
	t->arena = NULL;
	s->state = NULL;
	s->ready = false;
}

/* Why it could not be prepared. */
static void note_refusal(struct series *s)
{
	const struct trial *t = &s->planned->trial;
	const char *refusal = t->arena ? arena_refusal(t->arena) : NULL;

	if (refusal)
		s->impossible = strdup(refusal);
	else
		s->failure = text_of("its memory could not be prepared: %s",
				     strerror(errno ? errno : ENOMEM));
}

/*
 * Before the first touch, which would end the process, or fall to other nodes, where there is too
 * little memory.
 */
static bool has_room(const struct trial *t)
{
	int64_t need[2 * t->machine->nodes];

	arena_need(t->arena, need);
	if (t->ranks)
		t->ranks->sum_here(need, sizeof(need) / sizeof(*need));
	return !arena_room(t->arena, need);
}

/* Ends the preparation on all ranks, where one of them could not be prepared; true: none failed. */
static bool all_prepared(struct series *s, bool prepared)
{
	const struct ranks *ranks = s->planned->trial.ranks;

	if (!prepared)
		note_refusal(s);
	if (!agree_any(ranks, !prepared))
		return true;
	agree_words(ranks, &s->impossible);
	agree_words(ranks, &s->failure);
	give_back(s);
	return false;
}

bool series_allocate(struct series *s, struct team *team)
{
	struct trial *t = &s->planned->trial;
	const struct ops *ops = ops_of(t);
	double began = clock_now();

	if (s->failure || s->impossible || !all_seated(s, team))
		return false;
	t->allocation = s->allocations;
	t->team = team;
	t->arena = arena_open(t->machine);
	errno = t->arena ? 0 : errno;
	watchdog_away(PREPARING);
	s->state = t->arena && ops->prepare ? ops->prepare(t) : NULL;
	watchdog_back();
	if (!all_prepared(s, t->arena && (!ops->prepare || s->state)) ||
	    !all_prepared(s, has_room(t)))
		return false;
	watchdog_away(PREPARING);
	if (ops->enter)
		team_run(team, ops->enter, s->state);
	if (arena_placement(t->arena, &s->now))
		s->now = (struct placement){ 0 };
	watchdog_back();
	s->allocations++;
	s->ready = true;
	s->worked = false;
	warm_up(s, team);
	s->elapsed += clock_now() - began;
	return true;
}

/* Without a count of its own, the work is doubled and doubled until a sample is long enough. */
void series_calibrate(struct series *s, struct team *team, double batch, double most)
{
	const struct trial *t = &s->planned->trial;
	struct noise unused = { 0 };
	const uint64_t fixed = s->planned->needs.units;
	double began = clock_now(), aim = s->planned->sample, spent = 0;
	bool long_before = false;

	if (!all_seated(s, team))
		return;
	s->duration = aim;
	if (until_of(s) == BY_COUNT)
		s->units = fixed ? fixed : 1;
	for (int turn = 0; turn < 64 && spent < most;) {
		struct sample sample = take(s, team, &unused, turn_of(s, 0), false);
		double goal = aim;

		spent = agree_most(t->ranks, clock_now() - began);
		if (sample.noisy && spent < fmin(RETRY_FACTOR * aim, RETRY_MOST))
			continue; /* a sample that was interrupted looks long enough, and is not */
		turn++;
		s->skew = fmin(s->skew, sample.skew);
		if (t->threads > 1 && !s->pairs) /* pairs are scored from when both are there */
			goal = fmin(fmax(goal, SKEW_FACTOR * s->skew), LONGEST_FACTOR * aim);
		/*
		 * What is done after a deadline - a last block, an end that comes late - is part of
		 * the result: it has to be little.
		 */
		if (until_of(s) != BY_DEADLINE)
			s->duration = sample.wall;
		else
			s->duration = fmin(fmax(goal, LATE_FACTOR * (sample.wall - s->duration)),
					   LONGEST_FACTOR * aim);
		if (until_of(s) != BY_COUNT || fixed)
			break;
		if (!long_before && sample.wall > PAUSE_FACTOR * goal && sample.wall < RETRY_MOST) {
			long_before = true;
			continue;
		}
		if (sample.wall >= 0.7 * goal)
			break;
		long_before = false;
		s->units = (uint64_t)ceil((double)s->units *
					  fmin(16, fmax(1.5, goal / fmax(sample.wall, 1e-9))));
	}
	s->per_batch =
		(unsigned)fmin(MOST_PER_BATCH, fmax(1, round(batch / fmax(s->duration, 1e-6))));
	if (s->pairs)
		s->per_batch = pairs_rounds(t->threads) * s->meetings;
	s->elapsed += clock_now() - began;
}

/*
 * Workers measure their core's cycle at the same time, so that as many cores are busy as in the
 * samples.
 */
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

	watchdog_away(MEASURING);
	team_run(team, time_cycle, &c);
	watchdog_back();
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
	/*
	 * Ticks against nanoseconds: what a batch rounds away, another gains; the sum may still end
	 * a tick below zero.
	 */
	noise->foreign += after.busy - n->before.busy - (process_cpu() - n->own);
}

static double batch_quantile(const struct series *s, const struct batch *b, bool clean)
{
	return quantile_known(s->time + b->first, clean ? s->noisy + b->first : NULL, b->samples,
			      0.5);
}

static bool room_for_batch(struct series *s)
{
	if (!tally_room(&s->tally, s->batches + 1))
		return false;
	if (s->batches == s->batch_room) {
		unsigned room = s->batch_room ? s->batch_room * 2 : 64;
		struct batch *grown = realloc(s->batch, room * sizeof(*grown));

		if (!grown)
			return false;
		s->batch = grown;
		s->batch_room = room;
	}
	return true;
}

static struct batch *new_batch(struct series *s)
{
	s->batch[s->batches] =
		(struct batch){ .first = s->samples, .allocation = s->allocations - 1 };
	return &s->batch[s->batches++];
}

/*
 * LIKWID's region is around a batch, never a short sample: what is between the samples is in it
 * too, and `marked` is told for that reason.
 */
static void enter_region(struct series *s, struct team *team)
{
	if (s->markers)
		markers_begin(s->markers, team, s->region);
}

static void leave_region(struct series *s, struct team *team)
{
	if (s->markers)
		markers_end(s->markers, team, s->region);
}

bool series_batch(struct series *s, struct team *team, unsigned samples, bool warm)
{
	const struct trial *t = &s->planned->trial;
	struct noise unused = { 0 };
	struct neighbours neighbours;
	struct result result = { .series = s };
	double began = clock_now();
	struct batch *b;
	unsigned number;

	if (!all_seated(s, team) || agree_any(t->ranks, !grow(s, samples) || !room_for_batch(s)))
		return false;
	b = new_batch(s);
	number = s->batches - 1;
	b->pass = tally_begin(&s->tally, team, number);
	b->cycle = median_cycle(team);
	if (warm) /* the trials in between took the caches; so do counters that are started */
		take(s, team, &unused, turn_of(s, 0), false);
	enter_region(s, team);
	neighbours_begin(&neighbours, s->planned);
	/* A tournament may take seconds: a signal ends it, and it is then no estimate. */
	for (unsigned i = 0; i < samples && !(s->pairs && watchdog_signal()); i++) {
		struct sample sample = take(s, team, &s->noise, turn_of(s, i), true);

		tally_add(&s->tally, number, b->pass, sample.done, s->pairs ? 1 : leading(t));
		s->time[s->samples] = sample.time;
		s->skews[s->samples] = sample.skew;
		s->noisy[s->samples] = sample.noisy;
		for (unsigned m = 0; m < metric_count(t->benchmark); m++)
			if (s->value[m])
				s->value[m][s->samples] = NAN;
		result.wall = sample.wall;
		result.communicated = sample.communicated;
		if (ops_of(t)->collect) {
			watchdog_away(CHECKING);
			ops_of(t)->collect(s->state, t, &result);
			watchdog_back();
		}
		s->marked += sample.wall;
		s->samples++;
		b->samples++;
	}
	neighbours_end(&neighbours, s->planned, &s->noise);
	leave_region(s, team);
	tally_end(&s->tally, team, number, b->pass);
	if (s->pairs) {
		double mean = pairs_batch(s->pairs);

		take_alone(s, team);
		b->estimate = b->clean = b->samples == samples ? mean : NAN;
	} else {
		b->estimate = batch_quantile(s, b, false);
		b->clean = batch_quantile(s, b, true);
	}
	s->elapsed += clock_now() - began;
	return true;
}

void series_release(struct series *s, struct team *team)
{
	struct trial *t = &s->planned->trial;
	struct placement after;
	const char *wrong;
	bool placed;

	if (!s->ready)
		return;
	watchdog_away(CHECKING);
	placed = s->now.pages && !arena_placement(t->arena, &after);
	watchdog_back();
	if (placed)
		keep_placement(s, &after);
	else
		placement_free(&s->now);
	all_seated(s, team);
	watchdog_away(CHECKING);
	wrong = s->worked && ops_of(t)->verify ? ops_of(t)->verify(s->state, t) : NULL;
	watchdog_back();
	if (wrong && !s->wrong)
		s->wrong = strdup(wrong);
	agree_words(t->ranks, &s->wrong);
	give_back(s);
}

/* s, as whole ns; what one rank does not know, all do not. */
static void sum_time(const struct ranks *ranks, double *s)
{
	int64_t x[] = { isfinite(*s) ? llround(*s * 1e9) : 0, !isfinite(*s) };

	agree_total(ranks, x, 2);
	*s = x[1] ? NAN : (double)x[0] * 1e-9;
}

static void sum_noise(const struct ranks *ranks, struct noise *n)
{
	double *time[] = { &n->wall, &n->off_cpu, &n->delay, &n->steal, &n->foreign };
	uint64_t *count[] = { &n->involuntary, &n->voluntary, &n->minor_faults, &n->major_faults,
			      &n->migrations };

	for (size_t i = 0; i < sizeof(time) / sizeof(*time); i++)
		sum_time(ranks, time[i]);
	for (size_t i = 0; i < sizeof(count) / sizeof(*count); i++)
		agree_total(ranks, (int64_t *)count[i], 1);
}

/* Node by node: node 1 is that of each machine. */
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

void series_gather(struct series *s)
{
	const struct ranks *ranks = s->planned->trial.ranks;

	if (!ranks)
		return;
	sum_noise(ranks, &s->noise);
	tally_gather(&s->tally);
	s->placed = agree_any(ranks, s->placed);
	if (s->placed) {
		sum_placement(ranks, &s->before);
		sum_placement(ranks, &s->after);
	}
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

json_t *series_units_json(const struct series *s)
{
	return until_of(s) == BY_DEADLINE ? json_null() : json_integer((json_int_t)s->did);
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
			json_object_set_new(values, t->benchmark->metrics[m].name,
					    list_of(s->value[m] + b->first, b->samples));
	line = json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "trial",
			 s->planned->id, "allocation", (int)b->allocation, "batch",
			 (int)s->batches - 1, "at", number(at), "units", series_units_json(s),
			 "times", raw ? list_of(time, b->samples) : json_null(), "noisy", noisy,
			 "cycle", b->cycle > 0 ? number(b->cycle) : json_null(), "values", values,
			 "counters", tally_batch_json(&s->tally, s->batches - 1, b->pass));
	if (!raw) {
		double *sorted = calloc(b->samples + 1, sizeof(*sorted));
		size_t n = 0;

		for (size_t k = 0; sorted && k < b->samples; k++)
			if (isfinite(time[k]))
				sorted[n++] = time[k];
		json_object_set_new(line, "sketch",
				    json_pack("{s:i, s:o}", "n", (int)n, "quantiles",
					      quantiles_json(sorted, n)));
		free(sorted);
	}
	return line;
}
