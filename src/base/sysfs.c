/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sysfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/numbers.h"

/* largest file, in bytes: /proc/cpuinfo of the largest machines has about 4 MiB */
#define MOST (16u << 20)

static int path_of(char path[PATH_MAX], const char *root, const char *format, va_list arguments)
{
	size_t used = strlen(root);
	int n;

	if (used < PATH_MAX) {
		memcpy(path, root, used + 1);
		n = vsnprintf(path + used, PATH_MAX - used, format, arguments);
		if (n >= 0 && (size_t)n < PATH_MAX - used)
			return 0;
	}
	errno = ENAMETOOLONG;
	return -1;
}

/* Reads to the end: stat() does not tell the size of files in /proc and /sys. */
static char *read_all(int file, size_t *length)
{
	size_t size = 4u << 10, used = 0;
	char *text = NULL, *larger;
	ssize_t n;

	for (;;) {
		larger = size > MOST ? NULL : realloc(text, size);
		if (!larger) {
			free(text);
			errno = size > MOST ? EFBIG : ENOMEM;
			return NULL;
		}
		text = larger;
		while ((n = TEMP_FAILURE_RETRY(read(file, text + used, size - 1 - used))) > 0)
			used += (size_t)n;
		if (n < 0) {
			free(text);
			return NULL;
		}
		if (used < size - 1)
			break;
		size *= 2;
	}
	text[used] = '\0';
	*length = used;
	return text;
}

static char *bytes_at(const char *path, size_t *n)
{
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), error;
	char *text;

	if (file < 0)
		return NULL;
	text = read_all(file, n);
	error = errno;
	close(file);
	errno = error;
	return text;
}

/* Cuts the text down to its first line, without blanks. */
static char *first_line(char *text)
{
	char *line = text, *end;

	if (!text)
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	while (isspace((unsigned char)*line))
		line++;
	end = line + strlen(line);
	while (end > line && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	memmove(text, line, (size_t)(end - line) + 1);
	return text;
}

static char *vbytes(const char *root, size_t *n, const char *format, va_list arguments)
{
	char path[PATH_MAX];

	return path_of(path, root, format, arguments) ? NULL : bytes_at(path, n);
}

static char *vtext(const char *root, const char *format, va_list arguments)
{
	size_t n;

	return vbytes(root, &n, format, arguments);
}

/* Sets `result` to a call that takes the caller's variable arguments as `arguments`. */
#define WITH_ARGUMENTS(result, call)         \
	do {                                 \
		va_list arguments;           \
		va_start(arguments, format); \
		(result) = (call);           \
		va_end(arguments);           \
	} while (0)

char *sysfs_text(const char *root, const char *format, ...)
{
	char *text;

	WITH_ARGUMENTS(text, vtext(root, format, arguments));
	return text;
}

char *sysfs_bytes(const char *root, size_t *n, const char *format, ...)
{
	char *bytes;

	WITH_ARGUMENTS(bytes, vbytes(root, n, format, arguments));
	return bytes;
}

static char *not_empty(char *line)
{
	if (!line || *line)
		return line;
	free(line);
	errno = ENODATA;
	return NULL;
}

char *sysfs_line(const char *root, const char *format, ...)
{
	char *text;

	WITH_ARGUMENTS(text, vtext(root, format, arguments));
	return not_empty(first_line(text));
}

char *sysfs_choice(const char *root, const char *format, ...)
{
	char *line, *open, *shut;

	WITH_ARGUMENTS(line, vtext(root, format, arguments));
	line = not_empty(first_line(line));
	open = line ? strchr(line, '[') : NULL;
	shut = open ? strchr(open, ']') : NULL;
	if (shut) {
		*shut = '\0';
		memmove(line, open + 1, (size_t)(shut - open));
	}
	return not_empty(line);
}

int sysfs_number(const char *root, uint64_t *value, const char *format, ...)
{
	char *line;
	int result;

	WITH_ARGUMENTS(line, vtext(root, format, arguments));
	line = first_line(line);
	if (!line)
		return -1;
	result = number_parse(line, value);
	free(line);
	return result;
}

hwloc_bitmap_t sysfs_list(const char *root, const char *format, ...)
{
	hwloc_bitmap_t set;
	char *line;

	WITH_ARGUMENTS(line, vtext(root, format, arguments));
	line = first_line(line);
	if (!line)
		return NULL;
	set = number_list_parse(line);
	free(line);
	return set;
}

bool sysfs_hidden(const char *root, const char *folder)
{
	char path[PATH_MAX];
	int entries = 0;
	DIR *open;

	snprintf(path, sizeof(path), "%s%s", root, folder);
	open = opendir(path);
	while (open && entries < 3 && readdir(open))
		entries++;
	if (open)
		closedir(open);
	return entries < 3; /* an empty folder has "." and ".." */
}

bool sysfs_exists(const char *root, const char *format, ...)
{
	char path[PATH_MAX];
	int error;

	WITH_ARGUMENTS(error, path_of(path, root, format, arguments));
	return !error && !access(path, F_OK);
}
