/* SPDX-License-Identifier: Apache-2.0 */
/* What trial and samples lines leave out, since most of them would say it again. */
#ifndef LOCUS_LEAN_H
#define LOCUS_LEAN_H

#include <jansson.h>

/*
 * A copy of a line without what is null, or an empty list or object: so absent is null, or empty.
 * In lists nothing is left out. Numbers are cut to seven digits, `batches` and `quantiles` to five;
 * not so `parameters`, and the `value` of results, which others compare. NULL: no memory.
 */
json_t *lean(const json_t *line);
/*
 * Of a trial line, also without what follows from other keys, or from its benchmark's line, and
 * without metrics that have no value (doc/schema/README.md says how readers get them).
 */
json_t *lean_trial(const json_t *line);

#endif
