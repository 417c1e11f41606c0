/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of the record that are a run's: its header, and its end. */
#ifndef LOCUS_RUN_LINES_H
#define LOCUS_RUN_LINES_H

#include "harness/run/run.h"

void run_header(struct run *);
void run_end(struct run *, int status);

#endif
