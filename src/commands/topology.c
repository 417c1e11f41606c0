/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <glob.h>
#include <hwloc.h>
#include <hwloc/distances.h>
#include <hwloc/memattrs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/message.h"
#include "base/sysfs.h"
#include "base/text.h"
#include "base/utf8.h"
#include "commands/commands.h"
#include "harness/ask/options.h"
#include "harness/run/run.h"
#include "machine/topology/tlb.h"
#include "machine/topology/topology.h"

static struct text size_text(uint64_t bytes)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	double value = (double)bytes;
	unsigned u = 0;
	struct text t;

	for (; value >= 1024 && u < sizeof(unit) / sizeof(*unit) - 1; u++)
		value /= 1024;
	snprintf(t.of, sizeof(t.of), "%.4g %s", value, unit[u]);
	return t;
}

/* Threads a core: "1", or "1-2" where cores differ. */
static struct text smt_text(const struct machine *m)
{
	unsigned least = UINT_MAX, most = 0;
	struct text t;

	for (unsigned i = 0; i < m->cpus; i++) {
		unsigned threads = m->cpu[i].sibling + 1;

		if (i + 1 < m->cpus && m->cpu[i + 1].sibling)
			continue;
		least = threads < least ? threads : least;
		most = threads > most ? threads : most;
	}
	snprintf(t.of, sizeof(t.of), least == most ? "%u" : "%u-%u", least, most);
	return t;
}

static void print_summary(const struct machine *m, FILE *out)
{
	int packages = hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_PACKAGE);
	int there = hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_PU);
	const char *model = hwloc_obj_get_info_by_name(hwloc_get_root_obj(m->topology), "CPUModel");
	hwloc_obj_t package = hwloc_get_obj_by_type(m->topology, HWLOC_OBJ_PACKAGE, 0);
	char numbers[NUMBER_LIST_TEXT], *heading;

	if (!model && package)
		model = hwloc_obj_get_info_by_name(package, "CPUModel");
	heading = text_of("%s%s%s", m->name, model ? ": " : "", model ? model : "");
	fprintf(out, "%s\n", heading ? utf8_tame(heading) : "");
	free(heading);
	fprintf(out, "%s, ", text_count(packages > 0 ? (unsigned)packages : 1, "package").of);
	fprintf(out, "%s, ", text_count(m->nodes, "node").of);
	fprintf(out, "%s, ", text_count(m->cores, "core").of);
	fprintf(out, "%s (%s a core)\n", text_count(m->cpus, "CPU").of, smt_text(m).of);
	if ((unsigned)there > m->cpus)
		fprintf(out, "this process may use only CPUs %s of %d\n",
			cpu_list(m, ALL_NODES, numbers), there);
}

static int node_package(const struct machine *m, int node)
{
	for (unsigned i = 0; i < m->cpus; i++)
		if (m->cpu[i].node == node)
			return m->cpu[i].package;
	return -1;
}

static void print_nodes(const struct machine *m, FILE *out)
{
	bool all_ours = hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_PU) == (int)m->cpus;
	char numbers[NUMBER_LIST_TEXT];

	fprintf(out, "\n%4s  %7s  %10s  %5s  %s\n", "node", "package", "memory", "cores", "CPUs");
	for (unsigned i = 0; i < m->nodes; i++) {
		const struct node *n = &m->node[i];

		fprintf(out, "%4d  ", n->number);
		if (n->cpus)
			fprintf(out, "%7d  %10s  %5u  %s\n", node_package(m, n->number),
				size_text(n->memory).of, n->cores, cpu_list(m, n->number, numbers));
		else
			fprintf(out, "%7s  %10s  %5s  %s\n", "-", size_text(n->memory).of, "-",
				all_ours ? "none: memory only" : "none that this process may use");
	}
}

