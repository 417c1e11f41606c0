/* SPDX-License-Identifier: Apache-2.0 */
/* What each batch of a trial came to: all that a statistic of it needs. */
#ifndef LOCUS_SUMMARY_BATCHES_H
#define LOCUS_SUMMARY_BATCHES_H

#include <jansson.h>

#include "harness/sample/series.h"

/* `batches` of the trial line. */
json_t *batches_json(const struct series *);

#endif
