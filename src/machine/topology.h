/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine is made of (hwloc): read once, then only looked at. */
#ifndef LOCUS_TOPOLOGY_H
#define LOCUS_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <hwloc.h>

#include "machine/team.h"

/* A CPU (hardware thread) that this process may use. Numbers are the kernel's. */
struct cpu {
	int number, node, package;
	unsigned core;                     /* 0, 1, ... over the machine */
	unsigned sibling;                  /* 0 for the first hardware thread of its core, 1 for the second, ... */
};

struct node {
	int number;
	uint64_t memory;                   /* bytes, as the system says (a guest may show a balloon's) */
	unsigned cpus, cores;              /* usable; 0: memory only (CXL), or none of ours */
};

struct machine {
	hwloc_topology_t topology;
	bool here;                         /* false: synthetic or from a file; nothing can be run on it */
	const char *name;                  /* what was given to machine_open(), or "this machine" */
	unsigned cpus, cores, nodes;
	struct cpu *cpu;                   /* in the machine's order: neighbours share most */
	struct node *node;                 /* by number, ascending */
	size_t page, huge_page;            /* bytes: the system's page; the transparent huge page, 0 where there is none */
	size_t line;                       /* bytes of a cache line */
	size_t last_cache;                 /* bytes of the largest cache that one core reaches; 0: unknown */
};

/* `description`: NULL for this machine, else a synthetic description ("node:2 core:64 pu:2") or an XML file. NULL with *error set to a static or allocated sentence. */
struct machine *machine_open(const char *description, const char **error);
void machine_close(struct machine *);

const struct node *machine_node(const struct machine *, int number);    /* NULL: no such node */
const struct cpu *machine_cpu(const struct machine *, int number);      /* NULL: no such CPU, or not ours */
unsigned machine_cpu_nodes(const struct machine *);                     /* nodes with usable cores */

/*
 * Places for n threads. bind: "close" (cores next to each other), "spread" (as far apart as can be), or a list of CPUs ("0,2-5").
 * One thread a core as long as there are cores, then the siblings, then (oversubscribe) from the start again. -1 with *why.
 */
int machine_bind(const struct machine *, const char *bind, unsigned n, bool oversubscribe, struct place *, const char **why);

/* Places for a canonical layout ("8+0": threads on each node with CPUs, as many numbers as there are such nodes). -1 with *why. */
int machine_layout(const struct machine *, const char *layout, bool oversubscribe, struct place *, const char **why);
unsigned layout_threads(const char *layout);

#endif