static void print_kinds(const struct machine *m, FILE *out)
{
	const bool ranked = m->kinds && m->kind[m->kinds - 1].rank;
	char numbers[NUMBER_LIST_TEXT], rank[16];

	if (m->kinds)
		fprintf(out, "\n%-24s  %9s  %5s  %s\n", "kind of core", "by speed", "cores",
			"CPUs");
	for (unsigned k = 0; k < m->kinds; k++) {
		snprintf(rank, sizeof(rank), ranked ? "%u" : "unknown", m->kind[k].rank + 1);
		fprintf(out, "%-24s  %9s  %5u  %s\n", m->kind[k].name, rank, m->kind[k].cores,
			cpu_kind_list(m, k, numbers));
	}
}

/* Caches of a type share a line of the table if their size and number of CPUs are equal. */
static bool alike(hwloc_obj_t a, hwloc_obj_t b)
{
	return a->attr->cache.size == b->attr->cache.size &&
	       hwloc_bitmap_weight(a->cpuset) == hwloc_bitmap_weight(b->cpuset);
}

static void print_caches(const struct machine *m, FILE *out)
{
	const char *heading = "\ncache       size   line   ways  count  shared by\n";

	for (hwloc_obj_type_t type = HWLOC_OBJ_L1CACHE; type <= HWLOC_OBJ_L3ICACHE; type++)
		for (hwloc_obj_t c = NULL;
		     (c = hwloc_get_next_obj_by_type(m->topology, type, c));) {
			unsigned before = 0, count = 0;
			char name[16], line[16], ways[16];

			for (hwloc_obj_t o = NULL;
			     (o = hwloc_get_next_obj_by_type(m->topology, type, o));) {
				before += alike(c, o) && o->logical_index < c->logical_index;
				count += alike(c, o);
			}
			if (before)
				continue;
			hwloc_obj_type_snprintf(name, sizeof(name), c, 0);
			snprintf(line, sizeof(line), c->attr->cache.linesize ? "%u" : "-",
				 c->attr->cache.linesize);
			snprintf(ways, sizeof(ways), c->attr->cache.associativity > 0 ? "%d" : "-",
				 c->attr->cache.associativity);
			fprintf(out, "%s%-5s  %9s  %5s  ", heading, name,
				c->attr->cache.size ? size_text(c->attr->cache.size).of : "-",
				line);
			fprintf(out, "%5s  %5u  %s\n", ways, count,
				text_count((unsigned)hwloc_bitmap_weight(c->cpuset), "CPU").of);
			heading = "";
		}
}

static void print_tlbs(FILE *out)
{
	struct tlb tlbs[MOST_TLBS];
	const char *why;
	unsigned n = tlb_read(tlbs, &why);

	fprintf(out, "\n");
	if (n)
		tlb_print(tlbs, n, out);
	else
		fprintf(out, "TLBs: unknown (%s)\n", why);
}

static void print_distances(const struct machine *m, FILE *out)
{
	struct hwloc_distances_s *d;
	unsigned n = 1;

	if (m->nodes < 2 || hwloc_distances_get_by_name(m->topology, "NUMALatency", &n, &d, 0) ||
	    !n)
		return;
	fprintf(out, "\ndistance");
	for (unsigned i = 0; i < d->nbobjs; i++)
		fprintf(out, " %4d", machine_object_number(d->objs[i]));
	for (unsigned i = 0; i < d->nbobjs; i++) {
		fprintf(out, "\n%8d", machine_object_number(d->objs[i]));
		for (unsigned j = 0; j < d->nbobjs; j++)
			fprintf(out, " %4llu", (unsigned long long)d->values[i * d->nbobjs + j]);
	}
	fprintf(out, "\n");
	hwloc_distances_release(m->topology, d);
}

