/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/provenance/firmware.h"

#include "machine/provenance/sources.h"

#define DMI "/sys/class/dmi/id"

json_t *provenance_firmware(const char *root)
{
	static const struct source sources[] = {
		{ "bios_vendor", DMI "/bios_vendor", source_line, 0 },
		{ "bios_version", DMI "/bios_version", source_line, 0 },
		{ "bios_date", DMI "/bios_date", source_line, 0 },
		{ "board_name", DMI "/board_name", source_line, 0 },
		{ "sys_vendor", DMI "/sys_vendor", source_line, 0 },
		{ "product_name", DMI "/product_name", source_line, 0 },
		{ 0 },
	};
	json_t *firmware = json_object();

	source_put_all(firmware, root, sources);
	return firmware;
}
