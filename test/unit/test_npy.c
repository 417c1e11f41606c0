/* SPDX-License-Identifier: Apache-2.0 */
/* NPY files: reading, refusing with a reason, writing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "kit/npy.h"
#include "matrix.h"

/* numpy.save(file, numpy.array([[1, 2], [3, 4.5]], "<f4")), with numpy 2.0. */
static const char of_numpy[] =
	"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"
	"                                                          \n"
	"\x00\x00\x80?\x00\x00\x00@\x00\x00@@\x00\x00\x90@";

static void test_npy_is_read(void **state)
{
	static const double x[] = { 1, 2, 3, 4.5, 0.1, -6e300 };
	static const float f[] = { 1, 2, 3, 4.5f };

	(void)state;
	put_bytes("/numpy.npy", of_numpy, sizeof(of_numpy) - 1);
	assert_points(in_tree("/numpy.npy"), 2, 2, x);
	for (unsigned version = 1; version <= 3; version++) {
		assert_points(
			put_npy(version,
				"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), } \n", x,
				32),
			2, 2, x);
		assert_points(put_npy(version,
				      "{\"shape\":(1L,2L),'descr':'<f4','fortran_order':False}", f,
				      8),
			      1, 2, x);
	}
	assert_points(
		put_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }", x, 32), 4,
		1, x);
	assert_points(put_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3), }", x, 24),
		      3, 1, x);
}

/* Bytes that numpy 2.3 wrote for the values beside them. */
static void test_types_are_read(void **state)
{
	static const struct {
		const char *type, *bytes;
		size_t n;
		double x[4];
	} table[] = {
		{ "'<f2'", "\0<\0\xc1\xff{\1\0", 8, { 1, -2.5, 65504, 0x1p-24 } },
		{ "'<f2'", "\xff\3\0\4\0\x80\xff\x83", 8, { 0x3ffp-24, 0x1p-14, -0., -0x3ffp-24 } },
		{ "'>f2'", "<\0\xc1\0", 4, { 1, -2.5 } },
		{ "'>f4'", "?\x80\0\0@ \0\0", 8, { 1, 2.5 } },
		{ "'>f8'", "?\xf0\0\0\0\0\0\0@\4\0\0\0\0\0\0", 16, { 1, 2.5 } },
		{ "'=f4'", "\0\0\x80?", 4, { 1 } },
		{ "'|i1'", "\x80\x7f", 2, { -128, 127 } },
		{ "'|u1'", "\0\xff", 2, { 0, 255 } },
		{ "'|b1'", "\1\0", 2, { 1, 0 } },
		{ "'<i2'", "\xfe\xff\2\1", 4, { -2, 258 } },
		{ "'>i2'", "\xff\xfe\1\2", 4, { -2, 258 } },
		{ "'<u2'", "\xff\xff\2\1", 4, { 65535, 258 } },
		{ "'>i4'", "\xff\xff\xff\xfe\1\2\3\4", 8, { -2, 16909060 } },
		{ "'<u4'", "\xff\xff\xff\xff\4\3\2\1", 8, { 4294967295, 16909060 } },
		{ "'<i8'", "\xfe\xff\xff\xff\xff\xff\xff\xff\5\0\0\0\0\0\0\0", 16, { -2, 5 } },
		{ "'<u8'", "\0\0\0\0\0\0 \0\0\0\0\0\0\0\0\x80", 16, { 0x1p53, 0x1p63 } },
		{ "'>i8'", "\xff\xe0\0\0\0\0\0\0\x80\0\0\0\0\0\0\0", 16, { -0x1p53, -0x1p63 } },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		char header[128];
		const size_t each = (size_t)(table[i].type[3] - '0');

		snprintf(header, sizeof(header), NPY_ENTRIES("%s", "False", "(%zu,)"),
			 table[i].type, table[i].n / each);
		assert_points(put_npy(1, header, table[i].bytes, table[i].n), table[i].n / each, 1,
			      table[i].x);
	}
}

