/* SPDX-License-Identifier: Apache-2.0 */
/* Whether there is a Python that locus report can run with. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands/analysis.h"
#include "commands/doctor/doctor.h"
#include "machine/clock.h"

#define PATIENCE 2.0 /* s that Python may take to import what the report needs */

/* Starts a program; its output can be read from *output. -1 with errno set. */
static pid_t start(char *const *words, int *output)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int ends[2], error;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, ends[1], 1);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attributes);
	/* so that its own children can be ended with it */
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	error = posix_spawnp(&child, words[0], &files, &attributes, words, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	close(ends[1]);
	if (error) {
		close(ends[0]);
		errno = error;
		return -1;
	}
	*output = ends[0];
	return child;
}

/* Reads all output into text, as far as it fits. -1: it took longer than PATIENCE. */
static int listen_to(int output, char *text, size_t size)
{
	const double deadline = clock_now() + PATIENCE;
	struct pollfd wait = { .fd = output, .events = POLLIN };
	size_t used = 0;

	text[0] = '\0';
	for (;;) {
		double left = deadline - clock_now();
		char chunk[256];
		ssize_t n;

		if (left <= 0)
			return -1;
		/* a signal, or the deadline, which the check above sees */
		if (poll(&wait, 1, (int)(left * 1000) + 1) <= 0)
			continue;
		n = TEMP_FAILURE_RETRY(read(output, chunk, sizeof(chunk)));
		if (n <= 0)
			return 0;
		n = (size_t)n < size - 1 - used ? n : (ssize_t)(size - 1 - used);
		memcpy(text + used, chunk, (size_t)n);
		text[used += (size_t)n] = '\0';
	}
}

void check_python(const struct patient *p, struct finding *f)
{
	static const char script[] =
		"import sys\n"
		"if sys.version_info < (3, 9): sys.exit(print('is older than 3.9'))\n"
		"missing = []\n"
		"for name in '" LOCUS_PYTHON_MODULES "'.split():\n"
		"    try: __import__(name)\n"
		"    except Exception: missing.append(name)\n"
		"print('lacks ' + ', '.join(missing) if missing else 'has all that the report "
		"needs')\n";
	const char *python = analysis_python();
	char *words[ANALYSIS_BEGIN + 1] = { NULL }, answer[128], remedy[ANALYSIS_REMEDY];
	int output, late;
	pid_t child;

	(void)p;
	analysis_remedy(remedy);
	finding_mend(f, "%s", remedy);
	if (!python) {
		finding_set(f, FINDING_MISSING,
			    "none was found when this was built, and LOCUS_PYTHON is not set");
		return;
	}
	analysis_isolate(words, script);
	child = start(words, &output);
	if (child < 0) {
		finding_set(f, FINDING_MISSING, "%.120s: %s", python, strerror(errno));
		return;
	}
	late = listen_to(output, answer, sizeof(answer));
	close(output);
	if (late)
		kill(-child, SIGKILL);
	TEMP_FAILURE_RETRY(waitpid(child, NULL, 0));
	answer[strcspn(answer, "\n")] = '\0';
	if (late)
		finding_set(f, FINDING_UNKNOWN,
			    "%.120s took more than %g s to import what the report needs", python,
			    PATIENCE);
	else
		finding_set(f, strstr(answer, "has all") ? FINDING_GOOD : FINDING_MISSING,
			    "%.120s %s", python, *answer ? answer : "does not run");
}
