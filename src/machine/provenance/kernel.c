/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/provenance/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "base/sysfs.h"
#include "machine/provenance/environment.h"
#include "machine/provenance/sources.h"

/* Hides arguments that may be secret: a boot loader may pass a password. */
static json_t *read_command_line(const char *root, const char *path, int64_t scale)
{
	char *line = sysfs_line(root, "%s", path), *rest = line, *word, *shown, *end;

	(void)scale;
	shown = line ? calloc(strlen(line) + 1, 8) : NULL;
	for (end = shown; shown && (word = strsep(&rest, " "));) {
		size_t name = strcspn(word, "=");

		if (end != shown)
			*end++ = ' ';
		end = word[name] && environment_is_secret(word, name)
			      ? stpcpy(stpncpy(end, word, name), "=<hidden>")
			      : stpcpy(end, word);
	}
	free(line);
	return source_text(shown);
}

json_t *provenance_kernel(const char *root)
{
	static const struct source sources[] = {
		{ "release", "/proc/sys/kernel/osrelease", source_line, 0 },
		{ "version", "/proc/sys/kernel/version", source_line, 0 },
		{ "command_line", "/proc/cmdline", read_command_line, 0 },
		{ 0 },
	};
	json_t *kernel = json_object();

	source_put_all(kernel, root, sources);
	return kernel;
}
