/* SPDX-License-Identifier: Apache-2.0 */
/* Places of threads: --bind, layouts, and descriptions of machines. */
#include "fuzz.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands/commands.h"
#include "machine/threads/team.h"
#include "machine/topology/topology.h"

enum { MOST_THREADS = 1 << 10, MOST_CPUS = 64 };

static void check_places(const struct machine *m, const struct place *place, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct cpu *cpu = machine_cpu(m, place[i].cpu);

		must(cpu && cpu->node == place[i].node);
	}
}

/*
 * A binding is refused with a reason and an errno; or threads are on CPUs of the machine, at most
 * one on each unless `more` (oversubscription) is allowed.
 */
static void bind_threads(const struct machine *m, const char *bind, unsigned n, bool more)
{
	struct place *place = calloc(n, sizeof(*place));
	const char *why = NULL;

	must(place);
	if (machine_bind(m, bind, n, more, place, &why)) {
		must(why && strlen(why) > 10 && (errno == EINVAL || errno == ENODEV));
	} else {
		must(more || n <= m->cpus);
		check_places(m, place, n);
	}
	free(place);
}

static void lay_threads(const struct machine *m, const char *layout, bool more)
{
	const unsigned n = machine_layout_threads(layout);
	struct place *place = calloc(n, sizeof(*place));
	const char *why = NULL;

	must(n && place);
	if (machine_layout(m, layout, n % 2 ? "close" : "spread", more, place, &why))
		must(why && strlen(why) > 10);
	else
		check_places(m, place, n);
	free(place);
}

static void expand_layout(const struct machine *m, const char *word, unsigned threads, bool more)
{
	const char *why = NULL;
	unsigned n;
	char **layouts = machine_layouts(m, word, threads, &n, &why);

	must(layouts ? n > 0
		     : !n && why && strlen(why) > 10 && (errno == EINVAL || errno == ENODEV));
	for (unsigned i = 0; i < n; i++)
		if (machine_layout_threads(layouts[i]) <= MOST_THREADS)
			lay_threads(m, layouts[i], more);
	free(layouts);
}

/* The input: a byte for the machine, one for the threads, then a word: a binding or a layout. */
void fuzz_places(const uint8_t *data, size_t size)
{
	const struct machine *m;
	const char *why = NULL;
	struct place place[1];
	char *word;

	if (size < 2)
		return;
	m = described_machine(data[0] / 2);
	word = text_from(data + 2, size - 2);
	bind_threads(m, word, 1 + data[1], data[0] % 2);
	expand_layout(m, word, data[1], data[0] % 2);
	if (!machine_layout_threads(word))
		must(machine_layout(m, word, "close", false, place, &why));
	free(word);
}

/* hwloc's time grows with the square of the CPUs, whose number is the product of all numbers. */
static bool is_small(const char *description)
{
	double product = 1;
	char *end;

	for (const char *c = description; *c; c = end) {
		const unsigned long number = isdigit((unsigned char)*c) ? strtoul(c, &end, 0) : 0;

		if (!isdigit((unsigned char)*c))
			end = (char *)c + 1;
		product *= number > 1 ? (double)number : 1;
	}
	return product <= MOST_CPUS;
}

void fuzz_topology(const uint8_t *data, size_t size)
{
	char *description = text_from(data, size);
	const char *why = NULL;
	struct machine *m = is_small(description) ? machine_open(description, &why) : NULL;

	if (m) {
		must(!m->running && m->cpus && m->cores && m->nodes && m->cores <= m->cpus);
		bind_threads(m, "close", m->cpus, false);
		bind_threads(m, "spread", m->cpus, false);
		expand_layout(m, "split", m->cpus, true);
		topology_print(m, nowhere());
	} else if (is_small(description)) {
		must(why && strlen(why) > 10);
	}
	machine_close(m);
	free(description);
}
