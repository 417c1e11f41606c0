/* SPDX-License-Identifier: Apache-2.0 */
/* Memory modules (DIMMs), counted by kind. */
#ifndef LOCUS_MODULES_H
#define LOCUS_MODULES_H

#include <stdint.h>

enum { MODULES_KINDS = 32 };

/* One kind of module, and how many there are. 0 and "": unknown. */
struct module {
	char type[32];		    /* "DDR5" */
	uint64_t size;		    /* B */
	uint64_t speed, configured; /* transfers/s that it can do, and does */
	unsigned count;
};

struct modules {
	unsigned count, slots; /* modules, and places for them */
	unsigned kinds;
	struct module kind[MODULES_KINDS]; /* modules of further kinds are only counted */
};

void modules_add(struct modules *, const struct module *);

#endif
