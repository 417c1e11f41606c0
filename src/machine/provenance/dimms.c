/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/provenance/dimms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sysfs.h"
#include "base/utf8.h"
#include "machine/provenance/dmi.h"
#include "machine/provenance/edac.h"
#include "machine/provenance/modules.h"
#include "machine/provenance/sources.h"

#define DMI_TABLE "/sys/firmware/dmi/tables/DMI"

static json_t *known(uint64_t value)
{
	return value ? source_size(value) : NULL;
}

static json_t *module_of(const struct module *m, const char *source)
{
	static const char silent[] = "%s does not say";
	json_t *module = json_object();

	json_object_set_new(module, "count", json_integer(m->count));
	source_put_value(module, "type", *m->type ? utf8_json(m->type) : NULL, silent, source);
	source_put_value(module, "size", known(m->size), silent, source);
	source_put_value(module, "speed", known(m->speed), silent, source);
	source_put_value(module, "configured_speed", known(m->configured), silent, source);
	return module;
}

static json_t *list_of(const struct modules *found, const char *source)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < found->kinds; i++)
		json_array_append_new(list, module_of(&found->kind[i], source));
	return list;
}

/* Reads firmware's table, which only root may do. *why is "" if it could be read. */
static struct modules of_table(const char *root, const char **why)
{
	struct modules found = { 0 };
	size_t n;
	char *table = sysfs_bytes(root, &n, DMI_TABLE);

	*why = table ? "" : strerror(errno);
	if (table)
		dmi_modules((const uint8_t *)table, n, &found);
	free(table);
	return found;
}

void dimms_put(json_t *memory, const char *root)
{
	struct modules seen = { 0 };
	const char *why;
	unsigned channels;
	const struct modules table = of_table(root, &why);
	const bool whole = edac_modules(root, &seen, &channels);
	const char *rows = seen.count ? "has rows of chips, not modules" : "has none";
	json_t *list = table.count ? list_of(&table, "the DMI table")
		       : whole	   ? list_of(&seen, "EDAC")
				   : NULL;

	source_put_value(memory, "modules", list, DMI_TABLE ": %s; " EDAC " %s",
			 *why ? why : "no memory module in it", rows);
	source_put_value(memory, "slots", known(table.slots), DMI_TABLE ": %s",
			 *why ? why : "no memory slot in it");
	source_put_value(memory, "channels", known(channels), EDAC " has none");
}
