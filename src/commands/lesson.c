/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `locus lesson`: for a class. Predicts on one screen what a few trials of a benchmark will show,
 * measures them, and explains the result beside the lines of C that were measured.
 */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/message.h"
#include "base/numbers.h"
#include "base/text.h"
#include "base/utf8.h"
#include "commands/commands.h"
#include "harness/ask/options.h"
#include "harness/record/lines.h"
#include "harness/run/run.h"
#include "harness/run/table.h"
#include "machine/topology/topology.h"

enum { LESSON_ADDED = 32 };

/* ---- before the measurement ---- */

/* "locus sharing --variant=fetch-add ...", without the --quiet at its end. */
static char *command_line(const struct options *o)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (int i = 0; i + 1 < o->argc; i++)
		fprintf(f, "%s%s", i ? " " : "", o->argv[i]);
	fclose(f);
	return text;
}

static void print_before(const struct lesson *l, const struct options *o)
{
	char *command = command_line(o);

	printf("%s: %s\n\n", l->name, l->title);
	message_row("Prediction: ", l->prediction, 2, stdout);
	lesson_print_code(l, stdout);
	printf("\n");
	message_command("$ ", command ? utf8_tame(command) : "", 4, stdout);
	free(command);
	fflush(stdout);
}

/* ---- the measurement ---- */

/* The record's lines of the trials; NULL: the record can't be read. */
static json_t *read_trials(const char *path)
{
	json_t *trials = json_array();
	struct lines in;

	lines_open(&in, fopen(path, "re"));
	while (in.file && lines_next(&in))
		if (!strncmp(in.line, "{\"type\":\"trial\"", 15))
			json_array_append_new(trials, json_loads(in.line, 0, NULL));
	if (in.file)
		lines_close(&in);
	return trials;
}

/*
 * Measures the trials. A record that the user does not want is a temporary file. Returns the exit
 * status, and the trials' lines.
 */
static int measure(const struct program *p, const struct options *asked, json_t **trials)
{
	const int file = memfd_create("locus-record", MFD_CLOEXEC);
	struct options o = *asked;
	char scratch[64];
	int status;

	snprintf(scratch, sizeof(scratch), "/proc/self/fd/%d", file);
	if (!o.output)
		o.scratch = scratch;
	status = engine_run(&o, p->benchmarks, NULL);
	*trials = read_trials(o.output ? o.output : scratch);
	if (file >= 0)
		close(file);
	return status;
}

/* ---- what was measured ---- */

struct measured {
	const json_t *line;		   /* NULL: there is none */
	struct display_number value, time; /* of the lesson's metric; NAN: unknown */
};

static const char *text_in(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* Whether the trial's variant or parameter has this value, as text. */
static bool has_value(const json_t *line, const char *key, const char *value)
{
	const json_t *is = json_object_get(line, key);
	char text[32];

	if (!is)
		is = json_object_get(json_object_get(line, "parameters"), key);
	snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(is));
	return !strcmp(json_is_string(is) ? json_string_value(is) : text, value);
}

static bool is_of(const json_t *line, const char *of)
{
	char word[64];

	while (names_next(&of, word, sizeof(word))) {
		char *value = strchr(word, '=');

		if (!value)
			return false;
		*value++ = 0;
		if (!has_value(line, word, value))
			return false;
	}
	return true;
}

static struct measured find(const json_t *trials, const struct lesson *l,
			    const struct lesson_bar *bar)
{
	struct measured m = { .value = display_number(NULL), .time = display_number(NULL) };
	const json_t *line, *metrics;
	size_t i;

	json_array_foreach(trials, i, line) {
		if (!is_of(line, bar->of))
			continue;
		m.line = line;
		metrics = json_object_get(line, "metrics");
		m.value = display_number(json_object_get(metrics, l->metric));
		m.time = display_number(json_object_get(metrics, "time"));
	}
	return m;
}

static const struct metric *metric_of(const struct program *p, const struct lesson *l)
{
	const struct benchmark *b = command_benchmark(p, l->benchmark);
	unsigned i = 0;

	while (i + 1 < b->n_metrics && strcmp(b->metrics[i].name, l->metric))
		i++;
	return &b->metrics[i];
}

