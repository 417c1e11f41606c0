/* SPDX-License-Identifier: Apache-2.0 */
/* The machine (hwloc): read once, then constant; and its nodes' memory, which is read anew. */
#ifndef LOCUS_TOPOLOGY_H
#define LOCUS_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <hwloc.h>

#include "base/numbers.h"

/*
 * The memory policy that this process inherited, set by set_mempolicy(2): numactl, srun --mem-bind
 * and others.
 */
struct memory_policy {
	enum {
		/* the default: on the node of the first touch; also if unknown */
		MEMORY_POLICY_FIRST_TOUCH,
		/* only its nodes: a process that needs more is killed */
		MEMORY_POLICY_BOUND,
		/* preferred, interleave: its nodes, as long as there is room */
		MEMORY_POLICY_STEERED,
	} kind;
	/* as the kernel writes it, "bind:3"; "": unknown, with the reason in errno */
	char text[256];
};

/* A CPU (hardware thread) that this process may use. Numbers are the kernel's. */
struct cpu {
	int number, node, package;
	unsigned core; /* number over the whole machine: 0, 1, ... */
	/* 0 for the first usable hardware thread of its core, 1 for the second, ... */
	unsigned sibling;
	unsigned kind; /* index of its machine's kinds, if it has any */
};

/* A kind of cores, such as fast ones or slow ones. */
struct core_kind {
	char name[64];	      /* "IntelCore 3900 MHz", "capacity 1024": different for each kind */
	char type[32];	      /* "IntelCore", "capacity 1024": without the frequency; "": unknown */
	unsigned rank;	      /* 0: the fastest; all are 0 if nothing shows which are faster */
	unsigned all;	      /* CPUs of the machine */
	unsigned cpus, cores; /* usable ones */
};

struct node {
	int number;
	/*
	 * bytes, according to the kernel (a guest's may include a balloon); 0 if none may be used
	 */
	uint64_t memory;
	enum { NODE_EMPTY, NODE_NOT_IN_CPUSET, NODE_NOT_IN_POLICY } lack; /* why memory is 0 */
	/* where first touch by its CPUs places pages: itself, unless it has no usable memory */
	int first_touch;
	unsigned cpus, cores; /* usable CPUs and cores; 0: memory only (CXL), or none allowed */
	unsigned fast;	      /* usable cores of the fastest kind */
};

struct machine {
	hwloc_topology_t topology;
	/* the running machine; false: synthetic or from a file, for plans only */
	bool running;
	const char *name; /* the argument of machine_open(), or "this machine" */
	unsigned cpus, cores, nodes;
	struct cpu *cpu;	/* in the machine's order: neighbours share most */
	struct node *node;	/* by number, ascending */
	unsigned kinds;		/* number of kinds of cores; 0: all alike, as far as hwloc knows */
	struct core_kind *kind; /* the fastest first */
	char ignored[160];	/* "HWLOC_XMLFILE, HWLOC_FSROOT": see machine_open() */
	/* bytes of the system's page; of a transparent huge page, 0: none */
	size_t page, huge_page;
	size_t line; /* bytes of a cache line; 64 if unknown */
	/* bytes of the largest cache that one core reaches; 0: unknown */
	size_t last_cache;
	/* bytes of all caches of a level together, for the level with most; 0: unknown */
	size_t all_caches;
	/* inherited by this process; the default unless this is the running machine */
	struct memory_policy policy;
};

/*
 * `description`: NULL for this machine, else a synthetic description ("node:2 core:64 pu:2") or an
 * XML file. This machine has only the CPUs that the calling thread may run on, and environment
 * variables that make hwloc read another machine are removed. NULL with *error. Error texts of the
 * functions here are valid until the thread's next one.
 */
struct machine *machine_open(const char *description, const char **error);
void machine_close(struct machine *);

/*
 * Restricts the machine to the CPUs of a list ("0,2-5,8-14:2"), as a cpuset would; "close",
 * "spread" and "float" change nothing. -1 with *why if `bind` is something else, or lists CPUs that
 * the machine does not have.
 */
