/* SPDX-License-Identifier: Apache-2.0 */
/* Loads hwloc's topology: this machine, a file, or a description. */
#include "machine/topology/load.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/sysfs.h"
#include "base/why.h"
#include "machine/topology/topology.h"

/* most CPUs of a synthetic machine: hwloc takes seconds for so many, in quadratic time */
#define MOST_SYNTHETIC (1u << 13)
#define EXAMPLE	       "\"node:2 core:64 pu:2\""
#define EXPECTED       "hwloc XML (lstopo FILE.xml) or a description such as " EXAMPLE
#define NODES	       "/sys/devices/system/node"

/*
 * The number of CPUs in a synthetic description: the product of the counts outside brackets and
 * parentheses, parsed as hwloc does.
 */
static double synthetic_cpus(const char *text)
{
	double product = 1;
	int depth = 0;

	for (const char *c = text; *c; c++) {
		char *end;
		unsigned long long count;

		depth += (*c == '(' || *c == '[') - (*c == ')' || *c == ']');
		if (depth || isspace((unsigned char)*c) ||
		    (c != text && c[-1] != ':' && !isspace((unsigned char)c[-1])))
			continue;
		count = strtoull(c, &end, 0);
		if (end != c && count)
			product *= (double)count;
	}
	return product;
}

/*
 * Whether an item other than the last one, the CPUs, is numbered by types, as in
 * "(indexes=core:node)". If the machine has more objects of such a type than of the item, an
 * assertion of hwloc 2.9 fails and ends the program.
 */
static bool types_number_others(const char *text)
{
	static const char key[] = "indexes=";

	for (const char *c = text; (c = strstr(c, key)); c += strlen(key)) {
		const char *end = c + strcspn(c, ")");

		if (isalpha((unsigned char)c[strlen(key)]) && end[0] &&
		    end[1 + strspn(end + 1, " \t\n")])
			return true;
	}
	return false;
}

static int take_synthetic(struct machine *m, const char *text, const char **error)
{
	double cpus = synthetic_cpus(text);

	if (strchr(text, '/') || strstr(text, ".xml"))
		return why_fail(error, "topology %.200s: no such file; expected " EXPECTED, text);
	if (cpus > MOST_SYNTHETIC)
		return why_fail(
			error,
			"topology \"%.200s\" would have %.0f CPUs; at most %u are possible, as "
			"in " EXAMPLE,
			text, cpus, MOST_SYNTHETIC);
	if (types_number_others(text))
		return why_fail(error,
				"topology \"%.200s\": only CPUs, the last item, can be numbered by "
				"types; expected numbers there, or nothing, as in " EXAMPLE,
				text);
	if (hwloc_topology_set_synthetic(m->topology, text) || hwloc_topology_load(m->topology))
		return why_fail(error,
				"\"%.200s\" is neither a file nor a description, whose last "
				"item is the CPUs of a core (pu:1); expected " EXPECTED,
				text);
	return 0;
}

/* The major version of the hwloc that wrote a file; 0: unknown. */
static unsigned written_by(const char *path)
{
	char start[1024];
	FILE *file = fopen(path, "re");
	const size_t n = file ? fread(start, 1, sizeof(start) - 1, file) : 0;
	const char *root;
	unsigned major = 0;

	if (file)
		fclose(file);
	start[n] = 0;
	root = strstr(start, "<topology");
	if (root)
		sscanf(root, "<topology version=%*[\"']%u", &major);
	return major;
}

static int refuse_xml(const char *path, const char **error)
{
	const unsigned ours = hwloc_get_api_version() >> 16, major = written_by(path);

	if (major > ours)
		return why_fail(error,
				"topology %.200s: is of hwloc %u; this locus reads up to %u.x: "
				"write it with lstopo of hwloc %u",
				path, major, ours, ours);
	return why_fail(error, "topology %.200s: not the XML of a topology; expected " EXPECTED,
			path);
}

static int load_xml(struct machine *m, const char *path)
{
	return hwloc_topology_set_xml(m->topology, path) || hwloc_topology_load(m->topology);
}

/*
 * Whether hwloc can read the file. Another process tries it first, without a word: hwloc 2.9 ends
 * by SIGSEGV or an assertion if sets are missing or contradict each other.
 */
