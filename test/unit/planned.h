/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of a sample benchmark on synthetic machines. */
#ifndef LOCUS_TEST_PLANNED_H
#define LOCUS_TEST_PLANNED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "harness/plan/plan.h"
#include "machine/topology/topology.h"

enum { SIZE_OF, KIND, WHERE, FROM, TO };
static const struct parameter parameters[] = {
	[SIZE_OF] = { "size", "B", "bytes", P_SIZE, .value = { "1K,2K" } },
	[KIND] = { "kind", NULL, "which", P_CHOICE, .choices = "plain,fancy",
		   .value = { "plain", "plain,fancy" } },
	[WHERE] = { "layout", NULL, "threads", P_LAYOUT, .value = { "packed,split" } },
	[FROM] = { "from", NULL, "node", P_LAYOUT, .value = { "each" } },
	[TO] = { "to", NULL, "node", P_NODE, .value = { "all" } },
};

/* So many bytes that page tables and samples hardly matter beside them. */
static inline struct needs needs(const struct trial *t)
{
	const bool right = t->value[KIND].choice == 0 || t->value[SIZE_OF].count == 1024;

	return (struct needs){ .pointless = right ? NULL : "fancy is for one kibibyte",
			       .bytes = t->value[SIZE_OF].count << 15 };
}

static const struct variant variants[] = {
	{ .name = "one", .unused = BIT(FROM) | BIT(TO) },
	{ .name = "two", .unused = BIT(FROM) | BIT(TO) },
	{ .name = "matrix", .unused = BIT(WHERE) },
};

/* The same parameters in a benchmark with a ratio, and with a variant that sets its threads. */
static const struct ratio of_kinds[] = { { "slowdown", "", KIND, "fancy", "plain", NULL } };
static const struct override all_threads[] = { { P_THREADS, { "all" } } };
static const struct variant compared[] = {
	{ .name = "one", .unused = BIT(WHERE) | BIT(FROM) | BIT(TO) },
	{ .name = "two", .unused = BIT(WHERE) | BIT(FROM) | BIT(TO) },
	{ .name = "wide",
	  .unused = BIT(WHERE) | BIT(FROM) | BIT(TO) | BIT(KIND),
	  ROWS(defaults, all_threads) },
};
static const struct benchmark with_ratios = { .name = "sample",
					      .protocol = { 1, "none" },
					      .unit = { "turn" },
					      ROWS(parameters, parameters),
					      ROWS(variants, compared),
					      ROWS(ratios, of_kinds),
					      .preset = { [QUICK] = { .threads = "1,auto" } } };

static const struct benchmark benchmark = { .name = "sample",
					    .protocol = { 1, "none" },
					    .unit = { "turn" },
					    ROWS(parameters, parameters),
					    ROWS(variants, variants),
					    .needs = needs };

struct fixture {
	struct machine *machine;
	struct setting setting;
	struct options options;
	struct plan plan;
};

static inline void begin(struct fixture *f, const char *topology, enum profile profile)
{
	const char *error;

	memset(f, 0, sizeof(*f));
	f->machine = machine_open(topology, &error);
	assert_non_null(f->machine);
	f->setting = (struct setting){ .machine = f->machine,
				       .memory = { .available = NO_LIMIT, .what = "nothing" } };
	f->options = (struct options){ .benchmark = &benchmark, .profile = profile, .seed = 1 };
}

static inline void end(struct fixture *f)
{
	plan_free(&f->plan);
	machine_close(f->machine);
}

static inline void make(struct fixture *f)
{
	assert_int_equal(plan_make(&f->plan, &benchmark, &f->options, &f->setting), 0);
}

static inline unsigned with(const struct plan *p, const char *text)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->trials; i++)
		n += strstr(p->trial[i].identity, text) != NULL;
	return n;
}

static inline void make_with_ratios(struct fixture *f)
{
	f->options.benchmark = &with_ratios;
	assert_int_equal(plan_make(&f->plan, &with_ratios, &f->options, &f->setting), 0);
}

#endif