/* ---- the picture ---- */

enum { LABEL = 18, VALUE = 20, DOUBT = 14 };

static void print_bar(const char *label, const char *value, double share, const char *doubt,
		      int room)
{
	const int length = isnan(share) ? 0 : (int)(share * room + 0.5);

	printf("  %-*s%*s  ", LABEL, label, VALUE, value);
	for (int i = 0; i < length || (i == 0 && share > 0); i++)
		fputs("█", stdout);
	printf("%s%s\n", *doubt ? " " : "", doubt);
}

/* "pages: 50 % on node 0, 50 % on node 1" */
static void print_places(const json_t *line)
{
	const json_t *places = json_object_get(json_object_get(line, "placement"), "on_node"), *n;
	const char *node, *comma = "";
	double all = 0;

	json_object_foreach((json_t *)places, node, n)
		all += json_number_value(n);
	printf("  %*s  pages: ", LABEL + VALUE, "");
	json_object_foreach((json_t *)places, node, n) {
		printf("%s%.0f %% on node %s", comma, 100 * json_number_value(n) / all, node);
		comma = ", ";
	}
	printf("%s\n", all > 0 ? "" : "unknown");
}

static void print_bars(const struct metric *metric, const struct lesson *l,
		       const struct measured *of)
{
	const int room = message_width(stdout) - LABEL - VALUE - DOUBT - 4;
	double most = 0;

	for (unsigned i = 0; i < LESSON_BARS && l->bar[i].label; i++)
		most = fmax(most, of[i].value.value);
	for (unsigned i = 0; i < LESSON_BARS && l->bar[i].label; i++) {
		const char *status = of[i].line ? text_in(of[i].line, "status") : "not measured";
		char value[48];

		quantity_show_within(of[i].value.value, display_doubt(of[i].value), metric->unit,
				     value, sizeof(value));
		print_bar(l->bar[i].label, value, of[i].value.value / most,
			  strcmp(status, "ok") ? status : "", room);
		if (l->places && of[i].line)
			print_places(of[i].line);
	}
}

/* ---- the verdict ---- */

#define NOTICEABLE 1.05 /* smaller effects may be gone in the next process */

/* The record's ratio of two times, whose samples were taken in turn; else of their intervals. */
static struct display_number divide(const struct measured *slow, const struct measured *fast)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(slow->line, "ratios"), i, one)
		if (!strcmp(text_in(one, "trial"), text_in(fast->line, "id")))
			return display_number(one);
	return (struct display_number){ slow->time.value / fast->time.value,
					slow->time.low / fast->time.high,
					slow->time.high / fast->time.low, false };
}

static const char *verdict_of(struct display_number ratio)
{
	static const char *const verdicts[] = { "as predicted", "not as predicted",
						"the interval does not tell" };

	return verdicts[ratio.low > NOTICEABLE ? 0 : ratio.high < NOTICEABLE ? 1 : 2];
}

static void print_verdict(const struct lesson_compared *c, const struct measured *of)
{
	const struct display_number ratio = divide(&of[c->slow], &of[c->fast]);
	char times[32], told[256];

	if (isnan(ratio.value))
		return;
	quantity_show_within(ratio.value, display_doubt(ratio), "1", times, sizeof(times));
	snprintf(told, sizeof(told), "%s %s times as long", c->words, times);
	if (!isnan(ratio.low))
		snprintf(told + strlen(told), sizeof(told) - strlen(told), " (%.3g to %.3g): %s",
			 ratio.low, ratio.high, verdict_of(ratio));
	message_print(told, 2, stdout);
}

/* What a status means, up to the first ";" of the glossary. */
static void print_doubts(const struct lesson *l, const struct measured *of)
{
	static const char *const doubts[] = { "noisy", "bimodal", "unconverged" };

	for (size_t d = 0; d < LENGTH(doubts); d++)
		for (unsigned i = 0; i < LESSON_BARS && l->bar[i].label; i++)
			if (!strcmp(text_in(of[i].line, "status"), doubts[d])) {
				const char *meaning = glossary_meaning(doubts[d]);

				printf("%s: %.*s\n", doubts[d], (int)strcspn(meaning, ";"),
				       meaning);
				break;
			}
}