static bool is_xml(struct machine *m, const char *path)
{
	const pid_t child = fork();
	int status = 0;

	if (!child) {
		/* no handler of a sanitizer or of cmocka, no core */
		signal(SIGSEGV, SIG_DFL);
		signal(SIGABRT, SIG_DFL);
		prctl(PR_SET_DUMPABLE, 0);
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
		_exit(load_xml(m, path) ? EXIT_FAILURE : EXIT_SUCCESS);
	}
	return child < 0 || TEMP_FAILURE_RETRY(waitpid(child, &status, 0)) != child || !status;
}

static int take_file(struct machine *m, const char *path, const struct stat *status,
		     const char **error)
{
	const char *what = S_ISREG(status->st_mode) ? NULL : "not a regular file";

	if (!what && access(path, R_OK))
		what = strerror(errno);
	if (what)
		return why_fail(error, "topology %.200s: %s; expected " EXPECTED, path, what);
	if (!is_xml(m, path) || load_xml(m, path))
		return refuse_xml(path, error);
	return 0;
}

/* Containers may hide the folder under an empty one; then an assertion of hwloc fails. */
static bool nodes_are_hidden(void)
{
	return sysfs_exists(SYSFS_ROOT, NODES) && sysfs_hidden(SYSFS_ROOT, NODES);
}

/* Variables that make hwloc read another machine, or only part of this one. */
static const char *const misleading[] = { "HWLOC_XMLFILE",    "HWLOC_SYNTHETIC",
					  "HWLOC_FSROOT",     "HWLOC_CPUID_PATH",
					  "HWLOC_COMPONENTS", "HWLOC_THISSYSTEM",
					  "HWLOC_ALLOW",      "HWLOC_DUMPED_HWDATA_DIR" };

/*
 * Removes these variables from the environment, since LIKWID's library uses hwloc, too.
 * topology_warn() names them.
 */
static void ignore_variables(struct machine *m)
{
	for (unsigned i = 0; i < LENGTH(misleading); i++) {
		size_t used = strlen(m->ignored);

		if (!getenv(misleading[i]))
			continue;
		unsetenv(misleading[i]);
		snprintf(m->ignored + used, sizeof(m->ignored) - used, used ? ", %s" : "%s",
			 misleading[i]);
	}
}

static int take_this(struct machine *m, const char **error)
{
	/* without this component hwloc still has CPUID, or at least the number of CPUs */
	if (nodes_are_hidden())
		hwloc_topology_set_components(m->topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
					      "linux:cpu");
	if (hwloc_topology_load(m->topology))
		return why_fail(error, "hwloc can't read the topology of this machine: %s",
				strerror(errno));
	if (!hwloc_topology_is_thissystem(m->topology))
		return why_fail(error,
				"hwloc read the topology of another machine; unset the variables "
				"HWLOC_...");
	m->running = true;
	return 0;
}

/*
 * hwloc's plugins find devices, which nobody needs here, or read XML. Loading them would take half
 * of the start-up time; with an empty path there are none.
 */
static int init(hwloc_topology_t *topology, bool plugins)
{
	static const char path[] = "HWLOC_PLUGINS_PATH";
	bool ours = !plugins && !getenv(path) && !setenv(path, "", 0);
	int failed = hwloc_topology_init(topology);

	if (ours)
		unsetenv(path);
	return failed;
}

int topology_load(struct machine *m, const char *description, const char **error)
{
	struct stat file;
	bool is_file = description && !stat(description, &file);
	int status;

	if (!description)
		ignore_variables(m);
	if (init(&m->topology, is_file)) {
		m->topology = NULL;
		return why_fail(error, "hwloc can't initialise a topology: %s", strerror(errno));
	}
	/*
	 * The whole machine: a CPU may be allowed although its node's memory is not, and still
	 * belongs to that node.
	 */
	hwloc_topology_set_flags(m->topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	if (!description)
		status = take_this(m, error);
	else if (is_file)
		status = take_file(m, description, &file, error);
	else
		status = take_synthetic(m, description, error);
	if (status)
		return -1;
	m->name = strdup(description ? description : "this machine");
	return m->name ? 0 : why_fail(error, "out of memory");
}
