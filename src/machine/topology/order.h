/* SPDX-License-Identifier: Apache-2.0 */
/* Orders in which threads are placed on CPUs. */
#ifndef LOCUS_ORDER_H
#define LOCUS_ORDER_H

#include <stdbool.h>

struct cpu;
struct machine;

struct cpu_order {
	unsigned n;
	const struct cpu **cpu; /* as many as the machine has */
};

/* The hint in messages about too few CPUs. */
#define ORDER_OVERSUBSCRIBE "more threads than CPUs: --oversubscribe"

bool order_is_word(const char *bind);  /* "close", "spread" or "float", not a list */
bool order_is_float(const char *bind); /* begins as close, and is then free to move */
/* Orders CPUs by a word or a list of CPUs. -1 with *why, and errno as machine_bind(). */
int order_by(const struct machine *, const char *bind, struct cpu_order *, const char **why);
int order_list(const struct machine *, const char *list, struct cpu_order *, const char **why);

#endif
