/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for libpapi, built by `make check` under that library's own name: found by
 * LD_LIBRARY_PATH, the program can't tell it from PAPI, on a machine without counters and always
 * with the same counts. From one PAPI_read() of a set to the next an event counts
 *
 *   1000 * (its row in the table below, from 1) + who
 *
 * where `who` is the number of the thread (0: the one that loaded the library; the smallest free
 * number to each that registers) or, for what belongs to a CPU, its number. It is strict: what
 * breaks PAPI's rules is said on stderr and ends the program by abort(). What was not given back is
 * said at the end.
 *
 * $PAPI_STAND_IN is a list of words between blanks:
 *   counters=N       an event set of the processor has room for N (4)
 *   zero=EVENT       reads 0, whatever happened
 *   absent=EVENT     a preset that this processor can't count
 *   denied=EVENT     can't be added, for want of permission
 *   wrong=EVENT      can't be added, for no reason that is known
 *   late=EVENT       can be added by the thread that loaded the library only
 *   scarce=EVENT     can be added by the thread that loaded the library, and by others each fourth
 *                    time
 *   broken=EVENT     sets with it can be started, and read once, but not again
 *   files=EVENT      can't be added, for want of a file descriptor
 *   falls=EVENT      takes turns, and has its first after the third reading: 0 until then, and then
 *                    an estimate that falls by what others rise by
 *   off=COMPONENT    is disabled: perf_event, perf_event_uncore, rapl, net
 *   version=N.N      the version that it claims to be
 *   sick             can't be initialised
 *   threadless       can't be used by threads
 *   loud             says how many sets were made, and that all were given back
 */
#if __has_include(<papi.h>) /* else it is not built, but looked at */
#include <errno.h>
#include <papi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define PUBLIC	      __attribute__((visibility("default")))

enum { MOST_SETS = 4096, MOST_EVENTS = 64, MOST_THREADS = 1024 };
enum { CPU, UNCORE, RAPL, NET, COMPONENTS };

static PAPI_component_info_t components[COMPONENTS] = {
	[CPU] = { .name = "perf_event", .short_name = "perf", .CmpIdx = CPU, .cpu = 1 },
	[UNCORE] = { .name = "perf_event_uncore", .short_name = "peu", .CmpIdx = UNCORE, .cpu = 1 },
	[RAPL] = { .name = "rapl", .short_name = "rapl", .CmpIdx = RAPL },
	[NET] = { .name = "net", .short_name = "net", .CmpIdx = NET },
};

static const struct row {
	const char *name;
	int component;
	const char *units;
	bool level;
} rows[] = {
	{ "PAPI_TOT_CYC", CPU, "", false },
	{ "PAPI_TOT_INS", CPU, "", false },
	{ "PAPI_L1_DCM", CPU, "", false },
	{ "PAPI_L2_DCM", CPU, "", false },
	{ "PAPI_L3_TCM", CPU, "", false },
	{ "PAPI_TLB_DM", CPU, "", false },
	{ "PAPI_BR_INS", CPU, "", false },
	{ "PAPI_BR_MSP", CPU, "", false },
	{ "PAPI_LD_INS", CPU, "", false },
	{ "PAPI_SR_INS", CPU, "", false },
	{ "PAPI_L3_TCA", CPU, "", false },
	{ "PAPI_RES_STL", CPU, "", false },
	{ "PAPI_CA_SNP", CPU, "", false },
	{ "PAPI_FP_OPS", CPU, "", false },
	{ "standin::NATIVE", CPU, "", false },
	{ "standin::OTHER", CPU, "", false },
	{ "perf::CYCLES", CPU, "", false },
	{ "perf::INSTRUCTIONS", CPU, "", false },
	{ "perf::CACHE-MISSES", CPU, "", false },
	{ "imc::READS", UNCORE, "", false },
	{ "imc::WRITES", UNCORE, "", false },
	{ "imc::READS:cpu=0", UNCORE, "", false },
	{ "rapl:::PACKAGE_ENERGY:PACKAGE0", RAPL, "nJ", false },
	{ "rapl:::PACKAGE_ENERGY:PACKAGE1", RAPL, "nJ", false },
	{ "rapl:::THERMAL_SPEC:PACKAGE0", RAPL, "W", true },
	{ "net:::lo:rx:bytes", NET, "B", false },
	{ "rapl::RAPL_ENERGY_PKG", UNCORE, "", false },
};

