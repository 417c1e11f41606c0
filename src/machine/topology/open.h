/* SPDX-License-Identifier: Apache-2.0 */
/* The machine, read once (hwloc), and restricted to what is to be used of it. */
#ifndef LOCUS_OPEN_H
#define LOCUS_OPEN_H

struct machine;

/*
 * Variables of the environment that would make hwloc read another machine than this are removed.
 *
 * `description`: NULL for this machine, else a synthetic description ("node:2 core:64 pu:2") or an
 * XML file. What the calling thread may run on bounds the CPUs of this machine. NULL with *error.
 * Sentences about errors here and below last until the thread's next one.
 */
struct machine *machine_open(const char *description, const char **error);
void machine_close(struct machine *);

/*
 * Restricts the machine to the CPUs of a list ("0,2-5,8-14:2"), as a cpuset would; "close",
 * "spread" and "float" leave it as it is. -1 with *why where `bind` is neither, or names CPUs that
 * are not among the machine's.
 */
int machine_restrict(struct machine *, const char *bind, const char **why);

/* Tells on stderr which variables were ignored; nothing where none was. */
void topology_warn(const struct machine *);

#endif
