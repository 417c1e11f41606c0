/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/actors/actors.h"

#include <math.h>

#include "base/arithmetic.h"
#include "bench/actors/bodies.h"
#include "bench/actors/crew.h"
#include "machine/memory/region.h"
#include "machine/topology/topology.h"

enum { MOST_ACTORS = 1 << 20, MOST_IN_FLIGHT = 1 << 16, MOST_ENTRIES = 1 << 26 };
#define MOST_RATE     1e9
#define MOST_STATE    (UINT64_C(1) << 32)
#define MOST_MESSAGES (UINT64_C(1) << 40)

unsigned actors_threads(const struct trial *t)
{
	return t->threads - (t->value[RATE].real > 0);
}

uint64_t actors_active(const struct trial *t)
{
	const double share = t->value[ACTIVE].real / 100 * (double)t->value[ACTORS].count;

	return share > 1 ? (uint64_t)llround(share) : 1;
}

uint64_t actors_messages(const struct trial *t)
{
	return actors_active(t) * t->value[IN_FLIGHT].count;
}

size_t actors_stride(const struct trial *t)
{
	const size_t line = t->machine->line;

	return t->value[BODY].choice == BODY_REAL
		       ? round_up(bodies_map_bytes(t->value[ENTRIES].count), line)
		       : round_up(t->value[STATE].count, line);
}

size_t actors_words(const struct trial *t)
{
	return t->value[STATE].count / sizeof(uint32_t);
}

uint64_t actors_touched(const struct trial *t)
{
	return t->value[WORDS].count ? t->value[WORDS].count : actors_words(t);
}

static const char *wrong_state(const union value *v)
{
	if (v[STATE].count % sizeof(uint32_t) || !v[STATE].count || v[STATE].count > MOST_STATE)
		return "--state: 4 B to 4 GiB, a multiple of 4";
	return v[WORDS].count > MOST_STATE ? "--words: at most 2^32" : NULL;
}

static const char *wrong(const union value *v)
{
	if (!v[ACTORS].count || v[ACTORS].count > MOST_ACTORS)
		return "--actors: 1 to 1048576";
	if (v[ENTRIES].count > MOST_ENTRIES)
		return "--entries: at most 67108864";
	if (!(v[ACTIVE].real > 0) || v[ACTIVE].real > 100)
		return "--active: in percent, more than 0, at most 100";
	if (!v[IN_FLIGHT].count || v[IN_FLIGHT].count > MOST_IN_FLIGHT)
		return "--in-flight: 1 to 65536 messages";
	if (!v[BATCH].count || v[BATCH].count > UINT32_MAX)
		return "--batch: 1 to 2^32 - 1 messages";
	if (v[MESSAGES].count > MOST_MESSAGES)
		return "--messages: at most 2^40";
	if (!(v[RATE].real >= 0) || v[RATE].real > MOST_RATE)
		return "--rate: 0 to 1e9 messages a second";
	return v[BODY].choice == BODY_WALK ? wrong_state(v) : NULL;
}

/*
 * Fixes the parameters that have no effect given the others, so that no trial is run twice because
 * of them.
 */
const char *actors_resolve(const struct trial *t, union value *value, uint64_t given)
{
	enum { DEFAULT_ENTRIES = 256 };
	const char *error = wrong(value);

	(void)t, (void)given;
	if (error)
		return error;
	if (value[BODY].choice == BODY_WALK) {
		value[ENTRIES].count = 0;
		return NULL;
	}
	value[STATE].count = value[WORDS].count = 0;
	if (!value[ENTRIES].count)
		value[ENTRIES].count = DEFAULT_ENTRIES;
	return NULL;
}

static size_t own_bytes(const struct trial *t)
{
	return crew_bytes(t->variant->data, actors_threads(t), t->value[ACTORS].count);
}

static const char *pointless(const struct trial *t)
{
	const struct executor *executor = t->variant->data;
	const uint64_t units = t->value[MESSAGES].count;

	if (units && units < actors_messages(t))
		return "--messages: fewer than the messages in flight; choose more";
	if (t->value[RATE].real > 0 && t->threads < 2)
		return "--rate: needs two threads or more, one that sends and one that handles "
		       "messages";
	if (t->value[RATE].real > 0 && executor->own_threads)
		return "--rate: OpenMP's threads can't take messages from outside";
	return NULL;
}

struct needs actors_needs(const struct trial *t)
{
	const uint64_t actors = t->value[ACTORS].count, units = t->value[MESSAGES].count;
	struct needs needs = { .pointless = pointless(t), .units = units };

	if (needs.pointless)
		return needs;
	needs.bytes =
		region_takes(t->machine, actors * actors_stride(t), PAGES_BASE) +
		region_takes(t->machine, actors_threads(t) * own_bytes(t), PAGES_BASE) +
		region_takes(t->machine, actors * sizeof(struct actor), PAGES_BASE) +
		region_takes(t->machine, actors_messages(t) * sizeof(struct message), PAGES_BASE) +
		actors * sizeof(uint32_t) + (t->threads + 1) * sizeof(struct histogram);
	if (t->value[BODY].choice == BODY_REAL)
		needs.bytes += actors * bodies_things_bytes(t->value[ENTRIES].count);
	return needs;
}
