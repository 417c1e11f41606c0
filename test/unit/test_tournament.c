/* SPDX-License-Identifier: Apache-2.0 */
/* The tournament of workers that meet in pairs: its rounds, and which pairs are measured alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cases.h"
#include "harness/plan/plan.h"
#include "harness/sample/workers.h"
#include "machine/topology/topology.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

static const unsigned sizes[] = { 2,  3,  4,  5,  6,  7,  8,  9,  10, 11,  12,	13,  14,
				  15, 16, 17, 18, 19, 20, 63, 64, 65, 127, 128, 255, 256 };

static void every_pair_meets_once(void **unused)
{
	static unsigned char met[256][256];

	(void)unused;
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		const unsigned n = sizes[i];

		memset(met, 0, sizeof(met));
		for (unsigned round = 0; round < tournament_rounds(n); round++)
			for (unsigned table = 0, a, b; table < tournament_slots(n); table++) {
				if (!tournament_pair(n, round, table, &a, &b))
					continue;
				assert_true(a < b && b < n);
				met[a][b]++;
			}
		for (unsigned a = 0; a < n; a++)
			for (unsigned b = a + 1; b < n; b++)
				assert_int_equal(met[a][b], 1);
	}
}

static void pairs_of_a_round_are_disjoint(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		const unsigned n = sizes[i];

		for (unsigned round = 0; round < tournament_rounds(n); round++) {
			unsigned char seated[256] = { 0 };
			unsigned tables = 0;

			for (unsigned table = 0, a, b; table < tournament_slots(n); table++) {
				if (!tournament_pair(n, round, table, &a, &b))
					continue;
				assert_false(seated[a]++ || seated[b]++);
				tables++;
			}
			assert_int_equal(tables, n / 2); /* if n is odd, one sits out */
		}
	}
}

static void a_player_knows_its_partner(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < COUNT_OF(sizes); i++)
		for (unsigned n = sizes[i], round = 0; round < tournament_rounds(n); round++)
			for (unsigned player = 0; player < n; player++) {
				unsigned partner, slot, a, b;
				const bool plays =
					tournament_partner(n, round, player, &partner, &slot);

				assert_int_equal(plays, tournament_pair(n, round, slot, &a, &b));
				assert_true(player == a || player == b);
				if (plays)
					assert_int_equal(partner, player == a ? b : a);
			}
}

static void as_few_rounds_as_there_can_be(void **unused)
{
	(void)unused;
	assert_int_equal(tournament_rounds(0), 0);
	assert_int_equal(tournament_rounds(1), 0);
	for (size_t i = 0; i < COUNT_OF(sizes); i++)
		assert_int_equal(tournament_rounds(sizes[i]),
				 sizes[i] % 2 ? sizes[i] : sizes[i] - 1);
}

/* A machine of equal cores with one CPU each. */
static struct machine *flat(unsigned cores)
{
	char description[32];
	const char *error = NULL;
	struct machine *machine;

	snprintf(description, sizeof(description), "core:%u pu:1", cores);
	machine = machine_open(description, &error);
	assert_non_null(machine);
	return machine;
}

static void pairs_alone_are_different_ones(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		const unsigned n = sizes[i];
		struct machine *machine = flat(n);

		for (uint64_t seed = 0; seed < cases(n > 20 ? 2 : 20); seed++) {
			struct place place[n];
			struct trial trial = {
				.machine = machine, .place = place, .threads = n, .seed = seed
			};
			struct pairs *p;
			unsigned alone;
			unsigned a[64], b[64];

			for (unsigned j = 0; j < n; j++)
				place[j] = (struct place){ machine->cpu[j].number, 0 };
			p = pairs_open(&trial);
			alone = p->alone;

			assert_true(alone <= COUNT_OF(a));
			/* with one pair a round, every pair is alone anyway: none is repeated */
			assert_int_equal(alone > 0, n / 2 > 1);
			for (unsigned j = 0, round, table; j < alone; j++) {
				round = p->alone_round[j], table = p->alone_slot[j];
				assert_true(round < tournament_rounds(n));
				assert_true(tournament_pair(n, round, table, &a[j], &b[j]));
				for (unsigned k = 0; k < j; k++)
					assert_true(a[j] != a[k] || b[j] != b[k]);
			}
			pairs_close(p);
		}
		machine_close(machine);
	}
}

/* No pair is left out for good: over many seeds each is measured alone at least once. */
static void every_pair_may_be_alone(void **unused)
{
	(void)unused;
	for (unsigned n = 4; n <= 9; n++) {
		struct machine *machine = flat(n);
		unsigned char seen[9][9] = { 0 };
		unsigned pairs = 0;
		struct place place[9];

		for (unsigned i = 0; i < n; i++)
			place[i] = (struct place){ machine->cpu[i].number, 0 };
		for (uint64_t seed = 0; seed < 1000; seed++) {
			struct trial trial = {
				.machine = machine, .place = place, .threads = n, .seed = seed
			};
			struct pairs *p = pairs_open(&trial);

			for (unsigned i = 0, round, table, a, b; i < p->alone; i++) {
				round = p->alone_round[i], table = p->alone_slot[i];
				assert_true(tournament_pair(n, round, table, &a, &b));
				pairs += !seen[a][b]++;
				seen[a][b] = 1;
			}
			pairs_close(p);
		}
		assert_int_equal(pairs, n * (n - 1) / 2);
		machine_close(machine);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pair_meets_once),
		cmocka_unit_test(pairs_of_a_round_are_disjoint),
		cmocka_unit_test(a_player_knows_its_partner),
		cmocka_unit_test(as_few_rounds_as_there_can_be),
		cmocka_unit_test(pairs_alone_are_different_ones),
		cmocka_unit_test(every_pair_may_be_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
