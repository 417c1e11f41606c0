/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count/provider.h"

#ifndef HAVE_PAPI

static void *papi_open(bool multiplex, struct reason *why)
{
	(void)multiplex;
	because(why, "built without PAPI");
	remedied(why, "./configure --with-papi # after: sudo apt-get install libpapi-dev; Fedora: "
		      "papi-devel, Spack: papi");
	return NULL;
}

/* Without open() succeeding, nothing else is called. */
const struct provider papi = { .source = "papi", .open = papi_open };

void papi_names(void *library, void (*each)(void *, const char *), void *argument)
{
	(void)library, (void)each, (void)argument;
}

const char *papi_version(const void *library)
{
	(void)library;
	return NULL;
}

unsigned papi_presets(void *library, struct reason *why)
{
	(void)library, (void)why;
	return 0;
}

#else

#include <papi.h>

#ifndef PAPI_EDELAY_INIT /* before 7.0 no component waited with its start */
#define PAPI_EDELAY_INIT 0
#endif

/* ---- the library ---- */

#define CALLS(CALL)                     \
	CALL(library_init)              \
	CALL(shutdown)                  \
	CALL(get_opt)                   \
	CALL(set_opt)                   \
	CALL(strerror)                  \
	CALL(thread_init)               \
	CALL(multiplex_init)            \
	CALL(register_thread)           \
	CALL(unregister_thread)         \
	CALL(num_components)            \
	CALL(get_component_info)        \
	CALL(get_event_component)       \
	CALL(event_name_to_code)        \
	CALL(event_code_to_name)        \
	CALL(query_event)               \
	CALL(get_event_info)            \
	CALL(enum_event)                \
	CALL(enum_cmp_event)            \
	CALL(create_eventset)           \
	CALL(assign_eventset_component) \
	CALL(set_multiplex)             \
	CALL(add_event)                 \
	CALL(start)                     \
	CALL(read)                      \
	CALL(stop)                      \
	CALL(cleanup_eventset)          \
	CALL(destroy_eventset)

struct papi {
	void *file;
	pthread_t owner; /* who loaded it: known to it until the end */
	bool multiplex;
	char version[32];
#define CALL(name) __typeof__(PAPI_##name) *(name);
	CALLS(CALL)
#undef CALL
};

static bool load_calls(struct papi *p)
{
#define CALL(name)                                                    \
	p->name = (__typeof__(p->name))dlsym(p->file, "PAPI_" #name); \
	if (!p->name)                                                 \
		return false;
	CALLS(CALL)
#undef CALL
	return true;
}

static void version_text(int version, char *text, size_t size)
{
	snprintf(text, size, "%d.%d.%d.%d", PAPI_VERSION_MAJOR(version),
		 PAPI_VERSION_MINOR(version), PAPI_VERSION_REVISION(version),
		 PAPI_VERSION_INCREMENT(version));
}

/* Layouts of structures change from minor to minor version: it has to be the one of the header. */
static bool start_library(struct papi *p, const char *name, struct reason *why)
{
	int version = load_calls(p) ? p->library_init(PAPI_VER_CURRENT) : PAPI_EINVAL;

	if (version == PAPI_VER_CURRENT) {
		version_text(p->get_opt(PAPI_LIB_VERSION, NULL), p->version, sizeof(p->version));
		return true;
	}
	if (version >= 0 || version == PAPI_EINVAL) {
		because(why,
			"%s is there, but of another version than the papi.h that locus was built "
			"with: %d.%d",
			name, PAPI_VERSION_MAJOR(PAPI_VERSION), PAPI_VERSION_MINOR(PAPI_VERSION));
		remedied(why,
			 "./configure --with-papi && make # with the papi.h that belongs to it");
	} else {
		because(why, "%s does not start: %.100s", name, p->strerror(version));
		remedied(why, "papi_component_avail # says more");
	}
	dlclose(p->file);
	return false;
}

static void *papi_open(bool multiplex, struct reason *why)
{
	char own[32];
	/*
	 * Its own; who builds programs has the second; the others, so that it can be said what is
	 * there. The first that is found decides.
	 */
	const char *const names[] = { own,
				      "libpapi.so",
				      "libpapi.so.7.2",
				      "libpapi.so.7.1",
				      "libpapi.so.7.0",
				      "libpapi.so.6.0" },
			  *const *name = names;
	struct papi *p;

	if (hardware_owned(why)) /* it would count in its very beginning, to find out what it can */
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p) {
		because(why, "no memory");
		return NULL;
	}
	snprintf(own, sizeof(own), "libpapi.so.%d.%d", PAPI_VERSION_MAJOR(PAPI_VERSION),
		 PAPI_VERSION_MINOR(PAPI_VERSION));
	because(why, "%s is not here", own);
	remedied(why,
		 "sudo apt-get install libpapi%d.%d # Fedora: papi, Spack: papi; or set "
		 "LD_LIBRARY_PATH to where it is",
		 PAPI_VERSION_MAJOR(PAPI_VERSION), PAPI_VERSION_MINOR(PAPI_VERSION));
	/* Not unloaded again: it keeps memory for its next start. */
	while (name < names + sizeof(names) / sizeof(names[0]) &&
	       !(p->file = dlopen(*name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)))
		name++;
	if (!p->file || !start_library(p, *name, why)) {
		free(p);
		return NULL;
	}
	p->owner = pthread_self();
	p->multiplex = multiplex;
	if (p->thread_init(pthread_self) == PAPI_OK &&
	    (!multiplex || p->multiplex_init() == PAPI_OK))
		return p;
	because(why, "PAPI %s can't be used by threads%s", p->version,
		multiplex ? ", or not multiplex" : "");
	remedied(why, "papi_component_avail # says more");
	papi.close(p);
	return NULL;
}

