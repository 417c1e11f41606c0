/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict of a soak: steady, or throttles after t; and other faults. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/numbers.h"
#include "base/statistics.h"
#include "base/text.h"
#include "commands/commands.h"
#include "harness/ask/options.h"
#include "harness/record/record.h"

/* ---- the rule ---- */

#define LEAST  0.02  /* a smaller fall is not throttling */
#define FLOOR  0.003 /* the least noise assumed: no machine is steadier */
#define BEYOND 6.0   /* standard errors of the difference of two means */
/* the same of a fall that does not last: there are many places for one */
#define LEAST_BRIEF  0.05
#define BEYOND_BRIEF 9.0
/* in units of the noise: a value farther from its neighbours' median is moved to this distance */
#define OUTLIER 3.0
/* the standard deviation of normal values over the median of their distances from the median */
#define ROBUST 1.4826
enum { FAR = 10, WINDOW = 7, BLOCKS = 12 };

/* Sorts the values. */
static double median(double *x, size_t n)
{
	statistics_sort(x, n);
	return statistics_quantile(x, n, 0.5);
}

/* The standard deviation of values, from the sizes of differences between two of them. */
static double from_differences(double *difference, size_t n)
{
	return ROBUST / sqrt(2) * median(difference, n);
}

/*
 * The noise of a round, from differences between rounds `lag` apart: a fall affects few of them.
 * Rounds far apart also show noise that neighbouring rounds share, such as slow drifts.
 */
static double noise_at(const double *x, unsigned n, unsigned lag, double *scratch)
{
	for (unsigned i = 0; i + lag < n; i++)
		scratch[i] = fabs(x[i + lag] - x[i]);
	return from_differences(scratch, n - lag);
}

/*
 * The same with what wanders for longer than a round, which the mean of many rounds keeps: from
 * differences between neighbouring blocks of 10, 20, 40, ... rounds. A fall affects one or two
 * of them.
 */
static double noise_of_means(const double *sum, unsigned n, double noise, double *scratch)
{
	for (size_t block = THROTTLE_EDGE; n / block >= BLOCKS; block *= 2) {
		const size_t pairs = n / block - 1;

		for (size_t i = 0; i < pairs; i++) {
			const double *s = sum + i * block;

			scratch[i] = fabs(s[2 * block] - 2 * s[block] + s[0]) / (double)block;
		}
		noise = fmax(noise, sqrt((double)block) * from_differences(scratch, pairs));
	}
	return noise;
}

/* The standard deviation of the means of all windows; a fall is in few of them. */
static double noise_of_windows(const double *sum, unsigned n, unsigned window, double *scratch)
{
	const unsigned windows = n - window + 1;
	double middle;

	for (unsigned i = 0; i < windows; i++)
		scratch[i] = (sum[i + window] - sum[i]) / window;
	middle = median(scratch, windows);
	for (unsigned i = 0; i < windows; i++)
		scratch[i] = fabs(scratch[i] - middle);
	return ROBUST * median(scratch, windows);
}

/* Logarithms of rates; a value far from its neighbours' median is moved towards it. */
static void tame(const double *x, unsigned n, double noise, double *tamed)
{
	double near[WINDOW];

	for (unsigned i = 0; i < n; i++) {
		const unsigned begin = i < WINDOW / 2 ? 0 : i - WINDOW / 2;
		const unsigned end = i + WINDOW / 2 + 1 < n ? i + WINDOW / 2 + 1 : n;
		double middle;

		for (unsigned j = begin; j < end; j++)
			near[j - begin] = x[j];
		middle = median(near, end - begin);
		tamed[i] = fmin(fmax(x[i], middle - OUTLIER * noise), middle + OUTLIER * noise);
	}
}

/* A fall in x[at], from the mean of x[begin] ... to that of all until x[end - 1]. */
struct fall {
	unsigned begin, at, end;
	double by;	/* the logarithm of before over after */
	double certain; /* the same in standard errors of the noise */
};

/* `sum`: of all x before x[i]. */
static struct fall fall_at(const double *sum, unsigned begin, unsigned at, unsigned end,
			   double noise)
{
	const double left = (sum[at] - sum[begin]) / (at - begin),
		     right = (sum[end] - sum[at]) / (end - at);
	const double error = noise * sqrt(1.0 / (at - begin) + 1.0 / (end - at));

	return (struct fall){ begin, at, end, left - right, (left - right) / error };
}

