/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the machine once (hwloc), and restricts it to the CPUs that may be used. */
#ifndef LOCUS_OPEN_H
#define LOCUS_OPEN_H

struct machine;

/*
 * `description`: NULL for this machine, else a synthetic description ("node:2 core:64 pu:2") or an
 * XML file. This machine has only the CPUs that the calling thread may run on, and environment
 * variables that make hwloc read another machine are removed. NULL with *error. Error texts of the
 * functions in this file are valid until the thread's next one.
 */
struct machine *machine_open(const char *description, const char **error);
void machine_close(struct machine *);

/*
 * Restricts the machine to the CPUs of a list ("0,2-5,8-14:2"), as a cpuset would; "close",
 * "spread" and "float" change nothing. -1 with *why if `bind` is none of these, or lists CPUs that
 * the machine does not have.
 */
int machine_restrict(struct machine *, const char *bind, const char **why);

/* Warns on stderr of ignored variables, if any. */
void topology_warn(const struct machine *);

#endif
