/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks without MPI: processes that share memory. All of them agree, and a run ends with the same
 * status on all.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "benchmarks.h"
#include "kit/agree.h"
#include "harness/run/run.h"
#include "ranks.h"

#define CHECK(IT)                                  \
	do {                                       \
		if (!(IT))                         \
			return __LINE__ % 200 + 1; \
	} while (0)

static int agree(const struct ranks *ranks)
{
	char text[5000], *words = NULL, *none = NULL;

	CHECK(rank_is_first(ranks) == (ranks->rank == 0));
	CHECK(agree_most(ranks, -1.5 - ranks->rank) == -1.5);
	CHECK(agree_any(ranks, ranks->rank == 1) && !agree_any(ranks, false));
	CHECK(agree_same(ranks, UINT64_MAX) && !agree_same(ranks, UINT64_MAX / (ranks->rank + 1)));
	memset(text, 'a' + (int)ranks->rank, sizeof(text));
	agree_copy(ranks, 2, text, sizeof(text) - 1);
	CHECK(text[0] == 'c' && text[sizeof(text) - 2] == 'c' &&
	      text[sizeof(text) - 1] == 'a' + (int)ranks->rank);
	agree_words(ranks, &none);
	CHECK(!none);
	words = ranks->rank ? strdup("it rains") : NULL;
	agree_words(ranks, &words);
	CHECK(strncmp(words, "on rank 1 (", 11) == 0 &&
	      strcmp(strrchr(words, ':'), ": it rains") == 0);
	free(words);
	words = strdup("it shines");
	agree_words(ranks, &words);
	CHECK(strcmp(words, "it shines") == 0);
	free(words);
	return 0;
}

static void ranks_agree(void **state)
{
	(void)state;
	assert_int_equal(on_all_ranks(agree, NULL, 0), 0);
}

static int complain(const struct ranks *ranks)
{
	struct mute mute;
	int status = 0;

	for (unsigned first = 0; first < 2; first++) {
		mute_begin(&mute, ranks);
		if (ranks->rank >= first) {
			fprintf(stderr, "locus: it is %s\n", first ? "wet" : "cold");
			status = 2 + (int)ranks->rank;
		}
		mute_end(&mute, ranks, &status);
		CHECK(status == 4);
		status = 0;
	}
	return 0;
}

/*
 * A complaint of all ranks is printed once; a complaint that rank 0 does not have is printed with
 * its rank.
 */
static void complaints_of_others_are_told_by_rank_0(void **state)
{
	char said[256], *second;

	(void)state;
	assert_int_equal(on_all_ranks(complain, said, sizeof(said)), 0);
	second = strchr(said, '\n');
	assert_non_null(second);
	assert_int_equal(strncmp(said, "locus: it is cold\nlocus: on rank 1 (", 36), 0);
	assert_non_null(strstr(second, "): locus: it is wet\n"));
	assert_null(strstr(second, "cold"));
}

static void alone_all_is_as_it_was(void **state)
{
	struct mute mute;
	char *words = NULL, text[] = "mine";
	int status = 3;

	(void)state;
	assert_true(rank_is_first(NULL) && agree_any(NULL, true) && !agree_any(NULL, false) &&
		    agree_same(NULL, 1));
	assert_true(agree_most(NULL, -2) == -2);
	agree_words(NULL, &words);
	assert_null(words);
	agree_copy(NULL, 0, text, sizeof(text));
	assert_string_equal(text, "mine");
	mute_begin(&mute, NULL);
	mute_end(&mute, NULL, &status);
	assert_int_equal(status, 3);
}

/* s: an emulated machine is slow, and must not be cut off. */
enum { ENOUGH = 3600 };

static int run_with(const struct ranks *ranks, struct options options)
{
	options.benchmark = &dummy_benchmark;
	options.repeats = 3;
	options.time_budget = ENOUGH;
	options.quiet = true;
	return engine_run(&options, benchmarks, ranks);
}

static int run_all(const struct ranks *ranks)
{
	return run_with(ranks, (struct options){
				       .variant = "steady,sums,failing,impossible,wrong,misplaced",
				       .oversubscribe = true });
}

static int run_good(const struct ranks *ranks)
{
	return run_with(ranks, (struct options){ .variant = "steady,sums",
						 .threads = "1,2",
						 .parameter = { NULL, "64K" },
						 .oversubscribe = true });
}

static int run_to_the_budget(const struct ranks *ranks)
{
	struct options options = { .benchmark = &dummy_benchmark,
				   .variant = "steady,humps",
				   .time_budget = 0.2,
				   .oversubscribe = true,
				   .quiet = true };

	return engine_run(&options, benchmarks, ranks);
}

/* `parameter`: --points, --dimensions and --clusters. */
static int run_kmeans(const struct ranks *ranks)
{
	struct options options = { .benchmark = &kmeans_benchmark,
				   .variant = "best",
				   .threads = "1,2",
				   .parameter = { "700/rank", "3", "9" },
				   .time_budget = ENOUGH,
				   .repeats = 2,
				   .seed = 1,
				   .oversubscribe = true,
				   .quiet = true };

	return engine_run(&options, benchmarks, ranks);
}

