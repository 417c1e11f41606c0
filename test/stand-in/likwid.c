/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for LIKWID's library where there are no counters. Its counts are made up, but what it
 * is asked for has to be what LIKWID's source (5.2 to 5.5) can bear: else it says what was wrong
 * and aborts. The file that it writes has LIKWID's form, with the regions numbered as there: by
 * each CPU for itself. Under the name liblikwid.so.5.5 it has the rules of that version, too, which
 * keeps its books by thread.
 *
 * $LIKWID_STANDIN is a list of words between blanks:
 *   refuse           it does not begin, as where the access daemon has no rights
 *   early            threads that were there before likwid_markerInit() may run in a region
 *   zero=CPU         this CPU's counters read zero; zero=all
 *   unreadable       no event can be read, as where the processor has none of that name
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 256, CPUS = CPU_SETSIZE, LONGEST = 98 };

struct entry {
	char tag[128]; /* "name-group" */
	int group;     /* -1: unset memory, as long as it was never left */
	unsigned calls;
	double seconds, began;
	long owner; /* the thread inside; 0: none */
};

struct list {
	struct entry *entry;
	unsigned n;
};

void likwid_markerInit(void);
void likwid_markerThreadInit(void);
void likwid_markerNextGroup(void);
void likwid_markerClose(void);
int likwid_markerRegisterRegion(const char *);
int likwid_markerStartRegion(const char *);
int likwid_markerStopRegion(const char *);
int likwid_markerResetRegion(const char *);
void likwid_markerGetRegion(const char *, int *, double *, double *, int *);
void perfmon_finalize(void);