/* The most certain fall in this part, if it is more certain and larger than `least`. */
static void find_lasting(const double *sum, unsigned begin, unsigned end, double noise,
			 struct fall *least)
{
	const double by = least->by;

	for (unsigned k = begin + THROTTLE_EDGE; k + THROTTLE_EDGE <= end; k++) {
		const struct fall f = fall_at(sum, begin, k, end, noise);

		if (f.by >= by && f.certain > least->certain)
			*least = f;
	}
}

/* The same for falls from the mean of all values before, to values that a window holds. */
static void find_brief(const double *sum, unsigned end, double noise, struct fall *least,
		       double *scratch)
{
	const double by = least->by;

	for (unsigned window = THROTTLE_EDGE; window <= end / 2; window *= 2) {
		const double wandering = noise_of_windows(sum, end, window, scratch);

		for (unsigned k = window; k + window <= end; k++) {
			struct fall f = fall_at(sum, 0, k, k + window, noise);

			f.certain = fmin(f.certain, f.by / wandering);
			if (f.by >= by && f.certain > least->certain)
				*least = f;
		}
	}
}

/* The first fall that lasts to the end or to the next one; its `at` is 0: there is none. */
static struct fall first_lasting(const double *sum, unsigned n, double noise)
{
	struct fall first = { .at = 0 }, found;

	do {
		found = (struct fall){ .by = -log1p(-LEAST), .certain = BEYOND };
		find_lasting(sum, 0, n, noise, &found);
		n = found.at;
		first = n ? found : first;
	} while (n);
	return first;
}

/* The same of falls that a window holds; a second look tells in which round they began. */
static struct fall first_brief(const double *sum, unsigned n, double noise, double *scratch)
{
	struct fall first = { .at = 0 }, found, sharp;

	for (;;) {
		found = (struct fall){ .by = -log1p(-LEAST_BRIEF), .certain = BEYOND_BRIEF };
		find_brief(sum, n, noise, &found, scratch);
		if (!found.at)
			return first;
		sharp = (struct fall){ .at = found.at };
		find_lasting(sum, 2 * found.at - found.end, found.end, noise, &sharp);
		first = fall_at(sum, 0, sharp.at, sharp.at + THROTTLE_EDGE, noise);
		first.by = fmax(first.by, found.by);
		n = sharp.at < found.at ? sharp.at : found.at;
	}
}

/* Whether both are one fall, whose moment is a little uncertain. */
static bool are_one(const struct fall *a, const struct fall *b)
{
	return a->at <= b->at + THROTTLE_EDGE && b->at <= a->at + THROTTLE_EDGE;
}

/*
 * The first fall. The moment of one that lasts is surer than that of one that a window holds.
 * `of_means`: the noise that means keep; falls that come again and again add to it.
 */
static struct fall first_of_both(const double *sum, unsigned n, double noise, double of_means,
				 double *scratch)
{
	const struct fall brief = first_brief(sum, n, noise, scratch);
	struct fall lasting = first_lasting(sum, n, of_means);

	if (brief.at && !are_one(&lasting, &brief))
		lasting = first_lasting(sum, brief.at, of_means);
	if (!lasting.at)
		return brief;
	if (are_one(&lasting, &brief) && brief.by > lasting.by + LEAST)
		lasting.by = brief.by;
	return lasting;
}

struct throttle throttle_find(const double *rate, unsigned rounds)
{
	double *x = malloc(((size_t)3 * rounds + 1) * sizeof(*x)), *tamed = x + rounds,
	       *sum = tamed + rounds;
	struct throttle found = { .known = x && rounds >= 2 * THROTTLE_EDGE, .share = 1 };
	/* of few rounds, most that are far apart would lie on either side of a fall */
	const unsigned far = rounds / 8 < FAR ? rounds / 8 : FAR;
	struct fall first;
	double of_means;

