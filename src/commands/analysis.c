/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "commands/analysis.h"

const char *analysis_python(void)
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

bool analysis_find(void)
{
	const char *old = getenv("PYTHONPATH");
	char folder[PATH_MAX + 32], *path;
	int failed;

	if (!find_package(folder, sizeof(folder))) {
		errno = ENOENT;
		return false;
	}
	if (asprintf(&path, "%s%s%s", folder, old && *old ? ":" : "", old ? old : "") < 0)
		return false;
	failed = setenv("PYTHONPATH", path, 1);
	free(path);
	return !failed;
}
