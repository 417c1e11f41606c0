/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a suite: the card of the machine, made from the record of this run. */
#ifndef LOCUS_CARD_H
#define LOCUS_CARD_H

#include "harness/ask/options.h"

enum { CARD_PATH = 64 };

/*
 * To be called before the run. If its record is not kept and is small, gives it a temporary file
 * that ends with this process: o->scratch, which is `path` then. Returns its descriptor, or -1.
 */
int card_prepare(struct options *, char path[CARD_PATH]);

/*
 * To be called after the run, with its exit status. Prints the card, or without Python the command
 * that makes it elsewhere; prints nothing if nobody reads the table. Closes the file.
 */
void card_print(const struct options *, int file, int status);

#endif
