/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's CPUs and nodes as text: "0-63,128-191". All return `text`. */
#ifndef LOCUS_LISTS_H
#define LOCUS_LISTS_H

#include "base/numbers.h"

struct machine;

const char *cpu_list(const struct machine *, int node,
		     char text[NUMBER_LIST_TEXT]); /* or ALL_NODES */
const char *cpu_kind_list(const struct machine *, unsigned kind, char text[NUMBER_LIST_TEXT]);
const char *cpu_node_list(const struct machine *,
			  char text[NUMBER_LIST_TEXT]); /* those with CPUs */

#endif
