/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings of packets between threads: how many fit, and that each packet is taken once and complete.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/search/searchers.h"
#include "bounded.h"
#include "cases.h"

static void *apart(size_t bytes)
{
	void *p = aligned_alloc(APART, (bytes + APART) / APART * APART);

	assert_non_null(p);
	return p;
}

static void a_ring_is_bounded(void **state)
{
	enum { KEYS = 5, BYTES = KEYS * sizeof(uint32_t) };
	struct ring *r = apart(ring_bytes(BYTES));
	struct packet *copy = apart(packet_bytes(BYTES)), *p;
	const struct packet *first;
	uint32_t put = 0, got = 0;

	(void)state;
	ring_open(r, BYTES);
	for (unsigned round = 0; round < 3 * RING; round++) {
		while ((p = ring_room(r))) {
			p->keys = KEYS;
			memcpy(p->key, &put, sizeof(put));
			put++;
			ring_put(r);
		}
		assert_int_equal(put - got, RING);
		for (unsigned i = 0; i <= round % RING; i++) {
			if (i % 2) {
				assert_true(ring_take_shared(r, copy));
				first = copy;
			} else {
				first = ring_first(r);
				assert_non_null(first);
			}
			assert_int_equal(first->keys, KEYS);
			assert_int_equal(*(const uint32_t *)first->key, got++);
			if (!(i % 2))
				ring_took(r);
		}
	}
	while (ring_take_shared(r, copy))
		assert_int_equal(*(const uint32_t *)copy->key, got++);
	assert_int_equal(put, got);
	assert_null(ring_first(r));
	assert_true(ring_is_empty(r));
	free(r);
	free(copy);
}

/* Several threads take from a ring that one fills: each packet is taken once and complete. */
struct crowd {
	struct ring *ring;
	_Atomic bool closed;
	uint64_t packets;
};

struct taker {
	pthread_t thread;
	struct crowd *crowd;
	uint64_t sum, packets, broken;
};

enum { CROWD_KEYS = 40, CROWD_BYTES = CROWD_KEYS * sizeof(uint64_t) };

static void *take_often(void *argument)
{
	struct taker *t = argument;
	struct packet *copy = apart(packet_bytes(CROWD_BYTES));

	for (;;) {
		const bool closed = atomic_load(&t->crowd->closed);
		const uint64_t *key = (const uint64_t *)copy->key;

		if (!ring_take_shared(t->crowd->ring, copy)) {
			if (closed)
				break;
			sched_yield();
			continue;
		}
		t->sum += key[0];
		t->packets++;
		for (unsigned i = 1; i < CROWD_KEYS; i++)
			t->broken += key[i] != key[0];
	}
	free(copy);
	return NULL;
}

static void several_take_each_packet_once(void **state)
{
	enum { TAKERS = 3, PACKETS = 20000 };
	struct crowd c = { .ring = apart(ring_bytes(CROWD_BYTES)), .packets = cases(PACKETS) };
	struct taker t[TAKERS] = { 0 };
	uint64_t sum = 0, packets = 0;
	struct packet *p;

	(void)state;
	ring_open(c.ring, CROWD_BYTES);
	for (unsigned i = 0; i < TAKERS; i++) {
		t[i].crowd = &c;
		assert_int_equal(pthread_create(&t[i].thread, NULL, take_often, &t[i]), 0);
	}
	for (uint64_t n = 1; n <= c.packets; n++) {
		for (unsigned turn = 0; !(p = ring_room(c.ring)); turn++)
			relax(turn, RING_SPINS);
		p->keys = CROWD_KEYS;
		for (unsigned i = 0; i < CROWD_KEYS; i++)
			((uint64_t *)p->key)[i] = n;
		ring_put(c.ring);
	}
	atomic_store(&c.closed, true);
	for (unsigned i = 0; i < TAKERS; i++) {
		pthread_join(t[i].thread, NULL);
		sum += t[i].sum;
		packets += t[i].packets;
		assert_int_equal(t[i].broken, 0);
	}
	assert_int_equal(packets, c.packets);
	assert_int_equal(sum, c.packets * (c.packets + 1) / 2);
	free(c.ring);
}

static void rings_and_what_is_in_them_are_apart(void **state)
{
	(void)state;
	assert_true(offsetof(struct ring, taken) - offsetof(struct ring, put) >= APART);
	assert_true(offsetof(struct ring, stride) - offsetof(struct ring, taken) >= APART);
	assert_true(offsetof(struct ring, packet) - offsetof(struct ring, stride) >= APART);
	assert_int_equal(packet_bytes(1) % APART, 0);
	assert_int_equal(ring_bytes(512) % APART, 0);
	assert_int_equal(sizeof(struct searcher) % APART, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ring_is_bounded),
		cmocka_unit_test(several_take_each_packet_once),
		cmocka_unit_test(rings_and_what_is_in_them_are_apart),
	};

	return cmocka_run_group_tests(tests, begin_bounded, end_bounded);
}
