/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/sysfs.h"
#include "bench/atomics/splits.h"

#ifdef __x86_64__
/* Whether a list of words, divided by blanks, has this one. */
static bool has_word(const char *list, const char *word)
{
	const size_t length = strlen(word);

	for (const char *at = list; at && (at = strstr(at, word)); at += length)
		if ((at == list || strchr(" \t", at[-1])) && strchr(" \t\n", at[length]))
			return true;
	return false;
}

/* With both, a split lock of a process ends it by SIGBUS; without the flag the CPU can't tell. */
static bool is_fatal(const char *root)
{
	char *cpu = sysfs_text(root, "/proc/cpuinfo"), *flags = field_text(cpu, "flags"),
	     *given = sysfs_line(root, "/proc/cmdline");
	const bool fatal =
		(has_word(flags, "split_lock_detect") || has_word(flags, "bus_lock_detect")) &&
		has_word(given, "split_lock_detect=fatal");

	free(cpu);
	free(flags);
	free(given);
	return fatal;
}
#endif

const char *splits_refused(const char *root, bool across)
{
#ifdef __x86_64__
	if (across && is_fatal(root))
		return "a split lock - an atomic instruction on two lines - would end the process "
		       "by SIGBUS: this kernel was started with split_lock_detect=fatal";
	return NULL;
#else
	(void)root, (void)across;
	return "on this architecture unaligned atomic accesses fault";
#endif
}