struct set {
	bool used, multiplex, running, attached;
	pthread_t owner;
	int component, cpu; /* -1: not said yet */
	unsigned who, n, reads;
	unsigned row[MOST_EVENTS];
};

static struct {
	pthread_mutex_t lock;
	bool loaded, threaded, multiplex;
	pthread_t owner;
	unsigned made, asked; /* sets; for what is scarce */
	struct {
		bool used;
		pthread_t id;
	} thread[MOST_THREADS];
	struct set set[MOST_SETS];
} it = { .lock = PTHREAD_MUTEX_INITIALIZER };

static __attribute__((noreturn, format(printf, 1, 2))) void wrong(const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "PAPI's stand-in: ");
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\n");
	abort();
}

/* ---- what it is told ---- */

/*
 * The value of a word of $PAPI_STAND_IN, the i-th of these; NULL: no more. It is followed by a
 * blank or the end.
 */
static const char *told(const char *key, unsigned i)
{
	const char *text = getenv("PAPI_STAND_IN");
	size_t length = strlen(key);

	for (; text && *text; text += strcspn(text, " "), text += strspn(text, " "))
		if (!strncmp(text, key, length) &&
		    (text[length] == '=' || text[length] == ' ' || !text[length]) && !i--)
			return text[length] == '=' ? text + length + 1 : text + length;
	return NULL;
}

static bool is_told(const char *key, const char *name)
{
	const char *value;

	for (unsigned i = 0; (value = told(key, i)); i++)
		if (strcspn(value, " ") == strlen(name) && !strncmp(value, name, strlen(name)))
			return true;
	return false;
}

/* ---- the library ---- */

PUBLIC int PAPI_library_init(int version)
{
	const char *claimed = told("version", 0);
	int major, minor;

	if (it.loaded)
		wrong("PAPI_library_init, again");
	if (claimed && sscanf(claimed, "%d.%d", &major, &minor) == 2)
		return PAPI_VERSION_NUMBER(major, minor, 0, 0);
	if (told("sick", 0) || version != PAPI_VER_CURRENT)
		return told("sick", 0) ? PAPI_ESYS : PAPI_EINVAL;
	it.loaded = true;
	it.owner = pthread_self();
	for (int i = 0; i < COMPONENTS; i++) {
		components[i].disabled = is_told("off", components[i].name) ? PAPI_ENOCMP : 0;
		snprintf(components[i].disabled_reason, sizeof(components[i].disabled_reason), "%s",
			 components[i].disabled ? "switched off by its stand-in" : "");
	}
	return version;
}

PUBLIC int PAPI_is_initialized(void)
{
	return it.loaded ? PAPI_LOW_LEVEL_INITED : PAPI_NOT_INITED;
}

static void left_behind(void)
{
	unsigned sets = 0, threads = 0;

	for (unsigned i = 0; i < MOST_SETS; i++)
		sets += it.set[i].used;
	for (unsigned i = 0; i < MOST_THREADS; i++)
		threads += it.thread[i].used;
	if (sets || threads || it.loaded)
		fprintf(stderr, "PAPI's stand-in: not given back: %u event sets, %u threads%s\n",
			sets, threads, it.loaded ? ", the library" : "");
	else if (told("loud", 0) && it.made)
		fprintf(stderr, "PAPI's stand-in: %u event sets, all given back\n", it.made);
}

/* When the library is unloaded, or the program ends. */
static __attribute__((destructor)) void the_end(void)
{
	left_behind();
}

PUBLIC void PAPI_shutdown(void)
{
	if (!it.loaded || !pthread_equal(it.owner, pthread_self()))
		wrong("PAPI_shutdown by another thread than the one that loaded it");
	it.loaded = it.threaded = it.multiplex = false;
}

