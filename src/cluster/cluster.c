/* SPDX-License-Identifier: Apache-2.0 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/text.h"
#include "cluster/cluster.h"
#include "harness/ask/options.h"
#include "kit/agree.h"
#include "machine/clock.h"
#include "base/message.h"

/* Globals: MPI exists once per process, and functions of struct ranks get no state. */
static MPI_Comm host;	    /* the ranks on this host */
static double spent_so_far; /* s */
static struct ranks ranks;

/* MPI counts in int. */
#define AT_ONCE ((size_t)1 << 30)

static void reduce(void *x, size_t n, size_t size, MPI_Datatype type, MPI_Op op, MPI_Comm among)
{
	double begin = clock_now();

	for (size_t at = 0; at < n; at += AT_ONCE)
		MPI_Allreduce(MPI_IN_PLACE, (char *)x + at * size, (int)smaller(n - at, AT_ONCE),
			      type, op, among);
	spent_so_far += clock_now() - begin;
}

static void sum(int64_t *x, size_t n)
{
	reduce(x, n, sizeof(*x), MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
}

static void most(double *x, size_t n)
{
	reduce(x, n, sizeof(*x), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

static void copy(unsigned from, void *bytes, size_t size)
{
	double begin = clock_now();

	for (size_t at = 0; at < size; at += AT_ONCE)
		MPI_Bcast((char *)bytes + at, (int)smaller(size - at, AT_ONCE), MPI_BYTE, (int)from,
			  MPI_COMM_WORLD);
	spent_so_far += clock_now() - begin;
}

static void sum_host(int64_t *x, size_t n)
{
	reduce(x, n, sizeof(*x), MPI_INT64_T, MPI_SUM, host);
}

static void most_host(double *x, size_t n)
{
	reduce(x, n, sizeof(*x), MPI_DOUBLE, MPI_MAX, host);
}

/*
 * One message from and one to each other rank. MPI keeps messages between two ranks in order, so
 * one tag is enough. Not MPI_Ialltoallv: only the sender knows the size.
 */
struct exchange {
	struct piece *in;
	MPI_Status *taken;     /* of each received message */
	MPI_Request request[]; /* receives from each other rank, then sends to each */
};

static void *begin(const struct piece *out, struct piece *in)
{
	const unsigned others = ranks.ranks - 1;
	double began = clock_now();
	struct exchange *x = malloc(sizeof(*x) + 2 * (size_t)others * sizeof(*x->request));
	MPI_Status *taken = calloc(others + 1, sizeof(*taken));

	if (!x || !taken)
		abort(); /* MPI then ends the other ranks */
	*x = (struct exchange){ .in = in, .taken = taken };
	for (unsigned i = 0; i < others; i++) { /* staggered: ranks begin with different ones */
		const unsigned from = (ranks.rank + others - i) % ranks.ranks,
			       to = (ranks.rank + i + 1) % ranks.ranks;

		MPI_Irecv(in[from].bytes, (int)in[from].size, MPI_BYTE, (int)from, 0,
			  MPI_COMM_WORLD, &x->request[i]);
		MPI_Isend(out[to].bytes, (int)out[to].size, MPI_BYTE, (int)to, 0, MPI_COMM_WORLD,
			  &x->request[others + i]);
	}
	spent_so_far += clock_now() - began;
	return x;
}

static void finish_exchange(void *exchange)
{
	const int others = (int)ranks.ranks - 1;
	double began = clock_now();
	struct exchange *x = exchange;
	int size;

	MPI_Waitall(others, x->request, x->taken);
	for (int i = 0; i < others; i++) {
		MPI_Get_count(&x->taken[i], MPI_BYTE, &size);
		x->in[x->taken[i].MPI_SOURCE].size = (size_t)size;
	}
	MPI_Waitall(others, x->request + others, MPI_STATUSES_IGNORE);
	free(x->taken);
	free(x);
	spent_so_far += clock_now() - began;
}

/* Looks for a message with a tag that none has: MPI then looks after all that is under way. */
static void progress(void)
{
	double began = clock_now();
	int there;

	MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
	spent_so_far += clock_now() - began;
}

static double spent(void)
{
	return spent_so_far;
}

static struct ranks ranks = { .sum = sum,
			      .most = most,
			      .copy = copy,
			      .sum_host = sum_host,
			      .most_host = most_host,
			      .begin = begin,
			      .finish = finish_exchange,
			      .progress = progress,
			      .spent = spent };

static void finish(void)
{
	MPI_Finalize();
}

/*
 * Whether srun started several tasks that MPI does not connect: each would measure alone, at the
 * same time, on the same CPUs.
 */
static bool are_strangers(int n)
{
	const char *tasks = getenv("SLURM_STEP_NUM_TASKS");

	/* mpirun within srun sets OMPI_COMM_WORLD_SIZE: a single rank is then intended */
	return n == 1 && tasks && strtol(tasks, NULL, 10) > 1 && !getenv("OMPI_COMM_WORLD_SIZE");
}

const struct ranks *cluster_open(int *argc, char ***argv)
{
	int given, rank, n;

	if (MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &given) ||
	    given < MPI_THREAD_FUNNELED) {
		message("locus-mpi: this MPI can't be used in a process with threads "
			"(MPI_THREAD_FUNNELED)");
		return NULL;
	}
	atexit(finish);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	if (are_strangers(n)) {
		message("locus-mpi: this is one of %s tasks, but MPI sees only itself; start with "
			"srun --mpi=pmix, or another type of `srun --mpi=list`",
			getenv("SLURM_STEP_NUM_TASKS"));
		return NULL;
	}
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
	ranks.rank = (unsigned)rank;
	ranks.ranks = (unsigned)n;
	return &ranks;
}

/* The arguments in quotes, separated by blanks; to be freed. */
static char *join(int argc, char **argv)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (int i = 0; f && i < argc; i++)
		fprintf(f, "%s'%s'", i ? " " : "", argv[i]);
	if (f)
		fclose(f);
	return text;
}

int cluster_same_arguments(const struct ranks *r, int argc, char **argv)
{
	char *own = join(argc, argv), *words = NULL;
	size_t length = own ? strlen(own) : 0;
	char *first;

	agree_copy(r, 0, &length, sizeof(length));
	first = calloc(1, length + 1);
	if (!own || !first)
		abort();
	if (r->rank == 0)
		memcpy(first, own, length);
	agree_copy(r, 0, first, length);
	if (strcmp(own, first) != 0)
		words = text_of("its command line is %.400s, and that of rank 0 is %.400s", own,
				first);
	agree_words(r, &words);
	if (words && rank_is_first(r))
		message("locus-mpi: %s", words);
	free(own);
	free(first);
	free(words);
	return words ? EXIT_COMMAND_LINE : 0;
}
