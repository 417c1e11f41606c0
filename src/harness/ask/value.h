/* SPDX-License-Identifier: Apache-2.0 */
/* One value of a parameter: its text, and whether two are the same. */
#ifndef LOCUS_VALUE_H
#define LOCUS_VALUE_H

#include <limits.h>

#include "base/utf8.h"
#include "benchmark.h"

/*
 * The canonical form, as in identities and records: bytes and counts as plain numbers, choices by
 * name, paths in UTF-8 (utf8.h). VALUE_ROOM is enough for any. Returns text.
 */
enum { VALUE_ROOM = UTF8_ROOM(PATH_MAX) };
char *value_print(const struct parameter *, union value, char *text, size_t size);
/* For people: "1 GiB"; the parameter's word for 0. */
char *value_show(const struct parameter *, union value, char *text, size_t size);

bool value_same(const struct parameter *, union value, union value);

#endif
