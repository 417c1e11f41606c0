/* SPDX-License-Identifier: Apache-2.0 */
/* What a suite ends with: the card of the machine, made of the record that it has just written. */
#ifndef LOCUS_CARD_H
#define LOCUS_CARD_H

#include "harness/ask/options.h"

enum { CARD_PATH = 64 };

/*
 * Before the run. Where its record is kept nowhere, and is small, gives it a file of its own that
 * goes with this process: o->scratch, which is `path` then. Returns its descriptor, or -1.
 */
int card_prepare(struct options *, char path[CARD_PATH]);

/*
 * After it, with the status that it ended with. Prints the card where Python is there, else what
 * makes it elsewhere; nothing where nobody reads the table. Closes the file.
 */
void card_print(const struct options *, int file, int status);

#endif
