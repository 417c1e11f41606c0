/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine is made of (hwloc): read once, then only looked at. */
#ifndef LOCUS_TOPOLOGY_H
#define LOCUS_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <hwloc.h>

#include "machine/team.h"

/* A CPU (hardware thread) that this process may use. Numbers are the kernel's. */
struct cpu {
	int number, node, package;
	unsigned core;                     /* 0, 1, ... over the machine */
	unsigned sibling;                  /* 0 for the first usable hardware thread of its core, 1 for the second, ... */
};

struct node {
	int number;
	uint64_t memory;                   /* bytes, as the system says (a guest may show a balloon's); 0 too where we may use none */
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
	size_t line;                       /* bytes of a cache line; 64 where nobody says */
	size_t last_cache;                 /* bytes of the largest cache that one core reaches; 0: unknown */
};

/*
 * `description`: NULL for this machine, else a synthetic description ("node:2 core:64 pu:2") or an XML file. What the calling thread may
 * run on bounds the CPUs of this machine. NULL with *error. Sentences about errors here and below last until the thread's next one.
 */
struct machine *machine_open(const char *description, const char **error);
void machine_close(struct machine *);

const struct node *machine_node(const struct machine *, int number);    /* NULL: no such node */
bool machine_has_memory(const struct machine *, const struct node *);   /* that we may use; true for all, should none say how much it has */
const struct cpu *machine_cpu(const struct machine *, int number);      /* NULL: no such CPU, or not ours */
unsigned machine_cpu_nodes(const struct machine *);                     /* nodes with usable cores */

/* What two CPUs have in common that is closest to them; CPUs of different nodes share no more than a package. */
enum level { SAME_CPU, SAME_CORE, SAME_L2, SAME_L3, SAME_NODE, SAME_PACKAGE, SAME_MACHINE, LEVELS };
extern const char *const level_names[LEVELS];   /* in the field's words: "SMT", "L2", .. */
enum level machine_level(const struct machine *, int cpu, int other); /* numbers of CPUs that are ours */

/*
 * Bytes between words of different threads that are to have nothing in common: two lines, for prefetchers fetch them in pairs; and no less than 128,
 * where a line is said to be shorter than it is moved.
 */
size_t machine_apart(const struct machine *);

/*
 * Places for n threads. bind: "close" (cores next to each other), "spread" (as far apart as can be), each one thread a core as long as
 * there are cores, then the siblings; or a list of CPUs ("0,2-5,8-14:2"), taken as it stands. Then (oversubscribe) from the start again.
 * -1 with *why, and errno: EINVAL where `bind` can't be understood, ENODEV where this machine does not have it.
 */
int machine_bind(const struct machine *, const char *bind, unsigned n, bool oversubscribe, struct place *, const char **why);

/* Places for a canonical layout ("8+0": threads on each node with CPUs, as many numbers as there are such nodes). -1 with *why. */
int machine_layout(const struct machine *, const char *layout, bool oversubscribe, struct place *, const char **why);
unsigned layout_threads(const char *layout); /* 0: not a layout */

/*
 * The canonical layouts that a user's word stands for: "packed", "split", "all", "each", "node:1", "8+8", or "8" (on the first node). They
 * have `threads` threads; 0: as many as the first node with CPUs has cores. "all" and numbers say themselves how many, and it is an
 * error when `threads` says otherwise. Whether they fit is machine_layout()'s to say. One block, to be freed; NULL with *why, and errno as above.
 */
char **machine_layouts(const struct machine *, const char *word, unsigned threads, unsigned *n, const char **why);

/* For people: packages, nodes, caches, TLBs, distances, page sizes. */
void topology_print(const struct machine *, FILE *);

#endif
