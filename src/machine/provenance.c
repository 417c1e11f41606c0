/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "machine/provenance.h"

#include <dirent.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#if __has_include("revision.h")
#include "revision.h"
#endif

#include "base/sysfs.h"
#include "base/utf8.h"
#include "machine/cgroup.h"
#include "machine/limits.h"
#include "machine/sources.h"
#include "machine/tlb.h"
#include "machine/topology.h"

/* ---- settings ---- */

bool is_secret(const char *name, size_t length)
{
	static const char *const words[] = { "PASS", "SECRET", "TOKEN", "CREDENTIAL",
					     "JWT",  "JWKS",   "KEY",	"AUTH" };
	char *copy = strndup(name, length);
	bool secret = !copy;

	for (unsigned i = 0; copy && i < LENGTH(words); i++)
		secret |= strcasestr(copy, words[i]) != NULL;
	free(copy);
	return secret;
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static json_t *mitigations_of(const char *root)
{
	static const char folder[] = CPUS "/vulnerabilities";
	json_t *mitigations = NULL;
	struct dirent **entries;
	char path[PATH_MAX];
	int n;

	snprintf(path, sizeof(path), "%s%s", root, folder);
	n = scandir(path, &entries, visible, alphasort);
	if (n < 0)
		return NULL;
	mitigations = json_object();
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		put_source(mitigations, root,
			   &(struct source){ entries[i]->d_name, path, read_line, 0 });
		free(entries[i]);
	}
	free(entries);
	return mitigations;
}

static json_t *cgroup_of(const char *root)
{
	json_t *cgroup = json_object();
	struct cgroup c;

	cgroup_read(root, &c);
	put(cgroup, "version", c.version ? json_integer(c.version) : NULL,
	    "no control group for memory can be seen");
	put(cgroup, "path", utf8_json(c.path), "no control group for memory can be seen");
	put(cgroup, "memory_limit", c.memory_limit == NO_LIMIT ? NULL : count(c.memory_limit),
	    "none set");
	put(cgroup, "cpu_quota", isfinite(c.cpu_quota) ? json_real(c.cpu_quota) : NULL, "none set");
	put(cgroup, "cpuset", utf8_json(c.cpuset), "no cpuset can be seen");
	cgroup_free(&c);
	return cgroup;
}

json_t *provenance_environment(void)
{
	static const char *const prefixes[] = { "OMP_",	       "GOMP_",
						"KMP_",	       "SLURM_",
						"LIKWID",      "MALLOC_",
						"LD_PRELOAD=", "LD_LIBRARY_PATH=",
						"LOCUS_" };
	json_t *environment = json_object();

	for (char **variable = environ; environ && *variable; variable++) {
		size_t length = strcspn(*variable, "=");
		char *name;

		for (unsigned i = 0; i < LENGTH(prefixes); i++) {
			if (strncmp(*variable, prefixes[i], strlen(prefixes[i])) ||
			    !(*variable)[length])
				continue;
			name = strndup(*variable, length);
			if (!name)
				continue;
			if (is_secret(name, length))
				put(environment, name, NULL, "left out: it may be a secret");
			else
				put(environment, name, utf8_json(*variable + length + 1),
				    "no memory");
			free(name);
		}
	}
	return environment;
}

json_t *provenance_tlb(const struct tlb *tlbs, unsigned n)
{
	json_t *list = json_array();

	for (const struct tlb *t = tlbs; t < tlbs + n; t++) {
		json_t *tlb = json_object();

		json_object_set_new(tlb, "level", json_integer(t->level));
		json_object_set_new(tlb, "type", json_string(t->type));
		json_object_set_new(tlb, "page", count(t->page));
		json_object_set_new(tlb, "entries", count(t->entries));
		put(tlb, "ways", t->ways ? count(t->ways) : NULL, "CPUID does not say");
		json_array_append_new(list, tlb);
	}
	return list;
}

/* No file has them: a folder that stands for a machine has none. */
static void put_tlbs(json_t *object, const char *root, const struct machine *m)
{
	bool here = m->here && !strcmp(root, THIS_MACHINE);
	const char *why = "not this machine";
	struct tlb tlbs[MOST_TLBS] = { 0 };
	unsigned n = here ? tlb_read(tlbs, &why) : 0;

	json_object_set_new(object, "tlb", provenance_tlb(tlbs, n));
	if (!n)
		json_object_set_new(object, "tlb_why", utf8_json(why));
}

