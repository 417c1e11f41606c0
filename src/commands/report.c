/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands/analysis.h"
#include "commands/report.h"
#include "harness/ask/options.h"
#include "base/message.h"

/* 0: Python and the package were found; else the status to exit with, after a message. */
static int look_for_analysis(const char *command)
{
	if (!analysis_python()) {
		message("%s: this locus was built without Python; set LOCUS_PYTHON to an "
			"interpreter that has the modules of "
			"analysis/requirements.txt",
			command);
		return EXIT_IMPOSSIBLE;
	}
	if (analysis_find())
		return 0;
	if (errno == ENOENT) {
		message("%s: the Python package locus_analysis was not found beside the program; "
			"set LOCUS_ANALYSIS to its folder",
			command);
		return EXIT_IMPOSSIBLE;
	}
	message("%s: %s", command, strerror(errno));
	return EXIT_BAD;
}

int report_command(const struct program *p, int argc, char **argv)
{
	const char *python = analysis_python(), *name = strrchr(argv[0], ' ') + 1;
	const int status = look_for_analysis(argv[0]);
	char *arguments[argc + 4];

	(void)p;
	if (status)
		return status;
	arguments[0] = (char *)python;
	arguments[1] = "-m";
	arguments[2] = "locus_analysis";
	arguments[3] = (char *)name;
	for (int i = 1; i <= argc; i++)
		arguments[i + 3] = argv[i]; /* the NULL at the end too */
	execvp(python, arguments);
	message("%s: %s could not be run: %s; LOCUS_PYTHON names another interpreter", argv[0],
		python, strerror(errno));
	return EXIT_IMPOSSIBLE;
}