static void print_reserved(FILE *out)
{
	glob_t found = { 0 };

	if (glob("/sys/kernel/mm/hugepages/hugepages-*kB", 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *path = found.gl_pathv[i];
		uint64_t kib, total, unused;

		kib = strtoull(strrchr(path, '-') + 1, NULL, 10);
		if (sysfs_number(SYSFS_ROOT, &total, "%s/nr_hugepages", path) ||
		    sysfs_number(SYSFS_ROOT, &unused, "%s/free_hugepages", path))
			continue;
		fprintf(out, "; %s reserved: %llu, free: %llu", size_text(kib * 1024).of,
			(unsigned long long)total, (unsigned long long)unused);
	}
	globfree(&found);
}

static void print_pages(const struct machine *m, FILE *out)
{
	fprintf(out, "\npages: %s", size_text(m->page).of);
	fprintf(out, "; transparent huge: %s", m->huge_page ? size_text(m->huge_page).of : "none");
	print_reserved(out);
	fprintf(out, "\n");
}

/* Memory as the firmware describes it. */

/* hwloc before 2.8 has no separate attributes for writes. */
static const struct {
	const char *name, *before, *heading;
	bool bandwidth;
} attributes[] = {
	{ "ReadLatency", "Latency", "read latency", false },
	{ "WriteLatency", NULL, "write latency", false },
	{ "ReadBandwidth", "Bandwidth", "read bandwidth", true },
	{ "WriteBandwidth", NULL, "write bandwidth", true },
};
enum { ATTRIBUTES = sizeof(attributes) / sizeof(*attributes), TEXT = 64, WIDTH = 15 };

static bool find_attribute(hwloc_topology_t t, unsigned column, hwloc_memattr_id_t *id)
{
	return !hwloc_memattr_get_by_name(t, attributes[column].name, id) ||
	       (attributes[column].before &&
		!hwloc_memattr_get_by_name(t, attributes[column].before, id));
}

/* "80 ns", "40 GiB/s", or "-" if unknown. */
static void print_attribute(hwloc_topology_t t, unsigned column, hwloc_obj_t node,
			    struct hwloc_location *from, FILE *out)
{
	hwloc_memattr_id_t id;
	hwloc_uint64_t value;
	char text[TEXT] = "-", bytes[TEXT_BYTES];

	if (find_attribute(t, column, &id) &&
	    !hwloc_memattr_get_value(t, id, node, from, 0, &value)) {
		if (attributes[column].bandwidth) /* hwloc's unit is MiB/s */
			snprintf(text, sizeof(text), "%s/s", text_bytes(bytes, value << 20));
		else
			snprintf(text, sizeof(text), "%llu ns", (unsigned long long)value);
	}
	fprintf(out, "  %*s", WIDTH, text);
}

static void print_initiator(hwloc_topology_t t, hwloc_obj_t node, struct hwloc_location *from,
			    FILE *out)
{
	hwloc_const_bitmap_t cpus = from->type == HWLOC_LOCATION_TYPE_CPUSET
					    ? from->location.cpuset
					    : from->location.object->cpuset;
	char list[TEXT];

	fprintf(out, "%4u", node->os_index);
	for (unsigned i = 0; i < ATTRIBUTES; i++)
		print_attribute(t, i, node, from, out);
	hwloc_bitmap_list_snprintf(list, sizeof(list), cpus);
	fprintf(out, "  %s\n", list);
}

/* The initiators (sets of CPUs) of the first column that has any; to be freed. */
static struct hwloc_location *initiators(hwloc_topology_t t, hwloc_obj_t node, unsigned *n)
{
	struct hwloc_location *from;
	hwloc_memattr_id_t id = 0;

	*n = 0;
	for (unsigned i = 0; i < ATTRIBUTES && !*n; i++)
		if (!find_attribute(t, i, &id) ||
		    hwloc_memattr_get_initiators(t, id, node, 0, n, NULL, NULL))
			*n = 0;
	from = *n ? calloc(*n, sizeof(*from)) : NULL;
	if (!from || hwloc_memattr_get_initiators(t, id, node, 0, n, from, NULL))
		*n = 0;
	return from;
}

static void print_hmat_heading(FILE *out)
{
	fprintf(out, "\nmemory as the firmware describes it (HMAT), not as measured\nnode");
	for (unsigned i = 0; i < ATTRIBUTES; i++)
		fprintf(out, "  %*s", WIDTH, attributes[i].heading);
	fprintf(out, "  from CPUs\n");
}

/* Prints the firmware's table of latencies and bandwidths (ACPI HMAT), if it has one. */
static void print_hmat(hwloc_topology_t t, FILE *out)
{
	hwloc_obj_t node = NULL;
	bool headed = false;

	while ((node = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, node))) {
		unsigned n;
		struct hwloc_location *from = initiators(t, node, &n);

		if (n && !headed)
			print_hmat_heading(out);
		headed |= n > 0;
		for (unsigned i = 0; i < n; i++)
			print_initiator(t, node, &from[i], out);
		free(from);
	}
}