	for (unsigned i = 0; found.known && i < rounds; i++)
		x[i] = log(fmax(rate[i], 1e-9)); /* 0: the thread got no CPU */
	if (found.known) {
		found.noise = fmax(noise_at(x, rounds, 1, sum), noise_at(x, rounds, far, sum));
		found.noise = fmax(FLOOR, found.noise);
		tame(x, rounds, found.noise, tamed);
		*sum = 0;
		for (unsigned i = 0; i < rounds; i++)
			sum[i + 1] = sum[i] + tamed[i];
		of_means = noise_of_means(sum, rounds, found.noise, x);
		found.visible = fmax(LEAST, 1 - exp(-BEYOND * of_means * 2 / sqrt(rounds)));
		first = first_of_both(sum, rounds, found.noise, of_means, x);
		found.found = first.at;
		found.at = first.at;
		found.share = exp(-first.by);
	}
	free(x);
	return found;
}

/* ---- the verdict ---- */

enum { EXIT_CANNOT_TELL = 4 };

static double value(const struct soak_round *r, size_t field)
{
	return *(const double *)((const char *)r + field);
}

/* The field of a load's rate. */
static size_t rate_field(unsigned load)
{
	return offsetof(struct soak_round, rate) + load * sizeof(double);
}

static struct throttle find(const struct soak_rounds *of, unsigned load)
{
	struct throttle found = { .known = false };
	double *x = malloc(of->n * sizeof(*x) + 1);

	for (unsigned i = 0; x && i < of->n; i++)
		x[i] = of->round[i].rate[load];
	if (x)
		found = throttle_find(x, of->n);
	free(x);
	return found;
}

/* The mean over the rounds in which the value is known; NaN: there are none. */
static double mean(const struct soak_rounds *of, size_t field, unsigned begin, unsigned end)
{
	double sum = 0;
	unsigned known = 0;

	for (unsigned i = begin; i < end; i++) {
		const double x = value(&of->round[i], field);

		known += !isnan(x);
		sum += isnan(x) ? 0 : x;
	}
	return known ? sum / known : NAN;
}

/* "; clock 3.2 to 2.9 GHz": before and after; nothing if unknown. */
static void print_change(const struct soak_rounds *of, const char *name, const char *unit,
			 size_t field, unsigned at, FILE *f)
{
	const double before = mean(of, field, 0, at), after = mean(of, field, at, of->n);
	char from[32], to[32];

	if (!isnan(before) && !isnan(after))
		fprintf(f, "; %s %s to %s", name, quantity_show(before, unit, from, sizeof(from)),
			quantity_show(after, unit, to, sizeof(to)));
}

/* Prints how slow the last rounds are, if that differs from the fall. */
static void print_end(const struct soak_rounds *of, unsigned load, const struct throttle *t,
		      FILE *f)
{
	double rate[THROTTLE_EDGE], last;

	for (unsigned i = 0; i < THROTTLE_EDGE; i++)
		rate[i] = of->round[of->n - THROTTLE_EDGE + i].rate[load];
	last = median(rate, THROTTLE_EDGE) / mean(of, rate_field(load), 0, t->at);
	if (last > 1 - LEAST)
		fprintf(f, "; no longer at the end");
	else if (fabs(last - t->share) > LEAST)
		fprintf(f, "; at the end %.1f %%", 100 * (1 - last));
}

static bool is_steady(const struct throttle *t)
{
	return t->known && !t->found && t->visible <= THROTTLE_HIDDEN;
}

static void print_rate(const struct soak_rounds *of, unsigned load, const struct throttle *t,
		       FILE *f)
{
	const struct soak_load *l = &of->load[load];
	char from[32], duration[TEXT_DURATION];

	quantity_show(mean(of, rate_field(load), 0, t->found ? t->at : of->n), l->unit, from,
		      sizeof(from));
	text_duration(duration, of->round[of->n - 1].at);
	if (!t->found) {
		fprintf(f,
			"%s: %s for %s: %s, noise %.1f %% a round; falls of %.0f %% or more would "
			"show\n",
			l->name, is_steady(t) ? "steady" : "cannot tell", duration, from,
			100 * t->noise, ceil(100 * t->visible));
		return;
	}
	fprintf(f, "%s: throttles after %.0f s: %.1f %% less than %s", l->name,
		of->round[t->at - 1].at, 100 * (1 - t->share), from);
	print_change(of, "clock", "Hz", offsetof(struct soak_round, clock), t->at, f);
	print_change(of, "temperature", "°C", offsetof(struct soak_round, temperature), t->at, f);
	print_change(of, "power", "W", offsetof(struct soak_round, power), t->at, f);
	print_end(of, load, t, f);
	fprintf(f, "\n");
}

