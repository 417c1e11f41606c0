/* SPDX-License-Identifier: Apache-2.0 */
/* A file of lines with any content, read one after the other, in memory of a bounded size. */
#ifndef LOCUS_LINES_H
#define LOCUS_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* Bytes of a line, as many as other readers accept: more than 10,000 samples need. */
#define LINES_LONGEST  ((size_t)64 << 20)
#define LINES_TOO_LONG "longer than 64 MiB: not a line of a record"

struct lines {
	FILE *file;
	/* the last line read, with its newline, followed by a zero; NULL before the first */
	char *line;
	/* how many of its bytes are kept, at most LINES_LONGEST; size of the memory */
	size_t kept, room;
	off_t length; /* its length in bytes; 0: no further line */
	bool zeros;   /* the line has a zero byte */
	unsigned n;   /* lines read */
	int error;    /* errno that ended reading; 0: the file ended */
};

/* Takes over `file`. */
void lines_open(struct lines *, FILE *file);
void lines_close(struct lines *);

/* Reads a line. False: it has no newline, because the file ended or reading failed. */
bool lines_next(struct lines *);
bool lines_too_long(const struct lines *); /* whether the last line was too long to be kept whole */

#endif