static void papi_close(void *library)
{
	struct papi *p = library;

	p->shutdown();
	dlclose(p->file);
	free(p);
}

const char *papi_version(const void *library)
{
	return ((const struct papi *)library)->version;
}

/* ---- names ---- */

/* Why a component does not count: what it says itself, and what stands in its way. */
static void disabled(const PAPI_component_info_t *c, struct reason *why)
{
	struct reason hardware;

	if (c->CmpIdx || !hardware_why(&hardware)) {
		because(why, "PAPI's component %.32s is off: %.200s", c->name, c->disabled_reason);
		/* It keeps to what users may, whoever asks. */
		remedied(why, "%s",
			 strstr(c->disabled_reason, "paranoid")
				 ? "sudo sysctl kernel.perf_event_paranoid=1"
				 : "papi_component_avail # says more; PAPI may be older than this "
				   "machine");
		return;
	}
	because(why, "PAPI's component %.32s is off (%.100s): %.160s", c->name, c->disabled_reason,
		hardware.what);
	remedied(why, "%s", hardware.remedy);
}

static bool refuse(struct papi *p, const char *name, int code, struct reason *why)
{
	int component = strncmp(name, "PAPI_", 5) ? p->get_event_component(code) : 0;
	const PAPI_component_info_t *c = component >= 0 ? p->get_component_info(component) : NULL;

	if (c && c->disabled && c->disabled != PAPI_EDELAY_INIT) {
		disabled(c, why);
		return true;
	}
	if (p->query_event(code) == PAPI_OK)
		return false;
	because(why, "PAPI %s knows no way to count it on this processor", p->version);
	remedied(why, "papi_avail -a # what there is instead");
	return true;
}

/*
 * Whose native event it would be: "rapl:::..." says so itself, all others are the processor's.
 * NULL: PAPI has no such component.
 */
static const PAPI_component_info_t *owner_of(struct papi *p, const char *name)
{
	const char *end = strstr(name, ":::");

	for (int i = 0; i < p->num_components(); i++) {
		const PAPI_component_info_t *c = p->get_component_info(i);

		if (!end ? !i
			 : !strncmp(c->short_name, name, (size_t)(end - name)) &&
				    !c->short_name[end - name])
			return c;
	}
	return NULL;
}

static void no_such_event(struct papi *p, const char *name, struct reason *why)
{
	const PAPI_component_info_t *c = owner_of(p, name);

	if (!c) {
		because(why, "PAPI %s was built without the component of this event", p->version);
		remedied(why, "papi_component_avail # those it has; a PAPI of your own: "
			      "./configure --with-components=...");
		/* its events are not even known by name */
	} else if (c->disabled && strstr(name, "::") && strncmp(name, "perf::", 6)) {
		disabled(c, why);
	} else {
		because(why, "PAPI %s knows no event of this name here", p->version);
		remedied(why, "papi_avail -a; papi_native_avail");
	}
}

