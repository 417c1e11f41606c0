/* SPDX-License-Identifier: Apache-2.0 */
/* Names that people mistype. */
#ifndef LOCUS_NAMES_H
#define LOCUS_NAMES_H

#include <stddef.h>

/*
 * Which of the n names is nearest to what was typed: the one it begins, else the one the fewest
 * edits away (insert, delete, replace, swap of neighbours), if these are few for its length. Small
 * letters are as large ones. -1: none is near.
 */
int nearest(const char *typed, const char *const *names, size_t n);

/*
 * The word at *list up to the next comma, copied into word (cut at size - 1), and *list moved past
 * it. NULL at the end.
 */
char *next_word(const char **list, char *word, size_t size);

#endif
