/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indices into the table of parameters (kmeans.c), and words that are special values.
 */
#ifndef LOCUS_KMEANS_PARAMETERS_H
#define LOCUS_KMEANS_PARAMETERS_H

#include <string.h>

#include "bench/kmeans/generate.h"
#include "trial.h"

enum {
	POINTS,
	DIMENSIONS,
	CLUSTERS,
	ITERATIONS,
	TYPE,
	DATA,
	SPREAD,
	CENTRES,
	PRUNE,
	SAVE_LABELS,
	SAVE_CENTRES,
	ROWS
};
/* choice of DATA, after enum shape's */
enum { FROM_FILE = SHAPE_BLOBS + 1 };

/* SAVE_LABELS, SAVE_CENTRES: no file; CENTRES: rows drawn from the points */
#define NONE  "none"
#define DRAWN "drawn"

/* For parameters whose value is a text. */
static inline bool is(const union value *value, unsigned parameter, const char *word)
{
	return !strcmp(value[parameter].text, word);
}

#endif
