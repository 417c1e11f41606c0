/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Provenance: the machine and its settings, for the record's header (doc/schema/README.md), with a
 * file for each subject. An unknown value is null, with the reason as NAME_why. New references;
 * NULL: ENOMEM. `root` as in base/sysfs.h.
 */
#ifndef LOCUS_PROVENANCE_H
#define LOCUS_PROVENANCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct machine;
struct tlb;

json_t *provenance_machine(const struct machine *); /* everything except program and job */
json_t *provenance_machine_at(const char *root, const struct machine *);
json_t *provenance_program(void); /* how this program was built */
json_t *provenance_job(void);	  /* null outside a batch system */

/* The parts of the machine. */
json_t *provenance_cpu(const char *root);
/*
 * Hardware errors since boot: {corrected, uncorrected: memory errors, counted by its drivers
 * (EDAC); machine_checks: exceptions on all CPUs}.
 */
json_t *provenance_errors(const char *root);
json_t *provenance_firmware(const char *root); /* no serial numbers */
json_t *provenance_frequency(const char *root, const struct machine *);
json_t *provenance_kernel(const char *root);
json_t *provenance_memory(const char *root, const struct machine *);
json_t *provenance_mitigations(const char *root); /* {name: state}; NULL with errno */
json_t *provenance_tlb(const struct tlb *, unsigned n);
json_t *provenance_topology(const char *root, const struct machine *);

/*
 * A hash, in 16 hex digits, of: architecture, vendor, family, model and stepping of the CPU (`cpu`
 * is from provenance_cpu()); the hypervisor (NULL: none); page sizes; the tree of packages, dies,
 * NUMA nodes with their memory, caches, cores and hardware threads; and the types of cores, if
 * there are several. It leaves out what software sets, such as kernel, microcode and frequencies,
 * and numbers and names of one machine. NULL: no memory.
 */
json_t *provenance_class(const char *root, const struct machine *, const json_t *cpu,
			 const char *hypervisor);

/*
 * A hash of the id that this machine keeps when it boots and when its host name changes. NULL: it
 * has none, and `why` is the reason.
 */
json_t *provenance_id(const char *root, const char **why);

/*
 * Environment variables that change measurements, by name. Possible secrets, such as SLURM's
 * tokens, are null with the reason.
 */
json_t *provenance_environment(void);

/* Whether a variable or an argument of this name may hold a secret. */
bool provenance_is_secret(const char *name, size_t length);

/*
 * Puts `prefetchers` into the object: {register, value, disabled}, or null with the reason. `cpu`
 * is from provenance_cpu(). In a virtual machine (hypervisor not NULL) registers do not describe
 * the processor.
 */
void provenance_put_prefetchers(json_t *object, const char *root, const struct machine *,
				const json_t *cpu, const char *hypervisor);

/*
 * The hypervisor: "kvm", ..., or "unknown" in a virtual machine of unknown kind. NULL on bare
 * metal, or if that is unknown (*known false).
 */
const char *provenance_hypervisor(const char *root, bool *known);

/* Whether turbo is enabled: 1, 0, or -1: unknown. *source is the file that says so, or NULL. */
int provenance_turbo(const char *root, const char **source);

/*
 * Conditions that others may change during a run, such as the online CPUs: read when the run
 * begins, and again after a failure, so that the message can name the change as its cause.
 */

/* Possible causes of a failure. */
enum conditions_of {
	CONDITIONS_CPUS = 1,   /* threads cannot run on CPUs that were usable before */
	CONDITIONS_MEMORY = 2, /* memory is refused */
	CONDITIONS_PLACES = 4, /* pages lie elsewhere than requested */
	CONDITIONS_HUGE = 8,   /* pages are not huge ones */
	CONDITIONS_PACE = 16,  /* the work is slow, or unsteady */
};

enum { CONDITIONS = 15 };

struct conditions {
	const char *root; /* as in base/sysfs.h; NULL: nothing was read, and nothing is found */
	char *text[CONDITIONS]; /* by row of the table; NULL: unknown */
};
void conditions_read(const char *root, struct conditions *);
void conditions_free(struct conditions *);

/*
 * The conditions that may be the cause of a trial's failure: those that changed since they were
 * read, "the CPUs online changed from 0-3 to 0-1 during the run", and unchanged ones that are an
 * obstacle. To be freed; NULL: there are none, or the conditions are NULL.
 */
char *conditions_cause(const struct conditions *, enum conditions_of);

/* Says that the control group's quota is lower than so many threads use; NULL: it is not. */
char *conditions_quota(const struct conditions *, unsigned threads);

/*
 * Temperature and power of the processors, as the kernel reports them: hwmon's drivers of
 * processors, and RAPL's energy counters (powercap), which wrap around and which only root may
 * read.
 */

enum { SENSORS_INPUTS = 512, SENSORS_ZONES = 32 };

struct sensors {
	const char *root;
	struct {
		unsigned hwmon, input;
	} input[SENSORS_INPUTS];
	struct {
		unsigned number;
		uint64_t range, last;
		bool known; /* last was read at the last look */
	} zone[SENSORS_ZONES];
	unsigned inputs, zones;
	int meter;     /* number of the hwmon that measures the machine's power; -1: none */
	double looked; /* s: time of the last look; NaN: none yet */
	/* why the last look has no value; "": it has one */
	char no_temperature[128], no_power[128];
};

/* Finds the sensors. */
void sensors_find(struct sensors *, const char *root);

/* Degrees Celsius of the hottest input; W, by RAPL the mean since the last look. NaN: unknown. */
struct sensed {
	double temperature, power;
};
/* `now`: s, of any clock. A sensor may vanish and come back between looks. */
struct sensed sensors_look(struct sensors *, double now);

#endif
