/* SPDX-License-Identifier: Apache-2.0 */
/* Rows: what each rank measured with others reaches rank 0, limited by its room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "harness/sample/reductions.h"
#include "ranks.h"

enum { SLOW, NONE, WIDE, OTHER };
static const struct metric metrics[] = {
	[SLOW] = { "slow", "s", "less is better", LOWER_IS_BETTER, .kind = M_ROW },
	[NONE] = { "none", "s", "nothing", LOWER_IS_BETTER, .kind = M_ROW },
	[WIDE] = { "wide", "B/s", "more is better", HIGHER_IS_BETTER, .kind = M_ROW },
	[OTHER] = { "other", "s", "has no rows", LOWER_IS_BETTER },
};
static const struct benchmark benchmark = { .name = "rows", ROWS(metrics, metrics) };

static struct rows *open_rows(const struct ranks *ranks)
{
	return rows_open(&(struct trial){ .benchmark = &benchmark, .ranks = ranks });
}

static json_int_t integer(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static double cell(const json_t *row, const char *name, size_t i)
{
	return json_number_value(json_array_get(json_object_get(row, name), i));
}

/* Each rank has met the next one, in three samples; the last one has met nobody. */
static int gather(const struct ranks *ranks)
{
	struct rows *rows = open_rows(ranks);
	json_t *list;
	int bad = 0;

	for (unsigned sample = 0; sample < 3 && ranks->rank < RANKS - 1; sample++) {
		rows_add(rows, SLOW, ranks->rank + 1, ranks->rank + 10 * sample);
		rows_add(rows, OTHER, ranks->rank + 1, 1);
		rows_add(rows, SLOW, RANKS, 1); /* there is no such rank */
	}
	rows_gather(rows, ranks);
	list = rows_json(rows);
	bad |= json_array_size(list) != (ranks->rank ? 0 : RANKS);
	for (unsigned i = 0; i + 1 < json_array_size(list); i++) {
		const json_t *row = json_array_get(list, i);

		bad |= integer(row, "rank") != i || integer(row, "node") != 0;
		bad |= json_integer_value(json_array_get(json_object_get(row, "with"), 0)) != i + 1;
		bad |= cell(row, "slow", 0) != i + 10; /* the median */
		bad |= json_object_size(row) != 5;     /* no metric without a value */
	}
	json_decref(list);
	rows_close(rows);
	return bad;
}

static void rank_0_gets_the_row_of_each(void **unused)
{
	(void)unused;
	assert_int_equal(on_all_ranks(gather, NULL, 0), 0);
}

/* --- very many simulated ranks --- */

static void nobody_sends(unsigned to, const void *bytes, size_t size)
{
	(void)to;
	(void)bytes;
	(void)size;
}

static void nothing_comes(unsigned from, void *bytes, size_t size)
{
	(void)from;
	memset(bytes, 0, size);
}

static void alone_on_its_host(double *x, size_t n)
{
	(void)x;
	(void)n;
}

static void of_very_many_the_first_and_the_worst_are_sent(void **unused)
{
	enum { MANY = 2000, SLOWEST = 1500, NARROWEST = 1700 };
	const struct ranks ranks = { .ranks = MANY,
				     .send = nobody_sends,
				     .receive = nothing_comes,
				     .most_host = alone_on_its_host };
	struct rows *rows = open_rows(&ranks);
	bool slowest = false, narrowest = false;
	json_t *list, *row, *with;

	(void)unused;
	for (unsigned i = 1; i < MANY; i++) {
		rows_add(rows, SLOW, i, i == SLOWEST ? 2 : 1);
		rows_add(rows, WIDE, i, i == NARROWEST ? 1 : 2);
	}
	rows_gather(rows, &ranks);
	list = rows_json(rows);
	assert_int_equal(json_array_size(list), MANY);
	row = json_array_get(list, 0);
	with = json_object_get(row, "with");
	assert_int_equal(json_array_size(with), ROWS_FIRST + 3 * ROWS_WORST);
	for (size_t i = 0; i < json_array_size(with); i++) {
		const json_int_t rank = json_integer_value(json_array_get(with, i));

		if (i < ROWS_FIRST)
			assert_int_equal(rank, i + 1);
		assert_true(cell(row, "slow", i) == (rank == SLOWEST ? 2 : 1));
		slowest |= rank == SLOWEST;
		narrowest |= rank == NARROWEST;
	}
	assert_true(slowest && narrowest);
	json_decref(list);
	rows_close(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rank_0_gets_the_row_of_each),
		cmocka_unit_test(of_very_many_the_first_and_the_worst_are_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
