/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks without MPI: processes that share memory. To be included after cmocka.h. */
#ifndef LOCUS_TEST_RANKS_H
#define LOCUS_TEST_RANKS_H

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "benchmark.h"

enum { RANKS = 3, MOST_VALUES = 4000, MOST_REALS = 1000, LETTERS = 4, LETTER = 1 << 16 };

/* Messages from one rank to another: room for all exchanges that may overlap, and one more. */
struct mailbox {
	_Atomic unsigned put, taken;
	size_t size[LETTERS];
	unsigned char letter[LETTERS][LETTER];
};

/* By rank: its contribution to a sum, and to a maximum. */
static struct shared {
	pthread_barrier_t all;
	int64_t integer[RANKS][MOST_VALUES];
	double real[RANKS][MOST_REALS];
	struct mailbox mail[RANKS][RANKS]; /* from, to */
} * shared;
static unsigned me;

static void sum(int64_t *x, size_t n)
{
	assert_true(n <= MOST_VALUES);
	memcpy(shared->integer[me], x, n * sizeof(*x));
	pthread_barrier_wait(&shared->all);
	memset(x, 0, n * sizeof(*x));
	for (unsigned rank = 0; rank < RANKS; rank++)
		for (size_t i = 0; i < n; i++)
			x[i] += shared->integer[rank][i];
	pthread_barrier_wait(&shared->all);
}

static void most(double *x, size_t n)
{
	assert_true(n <= MOST_REALS);
	memcpy(shared->real[me], x, n * sizeof(*x));
	pthread_barrier_wait(&shared->all);
	for (unsigned rank = 0; rank < RANKS; rank++)
		for (size_t i = 0; i < n; i++)
			x[i] = fmax(x[i], shared->real[rank][i]);
	pthread_barrier_wait(&shared->all);
}

static void copy(unsigned from, void *bytes, size_t size)
{
	const size_t room = sizeof(shared->integer[0]);

	for (size_t at = 0, length; at < size; at += length) {
		length = size - at < room ? size - at : room;
		if (me == from)
			memcpy(shared->integer[0], (char *)bytes + at, length);
		pthread_barrier_wait(&shared->all);
		memcpy((char *)bytes + at, shared->integer[0], length);
		pthread_barrier_wait(&shared->all);
	}
}

/* All ranks are on one host. */
static void most_host(double *x, size_t n)
{
	for (size_t at = 0; at < n; at += MOST_REALS)
		most(x + at, n - at < MOST_REALS ? n - at : MOST_REALS);
}

static void *begin(const struct piece *out, struct piece *in)
{
	for (unsigned to = 0; to < RANKS; to++) {
		struct mailbox *box = &shared->mail[me][to];
		const unsigned put = atomic_load(&box->put);

		if (to == me)
			continue;
		while (put - atomic_load(&box->taken) == LETTERS)
			sched_yield();
		assert_true(out[to].size <= LETTER);
		box->size[put % LETTERS] = out[to].size;
		if (out[to].size)
			memcpy(box->letter[put % LETTERS], out[to].bytes, out[to].size);
		atomic_store(&box->put, put + 1);
	}
	return in;
}

/*
 * Messages of a rank arrive in the order in which they were sent, and exchanges finish in the order
 * in which they began.
 */
static void finish(void *exchange)
{
	struct piece *in = exchange;

	for (unsigned from = 0; from < RANKS; from++) {
		struct mailbox *box = &shared->mail[from][me];
		const unsigned taken = atomic_load(&box->taken);

		if (from == me)
			continue;
		while (atomic_load(&box->put) == taken)
			sched_yield();
		assert_true(box->size[taken % LETTERS] <= in[from].size);
		in[from].size = box->size[taken % LETTERS];
		if (in[from].size)
			memcpy(in[from].bytes, box->letter[taken % LETTERS], in[from].size);
		atomic_store(&box->taken, taken + 1);
	}
}

static void progress(void)
{
}

/* Single messages use the same boxes as exchanges. */
static void send_to(unsigned to, const void *bytes, size_t size)
{
	struct mailbox *box = &shared->mail[me][to];
	const unsigned put = atomic_load(&box->put);

	while (put - atomic_load(&box->taken) == LETTERS)
		sched_yield();
	assert_true(size <= LETTER);
	box->size[put % LETTERS] = size;
	memcpy(box->letter[put % LETTERS], bytes, size);
	atomic_store(&box->put, put + 1);
}

static void receive_from(unsigned from, void *bytes, size_t size)
{
	struct mailbox *box = &shared->mail[from][me];
	const unsigned taken = atomic_load(&box->taken);

	while (atomic_load(&box->put) == taken)
		sched_yield();
	assert_int_equal(box->size[taken % LETTERS], size);
	memcpy(bytes, box->letter[taken % LETTERS], size);
	atomic_store(&box->taken, taken + 1);
}

static void swap_with(unsigned to, const void *out, unsigned from, void *in, size_t size)
{
	send_to(to, out, size);
	receive_from(from, in, size);
}

static double spent(void)
{
	return 0;
}

/*
 * Runs `body` on all ranks, and returns their exit status, which must be the same on all. `said`
 * has what rank 0 wrote to stderr; other ranks must not write anything.
 */
static inline int on_all_ranks(int (*body)(const struct ranks *), char *said, size_t size)
{
	pthread_barrierattr_t between_processes;
	char errors[RANKS][4096] = { 0 };
	pid_t pid[RANKS];
	int pipes[RANKS][2], status[RANKS];

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	pthread_barrierattr_init(&between_processes);
	pthread_barrierattr_setpshared(&between_processes, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->all, &between_processes, RANKS);
	for (me = 0; me < RANKS; me++) {
		assert_int_equal(pipe(pipes[me]), 0);
		pid[me] = fork();
		assert_true(pid[me] >= 0);
		if (pid[me] == 0) {
			struct ranks ranks = { .rank = me,
					       .ranks = RANKS,
					       .sum = sum,
					       .most = most,
					       .copy = copy,
					       .sum_host = sum,
					       .most_host = most_host,
					       .spent = spent,
					       .begin = begin,
					       .finish = finish,
					       .progress = progress,
					       .send = send_to,
					       .receive = receive_from,
					       .swap = swap_with };

			dup2(pipes[me][1], STDERR_FILENO);
			dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
			alarm(300); /* a rank that waits for others in vain has failed */
			exit(body(&ranks));
		}
		close(pipes[me][1]);
	}
	for (unsigned rank = 0; rank < RANKS; rank++) {
		size_t length = 0;
		ssize_t n;

		while ((n = read(pipes[rank][0], errors[rank] + length,
				 sizeof(errors[rank]) - 1 - length)) > 0)
			length += (size_t)n;
		close(pipes[rank][0]);
		waitpid(pid[rank], &status[rank], 0);
		if (status[rank] != status[0] || (rank && *errors[rank]))
			print_message("rank %u ends with %#x and says: %s\n", rank, status[rank],
				      errors[rank]);
		assert_true(WIFEXITED(status[rank]));
		assert_int_equal(WEXITSTATUS(status[rank]), WEXITSTATUS(status[0]));
		if (rank)
			assert_string_equal(errors[rank], "");
	}
	munmap(shared, sizeof(*shared));
	if (said)
		snprintf(said, size, "%s", errors[0]);
	return WEXITSTATUS(status[0]);
}

#endif
