/* SPDX-License-Identifier: Apache-2.0 */
/* What trials are planned for: the machine, and what of it this run may use. */
#ifndef LOCUS_SETTING_H
#define LOCUS_SETTING_H

#include "harness/ask/options.h"
#include "machine/threads/affinity.h"
#include "machine/limits/limits.h"

struct setting {
	const struct machine *machine;
	const struct affinity *affinity; /* NULL on a described machine */
	struct memory_limit memory;
	const struct ranks *ranks; /* NULL: this process has it all */
	unsigned host_ranks;	   /* ranks on this host; 0 and 1: this one alone */
	/* bytes a trial may map, of all ranks; 0: what is there */
	double most;
	/* bytes that trials sampled in turn may hold together; 0: as plan_room() finds */
	double room;
	/* why trials need --oversubscribe: ranks share CPUs; NULL: they don't */
	char *crowd;
};

/*
 * This machine, or the one that is described, with what it lets us have: machine, affinity and
 * memory. 0, or the status to exit with after a message. To be freed in any case.
 */
int setting_find(struct setting *, const struct options *, const struct ranks *);
/* Finds what ranks of one node share: memory, and CPUs unless each has its own. On all ranks. */
void setting_share(struct setting *);
void setting_free(struct setting *);

#endif
