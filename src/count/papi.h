/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events counted by PAPI's low-level calls, in user space (PAPI's default). Its library is loaded
 * for the first event that may be PAPI's; its version must match the papi.h that locus was built
 * with.
 */
#ifndef LOCUS_PAPI_H
#define LOCUS_PAPI_H

#include "config.h"

#include <pthread.h>
#include <stdbool.h>
#ifdef HAVE_PAPI
#include <papi.h>
#endif

#include "count/provider.h"

extern const struct provider papi_provider;

/* A struct papi for all threads of this process; NULL with a reason. */
void *papi_open(bool multiplex, struct reason *);

#ifdef HAVE_PAPI

#define PAPI_CALLS(CALL)                \
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
	void *file;	 /* of dlopen() */
	pthread_t owner; /* the thread that loaded it: stays registered */
	bool multiplex;
	char version[32];
#define CALL(name) __typeof__(PAPI_##name) *(name);
	PAPI_CALLS(CALL)
#undef CALL
};

void papi_close(void *library);
const char *papi_version(const void *library); /* "7.0.0.0" */

/* find() and names() of provider.h; the library is a struct papi. */
bool papi_find(void *library, struct wanted *, struct reason *);
void papi_names(void *library, void (*each)(void *, const char *), void *argument);

#endif

/*
 * Loads PAPI, for its version and the number of presets that can be counted here. 0 with a reason;
 * the version is "" without a library.
 */
unsigned papi_presets(char version[32], struct reason *);

#endif
