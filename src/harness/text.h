/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_TEXT_H
#define LOCUS_TEXT_H

/* A text to be freed, made as printf does. NULL when memory is short. */
char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
