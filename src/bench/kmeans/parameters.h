/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be asked for: places in the table of parameters (kmeans.c), and words among the values.
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
/* DATA: after the shapes that points may be generated in */
enum { FROM_FILE = BLOBS + 1 };

/* SAVE_LABELS, SAVE_CENTRES: nowhere; CENTRES: drawn among the points */
#define NONE  "none"
#define DRAWN "drawn"

/* Of a parameter that is a text. */
static inline bool is(const union value *value, unsigned parameter, const char *word)
{
	return !strcmp(value[parameter].text, word);
}

#endif
