/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/topology/topology.h"

#include <stdbool.h>
#include <stdlib.h>
#include <hwloc/memattrs.h>

#include "base/text.h"

/* hwloc before 2.8 has no separate attributes for writes. */
static const struct {
	const char *name, *before, *heading;
	bool bandwidth;
} columns[] = {
	{ "ReadLatency", "Latency", "read latency", false },
	{ "WriteLatency", NULL, "write latency", false },
	{ "ReadBandwidth", "Bandwidth", "read bandwidth", true },
	{ "WriteBandwidth", NULL, "write bandwidth", true },
};
enum { COLUMNS = sizeof(columns) / sizeof(*columns), TEXT = 64, WIDTH = 15 };

static bool find(hwloc_topology_t t, unsigned column, hwloc_memattr_id_t *id)
{
	return !hwloc_memattr_get_by_name(t, columns[column].name, id) ||
	       (columns[column].before &&
		!hwloc_memattr_get_by_name(t, columns[column].before, id));
}

/* "80 ns", "40 GiB/s", or "-" if unknown. */
static void print_value(hwloc_topology_t t, unsigned column, hwloc_obj_t node,
			struct hwloc_location *from, FILE *out)
{
	hwloc_memattr_id_t id;
	hwloc_uint64_t value;
	char text[TEXT] = "-", bytes[TEXT_BYTES];

	if (find(t, column, &id) && !hwloc_memattr_get_value(t, id, node, from, 0, &value)) {
		if (columns[column].bandwidth) /* hwloc's unit is MiB/s */
			snprintf(text, sizeof(text), "%s/s", text_bytes(bytes, value << 20));
		else
			snprintf(text, sizeof(text), "%llu ns", (unsigned long long)value);
	}
	fprintf(out, "  %*s", WIDTH, text);
}

static void print_row(hwloc_topology_t t, hwloc_obj_t node, struct hwloc_location *from, FILE *out)
{
	hwloc_const_bitmap_t cpus = from->type == HWLOC_LOCATION_TYPE_CPUSET
					    ? from->location.cpuset
					    : from->location.object->cpuset;
	char list[TEXT];

	fprintf(out, "%4u", node->os_index);
	for (unsigned i = 0; i < COLUMNS; i++)
		print_value(t, i, node, from, out);
	hwloc_bitmap_list_snprintf(list, sizeof(list), cpus);
	fprintf(out, "  %s\n", list);
}

/* The initiators (sets of CPUs) of the first column that has any; to be freed. */
static struct hwloc_location *initiators(hwloc_topology_t t, hwloc_obj_t node, unsigned *n)
{
	struct hwloc_location *from;
	hwloc_memattr_id_t id = 0;

	*n = 0;
	for (unsigned i = 0; i < COLUMNS && !*n; i++)
		if (!find(t, i, &id) || hwloc_memattr_get_initiators(t, id, node, 0, n, NULL, NULL))
			*n = 0;
	from = *n ? calloc(*n, sizeof(*from)) : NULL;
	if (!from || hwloc_memattr_get_initiators(t, id, node, 0, n, from, NULL))
		*n = 0;
	return from;
}

static void print_heading(FILE *out)
{
	fprintf(out, "\nmemory as the firmware describes it (HMAT), not as measured\nnode");
	for (unsigned i = 0; i < COLUMNS; i++)
		fprintf(out, "  %*s", WIDTH, columns[i].heading);
	fprintf(out, "  from CPUs\n");
}

void hmat_print(hwloc_topology_t t, FILE *out)
{
	hwloc_obj_t node = NULL;
	bool headed = false;

	while ((node = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, node))) {
		unsigned n;
		struct hwloc_location *from = initiators(t, node, &n);

		if (n && !headed)
			print_heading(out);
		headed |= n > 0;
		for (unsigned i = 0; i < n; i++)
			print_row(t, node, &from[i], out);
		free(from);
	}
}
