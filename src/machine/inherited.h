/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inherited from the parent process: descriptors, signals, limits, environment. They are rarely
 * meant for locus, so the program first puts them in order.
 */
#ifndef LOCUS_INHERITED_H
#define LOCUS_INHERITED_H

#include <stdbool.h>

/*
 * To be called first, in main(), with its argv: may execute the program anew. The source lists what
 * it does. False after a message: the program cannot run in this environment.
 */
bool inherited_prepare(char **argv);

/* Whether standard output was closed: each write to it fails. */
bool inherited_no_output(void);

#endif
