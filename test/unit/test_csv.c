/* SPDX-License-Identifier: Apache-2.0 */
/* Text files of numbers: what is read, what is refused, and the place of an error. */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "matrix.h"

static void test_csv_is_read(void **state)
{
	static const double x[] = { 1, 2.5, -3e2, .25 };
	static const struct {
		const char *text;
		size_t n;
		unsigned d;
	} good[] = {
		{ "1,2.5\n-3e2,.25\n", 2, 2 },
		{ "1,2.5\n-3e2,.25", 2, 2 },
		{ "1,2.5\r\n-3E+2,0.25\r\n", 2, 2 },
		{ "\xef\xbb\xbf"
		  "1,2.5\n-3e2,.25\n",
		  2, 2 },
		{ "x,y\n1,2.5\n-300,+0.25\n", 2, 2 },
		{ "\n\n \r\nx,y\n\n  1 ,  2.5 \n\n\n-300, 0.25\n \n\n", 2, 2 },
		{ "1;2.5\n-3e2 ;  .25\n", 2, 2 },
		{ "1\t2.5\n -3e2\t .25 \n", 2, 2 },
		{ "1 2.5\n-3e2 .25\n", 2, 2 },
		{ "  1   2.5  \r\n\t-3e2\t\t.25\t\r\n", 2, 2 },
		{ "# x y\n1 2.5\n# half\n-3e2 .25\n#", 2, 2 },
		{ "1\n2.5\n-3e2\n.25\n", 4, 1 },
		{ "+00000000000000000001,2.5000000000000000001\n-300,.25\n", 2, 2 },
		{ "x\n1\n2.5\n-3e2\n.25\n", 4, 1 },
		{ "1,2.5,-3e2,.25", 1, 4 },
		{ "\"x 1\",\"one, or 2\",z,\xc3\xa4\n1,2.5,-3e2,.25", 1, 4 },
		{ "width, cm;height, cm\n1;2.5\n-3e2;.25", 2, 2 },
		{ "x y\n1\t2.5\n", 0, 0 },
		{ "\"1\",\"2.5\"\n-3e2,\".25\"\n", 2, 2 },
		{ "1,2.5\n\" -3e2 \" , \"+.25\"\n", 2, 2 },
		{ "\"1\" \"2.5\"\n\"-3e2\" \".25\"\n", 2, 2 },
		{ "\"x\",\"y\"\n\"1\",\"2.5\"\n-3e2,0.25\n", 2, 2 },
		{ "x,y\r\r\n1,2.5\r\r\n-3e2,.25\r", 2, 2 },
		{ "#NAME x\n# N/A is missing\n#\n1 2.5\n-3e2 .25\n", 2, 2 },
		{ "1."
		  "00000000000000000000000000000000000000000000000000000000000000000000000000000000"
		  "000,2.5\n",
		  1, 2 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(good); i++) {
		put_file("/points.csv", good[i].text);
		if (good[i].n)
			assert_points(in_tree("/points.csv"), good[i].n, good[i].d, x);
		else
			assert_refused(
				in_tree("/points.csv"),
				"line 2: 2 values; expected 1, as there are names in line 1");
	}
}

static void test_csv_is_refused(void **state)
{
	static const struct {
		const char *text, *word;
	} wrong[] = {
		{ "", "is empty" },
		{ "\n", "line 2: the file ends; expected numbers" },
		{ "# nothing\n\n# more", "the file ends" },
		{ "only,names\n", "line 2: the file ends, after a line without numbers" },
		{ "1,2\n1,2\n3\n", "line 3: 1 value; expected 2, as in line 1" },
		{ "x,y\n\n1,2\n3,4,5\n", "line 4: 3 values; expected 2, as in line 3" },
		{ "1,2\n3,\n", "line 2, value 2: ''; expected a finite number" },
		{ "1,2,\n3,4,\n", "line 1, value 3: ''" },
		{ "1\t2\n\t2\n", "line 2, value 1: ''" },
		{ "1,2\n,\n", "line 2, value 1: ''" },
		{ "1,2\n3,four\n", "line 2, value 2: 'four'" },
		{ "1,two\n3,4\n", "line 1, value 2: 'two'" },
		{ "x,y\na,b\n", "line 2, value 1: 'a'" },
		{ "x,y\n1,nan\n", "line 2, value 2: 'nan'; expected a finite number" },
		{ "-inf\n", "line 1, value 1: '-inf'" },
		{ "Infinity,NaN\n", "'Infinity'" },
		{ "1e999\n", "line 1, value 1: '1e999'" },
		{ "0,1\n0x1,1\n", "line 2, value 1: '0x1'" },
		{ "1,2\n3 4,5\n", "'3 4'" },
		{ "1\r2\r3\r", "byte 1: a carriage return (CR) alone; expected lines that end" },
		{ "x,y\r1,2\r", "byte 3: a carriage return (CR) alone" },
		{ "\xff\xfe"
		  "1\0\n",
		  "is text in UTF-16; expected ASCII or UTF-8" },
		{ "\xfe\xff", "is text in UTF-16" },
		{ "\x1f\x8b\x08", "is compressed by gzip; expected NPY or CSV: unpack it first" },
		{ "\3757zXZ", "is compressed by xz" },
		{ "\x28\xb5\x2f\xfd", "is compressed by zstd" },
		{ "PK\x03\x04", "is an archive, such as .npz" },
		{ "PAR1,b\n1,2\n3\n", "line 3: 1 value; expected 2" },
		{ "0,1\n1 \xc3\xa4,\n", "'1 ?\?'" },
		{ "1,5;2,5\n", "line 1: has two of comma, semicolon and tab" },
		{ "x;y\n1,5;2,5\n", "line 2: has two of comma, semicolon and tab" },
		{ "1,\t2\n", "line 1: has two of comma, semicolon and tab" },
		{ "1,2\n3;4\n", "line 2, value 1: '3;4'" },
		{ "a,b,c\n1,2\n", "line 2: 2 values; expected 3, as there are names in line 1" },
		{ "\"1\",\"2\"\n\"3\",\"four\"\n", "line 2, value 2: 'four'" },
		{ "\"1,5\",\"2\"\n", "line 1, value 1: '1,5'" },
		{ "\"1\",\"\"\n", "line 1, value 2: ''" },
		{ "\"1,2\n3,4\n", "line 1, value 1: '\"1,2'; expected a finite number, or a name" },
		/* a first line that is neither a number nor a name */
		{ "NA,NA\n1,2\n", "line 1, value 1: 'NA'; expected a finite number, or a name" },
		{ "x,n/a\n1,2\n", "line 1, value 2: 'n/a'" },
		{ "x;NULL\n1;2\n", "line 1, value 2: 'NULL'" },
		{ "None\n1\n", "line 1, value 1: 'None'" },
		{ "\"NA\",\"x\"\n1,2\n", "line 1, value 1: 'NA'" },
		{ "NA\n", "line 1, value 1: 'NA'" },
		{ "-nan(ind),x\n1,2\n", "line 1, value 1: '-nan(ind)'" },
		{ "-,-\n1,2\n", "line 1, value 1: '-'" },
		{ "?,?\n1,2\n", "line 1, value 1: '?'" },
		{ "0x10\n1\n", "line 1, value 1: '0x10'" },
		{ "1.5.1,2d3\n1,2\n", "line 1, value 1: '1.5.1'" },
		{ "x,2020-01-01\n1,2\n", "line 1, value 2: '2020-01-01'" },
		{ "true,false\n1,2\n", "line 1, value 1: 'true'" },
		{ "x,\n1,2\n", "line 1, value 2: ''" },
		{ ",\n1,2\n", "line 1, value 1: ''; expected a number or a name (pandas leaves" },
		{ ",x,y\n0,1,2\n", "line 1, value 1: ''; expected a number or a name (pandas" },
		{ ",0,1\n0,1,2\n", "line 1, value 1: ''; expected a number or a name (pandas" },
		{ "\"\",\"x\"\n\"1\",2\n", "line 1, value 1: ''" },
		{ "#N/A,1\n1,2\n", "line 1, value 1: '#N/A'" },
		{ "1,2\n#DIV/0!,3\n", "line 2, value 1: '#DIV/0!'" },
		{ "x,#REF!\n1,2\n", "line 1, value 2: '#REF!'" },
		{ "1,2\n1.1.1,2\n", "'1.1.1'" },
		/* refused as in an NPY file of integers: a double would be another number */
		{ "1,2\n1,9007199254740993\n",
		  "line 2, value 2: '9007199254740993'; expected an integer that a double holds" },
		{ "-1700000000123456789\n", "'-1700000000123456789'; expected an integer that a" },
		{ "1,\x03\x04", "byte 2 is 0x03; expected an NPY file" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(wrong); i++) {
		put_file("/points.csv", wrong[i].text);
		assert_refused(in_tree("/points.csv"), wrong[i].word);
	}
	put_bytes("/points.csv", "1,2\n3,\0\n", 8);
	assert_refused(in_tree("/points.csv"), "byte 6 is 0x00");
}

/* A double holds only some of the integers beyond 2^53; fractions are always rounded. */
static void test_large_integers(void **state)
{
	static const double x[] = { 0x1p53, -0x1p60, 0x1p63, 0x1.fffffffffffffp63 };

	(void)state;
	put_file("/points.csv", "9007199254740992,-1152921504606846976\n+9223372036854775808,"
				"0018446744073709549568");
	assert_points(in_tree("/points.csv"), 2, 2, x);
	put_file("/points.csv", "9007199254740993.0,-1152921504606846977.\n"
				"9223372036854775809e0,1.8446744073709549569e19");
	assert_points(in_tree("/points.csv"), 2, 2, x);
}

/* The note on the first line, after the name of the file; NULL: none. */
static void test_guesses_are_told(void **state)
{
	static const struct {
		const char *text, *told;
	} table[] = {
		{ "1,3\n3,4\n", NULL },
		{ "0,2\n3,4\n", NULL },
		{ "1,2,4\n3,4,7\n", NULL },
		{ "5,5,5\n0.5,1.5,2.5\n", NULL },
		{ "-1,0\n3,4\n", NULL },
		{ "1.5,2\n3.5,4\n", NULL },
		{ "7\n3\n", NULL },
		{ "7,2000\n", NULL },
		{ "0.0,1.0\n3,4\n", NULL },
		{ "\"3\",\"7\"\n\"1\",\"2\"\n", NULL },
		{ "# x y\n1 2\n", NULL },
		{ "NA\n", NULL },
		{ "x,y\n1,2\n", ": line 1 taken for names: x, y" },
		{ "# of numpy\n\n\"a b\" ; \xc3\xa4\n1;2\n",
		  ": line 3 taken for names: a b, \xc3\xa4" },
		{ "\"a\tb\"\n1\n", ": line 1 taken for names: a?b" },
		{ "x\xff\n1\n", ": line 1 taken for names: x\\xff" },
		{ "0,1\n10.5,1\n",
		  ": line 1 taken for a point: 0, 1; if these are names, delete the line" },
		{ "\"0\"\n1\n",
		  ": line 1 taken for a point: 0; if these are names, delete the line" },
		{ "2019,2020\n3,4\n",
		  ": line 1 taken for a point: 2019, 2020; if these are names, delete the line" },
		{ "2020,2019\n3,4\n",
		  ": line 1 taken for a point: 2020, 2019; if these are names, delete the line" },
		{ "\n2000;2010;2020\n3;4;9\n", ": line 2 taken for a point: 2000, 2010, 2020;"
					       " if these are names, delete the line" },
		{ "400.1,400.2,400.3\n3,4,9\n", ": line 1 taken for a point: 400.1, 400.2, 400.3;"
						" if these are names, delete the line" },
		{ "2000,2010\n0.5,1\n",
		  ": line 1 taken for a point: 2000, 2010; if these are names, delete the line" },
		{ "17,3,5\n1e3,2,1\n",
		  ": line 1 taken for a point: 17, 3, 5; if these are names, delete the line" },
		{ "\"3\",\"4\"\n1,2\n",
		  ": line 1 taken for a point: 3, 4; if these are names, delete the line" },
	};
	char *guess, text[1024] = "", *end = text;

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		put_file("/points.csv", table[i].text);
		guess = matrix_guess(in_tree("/points.csv"));
		if (!table[i].told)
			assert_null(guess);
		else
			assert_string_equal(guess + strlen(in_tree("/points.csv")), table[i].told);
		free(guess);
	}
	for (unsigned i = 0; i < 100; i++)
		end += sprintf(end, i ? ",%u" : "%u", i);
	strcpy(end, "\n");
	put_file("/points.csv", text);
	guess = matrix_guess(in_tree("/points.csv"));
	assert_non_null(guess);
	assert_true(strstr(guess, ": 0, 1, 2, 3") && strstr(guess, ", ...; if these are names"));
	assert_true(strlen(guess) < strlen(in_tree("/points.csv")) + 130);
	free(guess);
	memset(text, 'x', 600);
	strcpy(text + 600, "\n1\n");
	put_file("/points.csv", text);
	guess = matrix_guess(in_tree("/points.csv"));
	assert_string_equal(guess + strlen(in_tree("/points.csv")),
			    ": line 1 taken for names: ...");
	free(guess);
	assert_null(matrix_guess(in_tree("/nowhere")));
	put_npy(1, NPY_ENTRIES("'|u1'", "False", "(2,)"), "\0\1", 2);
	assert_null(matrix_guess(in_tree("/points.npy")));
}

/*
 * A name longer than a read buffer; a number longer than any; a file name that would break the
 * message's line.
 */
static void test_csv_has_long_fields(void **state)
{
	const size_t length = 1 << 19;
	char *text = malloc(length + 64);

	(void)state;
	assert_non_null(text);
	memset(text, 'x', length);
	strcpy(text + length, "\n1e1\n");
	put_file("/points.csv", text);
	assert_points(in_tree("/points.csv"), 1, 1, (const double[]){ 10 });
	strcpy(text, "3,4\n");
	memset(text + 4, '1', length);
	strcpy(text + 4 + length, ",2\n");
	put_file("/points.csv", text);
	assert_refused(in_tree("/points.csv"),
		       "line 2, value 1: '11111111111111111111111111111111'");
	put_file("/a\nb", "1\nx\n");
	assert_null(matrix_open(in_tree("/a\nb\033c"), &why));
	assert_reason("/a?b?c: No such file");
	free(text);
}

/* The place of an error does not depend on where reading begins. */
static void test_parts_know_their_lines(void **state)
{
	FILE *f = fopen(in_tree("/points.csv"), "w");
	struct matrix *s;
	double x[2];

	(void)state;
	assert_non_null(f);
	for (unsigned i = 1; i <= 8 * 1024; i++)
		fprintf(f, i == 4000 ? "\n1,2,3\n" : "1,2\n");
	fclose(f);
	s = opened(in_tree("/points.csv"));
	assert_int_equal(matrix_rows(s), 8 * 1024);
	assert_int_equal(matrix_read(s, 8 * 1024, 0, REAL_DOUBLE, NULL, &why), 0);
	assert_int_equal(matrix_read(s, 3998, 1, REAL_DOUBLE, x, &why), 0);
	assert_int_equal(matrix_read(s, 4000, 1, REAL_DOUBLE, x, &why), 0);
	assert_int_equal(matrix_read(s, 3999, 1, REAL_DOUBLE, x, &why), -1);
	assert_reason("line 4001: 3 values; expected 2, as in line 1");
	matrix_close(s);
}

/* A locale that writes 1.5 as 1,5. */
static void test_a_locale_changes_nothing(void **state)
{
	static const double x[] = { 1.5, 2.5 };
	char command[3 * PATH_MAX];

	(void)state;
	snprintf(command, sizeof(command), "localedef -i de_DE -f UTF-8 %s >/dev/null 2>&1",
		 in_tree("/de_DE.UTF-8"));
	if (system(command) || setenv("LOCPATH", root, 1) || !setlocale(LC_ALL, "de_DE.UTF-8")) {
		print_message(
			"no German locale, nor localedef with its sources (Debian: locales)\n");
		skip();
	}
	put_file("/points.csv", "1.5,2.5\n");
	assert_points(in_tree("/points.csv"), 1, 2, x);
	setlocale(LC_ALL, "C");
	unsetenv("LOCPATH");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_csv_is_read),
		cmocka_unit_test(test_csv_is_refused),
		cmocka_unit_test(test_large_integers),
		cmocka_unit_test(test_guesses_are_told),
		cmocka_unit_test(test_csv_has_long_fields),
		cmocka_unit_test(test_parts_know_their_lines),
		cmocka_unit_test(test_a_locale_changes_nothing),
	};

	return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
