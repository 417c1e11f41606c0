/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "commands/analysis.h"
#include "commands/commands.h"
#include "harness/ask/options.h"

static const char *given_python(void)
{
	const char *given = getenv("LOCUS_PYTHON");

	return given && *given ? given : NULL;
}

static bool has_package(const char *folder)
{
	char file[ANALYSIS_FOLDER + 32];

	snprintf(file, sizeof(file), "%s/locus_analysis/__main__.py", folder);
	return access(file, R_OK) == 0;
}

void analysis_isolate(char *words[ANALYSIS_BEGIN], const char *code)
{
	unsetenv("PYTHONEXECUTABLE"); /* which -I does not ignore: Python would not find its venv */
	words[0] = (char *)analysis_python();
	words[1] = "-I";
	words[2] = "-c";
	words[3] = (char *)code;
}

/* What fails later, main() tells. */
const char analysis_code[] =
	"import sys\n"
	"sys.path.insert(0, sys.argv.pop(1))\n"
	"try:\n"
	"    from locus_analysis.__main__ import main\n"
	"except MemoryError:\n"
	"    sys.exit(print('locus: not enough memory', file=sys.stderr) or 70)\n"
	"sys.exit(main())";

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

/* The virtual environment beside the folder of the package, whether it is there or not. */
static void name_venv(const char *folder, char venv[ANALYSIS_FOLDER])
{
	char copy[ANALYSIS_FOLDER], real[PATH_MAX];
	const char *home;

	snprintf(copy, sizeof(copy), "%s", folder);
	home = dirname(copy);
	snprintf(venv, ANALYSIS_FOLDER, "%s/venv", realpath(home, real) ? real : home);
}

const char *analysis_python(void)
{
	static char python[ANALYSIS_FOLDER + 16];
	char folder[ANALYSIS_FOLDER], venv[ANALYSIS_FOLDER];

	if (given_python())
		return given_python();
	if (analysis_find(folder)) {
		name_venv(folder, venv);
		snprintf(python, sizeof(python), "%s/bin/python", venv);
		if (access(python, X_OK) == 0)
			return python;
	}
	return LOCUS_PYTHON_PATH;
}

/* Whether a file can be created there. */
static bool may_make(const char *file)
{
	char copy[ANALYSIS_FOLDER];

	snprintf(copy, sizeof(copy), "%s", file);
	return access(dirname(copy), W_OK) == 0;
}

void analysis_remedy(char command[ANALYSIS_REMEDY])
{
	char folder[ANALYSIS_FOLDER], venv[ANALYSIS_FOLDER];

	if (!given_python() && analysis_find(folder)) {
		name_venv(folder, venv);
		if (may_make(venv) && snprintf(command, ANALYSIS_REMEDY,
					       "python3 -m venv '%s' && '%s/bin/pip' install -r "
					       "'%s/requirements.txt'",
					       venv, venv, folder) < ANALYSIS_REMEDY)
			return;
	}
	snprintf(command, ANALYSIS_REMEDY,
		 "python3 -m venv ~/locus-python && ~/locus-python/bin/pip install duckdb jinja2 "
		 "jsonschema-rs numpy vl-convert-python && "
		 "export LOCUS_PYTHON=~/locus-python/bin/python");
}

/* ---- the commands that replace this process by Python ---- */

/* 0: Python and the package were found; else the status to exit with, after a message. */
static int look_for_analysis(const char *command, char folder[ANALYSIS_FOLDER])
{
	if (!analysis_python()) {
		char remedy[ANALYSIS_REMEDY];

		analysis_remedy(remedy);
		message("%s: no Python >= 3.9 was found when this locus was built; once there is "
			"one:",
			command);
		fprintf(stderr, "  %s\n", remedy);
		return EXIT_IMPOSSIBLE;
	}
	if (analysis_find(folder))
		return 0;
	message("%s: the Python package locus_analysis was not found beside the program; set "
		"LOCUS_ANALYSIS to its folder",
		command);
	return EXIT_IMPOSSIBLE;
}

int report_command(const struct program *p, int argc, char **argv)
{
	char folder[ANALYSIS_FOLDER], *words[ANALYSIS_BEGIN + 2 + argc];
	const int status = look_for_analysis(argv[0], folder);

	(void)p;
	if (status)
		return status;
	analysis_isolate(words, analysis_code);
	words[ANALYSIS_BEGIN] = folder;
	words[ANALYSIS_BEGIN + 1] = strrchr(argv[0], ' ') + 1; /* the command's name */
	for (int i = 1; i <= argc; i++)
		words[ANALYSIS_BEGIN + 1 + i] = argv[i]; /* and the NULL at the end */
	execvp(words[0], words);
	message("%s: %s could not be run: %s; LOCUS_PYTHON names another interpreter", argv[0],
		words[0], strerror(errno));
	return EXIT_IMPOSSIBLE;
}