static struct {
	pthread_mutex_t lock;
	bool begun, used; /* used: a region was entered */
	bool by_thread;	  /* as since 5.5 */
	long main;	  /* that began */
	long thread[THREADS];
	int column[THREADS]; /* by_thread: the CPU where LIKWID first met it */
	unsigned threads;
	/* threads beside the main one that the counters don't reach */
	long early[THREADS];
	unsigned earlies;
	int cpu[CPUS], cpus; /* LIKWID_THREADS */
	struct list on[CPUS];
	int groups, active;
	char file[4096];
} lib = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void wrong(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void wrong(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	fprintf(stderr, "LIKWID stand-in: ");
	vfprintf(stderr, format, list);
	fprintf(stderr, "\n");
	va_end(list);
	abort();
}

static long self(void)
{
	return syscall(SYS_gettid);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* LIKWID would look where the thread happens to be. */
static int pinned_to(const char *what)
{
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	if (CPU_COUNT(&set) != 1)
		wrong("%s by a thread that is not pinned", what);
	for (int i = 0; i < lib.cpus; i++)
		if (CPU_ISSET((size_t)lib.cpu[i], &set))
			return lib.cpu[i];
	wrong("%s on a CPU that is not in LIKWID_THREADS", what);
}

static bool told(const char *word)
{
	const char *words = getenv("LIKWID_STANDIN"), *found = words ? strstr(words, word) : NULL;
	const size_t length = strlen(word);

	return found && (found == words || found[-1] == ' ') &&
	       (!found[length] || found[length] == ' ');
}

static bool reads_zero(int cpu)
{
	char word[32];

	snprintf(word, sizeof(word), "zero=%d", cpu);
	return told(word) || told("zero=all");
}

/* The threads that this process has by now, but for the main one. */
static void find_early(void)
{
	DIR *folder = opendir("/proc/self/task");

	lib.earlies = 0;
	for (struct dirent *e; folder && (e = readdir(folder));)
		if (atol(e->d_name) > 0 && atol(e->d_name) != getpid() && lib.earlies < THREADS)
			lib.early[lib.earlies++] = atol(e->d_name);
	if (folder)
		closedir(folder);
}

/* Threads that sit on a CPU in a region have to be counted: new threads alone inherit counters. */
static void all_are_counted(int cpu)
{
	cpu_set_t set;

	for (unsigned i = 0; i < lib.earlies && !told("early"); i++)
		if (!sched_getaffinity((pid_t)lib.early[i], sizeof(set), &set) &&
		    CPU_COUNT(&set) == 1 && CPU_ISSET((size_t)cpu, &set))
			wrong("thread %ld sits on CPU %d, and was there before likwid_markerInit()",
			      lib.early[i], cpu);
}

/*
 * Since 5.5 a thread's counts are in the column of the CPU where it was met: it has to stay there,
 * and to be the only one.
 */
static void in_its_column(int cpu)
{
	for (unsigned i = 0; i < lib.threads; i++) {
		if (lib.thread[i] == self() && lib.column[i] != cpu)
			wrong("thread %ld counts on CPU %d, and its column is that of CPU %d",
			      self(), cpu, lib.column[i]);
		if (lib.thread[i] != self() && lib.column[i] == cpu)
			wrong("threads %ld and %ld share the column of CPU %d", lib.thread[i],
			      self(), cpu);
	}
}

static void known(const char *what)
{
	for (unsigned i = 0; i < lib.threads; i++)
		if (lib.thread[i] == self())
			return;
	wrong("%s by a thread without likwid_markerThreadInit()", what);
}

static struct entry *find(int cpu, const char *region)
{
	char tag[128];

	snprintf(tag, sizeof(tag), "%s-%d", region, lib.active);
	for (unsigned i = 0; i < lib.on[cpu].n; i++)
		if (!strcmp(lib.on[cpu].entry[i].tag, tag))
			return &lib.on[cpu].entry[i];
	return NULL;
}

static bool inside(long thread)
{
	for (int i = 0; i < lib.cpus; i++)
		for (unsigned j = 0; j < lib.on[lib.cpu[i]].n; j++)
			if (lib.on[lib.cpu[i]].entry[j].owner &&
			    (!thread || lib.on[lib.cpu[i]].entry[j].owner == thread))
				return true;
	return false;
}

/* By the name of its file, behind all links. */
static bool since_5_5(void)
{
	Dl_info own;
	char *path = dladdr(&lib, &own) ? realpath(own.dli_fname, NULL) : NULL;
	const char *version = path ? strstr(path, ".so.5.") : NULL;
	unsigned minor = 0;
	bool since = version && sscanf(version, ".so.5.%u", &minor) == 1 && minor >= 5;

	free(path);
	return since;
}

void likwid_markerInit(void)
{
	const char *threads = getenv("LIKWID_THREADS"), *events = getenv("LIKWID_EVENTS"),
		   *file = getenv("LIKWID_FILEPATH");

	if (!getenv("LIKWID_MODE") || !threads || !events || !file)
		wrong("begun without likwid-perfctr -m"); /* LIKWID would print, and do nothing */
	if (lib.begun)
		wrong("begun twice");
	if (told("refuse"))
		return;
	lib.begun = true;
	lib.main = self();
	lib.by_thread = since_5_5();
	find_early();
	snprintf(lib.file, sizeof(lib.file), "%s", file);
	for (const char *p = threads; lib.cpus < CPUS; p++) {
		lib.cpu[lib.cpus++] = atoi(p);
		if (!(p = strchr(p, ',')))
			break;
	}
	lib.groups = 1;
	for (const char *p = events; *p; p++)
		lib.groups += *p == '|';
	if (!lib.by_thread)
		lib.thread[lib.threads++] = self();
	if (getenv("LIKWID_PIN"))
		pin(lib.cpu[0]);
}

void likwid_markerThreadInit(void)
{
	unsigned number;

	if (!lib.begun)
		return;
	pthread_mutex_lock(&lib.lock);
	for (number = 0; number < lib.threads && lib.thread[number] != self();)
		number++;
	if (number == lib.threads && number < THREADS) {
		lib.column[lib.threads] = sched_getcpu();
		lib.thread[lib.threads++] = self();
	}
	pthread_mutex_unlock(&lib.lock);
	if (getenv("LIKWID_PIN"))
		pin(lib.cpu[number % (unsigned)lib.cpus]);
}

int likwid_markerRegisterRegion(const char *region)
{
	struct list *list;
	int cpu;

	if (!lib.begun)
		return -EFAULT;
	pthread_mutex_lock(&lib.lock);
	known("registered");
	if (lib.used)
		wrong("%s is registered when others were entered already", region);
	if (strlen(region) + 3 > LONGEST || region[strcspn(region, " \t,:-\"\n")])
		wrong("the name '%s' does not come back whole", region);
	cpu = pinned_to("registered");
	list = &lib.on[cpu];
	if (!find(cpu, region)) {
		list->entry = realloc(list->entry, (list->n + 1) * sizeof(*list->entry));
		list->entry[list->n] = (struct entry){ .group = -1 };
		snprintf(list->entry[list->n++].tag, sizeof(list->entry->tag), "%s-%d", region,
			 lib.active);
	}
	pthread_mutex_unlock(&lib.lock);
	return 0;
}

/* A region's number has to be the same on all CPUs: the file is written as if it were. */
static void compare(void)
{
	const struct list *first = &lib.on[lib.cpu[0]];

	for (int i = 1; i < lib.cpus; i++) {
		const struct list *other = &lib.on[lib.cpu[i]];

		if (other->n != first->n)
			wrong("CPU %d has %u regions, CPU %d %u", lib.cpu[0], first->n, lib.cpu[i],
			      other->n);
		for (unsigned j = 0; j < first->n; j++)
			if (strcmp(first->entry[j].tag, other->entry[j].tag))
				wrong("region %u is %s on CPU %d, and %s on CPU %d", j,
				      first->entry[j].tag, lib.cpu[0], other->entry[j].tag,
				      lib.cpu[i]);
	}
}

int likwid_markerStartRegion(const char *region)
{
	struct entry *e;
	int cpu;

	if (!lib.begun)
		return -EFAULT;
	pthread_mutex_lock(&lib.lock);
	known("entered");
	if (!lib.used)
		compare();
	lib.used = true;
	cpu = pinned_to("entered");
	all_are_counted(cpu);
	if (lib.by_thread)
		in_its_column(cpu);
	e = find(cpu, region);
	if (!e)
		wrong("%s is entered in group %d on CPU %d, where it was not registered", region,
		      lib.active, cpu);
	if (e->owner)
		wrong("%s is entered twice on CPU %d", region, cpu);
	if (inside(self()))
		wrong("%s is entered inside of another", region);
	e->owner = self();
	e->began = now();
	pthread_mutex_unlock(&lib.lock);
	return 0;
}

int likwid_markerStopRegion(const char *region)
{
	struct entry *e;
	int cpu;

	if (!lib.begun)
		return -EFAULT;
	pthread_mutex_lock(&lib.lock);
	cpu = pinned_to("left");
	e = find(cpu, region);
	if (!e || e->owner != self())
		wrong("%s is left on CPU %d, where this thread did not enter it", region, cpu);
	e->owner = 0;
	e->group = lib.active;
	e->calls++;
	e->seconds += now() - e->began;
	pthread_mutex_unlock(&lib.lock);
	return 0;
}

int likwid_markerResetRegion(const char *region)
{
	struct entry *e;

	if (!lib.begun)
		return -EFAULT;
	pthread_mutex_lock(&lib.lock);
	e = find(pinned_to("reset"), region);
	if (!e || e->owner || e->group < 0)
		wrong("%s is reset, and was not left", region);
	e->calls = 0;
	e->seconds = 0;
	pthread_mutex_unlock(&lib.lock);
	return 0;
}

static double count_of(const struct entry *e, int cpu)
{
	return told("unreadable") ? NAN : reads_zero(cpu) ? 0 : e->calls * 1e6;
}

/* Two events, of which the second is always zero. */
void likwid_markerGetRegion(const char *region, int *events, double *counts, double *seconds,
			    int *count)
{
	const int room = *events;
	struct entry *e;
	int cpu;

	*events = 0;
	if (!lib.begun)
		return;
	pthread_mutex_lock(&lib.lock);
	cpu = pinned_to("read");
	e = find(cpu, region);
	if (!e || e->owner)
		wrong("%s is read on CPU %d, where it was not left", region, cpu);
	*events = room < 2 ? room : 2;
	for (int i = 0; i < *events; i++)
		counts[i] = i ? 0 * count_of(e, cpu) : count_of(e, cpu);
	*seconds = e->seconds;
	*count = (int)e->calls;
	pthread_mutex_unlock(&lib.lock);
}

void likwid_markerNextGroup(void)
{
	if (!lib.begun)
		return;
	pthread_mutex_lock(&lib.lock);
	if (inside(0))
		wrong("the group changes inside of a region");
	lib.active = (lib.active + 1) % lib.groups;
	pthread_mutex_unlock(&lib.lock);
}

static unsigned calls(unsigned region)
{
	unsigned n = 0;

	for (int i = 0; i < lib.cpus; i++)
		n += lib.on[lib.cpu[i]].entry[region].calls;
	return n;
}

static void write_regions(FILE *file, const struct list *first)
{
	unsigned number = 0;

	for (unsigned j = 0; j < first->n; j++)
		number += calls(j) > 0;
	fprintf(file, "%d %u %d\n", lib.cpus, number, lib.groups);
	number = 0;
	for (unsigned j = 0; j < first->n; j++)
		if (calls(j))
			fprintf(file, "%u:%s\n", number++, first->entry[j].tag);
	number = 0;
	for (unsigned j = 0; j < first->n; j++) {
		for (int i = 0; calls(j) && i < lib.cpus; i++) {
			const struct entry *e = &lib.on[lib.cpu[i]].entry[j];

			fprintf(file, "%u %d %d %u %e 1 %e \n", number, first->entry[j].group,
				lib.cpu[i], e->calls, e->seconds, count_of(e, lib.cpu[i]));
		}
		number += calls(j) > 0;
	}
}

static void forget(void)
{
	for (int i = 0; i < lib.cpus; i++) {
		free(lib.on[lib.cpu[i]].entry);
		lib.on[lib.cpu[i]] = (struct list){ 0 };
	}
	lib.cpus = lib.groups = lib.active = 0;
	lib.threads = 0;
	lib.begun = lib.used = false;
}

void likwid_markerClose(void)
{
	const struct list *first = &lib.on[lib.cpu[0]];
	FILE *file;

	if (!lib.begun)
		return;
	/* But by a watchdog, which can't stop the region of a thread that hangs in it. */
	if (inside(0) && lib.main == self())
		wrong("closed inside of a region");
	if (lib.by_thread && lib.threads != (unsigned)lib.cpus)
		wrong("%u threads made themselves known, and %d columns are read", lib.threads,
		      lib.cpus);
	for (unsigned j = 0; j < first->n; j++)
		if (first->entry[j].group < 0)
			wrong("the group of %s is unset memory", first->entry[j].tag);
	file = fopen(lib.file, "w");
	if (file) {
		write_regions(file, first);
		fclose(file);
	}
	forget();
}

void perfmon_finalize(void)
{
	for (int i = 0; i < lib.cpus; i++)
		for (unsigned j = 0; j < lib.on[lib.cpu[i]].n; j++)
			if (lib.on[lib.cpu[i]].entry[j].calls)
				wrong("%s is lost: this is no likwid_markerClose()",
				      lib.on[lib.cpu[i]].entry[j].tag);
	forget();
}
