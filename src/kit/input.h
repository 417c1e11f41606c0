/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that several threads read at once, each at its own offset; or standard input, even from a
 * pipe.
 */
#ifndef LOCUS_INPUT_H
#define LOCUS_INPUT_H

#include <stddef.h>
#include <sys/types.h>

struct input {
	const char *name; /* for messages */
	int file;
	size_t bytes; /* when it was opened */
};

/* A good size of reads, in bytes. */
#define INPUT_BLOCK ((size_t)1 << 18)

/*
 * Opens a regular file; refuses what could block: pipes, terminals, devices. "-" is standard input:
 * the content of a pipe is copied to an unlinked file in TMPDIR that replaces descriptor 0, so that
 * it can be opened again (but not by two threads at once). The path must live until input_close().
 * -1, and why.
 */
int input_open(struct input *, const char *path, const char **why);
void input_close(struct input *);

/* Returns the bytes read: fewer than requested only at the end of the file. -1, and why. */
ssize_t input_read_some(const struct input *, void *to, size_t bytes, size_t offset,
			const char **why);
/* Like input_read_some(), but the end of the file is an error. 0; -1, and why. */
int input_read(const struct input *, void *to, size_t bytes, size_t offset, const char **why);

#endif
