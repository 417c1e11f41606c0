/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an author's table keeps the contract of benchmark.h. */
#ifndef LOCUS_CONTRACT_H
#define LOCUS_CONTRACT_H

#include "benchmark.h"

/*
 * The first fault of the table, a sentence that names benchmark, row and the expected content; to
 * be freed. NULL: none. Takes microseconds; calls no function of the benchmark.
 */
char *contract_fault(const struct benchmark *);

/* Checks a list of benchmarks that ends with NULL. False, after a message, at the first fault. */
bool contract_check(const struct benchmark *const *);

#endif