static void find_unit(const PAPI_event_info_t *info, struct wanted *w)
{
	static const struct unit {
		const char *theirs, *unit;
		double factor;
	} units[] = {
		{ "nJ", "J", 1e-9 }, { "uJ", "J", 1e-6 }, { "mJ", "J", 1e-3 }, { "J", "J", 1 },
		{ "ns", "s", 1e-9 }, { "us", "s", 1e-6 }, { "ms", "s", 1e-3 }, { "s", "s", 1 },
		{ "B", "B", 1 },     { "bytes", "B", 1 },
	};

	for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(units[i].theirs, info->units))
			continue;
		w->event.unit = units[i].unit;
		w->factor = units[i].factor;
	}
	/* the kernel's, of which libpfm4 says in words only that its unit is 2^-32 J */
	if (!strncmp(w->event.name, "rapl::RAPL_ENERGY", 17)) {
		w->event.unit = "J";
		w->factor = ldexp(1, -32);
	}
}

/* The number behind a word, wherever in the name; -1: none. */
static int number_after(const char *name, const char *word)
{
	while ((name = strstr(name, word))) {
		char *end;
		long number;

		name += strlen(word);
		number = strtol(name, &end, 10);
		if (end > name)
			return (int)number;
	}
	return -1;
}

/* "rapl:::PACKAGE_ENERGY:PACKAGE1", "powercap:::ENERGY_UJ:ZONE1", "rapl::RAPL_ENERGY_PKG:cpu=8" */
static int package_named(const char *name)
{
	int package = number_after(name, ":PACKAGE"), cpu = number_after(name, ":cpu=");

	if (package < 0)
		package = number_after(name, ":ZONE");
	return cpu < 0 ? package : package_of(cpu);
}

static bool papi_find(void *library, struct wanted *w, struct reason *why)
{
	struct papi *p = library;
	const PAPI_component_info_t *c;
	PAPI_event_info_t info = { 0 };
	int code;

	if (p->multiplex && perf_hardware.find(NULL, w, why)) {
		because(why, "perf extrapolates it over the samples alone, and PAPI over what is "
			     "between them, too");
		return false;
	}
	if (p->event_name_to_code(w->event.name, &code) != PAPI_OK) {
		no_such_event(p, w->event.name, why);
		return false;
	}
	if (refuse(p, w->event.name, code, why))
		return false;
	if (p->get_event_info(code, &info) == PAPI_OK)
		find_unit(&info, w);
	if (info.value_type == PAPI_VALUETYPE_ABSOLUTE || info.data_type == PAPI_DATATYPE_FP64) {
		because(why, "it is a level%s%.16s, and not a count", *info.units ? " in " : "",
			info.units);
		return false;
	}
	w->type = (uint64_t)p->get_event_component(code);
	c = p->get_component_info((int)w->type);
	if (!c || !w->type || !strcmp(c->name, "perf_event"))
		return true;
	w->event.scope = PER_PACKAGE;
	w->package = package_named(w->event.name);
	if (w->package < 0)
		w->package = c->cpu ? EACH_PACKAGE : WHOLE_NODE;
	return true;
}

void papi_names(void *library, void (*each)(void *, const char *), void *argument)
{
	struct papi *p = library;
	char name[PAPI_HUGE_STR_LEN];
	int code = (int)PAPI_PRESET_MASK;

	for (int e = p->enum_event(&code, PAPI_ENUM_FIRST); e == PAPI_OK;
	     e = p->enum_event(&code, PAPI_ENUM_EVENTS))
		if (p->event_code_to_name(code, name) == PAPI_OK)
			each(argument, name);
	for (int component = 0; component < p->num_components(); component++) {
		code = (int)PAPI_NATIVE_MASK;
		for (int e = p->enum_cmp_event(&code, PAPI_ENUM_FIRST, component); e == PAPI_OK;
		     e = p->enum_cmp_event(&code, PAPI_ENUM_EVENTS, component))
			if (p->event_code_to_name(code, name) == PAPI_OK)
				each(argument, name);
	}
}

