/* SPDX-License-Identifier: Apache-2.0 */
/* PAPI's library, and its events by name. */
#include "count/papi.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "count/perf.h"

#ifndef HAVE_PAPI

void *papi_open(bool multiplex, struct reason *why)
{
	(void)multiplex;
	reason_set(why, "built without PAPI");
	reason_set_remedy(
		why, "./configure --with-papi # after: sudo apt-get install libpapi-dev; Fedora: "
		     "papi-devel, Spack: papi");
	return NULL;
}

unsigned papi_presets(char version[32], struct reason *why)
{
	*version = '\0';
	papi_open(false, why);
	return 0;
}

#else

#ifndef PAPI_EDELAY_INIT /* before 7.0 no component delayed its initialisation */
#define PAPI_EDELAY_INIT 0
#endif

static bool load_calls(struct papi *p)
{
#define CALL(name)                                                    \
	p->name = (__typeof__(p->name))dlsym(p->file, "PAPI_" #name); \
	if (!p->name)                                                 \
		return false;
	PAPI_CALLS(CALL)
#undef CALL
	return true;
}

static void version_text(int version, char *text, size_t size)
{
	snprintf(text, size, "%d.%d.%d.%d", PAPI_VERSION_MAJOR(version),
		 PAPI_VERSION_MINOR(version), PAPI_VERSION_REVISION(version),
		 PAPI_VERSION_INCREMENT(version));
}

/* Structures differ between minor versions: the library's must be the header's. */
static bool start_library(struct papi *p, const char *name, struct reason *why)
{
	int version = load_calls(p) ? p->library_init(PAPI_VER_CURRENT) : PAPI_EINVAL;

	if (version == PAPI_VER_CURRENT) {
		version_text(p->get_opt(PAPI_LIB_VERSION, NULL), p->version, sizeof(p->version));
		return true;
	}
	if (version >= 0 || version == PAPI_EINVAL) {
		reason_set(
			why,
			"%s has another version than the papi.h that locus was built with: %d.%d",
			name, PAPI_VERSION_MAJOR(PAPI_VERSION), PAPI_VERSION_MINOR(PAPI_VERSION));
		reason_set_remedy(why, "./configure --with-papi && make # with its own papi.h");
	} else {
		reason_set(why, "%s does not start: %.100s", name, p->strerror(version));
		reason_set_remedy(why, "papi_component_avail # for details");
	}
	dlclose(p->file);
	return false;
}

void *papi_open(bool multiplex, struct reason *why)
{
	char own[32];
	/*
	 * The version of papi.h; the name that development packages install; other versions, for
	 * the message. The first one found decides.
	 */
	const char *const names[] = { own,
				      "libpapi.so",
				      "libpapi.so.7.2",
				      "libpapi.so.7.1",
				      "libpapi.so.7.0",
				      "libpapi.so.6.0" },
			  *const *name = names;
	struct papi *p;

	if (perf_owned(why)) /* PAPI_library_init() already counts, to probe the PMU */
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p) {
		reason_set(why, "no memory");
		return NULL;
	}
	snprintf(own, sizeof(own), "libpapi.so.%d.%d", PAPI_VERSION_MAJOR(PAPI_VERSION),
		 PAPI_VERSION_MINOR(PAPI_VERSION));
	reason_set(why, "%s not found", own);
	reason_set_remedy(why,
			  "sudo apt-get install libpapi%d.%d # Fedora: papi, Spack: papi; or set "
			  "LD_LIBRARY_PATH to where it is",
			  PAPI_VERSION_MAJOR(PAPI_VERSION), PAPI_VERSION_MINOR(PAPI_VERSION));
	/* Never unloaded: PAPI keeps memory for its next start. */
	while (name < names + LENGTH(names) &&
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
	reason_set(why, "PAPI %s can't be used by threads%s", p->version,
		   multiplex ? ", or not multiplex" : "");
	reason_set_remedy(why, "papi_component_avail # for details");
	papi_close(p);
	return NULL;
}

void papi_close(void *library)
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

/* --- names --- */

/* Why a component is disabled: its own reason and the kernel's. */
static void disabled(const PAPI_component_info_t *c, struct reason *why)
{
	struct reason hardware;

	if (c->CmpIdx || !perf_no_hardware(&hardware)) {
		reason_set(why, "PAPI's component %.32s is off: %.200s", c->name,
			   c->disabled_reason);
		/* PAPI applies the limits of ordinary users to root, too. */
		reason_set_remedy(
			why, "%s",
			strstr(c->disabled_reason, "paranoid")
				? "sudo sysctl kernel.perf_event_paranoid=1"
				: "papi_component_avail # for details; this machine may be too new "
				  "for it");
		return;
	}
	reason_set(why, "PAPI's component %.32s is off (%.100s): %.160s", c->name,
		   c->disabled_reason, hardware.what);
	reason_set_remedy(why, "%s", hardware.remedy);
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
	reason_set(why, "PAPI %s can't count it on this processor", p->version);
	reason_set_remedy(why, "papi_avail -a # lists what it can");
	return true;
}

/*
 * The component of a native event: the one named in "rapl:::...", else the processor's. NULL: PAPI
 * has no such component.
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
		reason_set(why, "PAPI %s was built without the component of this event",
			   p->version);
		reason_set_remedy(why,
				  "papi_component_avail # lists its components; your own PAPI: "
				  "./configure --with-components=...");
	} else if (c->disabled && strstr(name, "::") && strncmp(name, "perf::", 6)) {
		/* events of a disabled component have no names */
		disabled(c, why);
	} else {
		reason_set(why, "PAPI %s knows no event of this name here", p->version);
		reason_set_remedy(why, "papi_avail -a; papi_native_avail");
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

	for (unsigned i = 0; i < LENGTH(units); i++) {
		if (strcmp(units[i].theirs, info->units))
			continue;
		w->event.unit = units[i].unit;
		w->factor = units[i].factor;
	}
	/* perf's unit is 2^-32 J, which libpfm4 says in its description only */
	if (!strncmp(w->event.name, "rapl::RAPL_ENERGY", 17)) {
		w->event.unit = "J";
		w->factor = ldexp(1, -32);
	}
}

