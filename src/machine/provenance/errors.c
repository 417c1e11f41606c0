/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of hardware that the kernel has counted since it was started. */
#include "machine/provenance/provenance.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sysfs.h"
#include "machine/provenance/modules.h"
#include "machine/provenance/sources.h"

static int is_controller(const struct dirent *entry)
{
	return !strncmp(entry->d_name, "mc", 2) && entry->d_name[2] >= '0' &&
	       entry->d_name[2] <= '9';
}

/*
 * The sum of a file over all memory controllers. NULL with errno; ENOENT: there is no controller.
 */
static json_t *sum_of(const char *root, const char *file)
{
	char path[PATH_MAX];
	struct dirent **entries;
	uint64_t sum = 0, one;
	bool known = true;
	int n;

	snprintf(path, sizeof(path), "%s" MODULES_EDAC, root);
	n = scandir(path, &entries, is_controller, alphasort);
	for (int i = 0; i < n; i++) {
		known = known &&
			!sysfs_number(root, &one, MODULES_EDAC "/%s/%s", entries[i]->d_name, file);
		sum += known ? one : 0;
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	if (n == 0)
		errno = ENOENT;
	return n > 0 && known ? source_size(sum) : NULL;
}

/* The sum over CPUs of "MCE:  0  3   Machine check exceptions"; NULL: there is no such line. */
static json_t *machine_checks_of(const char *root)
{
	char *text = sysfs_text(root, "/proc/interrupts"), *end;
	const char *at = field_find(text, "MCE");
	const bool found = at;
	uint64_t sum = 0, one;

	for (; at; at = end) {
		one = strtoull(at, &end, 10);
		if (end == at)
			break;
		sum += one;
	}
	free(text);
	return found ? source_size(sum) : NULL;
}

static void put_sum(json_t *errors, const char *name, const char *root, const char *file)
{
	json_t *sum = sum_of(root, file);

	source_put_value(errors, name, sum, MODULES_EDAC ": %s", strerror(errno));
}

json_t *provenance_errors(const char *root)
{
	json_t *errors = json_object();

	put_sum(errors, "corrected", root, "ce_count");
	put_sum(errors, "uncorrected", root, "ue_count");
	source_put_value(errors, "machine_checks", machine_checks_of(root),
			 "/proc/interrupts has no line MCE");
	return errors;
}
