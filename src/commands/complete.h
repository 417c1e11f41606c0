/* SPDX-License-Identifier: Apache-2.0 */
/* Completion for shells: what a word of the command line may become. */
#ifndef LOCUS_COMPLETE_H
#define LOCUS_COMPLETE_H

#include <stdio.h>

#include "commands/command.h"

/*
 * n words follow the program's name; the last is typed in part, or empty. Prints a line for each
 * word that it may become: "WORD\tWHAT IT IS", or "WORD" without an explanation; ":files" stands
 * for any file.
 */
void complete(const struct program *, unsigned n, char **word, FILE *);

#endif