json_t *provenance_machine_at(const char *root, const struct machine *m)
{
	static const struct source settings[] = {
		{ "numa_balancing", "/proc/sys/kernel/numa_balancing", read_integer, 0 },
		{ "perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid", read_integer, 0 },
		{ 0 },
	};
	json_t *machine = json_object();
	const char *hypervisor;
	bool known;

	hypervisor = hypervisor_find(root, &known);
	json_object_set_new(machine, "cpu", cpu_of(root));
	if (hypervisor || !known)
		put(machine, "virtual", json_string(hypervisor),
		    "neither the CPU nor the firmware tells");
	else
		json_object_set_new(machine, "virtual", json_null());
	json_object_set_new(machine, "topology", topology_of(root, m));
	put_tlbs(machine, root, m);
	json_object_set_new(machine, "memory", memory_of(root, m));
	json_object_set_new(machine, "kernel", kernel_of(root));
	json_object_set_new(machine, "frequency", frequency_of(root, m));
	put(machine, "mitigations", mitigations_of(root), CPUS "/vulnerabilities: %s",
	    strerror(errno));
	json_object_set_new(machine, "cgroup", cgroup_of(root));
	put_sources(machine, root, settings);
	json_object_set_new(machine, "environment", provenance_environment());
	json_object_set_new(machine, "libc", json_sprintf("glibc %s", gnu_get_libc_version()));
	return machine;
}

json_t *provenance_machine(const struct machine *m)
{
	return provenance_machine_at(THIS_MACHINE, m);
}

/* ---- program and job ---- */

#define QUOTE(x)  #x
#define QUOTED(x) QUOTE(x)

json_t *provenance_program(void)
{
	static const struct {
		const char *name, *version;
	} parts[] = {
		{ "hwloc", LOCUS_HWLOC_VERSION },     { "libnuma", LOCUS_LIBNUMA_VERSION },
		{ "jansson", LOCUS_JANSSON_VERSION },
#ifdef _OPENMP
		{ "openmp", QUOTED(_OPENMP) },
#else
		{ "openmp", NULL },
#endif
		{ "mpi", LOCUS_MPI_VERSION },	      { "papi", LOCUS_PAPI_VERSION },
		{ "likwid", LOCUS_LIKWID_VERSION },
	};
	json_t *program = json_object(), *built_with = json_object();

	put(program, "version", utf8_json(PACKAGE_VERSION), "no memory");
	put(program, "revision", utf8_json(LOCUS_REVISION), "not built from a git tree");
	put(program, "compiler", utf8_json(LOCUS_COMPILER), "no memory");
	put(program, "flags", utf8_json(LOCUS_CFLAGS), "no memory");
	for (unsigned i = 0; i < LENGTH(parts); i++)
		put(built_with, parts[i].name, json_string(parts[i].version), "built without it");
	json_object_set_new(program, "built_with", built_with);
	return program;
}

json_t *provenance_job(void)
{
	static const char *const keys[] = { "id", "array_task", "step", "restart", "nodes" };
	static const struct {
		const char *system, *variable[LENGTH(keys)];
	} systems[] = {
		{ "slurm",
		  { "SLURM_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT",
		    "SLURM_JOB_NUM_NODES" } },
		{ "pbs", { "PBS_JOBID", "PBS_ARRAY_INDEX", NULL, NULL, "PBS_NUM_NODES" } },
		{ "lsf", { "LSB_JOBID", "LSB_JOBINDEX", NULL, "LSB_RESTART", NULL } },
	};

	for (unsigned i = 0; i < LENGTH(systems); i++) {
		json_t *job;

		if (!getenv(systems[i].variable[0]))
			continue;
		job = json_object();
		json_object_set_new(job, "system", json_string(systems[i].system));
		for (unsigned j = 0; j < LENGTH(keys); j++) {
			const char *name = systems[i].variable[j],
				   *value = name ? getenv(name) : NULL;
			json_t *text = utf8_json(value);

			json_object_set_new(job, keys[j], text ? text : json_null());
		}
		return job;
	}
	return json_null();
}
