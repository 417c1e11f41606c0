/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers that sleep until they are woken, on a futex. unpark() leaves a token; park() takes it, or
 * sleeps until there is one. So an unpark() that comes before its park() is not missed, and several
 * of them leave one token, as with Java's LockSupport.
 *
 * Each parking belongs to one thread, which alone parks there; any thread may unpark it. All zero:
 * no token. What was written before unpark() is seen after the park() that takes its token.
 */
#ifndef LOCUS_PARK_H
#define LOCUS_PARK_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/apart.h"

struct parking {
	_Alignas(APART) _Atomic uint32_t state; /* none (0), a token (1), or its thread sleeps */
};

void park(struct parking *);
void unpark(struct parking *);

#endif
