/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines of every benchmark in the table, and of the suite, planned as --dry-run does. A
 * command line is refused with a message on stderr, or every trial has a name, a unique identity,
 * and a line in the plan.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "benchmarks.h"
#include "harness/plan/plan.h"
#include "harness/ask/options.h"
#include "machine/topology/topology.h"

enum { MOST_WORDS = 64 };

/* Whatever the words were, the text must be valid UTF-8: it goes into the record. */
static void check_text(const char *text)
{
	json_t *json = json_string(text);

	must(*text && json);
	json_decref(json);
}

static void check_plan(const struct plan *plan, const struct setting *setting)
{
	for (unsigned i = 0; i < plan->trials; i++) {
		const struct planned *p = &plan->trial[i];

		check_text(p->identity);
		must(*p->name && strlen(p->id) == 16 && p->group < plan->groups);
		must(p->refusal ? strlen(p->refusal) > 10
				: p->trial.threads >= 1 && p->trial.threads <= plan->threads);
		must(!i || p[-1].hash != p->hash);
	}
	plan_print(plan, setting, 1, nowhere());
}

static int make_plan(const struct benchmark *b, const struct options *o, const struct machine *m)
{
	const struct setting setting = { .machine = m,
					 .memory = { .available = NO_LIMIT },
					 .host_ranks = 1 };
	struct plan plan;
	const int status = plan_make(&plan, b, o, &setting);

	if (status)
		return status;
	check_plan(&plan, &setting);
	plan_free(&plan);
	return 0;
}

/* NULL: the suite. */
static int plan_on(const struct benchmark *b, const struct options *o, const struct machine *m)
{
	int status = 0;

	if (b)
		return make_plan(b, o, m);
	for (const struct benchmark *const *row = benchmarks; *row && !status; row++)
		status = make_plan(*row, o, m);
	return status;
}

/* --bind restricts the machine, as run() does: so that needs a machine that is not shared. */
static int plan_command(const struct benchmark *b, int argc, char **argv, unsigned choice)
{
	const char *why = NULL;
	struct options o;
	struct machine *m;
	int status = options_parse(&o, b, argc, argv);

	if (status || !o.bind)
		return status ? status : plan_on(b, &o, described_machine(choice));
	m = open_described(choice);
	if (machine_restrict(m, o.bind, &why)) {
		fprintf(stderr, "locus: --bind: %s\n", why);
		status = EXIT_COMMAND_LINE;
	} else {
		status = plan_on(b, &o, m);
	}
	machine_close(m);
	return status;
}

static const struct benchmark *choose(unsigned number)
{
	unsigned rows = 0;

	while (benchmarks[rows])
		rows++;
	number %= rows + 2;
	/* the last two numbers: the benchmark for tests, and none (the suite) */
	return number < rows ? benchmarks[number] : benchmarks_for_tests[number - rows];
}

/* Empties stdin, as a command line may name it as a file of points. */
static void shut_input(void)
{
	static bool done;
	const int nothing = done ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (nothing >= 0)
		must(dup2(nothing, STDIN_FILENO) >= 0 && !close(nothing));
	done = true;
}

/* The input: a letter for the benchmark, a digit for the machine, then a line for each word. */
void fuzz_options(const uint8_t *data, size_t size)
{
	const struct benchmark *b;
	char *text, *rest, *argv[MOST_WORDS + 2], name[64];
	const char *said;
	int argc = 1, status;

	if (size < 2)
		return;
	shut_input();
	b = choose((uint8_t)(data[0] - 'a'));
	snprintf(name, sizeof(name), "locus %s", b ? b->name : "suite");
	argv[0] = name;
	rest = text = text_from(data + 2, size - 2);
	while (*rest && argc <= MOST_WORDS && (argv[argc] = next_line(&rest))) {
		argc++;
		if (!rest)
			break;
	}
	argv[argc] = NULL;
	listen_begin();
	status = plan_command(b, argc, argv, (uint8_t)(data[1] - '0'));
	said = listen_end();
	must(status == 0 || status == OPTIONS_HELPED || status == EXIT_COMMAND_LINE ||
	     status == EXIT_IMPOSSIBLE);
	must(status <= 0 || !strncmp(said, "locus", 5));
	free(text);
}
