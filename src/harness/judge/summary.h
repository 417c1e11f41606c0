/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said of a trial: its status with the reasons, its numbers with their intervals. Tables
 * print this object, records hold it.
 */
#ifndef LOCUS_SUMMARY_H
#define LOCUS_SUMMARY_H

#include <jansson.h>

#include "harness/sample/series.h"
#include "harness/judge/verdict.h"

/*
 * The trial line of doc/schema/README.md, less what record_line() adds; the status in *status.
 * `group`: the trials sampled in turn, itself among them; it began `at` s of the run.
 */
json_t *summary(const struct series *, const struct series *group, unsigned n, double at,
		enum status *);

#endif
