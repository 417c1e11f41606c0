/* SPDX-License-Identifier: Apache-2.0 */
/* The table of targets, and helpers that they share. */
#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "machine/topology/topology.h"

const struct target targets[] = {
	/* files */
	{ "csv", fuzz_csv },
	{ "dmi", fuzz_dmi },
	{ "expected", fuzz_expected },
	{ "npy", fuzz_npy },
	{ "record", fuzz_record },
	/* others */
	{ "cpuid", fuzz_cpuid },
	{ "doctor", fuzz_doctor },
	{ "limits", fuzz_limits },
	{ "machine", fuzz_machine },
	{ "options", fuzz_options },
	{ "places", fuzz_places },
	{ "texts", fuzz_texts },
	{ "topology", fuzz_topology },
	{ "values", fuzz_values },
	{ 0 },
};

bool in_parts;

const struct target *find_target(const char *name)
{
	for (const struct target *t = targets; t->name; t++)
		if (!strcmp(t->name, name))
			return t;
	fprintf(stderr, "there is no fuzz target '%s'; expected", name);
	for (const struct target *t = targets; t->name; t++)
		fprintf(stderr, " %s", t->name);
	fprintf(stderr, "\n");
	return NULL;
}

void broken(const char *condition, const char *file, int line)
{
	dprintf(STDERR_FILENO, "%s:%d: does not hold: %s\n", file, line, condition);
	abort();
}

char *text_from(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	must(text);
	if (size) /* without bytes, data may be NULL */
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

char *next_line(char **rest)
{
	return strsep(rest, "\n");
}

const struct memory_file *memory_file(const uint8_t *data, size_t size)
{
	static struct memory_file m = { .file = -1 };

	if (m.file < 0) {
		m.file = memfd_create("input", MFD_CLOEXEC);
		snprintf(m.path, sizeof(m.path), "/proc/self/fd/%d", m.file);
	}
	must(m.file >= 0 && !ftruncate(m.file, 0) &&
	     pwrite(m.file, data, size, 0) == (ssize_t)size);
	return &m;
}

FILE *nowhere(void)
{
	static FILE *f;

	if (!f)
		f = fopen("/dev/null", "w");
	must(f);
	return f;
}

static struct {
	char text[4096];
	FILE *file, *out, *err;
} heard;

/* Replaces the variables, not the descriptors, so that reports of sanitizers still arrive. */
void listen_begin(void)
{
	static char name[] = "locus";

	program_invocation_short_name = name; /* messages begin with it */
	if (!heard.file)
		heard.file = fmemopen(heard.text, sizeof(heard.text), "w");
	must(heard.file);
	rewind(heard.file);
	memset(heard.text, 0, sizeof(heard.text));
	heard.out = stdout;
	heard.err = stderr;
	stdout = nowhere();
	stderr = heard.file;
}

const char *listen_end(void)
{
	stdout = heard.out;
	stderr = heard.err;
	fflush(heard.file);
	clearerr(heard.file);
	heard.text[sizeof(heard.text) - 1] = 0;
	return heard.text;
}

static const char *const descriptions[] = {
	"node:2 core:2 pu:2",
	"core:1 pu:1",
	"node:3 core:1 pu:1(indexes=2,0,1)",
	"pack:2 node:2 core:3 pu:1",
};
enum { MACHINES = sizeof(descriptions) / sizeof(*descriptions) };

struct machine *open_described(unsigned choice)
{
	const char *error;
	struct machine *m = machine_open(descriptions[choice % MACHINES], &error);

	must(m);
	return m;
}

const struct machine *described_machine(unsigned choice)
{
	static struct machine *machines[MACHINES];
	struct machine **m = &machines[choice % MACHINES];

	if (!*m)
		*m = open_described(choice);
	return *m;
}
