/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of a request: which variants, how many threads, which values of parameters. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/plan/request.h"
#include "harness/ask/parameters.h"
#include "base/text.h"
#include "machine/threads/team.h"
#include "machine/topology/topology.h"
#include "base/message.h"

enum { MOST_THREADS = 65536 };

int request_refuse(const struct request *r, const char *why)
{
	message("%s %s: %s", program_invocation_short_name, r->benchmark->name, why);
	return EXIT_COMMAND_LINE;
}

int request_refuse_option(const struct request *r, const char *option, const char *why)
{
	message("%s %s: --%s: %s", program_invocation_short_name, r->benchmark->name, option, why);
	return EXIT_COMMAND_LINE;
}

static uint64_t one_a_core(const struct machine *m, enum profile profile)
{
	(void)profile;
	return m->cores;
}

static uint64_t one_a_cpu(const struct machine *m, enum profile profile)
{
	(void)profile;
	return m->cpus;
}

static const struct parameter thread_parameter = { .name = "threads",
						   .help = "numbers of threads",
						   .type = P_COUNT,
						   .automatic = one_a_core,
						   .all = one_a_cpu };

/* ---- variants ---- */

static bool possible(const struct request *r, const struct variant *v)
{
	return !r->setting->ranks || v->divided;
}

static int refuse_variant(const struct request *r, const char *word, const char *const *names,
			  unsigned n)
{
	const char *benchmark = r->benchmark->name;
	const int near = names_nearest(word, names, n);
	char why[512];

	if (near < 0)
		snprintf(why, sizeof(why), "%s has no variant '%s'; `locus list %s` shows them",
			 benchmark, word, benchmark);
	else
		snprintf(why, sizeof(why), "%s has no variant '%s'; did you mean '%s'?", benchmark,
			 word, names[near]);
	return request_refuse_option(r, "variant", why);
}

static int refuse_undivided(const struct request *r, const char *word)
{
	char why[512];

	snprintf(why, sizeof(why),
		 "%s is not divided over ranks; `locus list %s` says which variants are", word,
		 r->benchmark->name);
	return request_refuse_option(r, "variant", why);
}

/*
 * The profile's variants; NULL: all that are possible. Over ranks the list counts only if it was
 * made for them: most list what a single process does.
 */
static const char *profile_variants(const struct request *r)
{
	const char *const list = profile_preset(r->benchmark, r->options->profile).variants;
	const char *rest = list;
	char word[128];

	while (r->setting->ranks && names_next(&rest, word, sizeof(word)))
		for (unsigned i = 0; i < r->benchmark->n_variants; i++)
			if (!strcmp(r->benchmark->variants[i].name, word) &&
			    !r->benchmark->variants[i].divided)
				return NULL;
	return list;
}

int factors_variants(const struct request *r, bool *wanted)
{
	const struct variant *variants = r->benchmark->variants;
	const unsigned n = r->benchmark->n_variants;
	const char *list = r->options->variant, *names[n];
	char word[128];

	if (!list && !r->options->only)
		list = profile_variants(r);
	for (unsigned i = 0; i < n; i++) {
		names[i] = variants[i].name;
		wanted[i] = !list && possible(r, &variants[i]);
	}
	while (names_next(&list, word, sizeof(word))) {
		unsigned i = 0;

		while (i < n && strcmp(names[i], word))
			i++;
		if (i == n)
			return refuse_variant(r, word, names, n);
		if (!possible(r, &variants[i]))
			return refuse_undivided(r, word);
		wanted[i] = true;
	}
	return 0;
}

/* ---- threads and values ---- */

bool factors_layout(const struct benchmark *b, const struct variant *v, unsigned *which)
{
	for (*which = 0; *which < b->n_parameters; ++*which)
		if (b->parameters[*which].type == P_LAYOUT && parameter_applies(b, v, *which))
			return true;
	return false;
}

/* The list to read: the user's, else the variant's, else the profile's; "0": the layout decides. */
static const char *threads_asked(const struct factors *f)
{
	const struct request *r = f->request;
	const char *text = r->options->threads;
	unsigned layout;

	if (!text)
		text = profile_override(f->variant, P_THREADS, r->options->profile);
	if (!text)
		text = profile_preset(r->benchmark, r->options->profile).threads;
	if (!text)
		text = factors_layout(r->benchmark, f->variant, &layout) ? "0" : "auto";
	return text;
}

static int read_threads(struct factors *f)
{
	const struct request *r = f->request;
	char why[512];

	if (values_parse(&thread_parameter, threads_asked(f), r->setting->machine,
			 r->options->profile, &f->threads, why, sizeof(why)))
		return request_refuse_option(r, "threads", why);
	for (unsigned i = 0; r->options->threads && i < f->threads.n; i++) {
		const uint64_t threads = f->threads.value[i].count;

		if (threads >= 1 && threads <= MOST_THREADS)
			continue;
		snprintf(why, sizeof(why), "%" PRIu64 " is not between 1 and %d", threads,
			 MOST_THREADS);
		return request_refuse_option(r, "threads", why);
	}
	return 0;
}

