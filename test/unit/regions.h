/* SPDX-License-Identifier: Apache-2.0 */
/* A machine with an arena, and regions in it. */
#ifndef LOCUS_TEST_REGIONS_H
#define LOCUS_TEST_REGIONS_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <numaif.h>
#include <cmocka.h>

#include "machine/memory/arena.h"
#include "machine/memory/region.h"
#include "machine/topology/topology.h"
#include "machine/memory/placement.h"
#include "base/sysfs.h"

#define MIB ((size_t)1 << 20)

struct world {
	struct machine *machine;
	struct arena *arena;
	int here, nowhere; /* a node with memory; a number that no node has */
	int reserved;	   /* huge pages that the test reserved, to be given back */
};

#define RESERVED "/sys/devices/system/node/node%d/hugepages/hugepages-2048kB/nr_hugepages"

/* Reserves huge pages on `here`, or gives them back; false where that can't be done. */
static inline bool reserve(struct world *w, int more)
{
	uint64_t before, after;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), RESERVED, w->here);
	if (sysfs_number(SYSFS_ROOT, &before, "%s", path) || !(file = fopen(path, "w")))
		return false;
	fprintf(file, "%llu", (unsigned long long)before + (unsigned long long)more);
	if (fclose(file) || sysfs_number(SYSFS_ROOT, &after, "%s", path))
		return false;
	w->reserved += (int)(after - before);
	return after == before + (uint64_t)more;
}

static inline int open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	const char *error;

	w->machine = machine_open(NULL, &error);
	w->arena = arena_open(w->machine);
	for (unsigned i = 0; i < w->machine->nodes; i++) {
		if (w->machine->node[i].memory && !w->machine->node[w->here].memory)
			w->here = (int)i;
		w->nowhere = w->machine->node[i].number + 1;
	}
	w->here = w->machine->node[w->here].number;
	*state = w;
	return 0;
}

static inline int close_world(void **state)
{
	struct world *w = *state;

	arena_close(w->arena);
	if (w->reserved)
		reserve(w, -w->reserved);
	machine_close(w->machine);
	free(w);
	return 0;
}

static inline void touch(struct region *r, size_t offset, size_t bytes, size_t page)
{
	for (volatile char *at = (char *)region_base(r) + offset; bytes >= page;
	     at += page, bytes -= page)
		*at = 1;
}

static inline struct region *map(struct world *w, size_t bytes, enum pages pages)
{
	struct region *r = region_map(w->arena, "data", bytes, pages);

	if (!r)
		fail_msg("%s", strerror(errno));
	return r;
}

static inline struct region *map_touched(struct world *w, size_t bytes)
{
	struct region *r = map(w, bytes, PAGES_BASE);

	region_bind(r, w->here);
	touch(r, 0, bytes, w->machine->page);
	return r;
}

static inline struct placement look(const struct world *w)
{
	struct placement p;

	assert_int_equal(arena_placement(w->arena, &p), 0);
	return p;
}

/* Runs part(world, shared) in a child process; returns its wait status. */
static inline int apart(void (*part)(struct world *, void *), struct world *w, void *shared)
{
	int status;
	pid_t child;

	fflush(NULL); /* else the child would print the buffered output a second time */
	child = fork();
	if (!child) {
		part(w, shared);
		exit(0); /* not _exit(), which would lose the child's coverage data */
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

/*
 * Containers without CAP_SYS_NICE forbid move_pages (seccomp): then neither can the nodes of single
 * pages be read, nor pages be moved.
 */
static inline void needs_move_pages(void)
{
	if (!move_pages(0, 0, NULL, NULL, NULL, 0))
		return;
	print_message("move_pages is forbidden here: %s\n", strerror(errno));
	skip();
}

struct seen {
	int installed;
	struct placement placement;
	uint64_t on_here;
	long migrated;
	char why_not[256];
};

/* Makes these system calls fail with `error` in this process, permanently. */
static inline int forbid(const int *call, unsigned n, int error)
{
	struct sock_filter filter[16];
	struct sock_fprog program = { 0, filter };

	filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
							     offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < n; i++) {
		filter[program.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
								     (unsigned)call[i], 0, 1);
		filter[program.len++] = (struct sock_filter)BPF_STMT(
			BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error);
	}
	filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static inline void see(struct world *w, struct seen *s)
{
	struct placement p;

	s->installed = 1;
	if (arena_placement(w->arena, &p))
		return;
	s->placement = p;
	s->on_here = p.on_node[w->here];
	snprintf(s->why_not, sizeof(s->why_not), "%s", p.why_not ? p.why_not : "");
	placement_free(&p);
}

static inline void see_without_move_pages(struct world *w, void *shared)
{
	if (!forbid((const int[]){ SYS_move_pages, SYS_mbind }, 2, EPERM))
		see(w, shared);
}

static inline struct seen *see_apart(struct world *w, void (*part)(struct world *, void *))
{
	struct seen *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_int_equal(apart(part, w, s), 0);
	if (!s->installed) {
		print_message("this system has no seccomp filters\n");
		skip();
	}
	return s;
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

#endif
