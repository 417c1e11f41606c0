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
		words[ANALYSIS_BEGIN + 1 + i] = argv[i]; /* the NULL at the end too */
	execvp(words[0], words);
	message("%s: %s could not be run: %s; LOCUS_PYTHON names another interpreter", argv[0],
		words[0], strerror(errno));
	return EXIT_IMPOSSIBLE;
}
