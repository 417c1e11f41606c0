/* SPDX-License-Identifier: Apache-2.0 */
/* Temperature and power on made-up trees: counters that wrap, sensors that vanish and come back. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

#include "machine/provenance/provenance.h"
#include "tree.h"

#define HWMON "/sys/class/hwmon/hwmon"
#define RAPL  "/sys/class/powercap/intel-rapl:"

static void near(double x, double expected)
{
	assert_true(fabs(x - expected) < 1e-9 * fabs(expected));
}

static void test_nothing_is_there(void **state)
{
	struct sensors s;
	struct sensed seen;

	(void)state;
	sensors_find(&s, root);
	seen = sensors_look(&s, 1);
	assert_true(isnan(seen.temperature) && isnan(seen.power));
	assert_non_null(strstr(s.no_temperature, "no sensor of a processor"));
	assert_non_null(strstr(s.no_power, "no RAPL"));
}

static void test_the_hottest_counts(void **state)
{
	struct sensors s;

	(void)state;
	put_file(HWMON "0/name", "nvme\n");
	put_file(HWMON "0/temp1_input", "99000\n"); /* no processor */
	put_file(HWMON "1/name", "coretemp\n");
	put_file(HWMON "1/temp1_input", "61000\n");
	put_file(HWMON "1/temp7_input", "64500\n");
	put_file(HWMON "12/name", "k10temp\n");
	put_file(HWMON "12/temp1_input", "63000\n");
	sensors_find(&s, root);
	near(sensors_look(&s, 1).temperature, 64.5);
	unlink(in_tree(HWMON "1/temp7_input"));
	near(sensors_look(&s, 2).temperature, 63);
	unlink(in_tree(HWMON "1/temp1_input"));
	unlink(in_tree(HWMON "12/temp1_input"));
	assert_true(isnan(sensors_look(&s, 3).temperature));
	assert_non_null(strstr(s.no_temperature, "can't be read any more"));
	put_file(HWMON "12/temp1_input", "50000\n");
	near(sensors_look(&s, 4).temperature, 50);
	assert_string_equal(s.no_temperature, "");
}

static void test_energy(void **state)
{
	struct sensors s;

	(void)state;
	put_file(RAPL "0/name", "package-0\n");
	put_file(RAPL "0/max_energy_range_uj", "262143328850\n");
	put_file(RAPL "0/energy_uj", "262143000000\n");
	put_file(RAPL "1/name", "package-1\n");
	put_file(RAPL "1/max_energy_range_uj", "262143328850\n");
	put_file(RAPL "1/energy_uj", "5000000\n");
	put_file(RAPL "2/name", "psys\n"); /* holds both */
	put_file(RAPL "2/max_energy_range_uj", "262143328850\n");
	put_file(RAPL "2/energy_uj", "0\n");
	sensors_find(&s, root);
	assert_true(isnan(sensors_look(&s, 10).power)); /* no earlier reading to subtract */
	put_file(RAPL "0/energy_uj", "99671150\n");	/* wrapped: 100 J */
	put_file(RAPL "1/energy_uj", "105000000\n");
	near(sensors_look(&s, 12).power, 100);
	unlink(in_tree(RAPL "1/energy_uj"));
	assert_true(isnan(sensors_look(&s, 13).power));
	assert_non_null(strstr(s.no_power, "intel-rapl:1/energy_uj: No such file"));
	put_file(RAPL "1/energy_uj", "500000000\n");
	assert_true(isnan(sensors_look(&s, 14).power)); /* again no earlier reading to subtract */
	put_file(RAPL "0/energy_uj", "199671150\n");
	sensors_look(&s, 15);
	put_file(RAPL "0/energy_uj", "259671150\n");
	put_file(RAPL "1/energy_uj", "540000000\n");
	near(sensors_look(&s, 16).power, 100);
	assert_string_equal(s.no_power, "");
}

static void test_power_of_the_machine(void **state)
{
	struct sensors s;

	(void)state;
	put_file(HWMON "3/name", "power_meter\n");
	put_file(HWMON "3/power1_average", "412000000\n");
	sensors_find(&s, root);
	near(sensors_look(&s, 1).power, 412);
	unlink(in_tree(HWMON "3/power1_average"));
	assert_true(isnan(sensors_look(&s, 2).power));
	assert_non_null(strstr(s.no_power, "power_meter in /sys/class/hwmon can't be read"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_is_there, tree_make, tree_remove),
		cmocka_unit_test_setup_teardown(test_the_hottest_counts, tree_make, tree_remove),
		cmocka_unit_test_setup_teardown(test_energy, tree_make, tree_remove),
		cmocka_unit_test_setup_teardown(test_power_of_the_machine, tree_make, tree_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
