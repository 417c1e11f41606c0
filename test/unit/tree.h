/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of /proc and /sys in a folder, made by a test and removed after it: setup and teardown of cmocka. */
#ifndef LOCUS_TEST_TREE_H
#define LOCUS_TEST_TREE_H

#include <ftw.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[PATH_MAX];

static inline int tree_make(void **state)
{
	const char *folder = getenv("TMPDIR");

	(void)state;
	snprintf(root, sizeof(root), "%s/locus-tree-XXXXXX", folder ? folder : "/tmp");
	return mkdtemp(root) ? 0 : -1;
}

static inline int tree_remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

static inline int tree_remove(void **state)
{
	(void)state;
	return nftw(root, tree_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Where a path of the tree really is; its folders are made. The text is the callee's. */
static inline const char *in_tree(const char *path)
{
	static char real[2 * PATH_MAX];
	size_t start = strlen(root) + 1;

	snprintf(real, sizeof(real), "%s%s", root, path);
	for (char *slash = real + start; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(real, 0777);
		*slash = '/';
	}
	return real;
}

static inline void put_bytes(const char *path, const void *bytes, size_t n)
{
	FILE *file;

	remove(in_tree(path)); /* or it is emptied, and some file systems then wait for the disk */
	file = fopen(in_tree(path), "w");
	if (!file || fwrite(bytes, 1, n, file) != n || fclose(file)) {
		perror(path);
		abort();
	}
}

static inline void put_file(const char *path, const char *text)
{
	put_bytes(path, text, strlen(text));
}

/* Pairs of path and text, ended by a NULL path. */
struct file {
	const char *path, *text;
};

static inline void put_files(const struct file *files)
{
	for (; files->path; files++)
		put_file(files->path, files->text);
}

/* The same numbers in each run (xorshift). */
static inline uint64_t random_number(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* The files again, each damaged: cut, overwritten, with something strange put in, empty, or gone. */
static inline void put_damaged(const struct file *files, uint64_t *seed)
{
	static const char *const strange[] = { "max",
					       "-1",
					       "18446744073709551616",
					       "9223372036854771712",
					       "0",
					       ":",
					       "=",
					       "\n",
					       "\n\n",
					       "[",
					       "]",
					       "%s%n",
					       "..",
					       "/",
					       "0-4294967295",
					       "\\040",
					       "\\",
					       " - ",
					       "\xff\xfe",
					       "1-",
					       "kB",
					       ",",
					       "1e9",
					       "0x" };

	for (; files->path; files++) {
		size_t length = strlen(files->text), size = length + 64, at = length ? random_number(seed) % length : 0;
		const char *piece = strange[random_number(seed) % (sizeof(strange) / sizeof(*strange))];
		char *text = calloc(size, 1);

		if (!text)
			abort();
		memcpy(text, files->text, length);
		switch (random_number(seed) % 6) {
		case 0: /* cut */
			length = at;
			break;
		case 1: /* overwritten */
			for (unsigned i = 0; i < 4 && length; i++)
				text[random_number(seed) % length] = (char)random_number(seed);
			break;
		case 2: /* put in */
			memmove(text + at + strlen(piece), text + at, length - at);
			memcpy(text + at, piece, strlen(piece));
			length += strlen(piece);
			break;
		case 3: /* nothing else */
			length = strlen(piece);
			memcpy(text, piece, length);
			break;
		case 4: /* gone */
			remove(in_tree(files->path));
			free(text);
			continue;
		default: /* whole */
			break;
		}
		put_bytes(files->path, text, length);
		free(text);
	}
}

#endif
