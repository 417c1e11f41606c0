/* SPDX-License-Identifier: Apache-2.0 */
/* The earlier runs in a file to which a run is added: --resume continues there. */
#ifndef LOCUS_EARLIER_H
#define LOCUS_EARLIER_H

#include <stdbool.h>
#include <sys/types.h>
#include <jansson.h>

#include "base/utf8.h"

/* MAJOR.MINOR: within a major version keys are only added; readers ignore keys they don't know. */
#define RECORD_SCHEMA "locus-record-1.0"

struct earlier {
	char host[UTF8_HOST];
	bool ours;	 /* the current run was measured on this host */
	json_t *machine; /* what its header says of the machine, or NULL */
	/*
	 * For the file's last run and the runs that it resumed: their ids, and by the id of each
	 * complete trial the names of its counters.
	 */
	json_t *runs, *complete;
	json_t *always; /* names of the events that the kernel always counts */
};

enum { EARLIER_WRONG = 512 };

bool earlier_open(struct earlier *); /* false: no memory; to be closed in any case */
void earlier_close(struct earlier *);
/*
 * Notes the contents of the file; *end is moved behind the last line that may stay. Returns 0 or an
 * errno; `wrong` is empty, or says which line is wrong, and why: then the file must not be changed.
 */
int earlier_read(struct earlier *, int file, off_t *end, char wrong[EARLIER_WRONG]);
void earlier_forget(struct earlier *); /* forgets all earlier runs */
/* Trials of a last run of another machine, which has this host's name, are not ours. */
void earlier_compare(struct earlier *, const json_t *machine);

#endif