unsigned papi_presets(void *library, struct reason *why)
{
	struct papi *p = library;
	const PAPI_component_info_t *c = p->get_component_info(0);
	int code = (int)PAPI_PRESET_MASK;
	unsigned n = 0;

	if (c && c->disabled) {
		disabled(c, why);
		return 0;
	}
	for (int e = p->enum_event(&code, PAPI_ENUM_FIRST); e == PAPI_OK;
	     e = p->enum_event(&code, PAPI_ENUM_EVENTS))
		n += p->query_event(code) == PAPI_OK;
	if (n)
		return n;
	because(why, "PAPI has no preset for this processor");
	remedied(why, "papi_native_avail # what it counts by the maker's names");
	return 0;
}

/* ---- counting ---- */

#define NONE LLONG_MIN /* instead of a count */

/* The events of one component on one thread. */
struct part {
	int set; /* PAPI_NULL: not made */
	bool started, multiplexed;
	int error;	   /* of the last reading that failed */
	unsigned first, n; /* of the events below */
};

struct papi_set {
	struct papi *papi;
	unsigned n, parts;
	struct part *part;
	const struct wanted **wanted;
	long long *before, *now;
};

static void free_set(struct papi_set *s)
{
	free(s->part);
	free(s->wanted);
	free(s->before);
	free(s->now);
	free(s);
}

static struct papi_set *new_set(struct papi *p, unsigned n)
{
	struct papi_set *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->papi = p;
	s->n = n;
	s->part = calloc(n, sizeof(*s->part));
	s->wanted = calloc(n, sizeof(*s->wanted));
	s->before = calloc(n, sizeof(*s->before));
	s->now = calloc(n, sizeof(*s->now));
	if (s->part && s->wanted && s->before && s->now)
		return s;
	free_set(s);
	return NULL;
}

/* A set of events is of one component, and where it is tied to a CPU, all are. */
static bool belong_together(const struct wanted *a, const struct wanted *b)
{
	return a->type == b->type && a->event.scope == b->event.scope &&
	       (a->package == EACH_PACKAGE) == (b->package == EACH_PACKAGE);
}

static void divide(struct papi_set *s, struct wanted *const *w)
{
	unsigned placed = 0;

	for (unsigned i = 0; i < s->n; i++) {
		bool done = false;

		for (unsigned j = 0; j < i; j++)
			done |= belong_together(w[i], w[j]);
		if (done)
			continue;
		s->part[s->parts] = (struct part){ .set = PAPI_NULL, .first = placed };
		for (unsigned j = i; j < s->n; j++)
			if (belong_together(w[i], w[j]))
				s->wanted[placed++] = w[j];
		s->part[s->parts].n = placed - s->part[s->parts].first;
		s->parts++;
	}
}

/*
 * Counters of a package belong to no thread: they are asked for by a CPU of it, in all that it
 * does.
 */
static int attach(struct papi *p, int set, int cpu)
{
	PAPI_option_t at = { .cpu = { .eventset = set, .cpu_num = (unsigned)cpu } };
	PAPI_option_t whole = { .granularity = { .eventset = set, .granularity = PAPI_GRN_SYS } };
	PAPI_option_t all = { .domain = { .eventset = set, .domain = PAPI_DOM_ALL } };
	int error = p->set_opt(PAPI_CPU_ATTACH, &at);

	if (error != PAPI_OK)
		return error;
	/* Where a component does not know these, it has nothing to be told. */
	p->set_opt(PAPI_GRANUL, &whole);
	p->set_opt(PAPI_DOMAIN, &all);
	return PAPI_OK;
}

static int make(struct papi_set *s, struct part *part, int cpu, bool multiplex,
		const struct wanted **failed)
{
	struct papi *p = s->papi;
	const struct wanted *first = s->wanted[part->first];
	int error = p->create_eventset(&part->set), code;

	part->multiplexed = multiplex && first->event.scope == PER_THREAD;
	*failed = first;
	if (error == PAPI_OK)
		error = p->assign_eventset_component(part->set, (int)first->type);
	if (error == PAPI_OK && first->event.scope == PER_PACKAGE && first->package == EACH_PACKAGE)
		error = attach(p, part->set, cpu);
	if (error == PAPI_OK && part->multiplexed)
		error = p->set_multiplex(part->set);
	/* A native event's code is no longer its own once names of others were asked for. */
	for (unsigned i = 0; error == PAPI_OK && i < part->n; i++) {
		*failed = s->wanted[part->first + i];
		error = p->event_name_to_code((*failed)->event.name, &code);
		if (error == PAPI_OK)
			error = p->add_event(part->set, code);
	}
	if (error == PAPI_OK)
		error = p->start(part->set);
	part->started = error == PAPI_OK;
	/* Once, so that no sample pays for what a first reading sets up. */
	return part->started ? p->read(part->set, s->now + part->first) : error;
}

