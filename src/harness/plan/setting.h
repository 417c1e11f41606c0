/* SPDX-License-Identifier: Apache-2.0 */
/* What trials are planned for: the machine, and the part of it that this run may use. */
#ifndef LOCUS_SETTING_H
#define LOCUS_SETTING_H

#include "harness/ask/options.h"
#include "machine/threads/affinity.h"
#include "machine/limits/limits.h"
#include "machine/provenance/conditions.h"

struct setting {
	const struct machine *machine;
	const struct affinity *affinity; /* NULL on a described machine */
	struct memory_limit memory;
	struct conditions conditions; /* when the run began; none of a described machine */
	const struct ranks *ranks;    /* NULL: trials are not divided over ranks */
	unsigned host_ranks;	      /* ranks on this host; 0 and 1: this one alone */
	/* bytes that a trial may map on any rank; 0: what is available */
	double most;
	/* bytes that trials sampled in turn may hold together; 0: plan_room() */
	double room;
	/* why trials need --oversubscribe: ranks share CPUs; NULL: they don't */
	char *crowd;
};

/*
 * Finds the machine (this one, or that of --topology), and the CPUs and memory that this run may
 * use. 0, or the status to exit with after a message. To be freed in any case.
 */
int setting_find(struct setting *, const struct options *, const struct ranks *);
/* Finds what the ranks of a host share: memory, and CPUs unless each has its own. On all ranks. */
void setting_share(struct setting *);
void setting_free(struct setting *);

#endif
