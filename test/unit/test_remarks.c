/* SPDX-License-Identifier: Apache-2.0 */
/* A remark on several trials is printed once, and lines are wrapped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "harness/run/table.h"
#include "base/message.h"

struct said {
	unsigned rank;
	const char *label, *sentence;
};

static void expect(const struct said *said, unsigned n, const char *mark, const char *expected)
{
	struct remarks list = { 0 };
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	for (unsigned i = 0; i < n; i++)
		remarks_add(&list, said[i].rank, said[i].label, said[i].sentence);
	remarks_print(&list, mark, f);
	fclose(f);
	assert_string_equal(text, expected);
	remarks_free(&list);
	free(text);
}

#define EXPECT(MARK, EXPECTED, ...)                  \
	expect((const struct said[]){ __VA_ARGS__ }, \
	       sizeof((const struct said[]){ __VA_ARGS__ }) / sizeof(struct said), MARK, EXPECTED)

static void the_same_words_are_said_once(void **state)
{
	(void)state;
	EXPECT("", "3 noisy: 12 to 94 % of samples, 0 s stolen\n",
	       { 1, "noisy", "51 % of samples, 0 s stolen" },
	       { 1, "noisy", "94 % of samples, 0 s stolen" },
	       { 1, "noisy", "12 % of samples, 0 s stolen" });
	EXPECT("- ", "- 2 trials: it took 1e-06 to 2.5 s\n", { 1, "trial", "it took 2.5 s" },
	       { 1, "trial", "it took 1e-06 s" });
	EXPECT("", "1 trial: once\n", { 1, "trial", "once" });
}

static void ranges_become_one_from_end_to_end(void **state)
{
	(void)state;
	EXPECT("", "2 unconverged: at 0.045 to 42 times the value (target ±1 to 3 %)\n",
	       { 1, "unconverged", "at 0.69 to 1.6 times the value (target ±3 %)" },
	       { 1, "unconverged", "at 0.045 to 42 times the value (target ±1 %)" });
	EXPECT("", "2 trials: changed from 4 to 2 to 3\n", { 1, "trial", "changed from 4 to 2" },
	       { 1, "trial", "changed from 4 to 3" });
	EXPECT("", "1 unconverged: at 0.69 to 1.6 times the value\n",
	       { 1, "unconverged", "at 0.69 to 1.6 times the value" });
}

static void a_sign_is_part_of_its_number(void **state)
{
	(void)state;
	EXPECT("", "3 trials: drifted by -2.1 to +7.0 %\n", { 1, "trial", "drifted by +1.5 %" },
	       { 1, "trial", "drifted by -2.1 %" }, { 1, "trial", "drifted by +7.0 %" });
	EXPECT("", "1 trial: a-1\n1 trial: a-2\n", { 1, "trial", "a-1" }, { 1, "trial", "a-2" });
}

static void other_words_and_other_ranks_are_not(void **state)
{
	(void)state;
	EXPECT("", "1 wrong: b 1\n1 noisy: a 1\n1 also: a 2\n", { 1, "noisy", "a 1" },
	       { 2, "also", "a 2" }, { 0, "wrong", "b 1" });
}

/* Digits in a name, an option or a path are text, not numbers to be merged into a range. */
static void what_looks_like_a_number_may_be_a_name(void **state)
{
	(void)state;
	EXPECT("", "1 trial: L2 of /a/1/b, 2p, x=1\n1 trial: L3 of /a/1/b, 2p, x=1\n",
	       { 1, "trial", "L2 of /a/1/b, 2p, x=1" }, { 1, "trial", "L3 of /a/1/b, 2p, x=1" });
}

static void numbers_beyond_the_room_are_words(void **state)
{
	(void)state;
	EXPECT("", "2 trials: 1 1 1 1 1 1 1 1 1 1 1 1 to 2 9\n1 trial: 1 1 1 1 1 1 1 1 1 1 1 1 8\n",
	       { 1, "trial", "1 1 1 1 1 1 1 1 1 1 1 1 9" },
	       { 1, "trial", "1 1 1 1 1 1 1 1 1 1 1 2 9" },
	       { 1, "trial", "1 1 1 1 1 1 1 1 1 1 1 1 8" });
}

static void alternatives_are_broken_behind_their_bars(void **state)
{
	char word[MESSAGE_WIDTH - 9], text[2 * sizeof(word)], expected[2 * sizeof(word)];
	char *printed = NULL;
	size_t size;
	FILE *f = open_memstream(&printed, &size);

	(void)state;
	assert_non_null(f);
	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = 0;
	snprintf(text, sizeof(text), "a|%s|b c|d", word);
	snprintf(expected, sizeof(expected), "  head a|%s|\n    b c|d\n", word);
	message_row("  head ", text, 4, f);
	fclose(f);
	assert_string_equal(printed, expected);
	free(printed);
}

static void lines_are_broken_at_blanks(void **state)
{
	char word[MESSAGE_WIDTH + 20], text[3 * sizeof(word)], expected[3 * sizeof(word)];
	char *printed = NULL;
	size_t size;
	FILE *f = open_memstream(&printed, &size);

	(void)state;
	assert_non_null(f);
	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = 0; /* wider than a line: it is not broken */
	snprintf(text, sizeof(text), "a %s b", word);
	snprintf(expected, sizeof(expected), "a\n  %s\n  b\n", word);
	message_print(text, 2, f);
	word[MESSAGE_WIDTH - 2] = 0;
	snprintf(text, sizeof(text), "± %s", word);
	message_print(text, 2, f);
	fclose(f);
	assert_non_null(strstr(printed, expected));
	assert_string_equal(printed + strlen(expected), strcat(text, "\n"));
	free(printed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_words_are_said_once),
		cmocka_unit_test(ranges_become_one_from_end_to_end),
		cmocka_unit_test(a_sign_is_part_of_its_number),
		cmocka_unit_test(other_words_and_other_ranks_are_not),
		cmocka_unit_test(what_looks_like_a_number_may_be_a_name),
		cmocka_unit_test(numbers_beyond_the_room_are_words),
		cmocka_unit_test(lines_are_broken_at_blanks),
		cmocka_unit_test(alternatives_are_broken_behind_their_bars),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
