/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine is made of (hwloc): read once (open.h), then only looked at. */
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
};

struct node {
	int number;
	/* bytes, as the system says (a guest may show a balloon's); 0 too where we may use none */
	uint64_t memory;
	enum { NODE_EMPTY, NODE_NOT_IN_CPUSET, NODE_NOT_IN_POLICY } lack; /* why memory is 0 */
	int first_touch;      /* where pages lie that its CPUs touch first: itself, unless it has no
			    memory for us */
	unsigned cpus, cores; /* usable; 0: memory only (CXL), or none of ours */
};

struct machine {
	hwloc_topology_t topology;
	/* false: synthetic or from a file; nothing can be run on it */
	bool here;
	const char *name; /* what was given to machine_open(), or "this machine" */
	unsigned cpus, cores, nodes;
	struct cpu *cpu;   /* in the machine's order: neighbours share most */
	struct node *node; /* by number, ascending */
	char ignored[160]; /* "HWLOC_XMLFILE, HWLOC_FSROOT": see open.h */
	/* bytes: the system's page; the transparent huge page, 0 where there is none */
	size_t page, huge_page;
	size_t line; /* bytes of a cache line; 64 where nobody says */
	/* bytes of the largest cache that one core reaches; 0: unknown */
	size_t last_cache;
	struct memory_policy
		policy; /* that this process inherited; of a described machine the default */
};

const struct node *machine_node(const struct machine *, int number); /* NULL: no such node */
/* that we may use; true for all, should none say how much it has */
bool machine_has_memory(const struct machine *, const struct node *);
unsigned machine_memory_nodes(const struct machine *); /* how many have it */
int machine_highest_node(const struct machine *);      /* its number */
/* where pages lie that CPUs of a node touch first; the number itself where there is no such node */
int machine_first_touch(const struct machine *, int number);
/* NULL: no such CPU, or not ours */
const struct cpu *machine_cpu(const struct machine *, int number);
/* nodes with usable cores */
unsigned machine_cpu_nodes(const struct machine *);

/*
 * Bytes between words of different threads that are to have nothing in common: two lines, for
 * prefetchers fetch them in pairs; and no less than 128, where a line is said to be shorter than it
 * is moved.
 */
size_t machine_apart(const struct machine *);

/* The kernel's number of an object of hwloc's, or else hwloc's own. */
int object_number(hwloc_obj_t);

#endif
