/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of each batch of a trial, from which its statistics can be computed. */
#ifndef LOCUS_SUMMARY_BATCHES_H
#define LOCUS_SUMMARY_BATCHES_H

#include <jansson.h>

#include "harness/sample/series.h"

/* `batches` of the trial line. */
json_t *batches_json(const struct series *);

#endif