static int run_crowded(const struct ranks *ranks)
{
	return run_with(ranks, (struct options){ .variant = "steady" });
}

static int run_differing(const struct ranks *ranks)
{
	return run_with(ranks, (struct options){ .variant = "steady",
						 .threads = ranks->rank == 2 ? "1,2" : "1",
						 .oversubscribe = true });
}

static int run_badly_told(const struct ranks *ranks)
{
	return run_with(ranks, (struct options){ .variant = ranks->rank == 2 ? "stedy" : "steady",
						 .oversubscribe = true });
}

static int run_unwritable(const struct ranks *ranks)
{
	return run_with(ranks, (struct options){ .variant = "steady",
						 .oversubscribe = true,
						 .output = "/dev/full" });
}

static int run_nowhere(const struct ranks *ranks)
{
	return run_with(ranks, (struct options){ .variant = "steady",
						 .oversubscribe = true,
						 .output = "/nowhere/at/all" });
}

static void be_told(void *state, struct worker *w)
{
	(void)state;
	if (me == 1)
		raise(SIGTERM);
	w->done = 1;
}

static const struct role to_completion[] = { { "worker", NULL, TO_COMPLETION } };
static const struct metric just_time[] = { TIME_METRIC("turn") };
static const struct parameter of_files[] = { { "rows", NULL, "of the file", P_DERIVED } };

/* One rank gets a signal while it measures. */
static int run_until_signalled(const struct ranks *ranks)
{
	static const struct variant variants[] = {
		{ .name = "told", .summary = "is told to end", .divided = true },
	};
	static const struct benchmark benchmark = { .name = "told",
						    .summary = "is told to end",
						    .protocol = { 1, "none" },
						    .unit = { "turn" },
						    ROWS(metrics, just_time),
						    ROWS(variants, variants),
						    .ops = { .work = be_told },
						    ROWS(roles, to_completion),
						    .preset = { [QUICK] = { .threads = "1",
									    .sample = 1e-3 } } };
	const struct benchmark *const table[] = { &benchmark, NULL };
	struct options options = { .benchmark = &benchmark, .oversubscribe = true, .quiet = true };

	return engine_run(&options, table, ranks);
}

static const char *find_by_rank(const struct trial *t, union value *value, uint64_t given)
{
	(void)t, (void)given;
	value->count = me == 1 ? 7 : 9;
	return NULL;
}

/* Rank 1 finds another file. */
static int run_with_other_files(const struct ranks *ranks)
{
	static const struct variant variants[] = {
		{ .name = "reads", .summary = "reads", .divided = true },
	};
	static const struct benchmark benchmark = { .name = "file",
						    .summary = "has a file",
						    .protocol = { 1, "none" },
						    .unit = { "turn" },
						    ROWS(parameters, of_files),
						    ROWS(metrics, just_time),
						    ROWS(variants, variants),
						    .ops = { .work = be_told },
						    ROWS(roles, to_completion),
						    .preset = { [QUICK] = { .threads = "1",
									    .sample = 1e-3 } },
						    .resolve = find_by_rank };
	const struct benchmark *const table[] = { &benchmark, NULL };
	struct options options = { .benchmark = &benchmark, .oversubscribe = true, .quiet = true };

	return engine_run(&options, table, ranks);
}

static int run_undivided(const struct ranks *ranks)
{
	struct options options = { .benchmark = &numa_benchmark,
				   .variant = "single",
				   .quiet = true };

	return engine_run(&options, benchmarks, ranks);
}

static void a_run_ends_alike_on_all_ranks(void **state)
{
	static const struct {
		int (*body)(const struct ranks *);
		int status;
		const char *says;
	} cases[] = {
		{ run_all, 1, "locus dummy: 1 wrong: on rank 2 (" },
		{ run_good, 0, "" },
		{ run_to_the_budget, 0, "" },
		{ run_kmeans, 0, "" },
		{ run_crowded, 3, "3 ranks of this node may use CPU " },
		{ run_differing, 2,
		  "trial 2 differs from rank 0's: dummy/steady delay=10 size=0 threads=2 "
		  "ranks=3" },
		{ run_with_other_files, 2,
		  "trial 1 differs from rank 0's: its file has 7 rows, and not 9: "
		  "file/reads" },
		{ run_badly_told, 2, "did you mean 'steady'" },
		{ run_unwritable, 1, "No space left" },
		{ run_nowhere, 1, "No such file" },
		{ run_until_signalled, 128 + SIGTERM, "" },
		{ run_undivided, 2, "single is not divided over ranks" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char said[4096];

		assert_int_equal(on_all_ranks(cases[i].body, said, sizeof(said)), cases[i].status);
		if (*cases[i].says)
			assert_non_null(strstr(said, cases[i].says));
		else
			assert_string_equal(said, "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_agree),
		cmocka_unit_test(complaints_of_others_are_told_by_rank_0),
		cmocka_unit_test(alone_all_is_as_it_was),
		cmocka_unit_test(a_run_ends_alike_on_all_ranks),
	};

	program_invocation_short_name = (char *)"locus"; /* as program_main() sets it */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