int machine_restrict(struct machine *, const char *bind, const char **why);

/* Warns on stderr of ignored variables, if any. */
void topology_warn(const struct machine *);

const struct node *machine_node(const struct machine *, int number); /* NULL: no such node */

/* Whether the node has memory that may be used; true for all nodes if none shows its memory. */
bool machine_has_memory(const struct machine *, const struct node *);
unsigned machine_memory_nodes(const struct machine *); /* the number of nodes with such memory */
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

/* Reads the policy anew; `root` as in base/sysfs.h. */
void memory_policy_read(const char *root, struct memory_policy *);
hwloc_bitmap_t memory_policy_nodes(const struct memory_policy *); /* NULL: without nodes */

/*
 * Why a node has no usable memory, as the end of a sentence: "which has no memory", "which has no
 * memory that this process may use (cpuset)".
 */
#define NODE_TEXT 320
const char *node_lack(const struct machine *, const struct node *, char text[NODE_TEXT]);

/*
 * The memory of one node, in bytes; `root` as in base/sysfs.h. With a single node it is the
 * machine's (/proc/meminfo): a guest's node may include a balloon, or only the memory that its host
 * has provided so far. -1 with errno; ENOENT: no such node, ENODATA: the file lacks it.
 */
struct node_memory {
	uint64_t total, free;
	/*
	 * Bytes that first touch can use before it falls back to another node: free pages above the
	 * zones' low watermarks and reserves (/proc/zoneinfo). The page cache is excluded: the
	 * kernel keeps it as long as another node has free pages (unless vm.zone_reclaim_mode is
	 * set).
	 */
	uint64_t spare;
	/*
	 * Bytes that a binding policy can use: spare, and the page cache, which is dropped for it.
	 */
	uint64_t available;
};
int node_memory_read(const char *root, int node, struct node_memory *);

/* The closest level that two CPUs share; on different nodes that is the package at best. */
enum level {
	LEVEL_CPU,
	LEVEL_CORE,
	LEVEL_L2,
	LEVEL_L3,
	LEVEL_NODE,
	LEVEL_PACKAGE,
	LEVEL_MACHINE,
	LEVELS
};
extern const char *const machine_level_names[LEVELS]; /* "SMT", "L2", .. */

/* Takes the CPUs' numbers; LEVEL_MACHINE for CPUs that this process may not use. */
enum level machine_level(const struct machine *, int cpu, int other);
/* CPUs and nodes as text: "0-63,128-191". All return `text`. */
#define ALL_NODES (-1)
const char *cpu_list(const struct machine *, int node, char text[NUMBER_LIST_TEXT]);
const char *cpu_kind_list(const struct machine *, unsigned kind, char text[NUMBER_LIST_TEXT]);
/* The nodes with CPUs. */
const char *cpu_node_list(const struct machine *, char text[NUMBER_LIST_TEXT]);

/* 0: the fastest kind; the same for all CPUs if nothing shows which are faster. */
unsigned kinds_rank(const struct machine *, const struct cpu *);

/*
 * "4 IntelCore 3900 MHz + 2 IntelAtom 2800 MHz": how many of n CPUs are of which kind, to be freed.
 * NULL: the machine has no kinds.
 */
char *kinds_text(const struct machine *, const int *cpu, unsigned n);

/* An order in which threads are placed on CPUs. */
struct cpu_order {
	unsigned n;
	const struct cpu **cpu; /* all CPUs of the machine */
};

/* The hint in messages about too few CPUs. */
#define CPU_ORDER_OVERSUBSCRIBE "more threads than CPUs: --oversubscribe"

bool order_is_word(const char *bind);  /* "close", "spread" or "float", not a list */
bool order_is_float(const char *bind); /* begins as close, and may then move */

/* Orders CPUs by a word or a list of CPUs. -1 with *why, and errno as machine_bind(). */
int order_by(const struct machine *, const char *bind, struct cpu_order *, const char **why);
int order_list(const struct machine *, const char *list, struct cpu_order *, const char **why);

#endif
