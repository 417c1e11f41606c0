/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "count/papi_library.h"
#include "count/perf_open.h"

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

#else

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
	 * The version of papi.h; the name that development packages install; other versions, which
	 * the message then names. The first one found decides.
	 */
	const char *const names[] = { own,
				      "libpapi.so",
				      "libpapi.so.7.2",
				      "libpapi.so.7.1",
				      "libpapi.so.7.0",
				      "libpapi.so.6.0" },
			  *const *name = names;
	struct papi *p;

	if (perf_owned(why)) /* PAPI_library_init() counts already, to probe the PMU */
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

#endif
