/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/doctor/likwid.h"
#include "count/likwid.h"

#if defined(__x86_64__)
enum { BY_REGISTERS = true };
#else
enum { BY_REGISTERS = false };
#endif

static int may(const char *root, const char *file, int mode)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", root, file);
	return access(path, mode);
}

/* LIKWID's daemon, which reads the registers for users who may not. */
static bool has_daemon(const char *root)
{
	static const char *const daemons[] = { "/usr/sbin/likwid-accessD",
					       "/usr/local/sbin/likwid-accessD",
					       "/usr/bin/likwid-accessD" };

	for (size_t i = 0; i < sizeof(daemons) / sizeof(*daemons); i++)
		if (!may(root, daemons[i], X_OK))
			return true;
	return false;
}

static void judge_registers(const char *library, const char *root, struct finding *f)
{
	const char *const file = "/dev/cpu/0/msr";

	if (!may(root, file, R_OK | W_OK)) {
		finding_set(f, FINDING_GOOD, "%s; we may read %s", library, file);
	} else if (errno == ENOENT) {
		finding_set(f, FINDING_MISSING,
			    "%s, but no %s, which likwid-perfctr needs unless built for perf_event",
			    library, file);
		finding_mend(f, "sudo modprobe msr");
	} else if (has_daemon(root)) {
		finding_set(f, FINDING_GOOD, "%s; likwid-accessD reads %s", library, file);
	} else {
		finding_set(f, FINDING_MISSING, "%s, but we may use neither %s nor likwid-accessD",
			    library, file);
		finding_mend(f, "sudo chown root /usr/sbin/likwid-accessD && sudo chmod u+s "
				"/usr/sbin/likwid-accessD");
	}
}

void judge_likwid(const struct likwid_found *l, const char *root, struct finding *f)
{
	if (!l->library) {
		finding_set(f, FINDING_MISSING, "%s", l->why);
		finding_mend(f, "%s",
			     l->registers
				     ? "sudo apt-get install likwid # Fedora: likwid, Spack: likwid"
				     : "spack install likwid # it counts by perf_event; Debian and "
				       "Ubuntu have LIKWID for x86 alone");
	} else if (l->registers) {
		judge_registers(l->library, root, f);
	} else {
		finding_set(f, FINDING_GOOD, "%s; likwid-perfctr counts by perf_event_open",
			    l->library);
	}
}

void check_likwid(const struct patient *p, struct finding *f)
{
	char *why, *library = likwid_available(&why);
	const struct likwid_found found = { library, why ? why : strerror(ENOMEM), BY_REGISTERS };

	judge_likwid(&found, p->root, f);
	free(library);
	free(why);
}
