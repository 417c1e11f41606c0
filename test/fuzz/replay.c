/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Without arguments, replay runs each target on the files of its folder in FUZZ_CORPUS, and prints
 * a line of TAP for each target. Each file has a process of its own, so that a crash or a hang
 * fails its target only.
 *
 * With TARGET FILE..., it runs one target on these files in this process, for a debugger.
 */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MOST_BYTES = 1 << 20,
	PATIENCE = 60 /* s for one file, also with sanitizers on a busy machine */
};

static void run_file(const struct target *t, const char *path)
{
	static uint8_t bytes[MOST_BYTES];
	FILE *f = fopen(path, "r");
	uint8_t *data;
	size_t size;

	if (!f) {
		perror(path);
		exit(2);
	}
	size = fread(bytes, 1, sizeof(bytes), f);
	must(feof(f));
	fclose(f);
	data = malloc(size ? size : 1); /* exact, so that sanitizers see reads beyond */
	must(data);
	memcpy(data, bytes, size);
	t->run(data, size);
	free(data);
}

/* Runs a file in a child process; returns how that failed, or an empty text. */
static const char *try_file(const struct target *t, const char *path)
{
	static char how[64];
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		alarm(PATIENCE);
		run_file(t, path);
		exit(0);
	}
	must(child > 0);
	while (waitpid(child, &status, 0) < 0)
		must(errno == EINTR);
	if (WIFSIGNALED(status))
		snprintf(how, sizeof(how),
			 WTERMSIG(status) == SIGALRM ? "took more than %d s" : "signal %d",
			 WTERMSIG(status) == SIGALRM ? PATIENCE : WTERMSIG(status));
	else if (WEXITSTATUS(status))
		snprintf(how, sizeof(how), "exit status %d", WEXITSTATUS(status));
	else
		how[0] = '\0';
	return how;
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* A target without files fails: it would be a test that can't fail. */
static bool try_folder(const struct target *t, const char *corpus, unsigned number)
{
	char path[PATH_MAX];
	struct dirent **entries;
	unsigned bad = 0;
	int n;

	snprintf(path, sizeof(path), "%s/%s", corpus, t->name);
	n = scandir(path, &entries, visible, alphasort);
	if (n <= 0)
		printf("# %s: %s\n", path, n ? strerror(errno) : "has no files");
	for (int i = 0; i < n; i++) {
		const char *how;

		snprintf(path, sizeof(path), "%s/%s/%s", corpus, t->name, entries[i]->d_name);
		how = try_file(t, path);
		if (*how)
			printf("# %s: %s\n", path, how);
		bad += *how != 0;
		free(entries[i]);
	}
	if (n > 0)
		free(entries);
	printf("%sok %u - %s: %d files\n", n > 0 && !bad ? "" : "not ", number, t->name,
	       n > 0 ? n : 0);
	return n > 0 && !bad;
}

static int replay(const char *corpus)
{
	unsigned number = 0;
	bool good = true;

	for (const struct target *t = targets; t->name; t++)
		number++;
	printf("1..%u\n", number);
	number = 0;
	for (const struct target *t = targets; t->name; t++)
		good &= try_folder(t, corpus, ++number);
	return !good;
}

int main(int argc, char **argv)
{
	const char *corpus = getenv("FUZZ_CORPUS");
	const struct target *t = argc > 1 ? find_target(argv[1]) : NULL;

	if (argc == 1 && corpus)
		return replay(corpus);
	if (!t || argc < 3) {
		fprintf(stderr, "usage: %s TARGET FILE...\n       FUZZ_CORPUS=FOLDER %s\n", argv[0],
			argv[0]);
		return 2;
	}
	for (int i = 2; i < argc; i++)
		run_file(t, argv[i]);
	return 0;
}
