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
	assert_points(in_tree("/numpy.npy"), 2, 2, REAL_FLOAT, x);
	for (unsigned version = 1; version <= 3; version++) {
		assert_points(
			put_npy(version,
				"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), } \n", x,
				32),
			2, 2, REAL_DOUBLE, x);
		assert_points(put_npy(version,
				      "{\"shape\":(1L,2L),'descr':'<f4','fortran_order':False}", f,
				      8),
			      1, 2, REAL_FLOAT, x);
	}
	assert_points(
		put_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }", x, 32), 4,
		1, REAL_DOUBLE, x);
	assert_points(put_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3), }", x, 24),
		      3, 1, REAL_DOUBLE, x);
}

static void test_npy_is_refused(void **state)
{
	static const double x[] = { 1, 2, NAN, INFINITY };
	static const struct {
		const char *header;
		size_t bytes;
		const char *word;
	} wrong[] = {
		{ NPY_ENTRIES("'>f8'", "False", "(2, 1)"), 16,
		  "type '>f8'; expected '<f8' or '<f4'" },
		{ NPY_ENTRIES("'<i8'", "False", "(2, 1)"), 16, "type '<i8'" },
		{ NPY_ENTRIES("[('x', '<f8')]", "False", "(2,)"), 16,
		  "byte 20: the header has '[('x'" },
		{ NPY_ENTRIES("'<f8'", "True", "(1, 2)"), 16, "Fortran order; expected C order" },
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
	assert_points(path, 3, 2, REAL_DOUBLE, x);

	assert_int_equal(remove(path), 0);
	assert_int_equal(npy_save(path, "<u4", label, 3, 0, &why), 0);
	assert_refused(path, "type '<u4'");
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
		cmocka_unit_test(test_npy_is_refused),
		cmocka_unit_test(test_what_is_saved_is_read),
		cmocka_unit_test(test_no_half_file_is_left),
	};

	return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
