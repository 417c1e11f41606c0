/* SPDX-License-Identifier: Apache-2.0 */
/* What may stand in the place of a word of the command line, for the completion of shells. */
#ifndef LOCUS_COMPLETE_H
#define LOCUS_COMPLETE_H

#include <stdio.h>

#include "commands/command.h"

/*
 * n words stand behind the program's name; the last is typed in part, or empty. Prints a line for
 * each word that it may become: "WORD\tWHAT IT IS", without the tab where there is nothing to say;
 * ":files" stands for any file.
 */
void complete(const struct program *, unsigned n, char **word, FILE *);

#endif