/* The list to read: the user's, else the variant's, else the parameter's. */
static const char *values_asked(const struct factors *f, unsigned parameter)
{
	const struct request *r = f->request;
	const char *text = r->options->parameter[parameter];

	if (!text)
		text = profile_override(f->variant, parameter, r->options->profile);
	return text ? text
		    : profile_value(r->benchmark->parameters[parameter].value, r->options->profile);
}

/* Refuses a value that this machine lacks, such as a node: no trial could record why. */
static int read_parameter(struct factors *f, unsigned parameter)
{
	const struct request *r = f->request;
	const struct parameter *p = &r->benchmark->parameters[parameter];
	struct values *values = &f->parameter[parameter];
	char why[1024];
	int status = values_parse(p, values_asked(f, parameter), r->setting->machine,
				  r->options->profile, values, why, sizeof(why));

	if (!status && p->output && values->n > 1) {
		snprintf(why, sizeof(why), "takes one value, not %u", values->n);
		status = EXIT_COMMAND_LINE;
	}
	if (status)
		request_refuse_option(r, p->name, why);
	return status;
}

/* Values of an unused parameter are read too, so that a typo is refused. */
static int read_unused(struct factors *f, unsigned parameter)
{
	const struct request *r = f->request;
	const struct parameter *p = &r->benchmark->parameters[parameter];
	const struct values *values = &f->parameter[parameter];
	int status = read_parameter(f, parameter);

	for (size_t i = 0; !status && p->type == P_LAYOUT && i < values->n; i++) {
		const char *why, *word = values->value[i].text;
		unsigned n;
		char **layouts = machine_layouts(r->setting->machine, word, 0, &n, &why);

		if (!layouts && errno == EINVAL)
			status = request_refuse_option(r, p->name, why);
		free(layouts);
	}
	return status;
}

static int read_parameters(struct factors *f)
{
	const struct benchmark *b = f->request->benchmark;
	int status = 0;

	for (unsigned i = 0; !status && i < b->n_parameters; i++)
		if (parameter_applies(b, f->variant, i))
			status = read_parameter(f, i);
		else if (f->request->options->parameter[i])
			status = read_unused(f, i);
	return status;
}

/* ---- words that are the same layout ---- */

/* The only layout that a word stands for, or NULL. */
static char **only_layout(const struct factors *f, const char *word, unsigned threads)
{
	const char *why;
	unsigned n;
	char **layout = machine_layouts(f->request->setting->machine, word, threads, &n, &why);

	if (!layout || n == 1)
		return layout;
	free(layout);
	return NULL;
}

static void report_equal_layouts(const struct factors *f, unsigned parameter, unsigned threads)
{
	const struct benchmark *b = f->request->benchmark;
	const struct values *words = &f->parameter[parameter];

	for (size_t i = 1; i < words->n; i++) {
		char **own = only_layout(f, words->value[i].text, threads), **other = NULL;
		size_t j = 0;

		for (; own && j < i; j++, free(other)) {
			other = only_layout(f, words->value[j].text, threads);
			if (!other || strcmp(*own, *other))
				continue;
			message("%s %s: --%s: %s is the same as %s on this machine, %s: measured "
				"once",
				program_invocation_short_name, b->name,
				b->parameters[parameter].name, words->value[i].text,
				words->value[j].text, *own);
			free(other);
			break;
		}
		free(own);
	}
}

/* Prints nothing on a machine with one node, where all words mean the same. */
static void report_repetitions(struct factors *f)
{
	const struct request *r = f->request;
	unsigned layout;

	if (machine_cpu_nodes(r->setting->machine) < 2 ||
	    !factors_layout(r->benchmark, f->variant, &layout) || f->reported & BIT(layout))
		return;
	f->reported |= BIT(layout);
	for (size_t i = 0; i < f->threads.n; i++)
		report_equal_layouts(f, layout, (unsigned)f->threads.value[i].count);
}

int factors_read(struct factors *f, const struct variant *v)
{
	int status;

	f->variant = v;
	status = read_threads(f);
	if (!status)
		status = read_parameters(f);
	if (!status)
		report_repetitions(f);
	return status;
}

void factors_free(struct factors *f)
{
	const struct benchmark *b = f->request->benchmark;

	values_free(&thread_parameter, &f->threads);
	for (unsigned i = 0; i < b->n_parameters; i++)
		values_free(&b->parameters[i], &f->parameter[i]);
}