/* As df.values.astype("f4") is saved. */
static void test_columns_one_by_one_are_read(void **state)
{
	static const char values[] = "\0\0\x80?\0\0\x80@\0\0\0@\0\0\xa0@\0\0@@\0\0\xc0@";
	static const double x[] = { 1, 2, 3, 4, 5, 6 };
	static const double nan[] = { 1, 2, 3, 4, 5, NAN };
	struct matrix *s;
	double row[4];

	(void)state;
	assert_points(put_npy(1, NPY_ENTRIES("'<f4'", "True", "(2, 3)"), values, 24), 2, 3, x);
	assert_points(put_npy(1, NPY_ENTRIES("'<f8'", "True", "(6,)"), x, 48), 6, 1, x);
	s = opened(put_npy(1, NPY_ENTRIES("'<f8'", "True", "(3, 2)"), nan, 48));
	assert_int_equal(matrix_read(s, 1, 1, REAL_DOUBLE, row, &why), 0);
	assert_true(row[0] == 2 && row[1] == 5);
	assert_int_equal(matrix_read(s, 1, 2, REAL_DOUBLE, row, &why), -1);
	assert_reason("(row 3, column 2): nan; expected a finite number");
	matrix_close(s);
	s = opened(put_npy(1, NPY_ENTRIES("'<f2'", "False", "(2,)"), "\0|\0~", 4));
	assert_int_equal(matrix_read(s, 0, 1, REAL_DOUBLE, row, &why), -1);
	assert_reason("(row 1, column 1): inf; expected a finite number");
	assert_int_equal(matrix_read(s, 1, 1, REAL_DOUBLE, row, &why), -1);
	assert_reason("(row 2, column 1): nan; expected a finite number");
	matrix_close(s);
}

/* Row 5 of column 2 is 2000005. */
static double numbered(size_t row, size_t column)
{
	return (double)(column * 1000000 + row);
}

static void put_columns(size_t n, size_t d)
{
	char header[128];
	FILE *file;

	snprintf(header, sizeof(header), NPY_ENTRIES("'<f8'", "True", "(%zu, %zu)"), n, d);
	file = fopen(put_npy(1, header, "", 0), "a");
	assert_non_null(file);
	for (size_t j = 0; j < d; j++)
		for (size_t i = 0; i < n; i++) {
			const double x = numbered(i, j);

			assert_int_equal(fwrite(&x, sizeof(x), 1, file), 1);
		}
	assert_int_equal(fclose(file), 0);
}

/* More rows than are read at once, and rows too long for a cache. */
static void test_many_columns_one_by_one(void **state)
{
	static const struct {
		size_t n;
		unsigned d;
	} shapes[] = { { 50000, 3 }, { 1100, 400 } };

	(void)state;
	for (size_t i = 0; i < LENGTH(shapes); i++) {
		struct matrix *s;

		put_columns(shapes[i].n, shapes[i].d);
		s = opened(in_tree("/points.npy"));
		for (size_t first = 0; first < 4; first += 3) {
			struct rows p = read_rows(s, first, shapes[i].n - 2 * first, REAL_DOUBLE);

			for (size_t row = 0; row < p.n; row++)
				for (unsigned j = 0; j < p.d; j++)
					assert_true(value(&p, row, j) == numbered(first + row, j));
			free(p.x);
		}
		matrix_close(s);
	}
}