/* Prints the hardware errors; returns whether one was not corrected. */
static bool print_errors(const json_t *errors, FILE *f)
{
	const char *name;
	json_t *n;
	bool grave = false;

	json_object_foreach((json_t *)errors, name, n) {
		if (json_integer_value(n) <= 0)
			continue;
		fprintf(f, "hardware errors during the soak: %s: %lld\n", name,
			(long long)json_integer_value(n));
		grave |= name[0] != 'c'; /* corrected */
	}
	return grave;
}

/* Prints faults, which are graver than throttling. Returns whether there was any. */
static bool print_faults(const struct soak_rounds *of, FILE *f)
{
	bool any = false;

	for (unsigned i = 0; i < of->loads; i++) {
		const struct soak_load *l = &of->load[i];

		if (l->wrong)
			fprintf(f, "%s: WRONG: %s: take this node out of use\n", l->name, l->wrong);
		if (l->failure)
			fprintf(f, "%s: failed: %s\n", l->name, l->failure);
		any |= l->wrong || l->failure;
	}
	return print_errors(of->errors, f) || any;
}

int soak_judge(const struct soak_rounds *of, FILE *f)
{
	bool bad = false, steady = of->loads > 0, known = of->loads > 0;

	for (unsigned i = 0; i < of->loads; i++) {
		const struct throttle t = find(of, i);

		known = known && t.known;
		steady = steady && is_steady(&t);
		bad |= t.found;
		if (t.known)
			print_rate(of, i, &t, f);
	}
	if (!known)
		fprintf(f, "too short for a verdict: %u of %d rounds of a second\n", of->n,
			2 * THROTTLE_EDGE);
	bad |= print_faults(of, f);
	return bad ? EXIT_BAD : steady ? EXIT_GOOD : EXIT_CANNOT_TELL;
}

json_t *soak_round_json(const struct soak_rounds *of, const struct soak_round *r)
{
	json_t *loads = json_array();

	for (unsigned i = 0; i < of->loads; i++)
		json_array_append_new(loads, json_pack("{s:s, s:s, s:o}", "name", of->load[i].name,
						       "unit", of->load[i].unit, "rate",
						       record_number(r->rate[i])));
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "at", record_number(r->at), "loads", loads,
			 "clock", record_number(r->clock), "temperature",
			 record_number(r->temperature), "power", record_number(r->power));
}

static json_t *load_json(const struct soak_rounds *of, unsigned load)
{
	const struct throttle t = find(of, load);

	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:s?, s:s?}", "name", of->load[load].name,
			 "verdict",
			 !t.known	 ? "too short"
			 : t.found	 ? "throttles"
			 : is_steady(&t) ? "steady"
					 : "cannot tell",
			 "after", record_number(t.found ? of->round[t.at - 1].at : NAN), "share",
			 record_number(t.known ? t.share : NAN), "noise",
			 record_number(t.known ? t.noise : NAN), "wrong", of->load[load].wrong,
			 "failure", of->load[load].failure);
}

json_t *soak_verdict_json(const struct soak_rounds *of)
{
	json_t *loads = json_array(), *line;

	for (unsigned i = 0; i < of->loads; i++)
		json_array_append_new(loads, load_json(of, i));
	line = json_pack("{s:o, s:O?}", "loads", loads, "errors", of->errors);
	if (*of->no_temperature)
		json_object_set_new(line, "temperature_why", json_string(of->no_temperature));
	if (*of->no_power)
		json_object_set_new(line, "power_why", json_string(of->no_power));
	return line;
}

json_t *soak_errors_since(const json_t *before, const json_t *after)
{
	json_t *since = json_object(), *n;
	const char *name;

	json_object_foreach((json_t *)after, name, n) {
		const json_t *then = json_object_get(before, name);
		json_int_t more;

		if (!json_is_integer(n) && !json_is_null(n))
			continue; /* NAME_why */
		more = json_integer_value(n) - json_integer_value(then);
		json_object_set_new(since, name,
				    json_is_integer(n) && json_is_integer(then) ? json_integer(more)
										: json_null());
	}
	return since;
}
