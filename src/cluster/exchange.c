/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exchange has a step for each other rank: step i sends to the rank i places after this one, and
 * receives from the rank i places before. Only a window of steps is open at a time, O(log ranks):
 * MPI searches its open requests for each arriving message, so a request for each rank would cost
 * the square of the ranks.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "cluster/cluster.h"

/* Open steps: all of few ranks, and enough to keep a network busy. */
enum { LEAST_OPEN = 16 };

/*
 * Messages of overlapping exchanges differ by their tags: steps of a later exchange may begin
 * earlier. MPI has tags up to 32767 at least; other calls use the lower ones.
 */
enum { FIRST_TAG = 16, TAGS = 32000 };

struct step {
	MPI_Request request[2]; /* receives, sends */
	unsigned from;
	bool open;
};

struct exchange {
	struct exchange *next; /* begun later */
	const struct piece *out;
	struct piece *in;
	int tag;
	unsigned begun, ended; /* steps: those that were begun, and those that ended in order */
	struct step step[];    /* a ring of `window` */
};

/* Globals: MPI exists once per process. */
static unsigned rank, ranks, window;
static struct exchange *first; /* unfinished exchanges, the oldest first */
static unsigned number;	       /* how many exchanges were begun so far: the same on all ranks */

void exchange_open(unsigned own, unsigned all)
{
	rank = own;
	ranks = all;
	window = LEAST_OPEN;
	for (unsigned i = all; i > 1; i /= 2)
		window += 2;
}

static void begin_step(struct exchange *x)
{
	const unsigned i = x->begun++ + 1, to = (rank + i) % ranks,
		       from = (rank + ranks - i) % ranks;
	struct step *s = &x->step[x->begun % window];

	*s = (struct step){ .from = from, .open = true };
	MPI_Irecv(x->in[from].bytes, (int)x->in[from].size, MPI_BYTE, (int)from, x->tag,
		  MPI_COMM_WORLD, &s->request[0]);
	MPI_Isend(x->out[to].bytes, (int)x->out[to].size, MPI_BYTE, (int)to, x->tag, MPI_COMM_WORLD,
		  &s->request[1]);
}

/* Notes the sizes of what has arrived. */
static void test_step(struct exchange *x, struct step *s)
{
	MPI_Status arrived;
	int done, sent, size;

	if (s->request[0] != MPI_REQUEST_NULL) {
		MPI_Test(&s->request[0], &done, &arrived);
		if (done) {
			MPI_Get_count(&arrived, MPI_BYTE, &size);
			x->in[s->from].size = (size_t)size;
		}
	}
	MPI_Test(&s->request[1], &sent, MPI_STATUS_IGNORE);
	s->open = s->request[0] != MPI_REQUEST_NULL || s->request[1] != MPI_REQUEST_NULL;
}

/* Ends the steps that are done, and begins others in their place. */
static void advance(struct exchange *x)
{
	const unsigned steps = ranks - 1;

	for (unsigned i = x->ended; i < x->begun; i++) {
		struct step *s = &x->step[(i + 1) % window];

		if (s->open)
			test_step(x, s);
		x->ended += x->ended == i && !s->open;
	}
	while (x->begun < steps && x->begun - x->ended < window)
		begin_step(x);
}

void *exchange_begin(const struct piece *out, struct piece *in)
{
	struct exchange *x = malloc(sizeof(*x) + window * sizeof(*x->step)), **last = &first;

	if (!x)
		abort(); /* MPI then ends the other ranks */
	*x = (struct exchange){ .out = out, .in = in, .tag = FIRST_TAG + (int)(number++ % TAGS) };
	while (*last)
		last = &(*last)->next;
	*last = x;
	advance(x);
	return x;
}

void exchange_progress(void)
{
	for (struct exchange *x = first; x; x = x->next)
		advance(x);
}

/*
 * Other exchanges proceed, too: a rank may wait for one of them before it begins to finish this
 * one.
 */
void exchange_finish(void *exchange)
{
	struct exchange *x = exchange, **at = &first;

	while (x->ended < ranks - 1)
		exchange_progress();
	while (*at != x)
		at = &(*at)->next;
	*at = x->next;
	free(x);
}