static void test_npy_is_refused(void **state)
{
	static const double x[] = { 1, 2, NAN, INFINITY };
	static const struct {
		const char *header;
		size_t bytes;
		const char *word;
	} wrong[] = {
		{ NPY_ENTRIES("'<c16'", "False", "(1, 1)"), 16,
		  "type '<c16', complex numbers; expected f2, f4, f8, i1 to i8, u1 to u8 or b1" },
		{ NPY_ENTRIES("'<c8'", "False", "(2, 1)"), 16, "type '<c8', complex numbers" },
		{ NPY_ENTRIES("'<f16'", "False", "(1, 1)"), 16, "'<f16', floats of another size" },
		{ NPY_ENTRIES("'<f1'", "False", "(1, 1)"), 1, "'<f1', floats of another size" },
		{ NPY_ENTRIES("'<i3'", "False", "(1, 1)"), 3, "'<i3', integers of another size" },
		{ NPY_ENTRIES("'<f'", "False", "(1, 1)"), 4, "'<f', floats of another size" },
		{ NPY_ENTRIES("'|O'", "False", "(2, 1)"), 16, "'|O', pickled Python objects" },
		{ NPY_ENTRIES("'<U4'", "False", "(1, 1)"), 16, "'<U4', strings" },
		{ NPY_ENTRIES("'|S8'", "False", "(2, 1)"), 16, "'|S8', strings" },
		{ NPY_ENTRIES("'<M8[D]'", "False", "(2, 1)"), 16, "'<M8[D]', dates" },
		{ NPY_ENTRIES("'|V16'", "False", "(1, 1)"), 16, "'|V16', records" },
		{ NPY_ENTRIES("'f8'", "False", "(2, 1)"), 16, "'f8', no type of NumPy's" },
		{ NPY_ENTRIES("'<z8'", "False", "(2, 1)"), 16, "'<z8', no type of NumPy's" },
		{ NPY_ENTRIES("''", "False", "(2, 1)"), 16, "'', no type of NumPy's" },
		{ NPY_ENTRIES("[('x', '<f8')]", "False", "(2,)"), 16,
		  "byte 20: the header has '[('x'" },
		{ NPY_ENTRIES("'<f8'", "Maybe", "(1, 2)"), 16, "expected True or False" },
		{ NPY_ENTRIES("'<f8'", "False", "()"), 8, "0 dimensions" },
		{ NPY_ENTRIES("'<f8'", "False", "(1, 1, 2)"), 16, "3 dimensions" },
		{ NPY_ENTRIES("'<f8'", "False", "(0, 3)"), 0, "0 rows of 3" },
		{ NPY_ENTRIES("'<f8'", "False", "(0,)"), 0, "0 rows of 1" },
		{ NPY_ENTRIES("'<f8'", "False", "(3, 0)"), 0, "3 rows of 0" },
		{ NPY_ENTRIES("'<f8'", "False", "(1, 4294967297)"), 8,
		  "of 4294967297 values; expected at least one, and at most 4294967295" },
		{ NPY_ENTRIES("'<f8'", "False", "(-1, 2)"), 16, "'-1, 2), }" },
		{ NPY_ENTRIES("'<f8'", "False", "(99999999999999999999, 2)"), 16, "below 2^64" },
		{ NPY_ENTRIES("'<f8'", "False", "(4611686018427387904, 2)"), 16, "cut off" },
		{ NPY_ENTRIES("'<f8'", "False", "(2305843009213693953, 1)"), 8, "cut off" },
		{ NPY_ENTRIES("'<f8'", "False", "(2, 2)"), 31,
		  "31 B of values; expected 2 rows of 2, of 8 B each: it is cut off" },
		{ NPY_ENTRIES("'<f8'", "False", "(2, 1)"), 17,
		  "there is more than its header says" },
		{ NPY_ENTRIES("'<f8'", "False", "(2 1)"), 16, "',' or ')'" },
		{ NPY_ENTRIES("'<f8'", "False", "2"), 16, "expected '('" },
		{ NPY_ENTRIES("'<f8'", "False", "(3, 1)"), 24,
		  "row 3, column 1): nan; expected a finite number" },
		{ NPY_ENTRIES("'<f8'", "False", "(2, 2)"), 32, "row 2, column 1): nan" },
		{ "{'descr': '<f8', 'shape': (2, 1)}", 16, "descr, fortran_order and shape" },
		{ "{'descr': '<f8', 'descr': '<f8'}", 16, "each once" },
		{ "{'descr': '<f8', 'color': 'red'}", 16, "'color': 'red'}" },
		{ "{'descr' '<f8'}", 16, "':'" },
		{ "{'descr': '<f8' 'shape'}", 16, "',' or '}'" },
		{ "{'descr': '<a-name-that-no-type-has'}", 16, "the name of a type" },
		{ "{'descr", 0, "a name in quotes" },
		{ "[1, 2]", 16, "expected '{'" },
		{ "", 16, "expected '{'" },
		{ "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1)} and so on", 16,
		  "the end of the header" },
		{ "{\x01\xff\n\x7f: 1}", 16, "'??" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(wrong); i++)
		assert_refused(put_npy(1, wrong[i].header, x, wrong[i].bytes), wrong[i].word);
	assert_refused(put_npy(4, wrong[0].header, x, 16), "NPY version 4.0");
	assert_refused(put_npy(0, wrong[0].header, x, 16), "NPY version 0.0");
	put_bytes("/short", of_numpy, 8);
	assert_refused(in_tree("/short"), "byte 8: the file ends; expected 2 B more");
	put_bytes("/short", "\x93NUMPY\x02\x00v\x00\x00", 11);
	assert_refused(in_tree("/short"), "byte 11: the file ends; expected 1 B more");
	put_bytes("/short", of_numpy, 100);
	assert_refused(in_tree("/short"), "byte 100: the file ends; expected 28 B more");
	put_bytes("/long", "\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14);
	assert_refused(in_tree("/long"), "a header of 4294967295 B");
	put_bytes("/magic", "\x93NUMPE\x01\x00v\x00{}", 12);
	assert_refused(in_tree("/magic"), "byte 6 is 0x01; expected an NPY file");
}

/* Integers such as a table's key or a time in ns may have more bits than a double. */
static void test_integers_that_no_double_holds_are_refused(void **state)
{
	static const struct {
		const char *type;
		uint64_t bits;
		const char *number;
	} table[] = {
		{ "'<i8'", (1ull << 53) + 1, "9007199254740993" },
		{ "'<i8'", -((1ull << 53) + 1), "-9007199254740993" },
		{ "'<i8'", INT64_MAX, "9223372036854775807" },
		{ "'<u8'", UINT64_MAX, "18446744073709551615" },
		{ "'>u8'", 0x0100000000002000, "9007199254740993" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		const uint64_t values[] = { 0, table[i].bits };
		char header[128], word[128];

		snprintf(header, sizeof(header), NPY_ENTRIES("%s", "False", "(2, 1)"),
			 table[i].type);
		snprintf(word, sizeof(word),
			 "(row 2, column 1): %s; expected an integer that a double holds exactly",
			 table[i].number);
		assert_refused(put_npy(1, header, values, 16), word);
	}
}

static void test_what_is_saved_is_read(void **state)
{
	static const float f[] = { 1, 2, 3, 4.5f };
	static const double x[] = { 0.1, -2, 3e-30, 1e30, 5, 6 };
	static const uint32_t label[] = { 0, 80, UINT32_MAX };
	const char *path = in_tree("/saved.npy");
	unsigned char bytes[256];
	FILE *file;

	(void)state;
	assert_int_equal(npy_save(path, "<f4", f, 2, 2, &why), 0);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fread(bytes, 1, sizeof(bytes), file), sizeof(of_numpy) - 1);
	fclose(file);
	assert_memory_equal(bytes, of_numpy, sizeof(of_numpy) - 1);

	assert_int_equal(npy_save(path, "<f8", x, 3, 2, &why), -1);
	assert_reason("saved.npy: exists");
	assert_int_equal(remove(path), 0);
	assert_int_equal(npy_save(path, "<f8", x, 3, 2, &why), 0);
	assert_points(path, 3, 2, x);

	assert_int_equal(remove(path), 0);
	assert_int_equal(npy_save(path, "<u4", label, 3, 0, &why), 0);
	assert_points(path, 3, 1, (const double[]){ 0, 80, UINT32_MAX });
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fread(bytes, 1, sizeof(bytes), file), 128 + sizeof(label));
	fclose(file);
	assert_non_null(strstr((char *)bytes + 10,
			       "{'descr': '<u4', 'fortran_order': False, 'shape': (3,), } "));
	assert_memory_equal(bytes + 128, label, sizeof(label));
}

static void test_no_half_file_is_left(void **state)
{
	static const double x[1000] = { 0 };
	const char *path = in_tree("/half.npy");

	(void)state;
	for (size_t rows = 1000; rows; rows /= 100) { /* more than stdio buffers, then less */
		int status;

		file_size_limit(100);
		status = npy_save(path, "<f8", x, rows, 1, &why);
		file_size_limit(0);
		assert_int_equal(status, -1);
		assert_reason("half.npy: can't be written: File too large");
		assert_int_equal(access(path, F_OK), -1);
	}
	assert_int_equal(npy_save("/nowhere/x.npy", "<f8", x, 1, 1, &why), -1);
	assert_reason("/nowhere/x.npy: No such file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_npy_is_read),
		cmocka_unit_test(test_types_are_read),
		cmocka_unit_test(test_columns_one_by_one_are_read),
		cmocka_unit_test(test_many_columns_one_by_one),
		cmocka_unit_test(test_npy_is_refused),
		cmocka_unit_test(test_integers_that_no_double_holds_are_refused),
		cmocka_unit_test(test_what_is_saved_is_read),
		cmocka_unit_test(test_no_half_file_is_left),
	};

	return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
