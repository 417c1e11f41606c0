/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/memory/arena.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/sysfs.h"
#include "machine/memory/mapped.h"
#include "machine/topology/node_memory.h"
#include "machine/topology/topology.h"

/* when there is no memory for the text */
static const char out_of_memory[] = "out of memory";

struct arena *arena_open_at(const char *root, const struct machine *machine)
{
	struct arena *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->machine = machine;
	if (root && machine_memory_nodes(machine) > 1)
		a->before = calloc(machine->nodes, sizeof(*a->before));
	for (unsigned i = 0; a->before && i < machine->nodes; i++)
		if (node_memory_read(root, machine->node[i].number, &a->before[i]))
			a->before[i] = (struct node_memory){ 0 };
	return a;
}

struct arena *arena_open(const struct machine *machine)
{
	return arena_open_at(machine->running ? SYSFS_ROOT : NULL, machine);
}

void arena_close(struct arena *a)
{
	if (!a)
		return;
	for (struct region *r = a->regions, *next; r; r = next) {
		next = r->next;
		region_free(r);
	}
	if (a->refusal != out_of_memory)
		free(a->refusal);
	free(a->before);
	free(a);
}

/* What is inaccessible is left alone by the kernel's NUMA balancing, too. */
void arena_shut(const struct arena *a)
{
	for (const struct region *r = a->regions; r; r = r->next)
		mprotect(r->base, r->bytes, PROT_NONE);
}

size_t arena_asked(const struct arena *a)
{
	size_t asked = 0;

	for (const struct region *r = a->regions; r; r = r->next)
		asked += r->asked;
	return asked;
}

const char *arena_refusal(const struct arena *a)
{
	return a->refusal;
}

void *arena_cannot(struct arena *a, const char *format, ...)
{
	va_list arguments;
	int error = errno;

	if (a->refusal != out_of_memory)
		free(a->refusal);
	va_start(arguments, format);
	if (vasprintf(&a->refusal, format, arguments) < 0)
		a->refusal = (char *)out_of_memory;
	va_end(arguments);
	errno = error;
	return NULL;
}
