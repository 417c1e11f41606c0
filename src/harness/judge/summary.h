/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of a trial: its status with the reasons, its numbers with their intervals. Tables
 * print this object, records hold it.
 */
#ifndef LOCUS_SUMMARY_H
#define LOCUS_SUMMARY_H

#include <jansson.h>

#include "harness/sample/series.h"
#include "harness/judge/verdict.h"

/*
 * The trial line of doc/schema/README.md, without what record_line() adds; its status goes to
 * *status. `group`: the trials sampled in turn, this one included; `at`: s from the run's start to
 * that of the group.
 */
json_t *summary(const struct series *, const struct series *group, unsigned n, double at,
		enum status *);

#endif
