/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "harness/ask/options.h"
#include "commands/report.h"

static const char *interpreter(void)
{
	const char *given = getenv("LOCUS_PYTHON");

	if (given && *given)
		return given;
	return LOCUS_PYTHON_PATH;
}

static bool has_package(const char *folder)
{
	char file[PATH_MAX + 64];

	snprintf(file, sizeof(file), "%s/locus_analysis/__main__.py", folder);
	return access(file, R_OK) == 0;
}

/* Relative to the program: an installed package may have been moved. */
static bool find_package(char *folder, size_t size)
{
	static const char *const places[] = { "../share/locus/analysis", "analysis" };
	const char *given = getenv("LOCUS_ANALYSIS");
	char self[PATH_MAX];
	ssize_t n;

	if (given && *given) {
		snprintf(folder, size, "%s", given);
		return has_package(folder);
	}
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n < 0)
		return false;
	self[n] = 0;
	dirname(self);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(folder, size, "%s/%s", self, places[i]);
		if (has_package(folder))
			return true;
	}
	return false;
}

static int prepend_path(const char *folder)
{
	const char *old = getenv("PYTHONPATH");
	char *path;
	int failed;

	if (asprintf(&path, "%s%s%s", folder, old && *old ? ":" : "", old ? old : "") < 0)
		return -1;
	failed = setenv("PYTHONPATH", path, 1);
	free(path);
	return failed;
}

int report_command(const struct program *p, int argc, char **argv)
{
	const char *python = interpreter(), *name = strrchr(argv[0], ' ') + 1;
	char folder[PATH_MAX + 32], *arguments[argc + 4];

	(void)p;
	if (!python) {
		fprintf(stderr,
			"%s: this locus was built without Python; set LOCUS_PYTHON to an "
			"interpreter that has the modules of "
			"analysis/requirements.txt\n",
			argv[0]);
		return EXIT_IMPOSSIBLE;
	}
	if (!find_package(folder, sizeof(folder))) {
		fprintf(stderr,
			"%s: the Python package locus_analysis was not found beside the program; "
			"set LOCUS_ANALYSIS to its folder\n",
			argv[0]);
		return EXIT_IMPOSSIBLE;
	}
	if (prepend_path(folder)) {
		fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
		return EXIT_BAD;
	}
	arguments[0] = (char *)python;
	arguments[1] = "-m";
	arguments[2] = "locus_analysis";
	arguments[3] = (char *)name;
	for (int i = 1; i <= argc; i++)
		arguments[i + 3] = argv[i]; /* the NULL at the end too */
	execvp(python, arguments);
	fprintf(stderr, "%s: %s could not be run: %s; LOCUS_PYTHON names another interpreter\n",
		argv[0], python, strerror(errno));
	return EXIT_IMPOSSIBLE;
}
