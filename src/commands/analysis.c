/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <libgen.h>
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
	char file[ANALYSIS_FOLDER + 32];

	snprintf(file, sizeof(file), "%s/locus_analysis/__main__.py", folder);
	return access(file, R_OK) == 0;
}

void analysis_isolate(char *words[ANALYSIS_BEGIN], const char *code)
{
	words[0] = (char *)analysis_python();
	words[1] = "-I";
	words[2] = "-c";
	words[3] = (char *)code;
}

const char analysis_code[] = "import sys; sys.path.insert(0, sys.argv.pop(1)); "
			     "from locus_analysis.__main__ import main; sys.exit(main())";

bool analysis_find(char folder[ANALYSIS_FOLDER])
{
	static const char *const places[] = { "../share/locus/analysis", "analysis" };
	const char *given = getenv("LOCUS_ANALYSIS");
	char self[PATH_MAX];
	ssize_t n;

	if (given && *given) {
		snprintf(folder, ANALYSIS_FOLDER, "%s", given);
		return has_package(folder);
	}
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n < 0)
		return false;
	self[n] = 0;
	dirname(self);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(folder, ANALYSIS_FOLDER, "%s/%s", self, places[i]);
		if (has_package(folder))
			return true;
	}
	return false;
}
