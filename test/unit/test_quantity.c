/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with units: parsing durations, and printing with SI prefixes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/numbers.h"

static void test_seconds(void **state)
{
	static const struct {
		const char *text;
		double seconds;
	} good[] = {
		{ "60", 60 },
		{ "1.5", 1.5 },
		{ ".5", 0.5 },
		{ "1e-3", 1e-3 },
		{ "60s", 60 },
		{ "500ms", 0.5 },
		{ "7us", 7e-6 },
		{ "20ns", 20e-9 },
		{ "2m", 120 },
		{ "2min", 120 },
		{ "2MIN", 120 },
		{ "1.5h", 5400 },
		{ "0", 0 },
		{ "1h30m", 5400 },
		{ "1h0.5s", 3600.5 },
		{ "2min30s", 150 },
		{ "1h2m3s4ms5us6ns", 3723.004005006 },
		{ "1e3ms", 1 },
		{ "1ns", 1e-9 },
		{ "1e9s", 1e9 },
	};
	static const char *const bad[] = {
		"",	"s",	 "soon",   "1 day",  "1d",    "-1s",   "+1",	" 1",
		"1 s",	"1h30",	 "30m1h",  "1m1min", "1s1s",  "1ms1s", "1hh",	"1minutes",
		"mi",	"1mi",	 "nan",	   "inf",    "1e999", "0x10",  "0x10s", "1e308h",
		"1,5s", "1h-1m", "1e300s", "1e-10",  "0.9ns", "1.1e9",
	};
	double s;
	char why[256];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_int_equal(quantity_seconds(good[i].text, &s, why, sizeof(why)), 0);
		assert_true(fabs(s - good[i].seconds) <= 1e-12 * good[i].seconds);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (!quantity_seconds(bad[i], &s, why, sizeof(why)))
			fail_msg("'%s' is taken for a time", bad[i]);
		assert_non_null(strstr(why, bad[i]));
		assert_non_null(strstr(why, "1h30m"));
	}
}

/* A record holds none that is larger or smaller. */
static void test_reals(void **state)
{
	static const char *const good[] = { "0", "1e-90", "1e90", "1.5k", ".5" }, *const bad[] = {
		"1e-91", "1.1e90", "1e90k", "1e300", "-1", "x"
	};
	char why[256];
	double x;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_int_equal(quantity_real(good[i], &x, why, sizeof(why)), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(quantity_real(bad[i], &x, why, sizeof(why)), -1);
		assert_non_null(strstr(why, "is not a number from 1e-90 to 1e90"));
	}
}

static void test_moments(void **state)
{
	static const struct {
		const char *text;
		double seconds;
	} good[] = {
		{ "1970-01-01T00:00:00Z", 0 },
		{ "2026-11-28T20:15:00Z", 1795896900 },
		{ "2026-11-28T20:15:00.25Z", 1795896900.25 },
		{ "2028-02-29T00:00:00Z", 1835395200 },
		{ "@1795896900", 1795896900 },
		{ "@1795896900.5", 1795896900.5 },
		{ "@0", 0 },
	};
	static const char *const bad[] = {
		"",
		"soon",
		"1795896900",
		"@",
		"@-1",
		"@1s",
		"@1e18",
		"@inf",
		"2026-11-28",
		"2026-11-28T20:15:00",
		"2026-11-28T20:15:00+01:00",
		"2026-02-30T00:00:00Z",
		"2026-11-28T25:00:00Z",
		"1969-12-31T23:59:59Z",
		"2026-11-28T20:15:00.Z",
		"2026-11-28T20:15:00.5",
		"2026-11-28T20:15:00Z ",
		"12026-11-28T20:15:00Z",
	};
	double s;
	char why[256];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_int_equal(quantity_moment(good[i].text, &s, why, sizeof(why)), 0);
		assert_true(fabs(s - good[i].seconds) < 1e-6);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (!quantity_moment(bad[i], &s, why, sizeof(why)))
			fail_msg("'%s' is taken for a moment", bad[i]);
		assert_non_null(strstr(why, bad[i]));
		assert_non_null(strstr(why, "2026-11-28T20:15:00Z"));
	}
}

static void shown(double x, const char *unit, const char *text)
{
	char buffer[64];

	assert_string_equal(quantity_show(x, unit, buffer, sizeof(buffer)), text);
}

static void test_numbers_for_people(void **state)
{
	(void)state;
	shown(12.3456e9, "B/s", "12.35 GB/s");
	shown(0.0216, "s/pass", "21.60 ms/pass");
	shown(999.96, "B", "1.000 kB");
	shown(0, "s", "0.000 s");
	shown(1, "s", "1.000 s");
	shown(0.99996, "s", "1.000 s");
	shown(-2e-9, "s", "-2.000 ns");
	shown(0.25, "1", "0.25");
	shown(NAN, "s", "-");
}

static void within(double x, double doubt, const char *unit, const char *text)
{
	char buffer[64];

	assert_string_equal(quantity_show_within(x, doubt, unit, buffer, sizeof(buffer)), text);
}

/* Down to the first digit in doubt: at least two digits, at most four. */
static void test_digits_that_an_interval_supports(void **state)
{
	(void)state;
	within(1.9213e-9, 0.004e-9, "s", "1.921 ns");
	within(1.9213e-9, 0.02e-9, "s", "1.92 ns");
	within(1.9213e-9, 0.3e-9, "s", "1.9 ns");
	within(1.9213e-9, 5e-9, "s", "1.9 ns");
	within(1.9213e-9, 1e-15, "s", "1.921 ns");
	within(1.9213e-9, NAN, "s", "1.921 ns");
	within(1.9213e-9, 0, "s", "1.921 ns");
	within(12.3456e9, 0.4e9, "B/s", "12.3 GB/s");
	within(123.456e9, 70e9, "B/s", "123 GB/s");
	within(9.97, 0.1, "s", "10.0 s");
	within(999.7, 5, "s", "1.000 ks");
	within(-2e-9, 0.3e-9, "s", "-2.0 ns");
	within(0, 1, "s", "0.0 s");
	within(1, 0.05, "1", "1.00");
	within(1.004, 0.002, "1", "1.004");
	within(54.21, 20, "1", "54");
	within(123456, 7, "1", "1.235e+05");
	within(NAN, 1, "1", "-");
	within(NAN, 1, "s", "-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seconds),
		cmocka_unit_test(test_reals),
		cmocka_unit_test(test_moments),
		cmocka_unit_test(test_numbers_for_people),
		cmocka_unit_test(test_digits_that_an_interval_supports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
