/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of an MPI job. Only this folder uses MPI; all others use struct ranks. */
#ifndef LOCUS_CLUSTER_H
#define LOCUS_CLUSTER_H

#include "benchmark.h"

/*
 * Initialises MPI, and finalises it at exit. To be called by the main thread, which alone may call
 * the functions of the struct. If a rank is lost or a call fails, MPI and the launcher end all
 * ranks. NULL after a message.
 */
const struct ranks *cluster_open(int *argc, char ***argv);

/* 0 if all ranks have the same arguments; else an exit status, after a message by rank 0. */
int cluster_same_arguments(const struct ranks *, int argc, char **argv);

/* --- exchange.c: a message from and one to each other rank --- */

/* To be called once, after MPI_Init(): which rank this is, and how many there are. */
void exchange_open(unsigned own, unsigned all);

/* As begin(), finish() and progress() of struct ranks. */
void *exchange_begin(const struct piece *out, struct piece *in);
void exchange_finish(void *exchange);
void exchange_progress(void);

#endif