static void explain(const struct papi *p, const struct wanted *w, int error, int of_system,
		    struct reason *why)
{
	const PAPI_component_info_t *c = p->get_component_info((int)w->type);

	/* of which each PAPI makes another error of its own: ESYS, EINVAL, ECOUNT */
	if (too_few_files(of_system, why))
		return;
	if (error == PAPI_EPERM && w->event.scope == PER_PACKAGE) {
		uncore_why(why);
	} else if ((error == PAPI_EPERM || error == PAPI_ENOEVNT) && !w->type &&
		   hardware_why(why)) {
		/* PAPI may know a processor that this kernel, or the host, does not count on */
		return;
	} else if (error == PAPI_ECNFLCT || error == PAPI_ENOCNTR) {
		because(why, "no counter of the processor is free for it");
		remedied(why,
			 "sudo sysctl kernel.nmi_watchdog=0 # which takes one; or others count");
	} else {
		because(why, "PAPI: %.100s%s%.120s", p->strerror(error),
			c && *c->disabled_reason ? ": " : "", c ? c->disabled_reason : "");
		remedied(why, "papi_component_avail; papi_command_line %.100s # say more",
			 w->event.name);
	}
}

static void papi_stop(void *set)
{
	struct papi_set *s = set;
	struct papi *p = s->papi;

	for (unsigned i = 0; i < s->parts; i++) {
		struct part *part = &s->part[i];

		if (part->started)
			p->stop(part->set, s->now + part->first);
		if (part->set != PAPI_NULL)
			p->cleanup_eventset(part->set), p->destroy_eventset(&part->set);
	}
	if (!pthread_equal(p->owner, pthread_self()))
		p->unregister_thread();
	free_set(s);
}

static void *papi_start(void *library, struct wanted *const *w, unsigned n, int cpu, bool multiplex,
			const struct wanted **failed, struct reason *why)
{
	struct papi *p = library;
	struct papi_set *s = new_set(p, n);
	int error = PAPI_OK;

	*failed = w[0];
	if (!s) {
		because(why, "no memory");
		return NULL;
	}
	if (!pthread_equal(p->owner, pthread_self()))
		error = p->register_thread();
	divide(s, w);
	errno = 0;
	for (unsigned i = 0; error == PAPI_OK && i < s->parts; i++)
		error = make(s, &s->part[i], cpu, multiplex, failed);
	if (error == PAPI_OK) {
		*failed = NULL;
		return s;
	}
	explain(p, *failed, error, errno, why);
	papi_stop(s);
	return NULL;
}

/*
 * Of those that take turns, PAPI says 0 until the first turn has come, and then an estimate since
 * the start, which may fall.
 */
static void take(const struct papi_set *s, struct part *part, long long *to)
{
	int error = s->papi->read(part->set, to + part->first);

	if (error != PAPI_OK)
		part->error = error;
	for (unsigned k = part->first; k < part->first + part->n; k++)
		if (error != PAPI_OK || (part->multiplexed && !to[k]))
			to[k] = NONE;
}

static void papi_read(void *set, bool after, double *value)
{
	struct papi_set *s = set;

	for (unsigned i = 0; i < s->parts; i++)
		take(s, &s->part[i], after ? s->now : s->before);
	for (unsigned k = 0; after && k < s->n; k++) {
		const bool counted = s->before[k] != NONE && s->now[k] != NONE;

		value[s->wanted[k]->index] =
			counted ? (double)(s->now[k] - s->before[k]) * s->wanted[k]->factor : NAN;
	}
}

static bool papi_unread(const void *set, unsigned index, struct reason *why)
{
	const struct papi_set *s = set;

	for (const struct part *part = s->part; part < s->part + s->parts; part++) {
		for (unsigned k = part->first; k < part->first + part->n; k++) {
			if (s->wanted[k]->index != index || part->error == PAPI_OK)
				continue;
			because(why, "PAPI started it, and could not read it: %.200s",
				s->papi->strerror(part->error));
			return true;
		}
	}
	return false;
}

const struct provider papi = { "papi",	   papi_open, papi_close,  papi_find,
			       papi_start, papi_read, papi_unread, papi_stop };

#endif
