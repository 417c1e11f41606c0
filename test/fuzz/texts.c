/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of /proc and /sys: every parser reads the same text. The first line of the input is a key,
 * to be found in the other lines.
 */
#include "fuzz.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sysfs.h"
#include "base/numbers.h"
#include "base/utf8.h"
#include "machine/memory/placement.h"
#include "machine/usage.h"

static void read_numbers(const char *text)
{
	hwloc_bitmap_t set;
	uint64_t value = 17;

	errno = 0;
	must(number_parse(text, &value) ? value == 17 && errno : true);
	errno = 0;
	set = number_list_parse(text);
	must(set ? hwloc_bitmap_last(set) < 1 << 20 && hwloc_bitmap_weight(set) >= 0 : errno);
	hwloc_bitmap_free(set);
}

static void find_key(const char *text, const char *key)
{
	char *value = field_text(text, key);
	uint64_t number = 17;

	must(!value || (field_find(text, key) && *value && !strchr(value, '\n')));
	must(field_number(text, key, &number) ? value != NULL : number == 17);
	free(value);
}

static void read_numa_maps(const char *text)
{
	char *copy = strdup(text), *rest = copy, *line;
	uint64_t found[4] = { 0 };
	uintptr_t begin;

	must(copy);
	while ((line = numa_maps_next(&rest, &begin)))
		numa_maps_add(line, 1 << 12, found, 4);
	free(copy);
}

static void read_smaps(const char *text)
{
	char *copy = strdup(text);
	struct smaps s = { .file = copy && *copy ? fmemopen(copy, strlen(copy), "r") : NULL };
	struct mapping m;
	size_t most = 0;

	must(copy && (s.file || !*copy));
	while (s.file && smaps_next(&s, &m))
		must(++most <= strlen(text));
	free(s.line);
	if (s.file)
		(void)fclose(s.file);
	free(copy);
}

static void read_stat(const char *text)
{
	static const int cpus[] = { 0, 3 };
	char *copy = strdup(text);
	struct cpu_time_set set[2] = { { .cpu = cpus, .cpus = 2 } };
	const struct cpu_time *t;

	must(copy);
	cpu_time_of(copy, set);
	t = &set[0].sum;
	must(isfinite(t->busy + t->steal + t->idle) && t->busy >= 0 && t->steal >= 0 &&
	     t->idle >= 0);
	free(copy);
}

/* Any text becomes a string of JSON; in a small buffer, its beginning does. */
static void print_utf8(const char *text)
{
	json_t *whole = utf8_json(text), *part;
	char little[12];

	must(whole);
	part = json_string(utf8_print(text, little, sizeof(little)));
	must(part && !strncmp(json_string_value(whole), little, strlen(little)));
	json_decref(whole);
	json_decref(part);
}

void fuzz_texts(const uint8_t *data, size_t size)
{
	char *text = text_from(data, size), *rest = text, *key = next_line(&rest);

	read_numbers(key);
	print_utf8(key);
	if (rest) {
		find_key(rest, key);
		read_numa_maps(rest);
		read_smaps(rest);
		read_stat(rest);
	}
	free(text);
}
