/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files are read by pread, so that threads share no position, and not mapped, since a file that is
 * truncated meanwhile would raise SIGBUS.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/why.h"
#include "kit/input.h"

static int open_path(struct input *in, const char *path, const char **why)
{
	struct stat status;

	in->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (in->file < 0 || fstat(in->file, &status))
		return why_fail(why, "%s: %m", in->name);
	if (!S_ISREG(status.st_mode))
		return why_fail(why, "%s: is %s; expected a file, or - for standard input",
				in->name,
				S_ISDIR(status.st_mode)	   ? "a folder"
				: S_ISFIFO(status.st_mode) ? "a pipe"
							   : "a device");
	return 0;
}

static bool write_all(int file, const char *from, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		const ssize_t n = TEMP_FAILURE_RETRY(write(file, from + done, bytes - done));

		if (n < 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static const char *temporary_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && *folder ? folder : "/tmp";
}

/* A temporary file without a name. Not all file systems have O_TMPFILE. */
static int open_unlinked(void)
{
	char path[PATH_MAX];
	int file = open(temporary_folder(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (file >= 0 || snprintf(path, sizeof(path), "%s/locus-XXXXXX", temporary_folder()) >=
				 (int)sizeof(path))
		return file;
	file = mkostemp(path, O_CLOEXEC);
	if (file >= 0)
		unlink(path);
	return file;
}

/* Copies the rest of standard input to a file, which replaces it. A signal ends it. */
static int spool(const struct input *in, const char **why)
{
	const int file = open_unlinked();
	char *block = malloc(INPUT_BLOCK);
	ssize_t n = 1;
	bool good = file >= 0 && block;

	while (good && n > 0) {
		n = TEMP_FAILURE_RETRY(read(STDIN_FILENO, block, INPUT_BLOCK));
		good = n >= 0 && write_all(file, block, (size_t)n);
	}
	good = good && lseek(file, 0, SEEK_SET) == 0 && dup2(file, STDIN_FILENO) >= 0;
	if (!good)
		why_set(why, "%s: can't be put into a file in %s: %m", in->name,
			temporary_folder());
	free(block);
	if (file >= 0)
		close(file);
	return good ? 0 : -1;
}

static int open_standard_input(struct input *in, const char **why)
{
	struct stat status;

	if (fstat(STDIN_FILENO, &status))
		return why_fail(why, "%s: %m", in->name);
	if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode))
		return why_fail(why, "%s: is %s; expected a file or a pipe", in->name,
				isatty(STDIN_FILENO)	  ? "a terminal"
				: S_ISDIR(status.st_mode) ? "a folder"
							  : "a device");
	/* a regular file whose beginning was already read: copy the rest */
	if ((!S_ISREG(status.st_mode) || lseek(STDIN_FILENO, 0, SEEK_CUR)) && spool(in, why))
		return -1;
	in->file = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	return in->file >= 0 ? 0 : why_fail(why, "%s: %m", in->name);
}

static int measure(struct input *in, const char **why)
{
	struct stat status = { .st_size = 0 };
	const int failed = fstat(in->file, &status);

	in->bytes = (size_t)status.st_size;
	return failed ? why_fail(why, "%s: %m", in->name) : 0;
}

int input_open(struct input *in, const char *path, const char **why)
{
	const bool standard = strcmp(path, "-") == 0;

	*in = (struct input){ .name = standard ? "standard input" : path, .file = -1 };
	if (!(standard ? open_standard_input(in, why) : open_path(in, path, why)) &&
	    !measure(in, why))
		return 0;
	input_close(in);
	return -1;
}

void input_close(struct input *in)
{
	if (in->file >= 0)
		close(in->file);
	in->file = -1;
}

ssize_t input_read_some(const struct input *in, void *to, size_t bytes, size_t offset,
			const char **why)
{
	size_t done = 0;
	ssize_t n = 1;

	while (done < bytes && n > 0) {
		n = TEMP_FAILURE_RETRY(
			pread(in->file, (char *)to + done, bytes - done, (off_t)(offset + done)));
		done += n > 0 ? (size_t)n : 0;
	}
	return n < 0 ? why_fail(why, "%s: byte %zu can't be read: %m", in->name, offset + done)
		     : (ssize_t)done;
}

int input_read(const struct input *in, void *to, size_t bytes, size_t offset, const char **why)
{
	const ssize_t n = input_read_some(in, to, bytes, offset, why);

	if (n >= 0 && (size_t)n < bytes)
		return why_fail(why, "%s: byte %zu: the file ends; expected %zu B more", in->name,
				offset + (size_t)n, bytes - (size_t)n);
	return n < 0 ? -1 : 0;
}