PUBLIC char *PAPI_strerror(int error)
{
	switch (error) {
	case PAPI_ECNFLCT:
		return "Event exists, but cannot be counted due to hardware resource limits";
	case PAPI_EPERM:
		return "Permission level does not permit operation";
	default:
		return "An error of its stand-in";
	}
}

PUBLIC int PAPI_get_opt(int option, PAPI_option_t *value)
{
	if (option != PAPI_LIB_VERSION || value)
		wrong("PAPI_get_opt %d", option);
	return PAPI_VERSION;
}

/* ---- threads ---- */

PUBLIC int PAPI_thread_init(unsigned long (*id)(void))
{
	if (!it.loaded || it.threaded || id != pthread_self)
		wrong("PAPI_thread_init: %s",
		      it.loaded ? "again, or not with pthread_self" : "before PAPI_library_init");
	it.threaded = !told("threadless", 0);
	return it.threaded ? PAPI_OK : PAPI_EINVAL;
}

PUBLIC int PAPI_multiplex_init(void)
{
	if (!it.threaded)
		wrong("PAPI_multiplex_init before PAPI_thread_init");
	it.multiplex = true;
	return PAPI_OK;
}

/* With the lock. 0: who loaded it; -1: nobody that is known. */
static int find_thread(void)
{
	if (pthread_equal(it.owner, pthread_self()))
		return 0;
	for (int i = 1; i < MOST_THREADS; i++)
		if (it.thread[i].used && pthread_equal(it.thread[i].id, pthread_self()))
			return i;
	return -1;
}

PUBLIC int PAPI_register_thread(void)
{
	int i = 1;

	pthread_mutex_lock(&it.lock);
	if (!it.threaded)
		wrong("PAPI_register_thread before PAPI_thread_init");
	if (find_thread() < 0) {
		while (i < MOST_THREADS - 1 && it.thread[i].used)
			i++;
		it.thread[i].used = true;
		it.thread[i].id = pthread_self();
	}
	pthread_mutex_unlock(&it.lock);
	return PAPI_OK;
}

PUBLIC int PAPI_unregister_thread(void)
{
	int thread;

	pthread_mutex_lock(&it.lock);
	thread = find_thread();
	if (thread <= 0)
		wrong("PAPI_unregister_thread of one that is not registered, or that loaded it");
	for (unsigned i = 0; i < MOST_SETS; i++)
		if (it.set[i].used && it.set[i].who == (unsigned)thread)
			wrong("PAPI_unregister_thread of one that has event sets");
	it.thread[thread].used = false;
	pthread_mutex_unlock(&it.lock);
	return PAPI_OK;
}

/* ---- components and names ---- */

PUBLIC int PAPI_num_components(void)
{
	return COMPONENTS;
}

PUBLIC const PAPI_component_info_t *PAPI_get_component_info(int component)
{
	return component >= 0 && component < COMPONENTS ? &components[component] : NULL;
}

static bool is_preset(unsigned row)
{
	return !strncmp(rows[row].name, "PAPI_", 5);
}

static int code_of(unsigned row)
{
	return (int)(row | (is_preset(row) ? PAPI_PRESET_MASK : PAPI_NATIVE_MASK));
}

static int row_of(int code)
{
	unsigned row = (unsigned)code & ~(unsigned)(PAPI_PRESET_MASK | PAPI_NATIVE_MASK);

	return row < LENGTH(rows) && code_of(row) == code ? (int)row : -1;
}

/* Names of a disabled component are not even known, other than presets. */
static bool is_known(unsigned row)
{
	return is_preset(row) || !components[rows[row].component].disabled;
}

PUBLIC int PAPI_event_name_to_code(const char *name, int *code)
{
	if (!it.loaded)
		wrong("PAPI_event_name_to_code before PAPI_library_init");
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		if (strcmp(rows[i].name, name) || !is_known(i))
			continue;
		*code = code_of(i);
		return PAPI_OK;
	}
	return PAPI_ENOEVNT;
}

