/* SPDX-License-Identifier: Apache-2.0 */
#include "memory_tree.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "fuzz.h"

static struct {
	const struct memory_entry *entry;
	unsigned entries;
} tree;

void memory_tree(const struct memory_entry *entries, unsigned n)
{
	tree.entry = entries;
	tree.entries = n;
}

/* The linker's names of a function that it wraps, and of ours that takes its place. */
#define WRAPPED(result, name, ...)                                \
	result real_##name(__VA_ARGS__) __asm__("__real_" #name); \
	result wrap_##name(__VA_ARGS__) __asm__("__wrap_" #name)

/* The path below MEMORY_ROOT; NULL: it is elsewhere. */
static const char *below(const char *path)
{
	const size_t n = strlen(MEMORY_ROOT);

	return strncmp(path, MEMORY_ROOT, n) ? NULL : path + n;
}

static const struct memory_entry *find(const char *path)
{
	const size_t length = strlen(path);

	for (const struct memory_entry *e = tree.entry; e < tree.entry + tree.entries; e++)
		if (e->bytes && e->length == length && !memcmp(e->path, path, length))
			return e;
	errno = ENOENT;
	return NULL;
}

/* What follows a folder and "/" in the path of an entry; NULL: it is elsewhere. */
static const char *within(const struct memory_entry *e, const char *folder, size_t length)
{
	return e->length > length && !memcmp(e->path, folder, length) && e->path[length] == '/'
		       ? e->path + length + 1
		       : NULL;
}

/* --- Files: one is open at a time, or a few. --- */

enum { FIRST = 1 << 20, MOST_OPEN = 4 }; /* numbers that no file of the kernel has here */
static struct {
	const struct memory_entry *entry; /* NULL: not open */
	size_t at;
} opened[MOST_OPEN];

static bool is_ours(int file)
{
	return file >= FIRST && file < FIRST + MOST_OPEN;
}

static ssize_t copy(int file, void *to, size_t n, size_t from)
{
	const struct memory_entry *e = opened[file - FIRST].entry;
	const size_t left = from < e->n ? e->n - from : 0;

	n = n < left ? n : left;
	if (n)
		memcpy(to, e->bytes + from, n);
	return (ssize_t)n;
}

WRAPPED(int, open, const char *path, int flags, ...);
int wrap_open(const char *path, int flags, ...)
{
	const char *name = below(path);
	const struct memory_entry *e = name ? find(name) : NULL;

	if (!name)
		return real_open(path, flags, 0666); /* a mode matters only to new files */
	for (int i = 0; e && i < MOST_OPEN; i++)
		if (!opened[i].entry) {
			opened[i].entry = e;
			opened[i].at = 0;
			return FIRST + i;
		}
	must(!e);
	return -1;
}

WRAPPED(ssize_t, read, int file, void *to, size_t n);
ssize_t wrap_read(int file, void *to, size_t n)
{
	if (!is_ours(file))
		return real_read(file, to, n);
	n = (size_t)copy(file, to, n, opened[file - FIRST].at);
	opened[file - FIRST].at += n;
	return (ssize_t)n;
}

WRAPPED(ssize_t, pread, int file, void *to, size_t n, off_t from);
ssize_t wrap_pread(int file, void *to, size_t n, off_t from)
{
	return is_ours(file) ? copy(file, to, n, (size_t)from) : real_pread(file, to, n, from);
}

WRAPPED(int, close, int file);
int wrap_close(int file)
{
	if (!is_ours(file))
		return real_close(file);
	must(opened[file - FIRST].entry);
	opened[file - FIRST].entry = NULL;
	return 0;
}

/* --- Folders: "." and "..", then what is in them. --- */

static struct {
	const char *path; /* NULL: not open */
	size_t length;
	unsigned next;
	struct dirent entry;
} folder;

static bool is_folder(const char *path)
{
	for (unsigned i = 0; i < tree.entries; i++)
		if (within(&tree.entry[i], path, strlen(path)))
			return true;
	errno = ENOENT;
	return false;
}

WRAPPED(int, access, const char *path, int mode);
int wrap_access(const char *path, int mode)
{
	const char *name = below(path);

	if (!name)
		return real_access(path, mode);
	return find(name) || is_folder(name) ? 0 : -1;
}

WRAPPED(DIR *, opendir, const char *path);
DIR *wrap_opendir(const char *path)
{
	const char *name = below(path);

	if (!name)
		return real_opendir(path);
	if (!is_folder(name))
		return NULL;
	must(!folder.path);
	folder.path = strdup(name);
	must(folder.path);
	folder.length = strlen(name);
	folder.next = 0;
	return (DIR *)&folder;
}

/* The name of the nth entry, if it is in the folder and no other has been it before. */
static bool take_name(unsigned n)
{
	const char *name = within(&tree.entry[n], folder.path, folder.length);
	const size_t length = name ? strcspn(name, "/") : 0;

	if (!name || (!name[length] && !tree.entry[n].bytes))
		return false;
	for (unsigned i = 0; i < n; i++) {
		const char *other = within(&tree.entry[i], folder.path, folder.length);

		if (other && !strncmp(other, name, length + 1))
			return false;
	}
	must(length < sizeof(folder.entry.d_name));
	memcpy(folder.entry.d_name, name, length);
	folder.entry.d_name[length] = '\0';
	return true;
}

WRAPPED(struct dirent *, readdir, DIR *of);
struct dirent *wrap_readdir(DIR *of)
{
	if (of != (DIR *)&folder)
		return real_readdir(of);
	while (folder.next < tree.entries + 2) {
		const unsigned n = folder.next++;

		if (n < 2)
			strcpy(folder.entry.d_name, n ? ".." : ".");
		if (n < 2 || take_name(n - 2))
			return &folder.entry;
	}
	return NULL;
}

WRAPPED(int, closedir, DIR *of);
int wrap_closedir(DIR *of)
{
	if (of != (DIR *)&folder)
		return real_closedir(of);
	free((char *)folder.path);
	folder.path = NULL;
	return 0;
}

typedef int keeps(const struct dirent *);
typedef int orders(const struct dirent **, const struct dirent **);
typedef int compares(const void *, const void *);

WRAPPED(int, scandir, const char *path, struct dirent ***list, keeps *keep, orders *order);
int wrap_scandir(const char *path, struct dirent ***list, keeps *keep, orders *order)
{
	const struct dirent *entry;
	DIR *open;
	int n = 0;

	if (!below(path))
		return real_scandir(path, list, keep, order);
	open = wrap_opendir(path);
	if (!open)
		return -1;
	*list = malloc((tree.entries + 2) * sizeof(**list));
	must(*list);
	while ((entry = wrap_readdir(open)))
		if (keep(entry)) {
			must(((*list)[n] = malloc(sizeof(*entry))));
			*(*list)[n++] = *entry;
		}
	wrap_closedir(open);
	qsort(*list, (size_t)n, sizeof(**list), (compares *)order);
	return n;
}
