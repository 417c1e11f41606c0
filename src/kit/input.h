/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that several threads read at once, each where it likes. Standard input is one, too, be it
 * a pipe.
 */
#ifndef LOCUS_INPUT_H
#define LOCUS_INPUT_H

#include <stddef.h>
#include <sys/types.h>

#include "kit/refusal.h"

struct input {
	int file;
	size_t bytes; /* when it was opened */
};

/* Bytes that are best read at once. */
#define INPUT_BLOCK ((size_t)1 << 18)

/*
 * Opens a regular file; nothing that could block - a pipe without a writer, a terminal, a tape - is
 * opened. "-" is standard input: what came through a pipe is put into an unlinked file in TMPDIR
 * that replaces descriptor 0, so that it can be opened again (but not by two threads at once). -1,
 * and why.
 */
int input_open(struct input *, const char *path, struct refusal);
void input_close(struct input *);

/* How many bytes were read: fewer than asked for only at the end of the file. -1, and why. */
ssize_t input_read_some(const struct input *, void *to, size_t bytes, size_t offset,
			struct refusal);
/* The same, but it is an error if the file ends. 0, or -1, and why. */
int input_read(const struct input *, void *to, size_t bytes, size_t offset, struct refusal);

#endif
