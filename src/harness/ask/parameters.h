/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of a benchmark: which a variant uses, what a profile sets, values and lists. */
#ifndef LOCUS_PARAMETERS_H
#define LOCUS_PARAMETERS_H

#include <limits.h>

#include "base/utf8.h"
#include "benchmark.h"

enum { MOST_PARAMETERS = 32 };

/* Whether the variant uses this parameter, and users can set it. */
bool parameter_applies(const struct benchmark *, const struct variant *, unsigned parameter);

/* ---- what a profile sets; otherwise the profile before it applies ---- */

extern const char *const profile_names[PROFILES];

const char *profile_value(const char *const value[PROFILES], enum profile);
struct preset profile_preset(const struct benchmark *, enum profile);
/* The default of a parameter, or P_THREADS, that a variant overrides; NULL: it does not. */
const char *profile_override(const struct variant *, unsigned parameter, enum profile);

/* ---- one value ---- */

/*
 * Prints the canonical form, as in identities and records: bytes and counts as plain numbers,
 * choices by name, paths in UTF-8 (utf8.h). VALUE_ROOM is enough for any. Returns text.
 */
enum { VALUE_ROOM = UTF8_ROOM(PATH_MAX) };
char *value_print(const struct parameter *, union value, char *text, size_t size);
/* Writes the value for people: "1 GiB", or the parameter's word for 0. */
char *value_show(const struct parameter *, union value, char *text, size_t size);

bool value_same(const struct parameter *, union value, union value);

/* ---- the list of values that people write ---- */

struct values {
	unsigned n;
	union value *value; /* text values are owned by this structure */
};

/*
 * Reads a list, a range or words (benchmark.h says which) for a parameter; "auto" and "all" ask the
 * machine. P_LAYOUT and P_PATH values stay the given words: the layout depends on the number of
 * threads. Returns 0; or EXIT_COMMAND_LINE (not understood) or EXIT_IMPOSSIBLE (this machine lacks
 * it), with a sentence in `why` that names neither option nor program.
 */
int values_parse(const struct parameter *, const char *text, const struct machine *, enum profile,
		 struct values *, char *why, size_t size);
void values_free(const struct parameter *, struct values *);

#endif
