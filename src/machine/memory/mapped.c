/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/memory/mapped.h"

#include <stdlib.h>
#include <sys/mman.h>

void region_free(struct region *r)
{
	if (r->reserved)
		munmap(r->reserved, r->reserved_bytes);
	free(r->name);
	free(r->home);
	free(r->user);
	free(r);
}
