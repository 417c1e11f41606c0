/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "harness/list.h"
#include "harness/names.h"
#include "harness/options.h"

void list_benchmarks(const struct benchmark *const *table, FILE *f)
{
	for (; *table; table++)
		if (!(*table)->internal)
			fprintf(f, "%-12s %s\n", (*table)->name, (*table)->summary);
}

static void list_parameter(const struct parameter *p, FILE *f)
{
	fprintf(f, "  --%-14s %s", p->name, p->help);
	if (p->choices)
		fprintf(f, ": %s", p->choices);
	fprintf(f, "\n  %16s ", "");
	for (enum profile i = QUICK; i < PROFILES; i++)
		if (p->value[i])
			fprintf(f, " %s: %s%s", profile_names[i], p->value[i], i + 1 < PROFILES && p->value[i + 1] ? ";" : "");
	fprintf(f, "\n");
}

void list_benchmark(const struct benchmark *b, FILE *f)
{
	fprintf(f, "%s: %s\n", b->name, b->summary);
	fprintf(f, "protocol: %s\n", b->protocol);
	if (b->source)
		fprintf(f, "source: %s\n", b->source);
	fprintf(f, "\nvariants\n");
	for (const struct variant *v = b->variants; v->name; v++)
		fprintf(f, "  %-16s %s\n", v->name, v->summary);
	fprintf(f, "\nparameters (a profile without a value takes the one before it)\n");
	for (const struct parameter *p = b->parameters; p && p->name; p++)
		list_parameter(p, f);
	fprintf(f, "\nmetrics\n");
	for (const struct metric *m = b->metrics; m && m->name; m++)
		fprintf(f, "  %-16s %s (%s)\n", m->name, m->help, m->unit);
	fprintf(f, "  %-16s wall time of a sample for each %s that a worker did (s/%s)\n", "time", b->unit, b->unit);
}

const struct benchmark *find_benchmark(const struct benchmark *const *table, const char *name)
{
	const char *names[64];
	size_t n = 0;
	int near;

	for (size_t i = 0; table[i] && n < 64; i++) {
		if (strcmp(table[i]->name, name) == 0)
			return table[i];
		if (!table[i]->internal)
			names[n++] = table[i]->name;
	}
	near = nearest(name, names, n);
	if (near >= 0)
		fprintf(stderr, "locus: there is no benchmark '%s'; did you mean '%s'?\n", name, names[near]);
	else
		fprintf(stderr, "locus: there is no benchmark '%s'; `locus list` shows them\n", name);
	return NULL;
}
