/* SPDX-License-Identifier: Apache-2.0 */
/* The machine (hwloc): read once (open.h), then constant. */
#ifndef LOCUS_TOPOLOGY_H
#define LOCUS_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <hwloc.h>

#include "machine/topology/policy.h"

/* A CPU (hardware thread) that this process may use. Numbers are the kernel's. */
struct cpu {
	int number, node, package;
	unsigned core; /* 0, 1, ... over the machine */
	/* 0 for the first usable hardware thread of its core, 1 for the second, ... */
	unsigned sibling;
	unsigned kind; /* index of its machine's kinds, if it has any */
};

/* A kind of cores (kinds.h). */
struct core_kind {
	char name[64]; /* "IntelCore 3900 MHz", "capacity 1024": unlike those of the others */
	char type[32]; /* "IntelCore", "capacity 1024": without the frequency; "": unknown */
	unsigned rank; /* 0: the fastest; all 0 where nothing tells which are faster */
	unsigned all;  /* CPUs of the machine */
	unsigned cpus, cores; /* usable ones */
};

struct node {
	int number;
	/* bytes, as the kernel says (a guest's may include a balloon); 0 if none may be used */
	uint64_t memory;
	enum { NODE_EMPTY, NODE_NOT_IN_CPUSET, NODE_NOT_IN_POLICY } lack; /* why memory is 0 */
	/* where first touch by its CPUs places pages: itself, unless it has no usable memory */
	int first_touch;
	unsigned cpus, cores; /* usable ones; 0: memory only (CXL), or none allowed */
	unsigned fast;	      /* usable cores of the fastest kind */
};

struct machine {
	hwloc_topology_t topology;
	/* the running machine; false: synthetic or from a file, for plans only */
	bool running;
	const char *name; /* what was given to machine_open(), or "this machine" */
	unsigned cpus, cores, nodes;
	struct cpu *cpu;	/* in the machine's order: neighbours share most */
	struct node *node;	/* by number, ascending */
	unsigned kinds;		/* of cores; 0: all are alike, as far as hwloc knows */
	struct core_kind *kind; /* the fastest first */
	char ignored[160];	/* "HWLOC_XMLFILE, HWLOC_FSROOT": see open.h */
	/* bytes: the system's page; the transparent huge page, 0 where there is none */
	size_t page, huge_page;
	size_t line; /* bytes of a cache line; 64 if unknown */
	/* bytes of the largest cache that one core reaches; 0: unknown */
	size_t last_cache;
	/* bytes of all caches of a level together, of the level that has most; 0: unknown */
	size_t all_caches;
	/* inherited by this process; the default unless this is the running machine */
	struct memory_policy policy;
};

const struct node *machine_node(const struct machine *, int number); /* NULL: no such node */
/*
 * Whether the node has memory that may be used; true for all nodes if none tells how much it has.
 */
bool machine_has_memory(const struct machine *, const struct node *);
unsigned machine_memory_nodes(const struct machine *); /* how many have such memory */
int machine_highest_node(const struct machine *);      /* its number */
/* The first_touch of a node; `number` itself if there is no such node. */
int machine_first_touch(const struct machine *, int number);
/* NULL: no such CPU, or not allowed */
const struct cpu *machine_cpu(const struct machine *, int number);
/* nodes with usable cores */
unsigned machine_cpu_nodes(const struct machine *);

/*
 * Distance in bytes between words of different threads without false sharing: two lines, because
 * prefetchers fetch pairs of lines; at least 128, because transfers may be larger than a line.
 */
size_t machine_apart(const struct machine *);

/* The kernel's number of an hwloc object, else hwloc's own. */
int machine_object_number(hwloc_obj_t);

#endif
