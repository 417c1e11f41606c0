/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes become valid JSON text, from which they can be recovered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kit/random.h"
#include "base/utf8.h"

static const struct {
	const char *text, *utf8;
} rows[] = {
	{ "", "" },
	{ "/data/points.npy", "/data/points.npy" },
	/* 2, 3 and 4 bytes */
	{ "K\303\244se \342\202\254 \360\237\230\200",
	  "K\303\244se \342\202\254 \360\237\230\200" },
	{ "a\377b", "a\\xffb" },
	{ "\303", "\\xc3" }, /* a truncated character */
	{ "\342\202x", "\\xe2\\x82x" },
	{ "\300\200", "\\xc0\\x80" },				/* an overlong encoding */
	{ "\355\240\200", "\\xed\\xa0\\x80" },			/* half of a surrogate pair */
	{ "n\n1\t\033[31m\177", "n\\x0a1\\x09\\x1b[31m\\x7f" }, /* a terminal obeys these */
	{ "\302\23331m\302\240", "\\xc2\\x9b31m\302\240" },
	{ "back\\slash, \\x, \\xf", "back\\slash, \\x, \\xf" },
	{ "\\xff", "\\x5cxff" },
	{ "\\x5cxff", "\\x5cx5cxff" },
	{ "\\\\xAb", "\\\\x5cxAb" },
};

static void each_byte_is_kept(void **state)
{
	char utf8[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		json_t *string = utf8_json(rows[i].text);

		assert_string_equal(utf8_print(rows[i].text, utf8, sizeof(utf8)), rows[i].utf8);
		assert_string_equal(json_string_value(string), rows[i].utf8);
		json_decref(string);
	}
	assert_null(utf8_json(NULL));
}

/* Decodes as a reader of a record does. */
static void decode(const char *utf8, char *text)
{
	unsigned byte;

	for (; *utf8; text++)
		if (sscanf(utf8, "\\x%2x", &byte) == 1 &&
		    strspn(utf8 + 2, "0123456789abcdefABCDEF") >= 2) {
			*text = (char)byte;
			utf8 += 4;
		} else {
			*text = *utf8++;
		}
	*text = 0;
}

static size_t random_below(size_t n)
{
	static uint64_t state;

	return random_mix(++state) % n;
}

static void random_bytes_come_back(void **state)
{
	static const char often[] = "\\\\\\xxfF05\303\244";
	char text[32], utf8[UTF8_ROOM(sizeof(text))], back[sizeof(text)], any[255];

	(void)state;
	for (unsigned i = 0; i < sizeof(any); i++)
		any[i] = (char)(i + 1);
	for (unsigned i = 0; i < 20000; i++) {
		const size_t length = random_below(sizeof(text));
		json_t *string;

		for (size_t j = 0; j < length; j++)
			memcpy(text + j,
			       random_below(3) ? often + random_below(sizeof(often) - 1)
					       : any + random_below(255),
			       1);
		text[length] = 0;
		string = json_string(utf8_print(text, utf8, sizeof(utf8)));
		assert_non_null(string);
		decode(utf8, back);
		assert_string_equal(back, text);
		json_decref(string);
	}
}

static void what_has_no_room_is_left_out(void **state)
{
	char utf8[6];

	(void)state;
	assert_string_equal(utf8_print("a\377\377", utf8, sizeof(utf8)), "a\\xff");
	assert_string_equal(utf8_print("abcd\303\244", utf8, sizeof(utf8)), "abcd");
	assert_string_equal(utf8_print("a", utf8, 1), "");
}

struct changed {
	const char *text, *to;
};

static void assert_changes(char *(*change)(char *), const struct changed *of, size_t n)
{
	char text[32];

	for (size_t i = 0; i < n; i++) {
		strcpy(text, of[i].text);
		assert_string_equal(change(text), of[i].to);
	}
}

static void a_terminal_gets_no_control_character(void **state)
{
	static const struct changed of[] = { { "", "" },
					     { "n\n1\033[31m\177", "n?1?[31m?" },
					     { "\302\2331m \303\244\302\240\377",
					       "??1m \303\244\302\240\377" },
					     { "\302", "\302" } };

	(void)state;
	assert_changes(utf8_tame, of, sizeof(of) / sizeof(*of));
}

static void a_cut_character_is_removed(void **state)
{
	static const struct changed of[] = { { "", "" },
					     { "a\303\244", "a\303\244" },
					     { "a\303", "a" },
					     { "\342\202 b\342", " b" },
					     { "a\377\342\202\254\n", "a\342\202\254" } };

	(void)state;
	assert_changes(utf8_whole, of, sizeof(of) / sizeof(*of));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_byte_is_kept),
		cmocka_unit_test(random_bytes_come_back),
		cmocka_unit_test(what_has_no_room_is_left_out),
		cmocka_unit_test(a_terminal_gets_no_control_character),
		cmocka_unit_test(a_cut_character_is_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