/* The number after a word anywhere in the name; -1: none. */
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

bool papi_find(void *library, struct wanted *w, struct reason *why)
{
	struct papi *p = library;
	const PAPI_component_info_t *c;
	PAPI_event_info_t info = { 0 };
	int code;

	if (p->multiplex && perf_hardware_find(NULL, w, why)) {
		reason_set(why,
			   "left to perf: PAPI also extrapolates over the time between samples");
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
		reason_set(why, "it is a level%s%.16s, not a count", *info.units ? " in " : "",
			   info.units);
		return false;
	}
	w->type = (uint64_t)p->get_event_component(code);
	c = p->get_component_info((int)w->type);
	if (!c || !w->type || !strcmp(c->name, "perf_event"))
		return true;
	w->event.scope = SCOPE_PACKAGE;
	w->event.package = package_named(w->event.name);
	if (w->event.package < 0)
		w->event.package = c->cpu ? PACKAGE_EACH : PACKAGE_NODE;
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

static unsigned count_presets(struct papi *p, struct reason *why)
{
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
	reason_set(why, "PAPI has no preset for this processor");
	reason_set_remedy(why, "papi_native_avail # lists native events");
	return 0;
}

unsigned papi_presets(char version[32], struct reason *why)
{
	struct papi *p = papi_open(false, why);
	unsigned n;

	*version = '\0';
	if (!p)
		return 0;
	memcpy(version, p->version, sizeof(p->version));
	n = count_presets(p, why);
	papi_close(p);
	return n;
}

#endif
