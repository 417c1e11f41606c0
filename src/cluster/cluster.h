/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of an MPI job. Only this folder knows of MPI; everybody else sees struct ranks. */
#ifndef LOCUS_CLUSTER_H
#define LOCUS_CLUSTER_H

#include "benchmark.h"

/*
 * Begins MPI, and lets it end with the process, however that exits. The calling thread, which has
 * to be the main one, is the only one that may call what is in the struct. A rank that is lost, or
 * a call that fails, ends them all: MPI and what started the ranks see to that. NULL after a
 * message.
 */
const struct ranks *cluster_open(int *argc, char ***argv);

/*
 * 0 where all ranks were given the same arguments; else a status to exit with, after a message of
 * rank 0's.
 */
int cluster_same_arguments(const struct ranks *, int argc, char **argv);

#endif
