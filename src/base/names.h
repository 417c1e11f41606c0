/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of names, and names that users mistype. */
#ifndef LOCUS_NAMES_H
#define LOCUS_NAMES_H

#include <stddef.h>

/*
 * Index of the name that was probably meant: one that begins with `typed`, else the one with the
 * smallest edit distance (insert, delete, replace, swap neighbours), if that is small for the
 * length. Case does not matter. -1: none is near.
 */
int names_nearest(const char *typed, const char *const *names, size_t n);

/*
 * Copies the word at *list, up to the next comma, to `word` (cut at size - 1), and moves *list past
 * it. Returns `word`; NULL at the end.
 */
char *names_next(const char **list, char *word, size_t size);

#endif
