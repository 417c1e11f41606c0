/* SPDX-License-Identifier: Apache-2.0 */
/* The DMI table of the firmware, as in /sys/firmware/dmi/tables/DMI. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "machine/provenance/modules.h"

void fuzz_dmi(const uint8_t *data, size_t size)
{
	struct modules found = { 0 };
	uint8_t *table = malloc(size ? size : 1); /* exact, so that sanitizers see overruns */
	unsigned told = 0;

	must(table);
	if (size)
		memcpy(table, data, size);
	modules_from_dmi(table, size, &found);
	must(found.count <= found.slots && found.slots <= size / 4 && found.kinds <= MODULES_KINDS);
	for (unsigned i = 0; i < found.kinds; i++) {
		must(found.kind[i].count && memchr(found.kind[i].type, 0, 32));
		told += found.kind[i].count;
	}
	must(found.kinds < MODULES_KINDS ? told == found.count : told <= found.count);
	free(table);
}