PUBLIC int PAPI_event_code_to_name(int code, char *name)
{
	if (row_of(code) < 0)
		return PAPI_ENOEVNT;
	strcpy(name, rows[row_of(code)].name);
	return PAPI_OK;
}

PUBLIC int PAPI_query_event(int code)
{
	int row = row_of(code);

	return row < 0 || components[rows[row].component].disabled ||
			       is_told("absent", rows[row].name)
		       ? PAPI_ENOEVNT
		       : PAPI_OK;
}

PUBLIC int PAPI_get_event_component(int code)
{
	return row_of(code) < 0 ? PAPI_ENOEVNT : rows[row_of(code)].component;
}

PUBLIC int PAPI_get_event_info(int code, PAPI_event_info_t *info)
{
	int row = row_of(code);

	if (row < 0)
		return PAPI_ENOEVNT;
	*info = (PAPI_event_info_t){ .event_code = (unsigned)code,
				     .component_index = rows[row].component };
	snprintf(info->symbol, sizeof(info->symbol), "%s", rows[row].name);
	snprintf(info->units, sizeof(info->units), "%s", rows[row].units);
	if (rows[row].level) {
		info->data_type = PAPI_DATATYPE_FP64;
		info->value_type = PAPI_VALUETYPE_ABSOLUTE;
	}
	return PAPI_OK;
}

/* Goes on to the next row that is wanted: presets of all, native events of one component. */
static int enumerate(int *code, int modifier, int component)
{
	bool presets = (unsigned)*code & PAPI_PRESET_MASK & ~(unsigned)PAPI_NATIVE_MASK;
	unsigned row = modifier == PAPI_ENUM_FIRST ? 0 : (unsigned)row_of(*code) + 1;

	for (; row < LENGTH(rows); row++) {
		if (is_preset(row) != presets || !is_known(row) ||
		    (!presets && rows[row].component != component))
			continue;
		*code = code_of(row);
		return PAPI_OK;
	}
	return PAPI_ENOEVNT;
}

PUBLIC int PAPI_enum_event(int *code, int modifier)
{
	return enumerate(code, modifier, CPU);
}

PUBLIC int PAPI_enum_cmp_event(int *code, int modifier, int component)
{
	return enumerate(code, modifier, component);
}

/* ---- event sets ---- */

static struct set *own(int number, const char *call)
{
	if (number < 0 || number >= MOST_SETS || !it.set[number].used)
		wrong("%s: no such event set", call);
	if (!pthread_equal(it.set[number].owner, pthread_self()))
		wrong("%s: the event set is another thread's", call);
	return &it.set[number];
}

PUBLIC int PAPI_create_eventset(int *number)
{
	int who, i = 0;

	if (*number != PAPI_NULL)
		wrong("PAPI_create_eventset: not PAPI_NULL");
	pthread_mutex_lock(&it.lock);
	who = find_thread();
	if (!it.threaded || who < 0)
		wrong("PAPI_create_eventset on a thread that is not registered");
	while (i < MOST_SETS - 1 && it.set[i].used)
		i++;
	it.set[i] = (struct set){ .used = true,
				  .owner = pthread_self(),
				  .component = -1,
				  .cpu = -1,
				  .who = (unsigned)who };
	it.made++;
	pthread_mutex_unlock(&it.lock);
	*number = i;
	return PAPI_OK;
}

PUBLIC int PAPI_assign_eventset_component(int number, int component)
{
	struct set *s = own(number, "PAPI_assign_eventset_component");

	if (s->n || s->component >= 0)
		wrong("PAPI_assign_eventset_component: too late");
	if (component < 0 || component >= COMPONENTS || components[component].disabled)
		return PAPI_ENOCMP;
	s->component = component;
	return PAPI_OK;
}

PUBLIC int PAPI_set_multiplex(int number)
{
	struct set *s = own(number, "PAPI_set_multiplex");

	if (!it.multiplex || s->component != CPU || s->n)
		wrong("PAPI_set_multiplex: without PAPI_multiplex_init, component, or too late");
	s->multiplex = true;
	return PAPI_OK;
}

