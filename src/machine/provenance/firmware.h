/* SPDX-License-Identifier: Apache-2.0 */
/* Firmware (BIOS), board and system. No serial numbers. */
#ifndef LOCUS_FIRMWARE_H
#define LOCUS_FIRMWARE_H

#include <jansson.h>

json_t *provenance_firmware(const char *root);

#endif