static void print_after(const struct program *p, const struct lesson *l, const json_t *trials,
			bool whole)
{
	const struct metric *metric = metric_of(p, l);
	struct measured of[LESSON_BARS];

	for (unsigned i = 0; i < LESSON_BARS && l->bar[i].label; i++)
		of[i] = find(trials, l, &l->bar[i]);
	printf("\nMeasurement: %s (a longer bar is %s)\n", metric->name,
	       metric->better == LOWER_IS_BETTER ? "slower" : "faster");
	print_bars(metric, l, of);
	for (unsigned i = 0; i < LESSON_COMPARED && l->compared[i].words && whole; i++)
		print_verdict(&l->compared[i], of);
	print_doubts(l, of);
}

static void print_end(const struct lesson *l, const char *output, bool whole)
{
	printf("\n");
	if (!whole)
		message_row("Not visible here: ", l->lacking, 2, stdout);
	message_row("Explanation: ", l->explanation, 2, stdout);
	message_row("Next: ", l->next, 2, stdout);
	if (output)
		printf("Picture: locus report %s\n", output);
}

/* For a machine that can't show the lesson: prints it without a measurement. */
static int tell(const struct lesson *l, const struct options *o)
{
	print_before(l, o);
	print_end(l, NULL, false);
	return EXIT_IMPOSSIBLE;
}

static int teach(const struct program *p, const struct lesson *l, const struct options *o,
		 bool whole)
{
	json_t *trials = NULL;
	int status;

	print_before(l, o);
	status = measure(p, o, &trials);
	if (json_array_size(trials)) {
		print_after(p, l, trials, whole);
		print_end(l, o->output, whole);
	}
	json_decref(trials);
	return status;
}

/* ---- the command ---- */

static int help(void)
{
	printf("Usage: locus lesson [LESSON [OPTION...]]\n\n");
	message_print("Predicts, measures and explains, on one screen and in less than a minute. "
		      "The options are the benchmark's: --output=FILE keeps the record, "
		      "--threads=N takes more threads.",
		      0, stdout);
	printf("\n");
	return lesson_list(stdout);
}

/* Reads the lesson's options, and those that the user adds: of two equal ones the last counts. */
static int parse(struct options *o, const struct program *p, const struct lesson *l, int argc,
		 char **argv)
{
	static char name[64], quiet[] = "--quiet";
	static char *words[LESSON_OPTIONS + LESSON_ADDED + 3];
	int n = 0, status;

	if (argc > LESSON_ADDED) {
		message_own("lesson: at most %d options", LESSON_ADDED);
		return EXIT_COMMAND_LINE;
	}
	snprintf(name, sizeof(name), "locus %s", l->benchmark);
	words[n++] = name;
	for (unsigned i = 0; i < LESSON_OPTIONS && l->options[i]; i++)
		words[n++] = (char *)l->options[i];
	for (int i = 0; i < argc; i++)
		words[n++] = argv[i];
	words[n++] = quiet;
	status = options_parse(o, command_benchmark(p, l->benchmark), n, words);
	if (status || o->runs <= 1)
		return status;
	message_own("lesson: --runs: a lesson is one run; try `locus %s --runs %u`", l->benchmark,
		    o->runs);
	return EXIT_COMMAND_LINE;
}

int lesson_command(const struct program *p, int argc, char **argv)
{
	const struct lesson *l;
	struct machine *m;
	struct options o;
	int status;

	if (argc < 2)
		return lesson_list(stdout);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return help();
	l = lesson_find(argv[1]);
	status = l ? parse(&o, p, l, argc - 2, argv + 2) : EXIT_COMMAND_LINE;
	if (status)
		return status == OPTIONS_HELPED ? EXIT_GOOD : status;
	m = command_machine(NULL, &status);
	if (!m)
		return status;
	status = m->cpus < l->cpus ? tell(l, &o) : teach(p, l, &o, m->nodes >= l->nodes);
	machine_close(m);
	return status;
}