void topology_print(const struct machine *m, FILE *out)
{
	print_summary(m, out);
	print_nodes(m, out);
	print_kinds(m, out);
	print_caches(m, out);
	if (m->running)
		print_tlbs(out);
	print_distances(m, out);
	print_hmat(m->topology, out);
	if (m->running)
		print_pages(m, out);
}

/* ---- --picture FILE [RECORD...]: drawn by Python ---- */

#define PICTURE "--picture"

/* A record of this machine alone, without a trial. Returns the exit status. */
static int write_record(const char *path)
{
	char name[] = "topology", *words[] = { name, NULL };
	const struct options o = {
		.name = name, .profile = QUICK, .seed = 1, .argc = 1, .argv = words
	};
	struct run r = { .options = &o };
	int status = record_open(&r.record, path, RECORD_APPEND, PICTURE);

	if (status)
		return status;
	budget_begin(&r.budget, NULL, 0);
	status = setting_find(&r.setting, &o, NULL);
	if (!status) {
		r.clock = clock_measure();
		run_header(&r);
		run_end(&r, EXIT_GOOD);
	}
	record_close(r.record);
	setting_free(&r.setting);
	return status;
}

/* Draws the records; without one, this machine. Returns only on failure. */
static int draw(const struct program *p, char *file, int records, char **record)
{
	char name[] = "locus topology", option[] = PICTURE, scratch[64];
	char *words[records + 5];
	int n = 0, status;

	words[n++] = name;
	words[n++] = option;
	words[n++] = file;
	for (int i = 0; i < records; i++)
		words[n++] = record[i];
	if (!records) {
		/* without MFD_CLOEXEC: Python reads it */
		snprintf(scratch, sizeof(scratch), "/proc/self/fd/%d",
			 memfd_create("locus-record", 0));
		words[n++] = scratch;
		status = write_record(scratch);
		if (status)
			return status;
	}
	words[n] = NULL;
	return report_command(p, n, words);
}

static bool is_picture(int argc, char **argv)
{
	return argc > 1 && !strncmp(argv[1], PICTURE, strlen(PICTURE)) &&
	       strchr("=", argv[1][strlen(PICTURE)]);
}

static int picture(const struct program *p, int argc, char **argv)
{
	char *file = strchr(argv[1], '=') ? strchr(argv[1], '=') + 1 : argv[2];
	const int first = strchr(argv[1], '=') ? 2 : 3;

	if (file && *file)
		return draw(p, file, argc > first ? argc - first : 0, argv + first);
	message("%s: " PICTURE " needs the name of a file, such as machine.svg", argv[0]);
	return EXIT_COMMAND_LINE;
}

int topology_command(const struct program *p, int argc, char **argv)
{
	struct machine *m;
	int status;

	if (is_picture(argc, argv))
		return picture(p, argc, argv);
	if (refuse_arguments(argc, argv, 1))
		return EXIT_COMMAND_LINE;
	m = command_machine(argc > 1 ? argv[1] : NULL, &status);
	if (!m)
		return status;
	topology_print(m, stdout);
	machine_close(m);
	return 0;
}