PUBLIC int PAPI_set_opt(int option, PAPI_option_t *value)
{
	struct set *s;

	if (option != PAPI_CPU_ATTACH)
		return PAPI_OK;
	s = own(value->cpu.eventset, "PAPI_set_opt");
	if (s->component != UNCORE || s->n)
		wrong("PAPI_CPU_ATTACH: of a component without CPUs, or too late");
	s->cpu = (int)value->cpu.cpu_num;
	s->attached = true;
	return PAPI_OK;
}

static unsigned room(void)
{
	const char *text = told("counters", 0);

	return text ? (unsigned)strtoul(text, NULL, 10) : 4;
}

PUBLIC int PAPI_add_event(int number, int code)
{
	struct set *s = own(number, "PAPI_add_event");
	int row = row_of(code);

	if (row < 0 || PAPI_query_event(code) != PAPI_OK)
		return PAPI_ENOEVNT;
	if (s->running || s->component != rows[row].component)
		wrong("PAPI_add_event: to a set that runs, or of another component");
	if (s->component == UNCORE && !s->attached && !strstr(rows[row].name, "cpu="))
		wrong("PAPI_add_event: %s without a CPU", rows[row].name);
	if (is_told("denied", rows[row].name))
		return PAPI_EPERM;
	if (is_told("wrong", rows[row].name))
		return PAPI_EBUG;
	if (is_told("files", rows[row].name)) {
		errno = EMFILE;
		return PAPI_ESYS;
	}
	if (is_told("late", rows[row].name) && s->who)
		return PAPI_ECNFLCT;
	if (is_told("scarce", rows[row].name) && s->who &&
	    __atomic_fetch_add(&it.asked, 1, __ATOMIC_RELAXED) % 4)
		return PAPI_ECNFLCT;
	if (s->n == MOST_EVENTS || (s->component == CPU && !s->multiplex && s->n >= room()))
		return PAPI_ECNFLCT;
	s->row[s->n++] = (unsigned)row;
	return PAPI_OK;
}

PUBLIC int PAPI_start(int number)
{
	struct set *s = own(number, "PAPI_start");

	if (s->running || !s->n)
		wrong("PAPI_start: it runs already, or is empty");
	s->running = true;
	s->reads = 0;
	return PAPI_OK;
}

enum { FIRST_TURN = 3, HIGH = 1000 }; /* readings */

static int give(struct set *s, long long *values)
{
	unsigned who = s->attached ? (unsigned)s->cpu : s->who;

	s->reads++;
	for (unsigned i = 0; i < s->n; i++) {
		const char *name = rows[s->row[i]].name;
		long long times = s->reads;

		if (is_told("broken", name) && s->reads > 1)
			return PAPI_ESYS;
		if (is_told("falls", name))
			times = s->reads <= FIRST_TURN ? 0 : HIGH - times;
		values[i] = is_told("zero", name) ? 0 : times * (1000 * (s->row[i] + 1) + who);
	}
	return PAPI_OK;
}

PUBLIC int PAPI_read(int number, long long *values)
{
	struct set *s = own(number, "PAPI_read");

	if (!s->running)
		wrong("PAPI_read: it does not run");
	return give(s, values);
}

PUBLIC int PAPI_stop(int number, long long *values)
{
	struct set *s = own(number, "PAPI_stop");

	if (!s->running)
		wrong("PAPI_stop: it does not run");
	s->running = false;
	return give(s, values);
}

PUBLIC int PAPI_cleanup_eventset(int number)
{
	struct set *s = own(number, "PAPI_cleanup_eventset");

	if (s->running)
		wrong("PAPI_cleanup_eventset: it runs");
	s->n = 0;
	return PAPI_OK;
}

PUBLIC int PAPI_destroy_eventset(int *number)
{
	struct set *s = own(*number, "PAPI_destroy_eventset");

	if (s->running || s->n)
		wrong("PAPI_destroy_eventset: it runs, or has events");
	pthread_mutex_lock(&it.lock);
	s->used = false;
	pthread_mutex_unlock(&it.lock);
	*number = PAPI_NULL;
	return PAPI_OK;
}

#endif
