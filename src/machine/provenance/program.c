/* SPDX-License-Identifier: Apache-2.0 */
/* How the program was built, and the job and the environment in which it runs. */
#include "config.h"

#include "machine/provenance/provenance.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if __has_include("revision.h")
#include "revision.h"
#endif

#include "base/arithmetic.h"
#include "base/utf8.h"
#include "machine/provenance/sources.h"

#define QUOTE(x)  #x
#define QUOTED(x) QUOTE(x)

enum { MOST_OF_ID = 32 }; /* bytes: SHA-1 takes 20 */

/*
 * Writes the linker's build ID, a hash of its output, into the text. Returns 1 to end the
 * iteration, since the program comes first, before its libraries.
 */
static int read_build_id(struct dl_phdr_info *program, size_t size, void *text)
{
	(void)size;
	for (unsigned i = 0; i < program->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &program->dlpi_phdr[i];
		const char *at = (const char *)program->dlpi_addr + header->p_vaddr,
			   *end = at + header->p_memsz;

		while (header->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) < end) {
			const ElfW(Nhdr) *note = (const void *)at;
			const char *name = at + sizeof(*note),
				   *id = name + round_up(note->n_namesz, 4);

			if (note->n_type == NT_GNU_BUILD_ID && !strcmp(name, "GNU"))
				for (unsigned b = 0; b < note->n_descsz && b < MOST_OF_ID; b++)
					sprintf((char *)text + 2 * (size_t)b, "%02x",
						(unsigned char)id[b]);
			at = id + round_up(note->n_descsz, 4);
		}
	}
	return 1;
}

static json_t *checksum_of_program(void)
{
	char text[2 * MOST_OF_ID + 1] = "";

	dl_iterate_phdr(read_build_id, text);
	return *text ? json_sprintf("build-id:%s", text) : NULL;
}

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

	source_put_value(program, "version", utf8_json(PACKAGE_VERSION), "no memory");
	source_put_value(program, "revision", utf8_json(LOCUS_REVISION),
			 "not built from a git tree");
	source_put_value(program, "checksum", checksum_of_program(),
			 "linked without -Wl,--build-id");
	source_put_value(program, "compiler", utf8_json(LOCUS_COMPILER), "no memory");
	source_put_value(program, "flags", utf8_json(LOCUS_CFLAGS), "no memory");
	for (unsigned i = 0; i < LENGTH(parts); i++)
		source_put_value(built_with, parts[i].name, json_string(parts[i].version),
				 "built without it");
	json_object_set_new(program, "built_with", built_with);
	return program;
}

json_t *provenance_job(void)
{
	static const char *const keys[] = { "id",    "array_task", "step",     "restart",
					    "nodes", "cluster",	   "partition" };
	static const struct {
		const char *system, *variable[LENGTH(keys)];
	} systems[] = {
		{ "slurm",
		  { "SLURM_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT",
		    "SLURM_JOB_NUM_NODES", "SLURM_CLUSTER_NAME", "SLURM_JOB_PARTITION" } },
		{ "pbs",
		  { "PBS_JOBID", "PBS_ARRAY_INDEX", NULL, NULL, "PBS_NUM_NODES", NULL,
		    "PBS_QUEUE" } },
		{ "lsf",
		  { "LSB_JOBID", "LSB_JOBINDEX", NULL, "LSB_RESTART", NULL, NULL, "LSB_QUEUE" } },
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

bool provenance_is_secret(const char *name, size_t length)
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

json_t *provenance_environment(void)
{
	static const char *const prefixes[] = { "OMP_",	       "GOMP_",
						"KMP_",	       "SLURM_",
						"LIKWID",      "MALLOC_",
						"LD_PRELOAD=", "LD_LIBRARY_PATH=",
						"LOCUS_",      "GLIBC_TUNABLES=" };
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
			if (provenance_is_secret(name, length))
				source_put_value(environment, name, NULL,
						 "left out: it may be a secret");
			else
				source_put_value(environment, name,
						 utf8_json(*variable + length + 1), "no memory");
			free(name);
		}
	}
	return environment;
}
