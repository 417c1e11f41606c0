/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of /proc and /sys in a folder, made by a test and removed after it: setup and teardown of
 * cmocka.
 */
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

static inline int tree_remove_one(const char *path, const struct stat *status, int type,
				  struct FTW *walk)
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

/* The real path of a path in the tree; its folders are made. Valid until the next call. */
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

	/* else it would be emptied, and some file systems then wait for the disk */
	remove(in_tree(path));
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

#endif
