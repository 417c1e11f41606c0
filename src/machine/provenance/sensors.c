/* SPDX-License-Identifier: Apache-2.0 */
/* Temperature and power of the processors. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sysfs.h"
#include "machine/provenance/provenance.h"

#define HWMON "/sys/class/hwmon/hwmon%u"
#define RAPL  "/sys/class/powercap/intel-rapl:%u"
enum { MOST_HWMON = 256, MOST_INPUTS = 160 };

/* hwmon's drivers of sensors within processors. */
static const char *const drivers[] = { "coretemp",     "k10temp",      "zenpower", "cpu_thermal",
				       "fam15h_power", "scpi_sensors", "apm_xgene" };

static bool is_one_of_processors(const char *name)
{
	for (size_t i = 0; i < sizeof(drivers) / sizeof(*drivers); i++)
		if (!strcmp(name, drivers[i]))
			return true;
	return false;
}

static void find_inputs(struct sensors *s, unsigned hwmon)
{
	for (unsigned i = 1; i <= MOST_INPUTS && s->inputs < SENSORS_INPUTS; i++)
		if (sysfs_exists(s->root, HWMON "/temp%u_input", hwmon, i)) {
			s->input[s->inputs].hwmon = hwmon;
			s->input[s->inputs++].input = i;
		}
}

static void find_hwmon(struct sensors *s)
{
	for (unsigned i = 0; i < MOST_HWMON; i++) {
		char *name = sysfs_line(s->root, HWMON "/name", i);

		if (name && is_one_of_processors(name))
			find_inputs(s, i);
		if (name && !strcmp(name, "power_meter") && s->meter < 0)
			s->meter = (int)i;
		free(name);
	}
}

/* Finds the zones of packages, not psys, which is the whole machine. */
static void find_zones(struct sensors *s)
{
	for (unsigned i = 0; i < SENSORS_ZONES; i++) {
		char *name = sysfs_line(s->root, RAPL "/name", i);
		uint64_t range = 0;

		if (name && strncmp(name, "psys", 4) &&
		    !sysfs_number(s->root, &range, RAPL "/max_energy_range_uj", i)) {
			s->zone[s->zones].number = i;
			s->zone[s->zones++].range = range;
		}
		free(name);
	}
}

void sensors_find(struct sensors *s, const char *root)
{
	*s = (struct sensors){ .root = root, .meter = -1, .looked = NAN };
	find_hwmon(s);
	find_zones(s);
}

static double temperature(struct sensors *s)
{
	double most = NAN;

	for (unsigned i = 0; i < s->inputs; i++) {
		uint64_t m;

		if (!sysfs_number(s->root, &m, HWMON "/temp%u_input", s->input[i].hwmon,
				  s->input[i].input))
			most = fmax(most, (double)m / 1e3); /* fmax ignores NaN */
	}
	snprintf(s->no_temperature, sizeof(s->no_temperature), "%s",
		 !isnan(most) ? ""
		 : s->inputs  ? "the sensors in /sys/class/hwmon can't be read any more"
			      : "no sensor of a processor in /sys/class/hwmon");
	return most;
}

/* J since the last look; NaN: the counter is unknown now or was then. */
static double energy_of_zone(struct sensors *s, unsigned i)
{
	const uint64_t last = s->zone[i].last;
	const bool known = s->zone[i].known;
	uint64_t now;

	s->zone[i].known = !sysfs_number(s->root, &now, RAPL "/energy_uj", s->zone[i].number);
	if (!s->zone[i].known) {
		snprintf(s->no_power, sizeof(s->no_power), RAPL "/energy_uj: %s", s->zone[i].number,
			 strerror(errno));
		return NAN;
	}
	s->zone[i].last = now;
	if (!known)
		return NAN;
	return (double)(now >= last ? now - last : now + s->zone[i].range - last) / 1e6;
}

static double meter(struct sensors *s)
{
	uint64_t uw;

	if (s->meter >= 0 &&
	    (!sysfs_number(s->root, &uw, HWMON "/power1_average", (unsigned)s->meter) ||
	     !sysfs_number(s->root, &uw, HWMON "/power1_input", (unsigned)s->meter)))
		return (double)uw / 1e6;
	snprintf(s->no_power, sizeof(s->no_power), "%s",
		 s->meter < 0 ? "no RAPL in /sys/class/powercap, no power_meter in /sys/class/hwmon"
			      : "the power_meter in /sys/class/hwmon can't be read");
	return NAN;
}

static double power(struct sensors *s, double now)
{
	double energy = 0;

	*s->no_power = '\0';
	if (!s->zones)
		return meter(s);
	for (unsigned i = 0; i < s->zones; i++)
		energy += energy_of_zone(s, i);
	return energy / (now - s->looked);
}

struct sensed sensors_look(struct sensors *s, double now)
{
	const struct sensed seen = { temperature(s), power(s, now) };

	s->looked = now;
	return seen;
}
