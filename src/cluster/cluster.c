/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/text.h"
#include "cluster/cluster.h"
#include "harness/ask/options.h"
#include "kit/agree.h"
#include "machine/clock.h"
#include "machine/watchdog.h"
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

/* --- messages --- */

static void *begin(const struct piece *out, struct piece *in)
{
	const double began = clock_now();
	void *exchange = exchange_begin(out, in);

	spent_so_far += clock_now() - began;
	return exchange;
}

static void finish_exchange(void *exchange)
{
	const double began = clock_now();

	exchange_finish(exchange);
	spent_so_far += clock_now() - began;
}

static void progress(void)
{
	const double began = clock_now();

	exchange_progress();
	spent_so_far += clock_now() - began;
}

enum { TAG_MESSAGE = 1 };

static void send(unsigned to, const void *bytes, size_t size)
{
	MPI_Send(bytes, (int)size, MPI_BYTE, (int)to, TAG_MESSAGE, MPI_COMM_WORLD);
}

static void receive(unsigned from, void *bytes, size_t size)
{
	MPI_Recv(bytes, (int)size, MPI_BYTE, (int)from, TAG_MESSAGE, MPI_COMM_WORLD,
		 MPI_STATUS_IGNORE);
}

static void swap(unsigned to, const void *out, unsigned from, void *in, size_t size)
{
	MPI_Sendrecv(out, (int)size, MPI_BYTE, (int)to, TAG_MESSAGE, in, (int)size, MPI_BYTE,
		     (int)from, TAG_MESSAGE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static double spent(void)
{
	return spent_so_far;
}

/*
 * Only the main thread may call MPI_Finalize(), and it may be inside MPI. What Open MPI's launcher
 * waits for is the call of PMIx in it, which any thread may make. Without this library nothing is
 * called: Hydra needs no call, and an Open MPI that hides a PMIx of its own reports an error.
 *
 * Meanwhile the main threads of all ranks may read each other's memory: Open MPI would print a line
 * for each read from a rank that has ended. So from here on a rank says nothing, and rank 0, which
 * leaves first (cut.c), stays until the others are here, too: but not after a signal, when mpirun
 * soon kills.
 */
static void leave(void)
{
	const struct timespec others = { 0, ranks.rank ? 50000000 : 700000000 };
	const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	void *library = dlopen("libpmix.so.2", RTLD_LAZY | RTLD_NOLOAD);
	void *symbol = library ? dlsym(library, "PMIx_Finalize") : NULL;
	int (*finalize)(const void *info, size_t n);

	memcpy(&finalize, &symbol, sizeof(finalize));
	if (nowhere >= 0)
		dup2(nowhere, STDERR_FILENO);
	if (finalize)
		finalize(NULL, 0);
	if (!watchdog_signal())
		nanosleep(&others, NULL);
}

static struct ranks ranks = { .sum = sum,
			      .most = most,
			      .copy = copy,
			      .sum_host = sum_host,
			      .most_host = most_host,
			      .begin = begin,
			      .finish = finish_exchange,
			      .progress = progress,
			      .send = send,
			      .receive = receive,
			      .swap = swap,
			      .leave = leave,
			      .spent = spent };

/* --- what moves the messages, as far as MPI says so --- */

/* Begins another part of the text, after a separator if it is not the first. */
static void separate(FILE *f, const char *with)
{
	if (ftell(f) > 0)
		fputs(with, f);
}

/* MPICH and its descendants have a line "MPICH Device:	ch4:ofi". */
static void add_device(FILE *f, const char *description)
{
	static const char key[] = "MPICH Device:";
	const char *at = strstr(description, key);

	if (!at)
		return;
	at += strlen(key);
	at += strspn(at, "\t ");
	separate(f, "; ");
	fprintf(f, "%.*s", (int)strcspn(at, "\n"), at);
}

/* --- environment variables with which users choose the transport --- */

static const char *const variables[] = {
	"OMPI_MCA_pml=",
	"OMPI_MCA_btl=",
	"OMPI_MCA_mtl=",
	"OMPI_MCA_btl_tcp_if_",
	"UCX_TLS=",
	"UCX_NET_DEVICES=",
	"FI_PROVIDER=",
	"PSM2_DEVICES=",
	"PSM3_",
	"I_MPI_FABRICS=",
	"I_MPI_OFI_PROVIDER=",
	"MPIR_CVAR_NEMESIS_NETMOD=",
	"MPIR_CVAR_OFI_",
	"MPIR_CVAR_CH4_OFI_PROVIDER",
	"MV2_IBA_HCA=",
};

static void add_variables(FILE *f, char *const *environment)
{
	for (; environment && *environment; environment++)
		for (size_t i = 0; i < LENGTH(variables); i++)
			if (!strncmp(*environment, variables[i], strlen(variables[i]))) {
				separate(f, "; ");
				fprintf(f, "%.200s", *environment);
			}
}

/* --- components of Open MPI, which are libraries: it closes those that it does not use --- */

static const char *const kinds[] = { "pml", "mtl", "btl" };

/* The component in a line of maps: the N of mca_KIND_N.so; NULL: there is none. */
static const char *component_of(const char *line, const char *kind, size_t *length)
{
	const char *at = strstr(line, "/mca_");

	if (!at || strncmp(at + 5, kind, strlen(kind)) || at[5 + strlen(kind)] != '_')
		return NULL;
	at += 5 + strlen(kind) + 1;
	*length = strcspn(at, ".\n");
	return at;
}

/* A library is mapped in several parts, which follow each other. */
static void add_components(FILE *f, const char *kind, FILE *maps)
{
	char line[1024], last[64] = "";
	bool any = false;

	rewind(maps);
	while (fgets(line, sizeof(line), maps)) {
		size_t length;
		const char *name = component_of(line, kind, &length);

		if (!name || length >= sizeof(last) ||
		    (!strncmp(last, name, length) && !last[length]))
			continue;
		memcpy(last, name, length);
		last[length] = '\0';
		separate(f, any ? ", " : "; ");
		fprintf(f, "%s%s%s", any ? "" : kind, any ? "" : " ", last);
		any = true;
	}
}

static char *transport_text(const char *description, char *const *environment, FILE *maps)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	add_device(f, description);
	for (size_t i = 0; maps && i < LENGTH(kinds); i++)
		add_components(f, kinds[i], maps);
	add_variables(f, environment);
	if (fclose(f) || (text && *text))
		return text;
	free(text);
	return NULL;
}

/* --- this process in its job --- */

/* The first part of MPI's description: "Open MPI v4.1.4", "MPICH Version: 4.0.2". */
static char *name_of(const char *description)
{
	char *name = strndup(description, strcspn(description, ",\n"));

	for (char *at = name; at && *at; at++)
		if (*at == '\t')
			*at = ' ';
	return name;
}

static void find_transport(void)
{
	char description[MPI_MAX_LIBRARY_VERSION_STRING];
	FILE *maps = fopen("/proc/self/maps", "re");
	int length;

	MPI_Get_library_version(description, &length);
	ranks.library = name_of(description);
	ranks.transport = transport_text(description, environ, maps);
	ranks.transport_why = ranks.transport ? NULL
					      : "neither the MPI library nor its variables name a "
						"transport";
	if (maps)
		fclose(maps);
}

static void finish(void)
{
	MPI_Finalize();
}

/*
 * Variables in which launchers give the number of processes that they started, and the number of
 * this one. srun comes last: an mpirun in one of its tasks takes precedence.
 */
static const struct {
	const char *tasks, *task;
} launchers[] = {
	{ "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK" },
	{ "PMI_SIZE", "PMI_RANK" }, /* Hydra: MPICH, Intel MPI */
	{ "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK" },
	{ "SLURM_STEP_NUM_TASKS", "SLURM_PROCID" },
};

/* The launchers' data on this process; `first` is the process that reports for all. */
struct launch {
	long tasks;
	bool first;
};

static long number_in(const char *variable)
{
	const char *text = getenv(variable);

	return text ? strtol(text, NULL, 10) : 0;
}

/* True if a launcher started one process on purpose, even inside a larger job. */
static bool is_single(void)
{
	for (unsigned i = 0; i < LENGTH(launchers) - 1; i++)
		if (number_in(launchers[i].tasks) == 1)
			return true;
	return false;
}

/* To be called before MPI_Init, which sets some of these variables. */
static struct launch find_launch(void)
{
	unsigned i = 0;

	if (is_single())
		return (struct launch){ 1, true };
	while (i < LENGTH(launchers) - 1 && !getenv(launchers[i].tasks))
		i++;
	if (number_in(launchers[i].tasks) > 1)
		return (struct launch){ number_in(launchers[i].tasks),
					number_in(launchers[i].task) == 0 };
	/* PMIx has no variable for the number, and its rank 0 can't know of others */
	return (struct launch){ number_in("PMIX_RANK") + 1, number_in("PMIX_RANK") == 1 };
}

/*
 * Refuses processes that a launcher started together but MPI does not connect, as happens under
 * another MPI's mpirun: each would measure alone, at the same time, on the same CPUs.
 */
static bool are_strangers(struct launch launch, int n)
{
	char library[MPI_MAX_LIBRARY_VERSION_STRING];
	int length;

	if (n > 1 || launch.tasks <= 1)
		return false;
	MPI_Get_library_version(library, &length);
	library[strcspn(library, ",\n")] = '\0';
	if (launch.first)
		message("locus-mpi: this is one of %ld tasks, but MPI sees only itself, 1 rank; "
			"start with mpirun of its own MPI (%s), or with srun --mpi=pmix or another "
			"type of `srun --mpi=list`",
			launch.tasks, library);
	return true;
}

const struct ranks *cluster_open(int *argc, char ***argv)
{
	const struct launch launch = find_launch();
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
	if (are_strangers(launch, n))
		return NULL;
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
	ranks.rank = (unsigned)rank;
	ranks.ranks = (unsigned)n;
	exchange_open(ranks.rank, ranks.ranks);
	find_transport();
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
		words = text_of("its command line is %.400s, rank 0's is %.400s", own, first);
	agree_words(r, &words);
	if (words && rank_is_first(r))
		message("locus-mpi: %s", words);
	free(own);
	free(first);
	free(words);
	return words ? EXIT_COMMAND_LINE : 0;
}
