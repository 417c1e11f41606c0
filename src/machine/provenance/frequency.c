/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/provenance/provenance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sysfs.h"
#include "base/utf8.h"
#include "machine/provenance/sources.h"
#include "machine/topology/topology.h"

int provenance_turbo(const char *root, const char **source)
{
	static const struct {
		const char *path;
		uint64_t on;
	} rows[] = {
		{ SOURCE_CPUS "/intel_pstate/no_turbo", 0 },
		{ SOURCE_CPUS "/cpufreq/boost", 1 },
		{ SOURCE_CPUS "/cpu0/cpufreq/boost", 1 },
		{ SOURCE_CPUS "/cpu0/cpufreq/cpb", 1 },
	};
	uint64_t value;

	for (unsigned i = 0; i < LENGTH(rows); i++) {
		*source = rows[i].path;
		if (!sysfs_number(root, &value, "%s", rows[i].path))
			return value == rows[i].on;
	}
	*source = NULL;
	return -1;
}

/* "performance"; "performance,powersave" where CPUs differ. */
static json_t *governors_of(const char *root, const struct machine *m)
{
	char found[128] = "";

	for (unsigned i = 0; i < m->cpus; i++) {
		char *governor = sysfs_line(root, SOURCE_CPUS "/cpu%d/cpufreq/scaling_governor",
					    m->cpu[i].number);
		size_t used = strlen(found);

		if (governor && !strstr(found, governor))
			snprintf(found + used, sizeof(found) - used, "%s%s", used ? "," : "",
				 governor);
		free(governor);
	}
	return *found ? utf8_json(found) : NULL;
}

/* The first CPU of the fastest kind: trials with one thread run there. */
static int fast_cpu(const struct machine *m)
{
	const struct cpu *best = m->cpu;

	for (unsigned i = 1; i < m->cpus; i++)
		best = kinds_rank(m, &m->cpu[i]) < kinds_rank(m, best) ? &m->cpu[i] : best;
	return best->number;
}

json_t *provenance_frequency(const char *root, const struct machine *m)
{
	const int64_t kHz = 1000, MHz = 1000000;
	const int cpu = m->running && m->cpus ? fast_cpu(m) : 0;
	const char *turbo_source;
	const struct {
		const char *key, *file;
		json_t *(*read)(const char *, const char *, int64_t);
		int64_t scale;
	} rows[] = {
		{ "driver", "cpufreq/scaling_driver", source_line, 0 },
		{ "minimum", "cpufreq/scaling_min_freq", source_integer, kHz },
		{ "maximum", "cpufreq/scaling_max_freq", source_integer, kHz },
		{ "base", "cpufreq/base_frequency", source_integer, kHz },
	};
	json_t *frequency = json_object(), *nominal;
	char path[128];
	int turbo;

	for (unsigned i = 0; i < LENGTH(rows); i++) {
		snprintf(path, sizeof(path), SOURCE_CPUS "/cpu%d/%s", cpu, rows[i].file);
		source_put(frequency, root,
			   &(struct source){ rows[i].key, path, rows[i].read, rows[i].scale });
	}
	snprintf(path, sizeof(path), SOURCE_CPUS "/cpu%d/acpi_cppc/nominal_freq", cpu);
	nominal = json_is_null(json_object_get(frequency, "base")) ? source_integer(root, path, MHz)
								   : NULL;
	if (nominal) {
		json_object_set_new(frequency, "base", nominal);
		json_object_del(frequency, "base_why");
	}
	source_put_value(frequency, "governor", governors_of(root, m),
			 "no CPU has a cpufreq/scaling_governor");
	turbo = provenance_turbo(root, &turbo_source);
	source_put_value(frequency, "turbo", turbo < 0 ? NULL : json_boolean(turbo),
			 "neither intel_pstate/no_turbo nor cpufreq/boost is there");
	source_put_value(frequency, "boost_source", json_string(turbo_source),
			 "neither intel_pstate/no_turbo nor cpufreq/boost is there");
	return frequency;
}
