/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/provenance/edac.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sysfs.h"
#include "machine/provenance/modules.h"

/*
 * More controllers than any machine has, and more modules than any controller: limits the search.
 */
enum { MOST_CONTROLLERS = 64, MOST_MODULES = 64 };

/* The number behind a word, as in "branch 0 channel 2 slot 1"; -1: there is none below 16. */
static int number_behind(const char *text, const char *word)
{
	const char *found = strstr(text, word);
	char *end;
	long number;

	if (!found)
		return -1;
	found += strlen(word);
	number = strtol(found, &end, 10);
	return end != found && number >= 0 && number < 16 ? (int)number : -1;
}

/*
 * Adds the module to `found`, and its channel's bit to `channels`. False: it is a row of chips, not
 * a module.
 */
static bool take(const char *root, unsigned controller, unsigned number, const char *location,
		 uint64_t *channels, struct modules *found)
{
	const int channel = number_behind(location, "channel "),
		  branch = number_behind(location, "branch ");
	char *type = sysfs_line(root, EDAC "/mc%u/dimm%u/dimm_mem_type", controller, number);
	struct module m = { .size = 0 };
	uint64_t mib;

	if (channel >= 0)
		*channels |= UINT64_C(1) << ((branch > 0 ? branch % 4 : 0) * 16 + channel);
	if (!sysfs_number(root, &mib, EDAC "/mc%u/dimm%u/size", controller, number) &&
	    mib < UINT64_C(1) << 32)
		m.size = mib << 20;
	snprintf(m.type, sizeof(m.type), "%s", type ? type : "");
	free(type);
	modules_add(found, &m);
	return !strstr(location, "csrow");
}

bool edac_modules(const char *root, struct modules *found, unsigned *channels)
{
	bool whole = true;

	*channels = 0;
	for (unsigned i = 0; i < MOST_CONTROLLERS && sysfs_exists(root, EDAC "/mc%u", i); i++) {
		uint64_t of_this = 0;

		for (unsigned j = 0; j < MOST_MODULES; j++) {
			char *location = sysfs_line(root, EDAC "/mc%u/dimm%u/dimm_location", i, j);

			if (location)
				whole &= take(root, i, j, location, &of_this, found);
			free(location);
		}
		*channels += (unsigned)__builtin_popcountll(of_this);
	}
	return whole && found->count;
}
