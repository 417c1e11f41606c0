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
/* in units of the noise: a value farther from its neighbours' median is moved to this distance */
#define OUTLIER 3.0
enum { FAR = 10, WINDOW = 7 };

/* Sorts the values. */
static double median(double *x, size_t n)
{
	statistics_sort(x, n);
	return statistics_quantile(x, n, 0.5);
}

/*
 * The noise of a round, from differences between rounds `lag` apart: a fall affects few of them.
 * Rounds far apart also show noise that neighbouring rounds share, such as slow drifts.
 */
static double noise_at(const double *x, unsigned n, unsigned lag, double *scratch)
{
	for (unsigned i = 0; i + lag < n; i++)
		scratch[i] = fabs(x[i + lag] - x[i]);
	return 1.4826 / sqrt(2) * median(scratch, n - lag);
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

/* The most certain fall among the first n values; 0: none is certain and large enough. */
static unsigned find_fall(const double *x, unsigned n, double noise, double *fall)
{
	double sum = 0, before = 0, most = BEYOND;
	unsigned at = 0;

	for (unsigned i = 0; i < n; i++)
		sum += x[i];
	for (unsigned k = 1; k + THROTTLE_EDGE <= n; k++) {
		const double left = (before += x[k - 1]) / k, right = (sum - before) / (n - k);
		const double t = (left - right) / (noise * sqrt(1.0 / k + 1.0 / (n - k)));

		if (k >= THROTTLE_EDGE && t > most && left - right >= -log1p(-LEAST)) {
			most = t;
			at = k;
			*fall = left - right;
		}
	}
	return at;
}

struct throttle throttle_find(const double *rate, unsigned rounds)
{
	double *x = malloc((size_t)3 * rounds * sizeof(*x) + 1), *tamed = x + rounds,
	       *scratch = tamed + rounds;
	struct throttle found = { .known = x && rounds >= 2 * THROTTLE_EDGE, .share = 1 };
	double fall = 0;

	for (unsigned i = 0; found.known && i < rounds; i++)
		x[i] = log(fmax(rate[i], 1e-9)); /* 0: the thread got no CPU */
	if (found.known) {
		found.noise =
			fmax(noise_at(x, rounds, 1, scratch), noise_at(x, rounds, FAR, scratch));
		found.noise = fmax(FLOOR, found.noise);
		found.visible = fmax(LEAST, 1 - exp(-BEYOND * found.noise * 2 / sqrt(rounds)));
		tame(x, rounds, found.noise, tamed);
		/* before the most certain fall there may be an earlier one */
		for (unsigned at = rounds; (at = find_fall(tamed, at, found.noise, &fall));) {
			found.found = true;
			found.at = at;
			found.share = exp(-fall);
		}
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
