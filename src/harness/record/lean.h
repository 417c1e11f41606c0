/* SPDX-License-Identifier: Apache-2.0 */
/* What trial and samples lines leave out, since most of them would say it again. */
#ifndef LOCUS_LEAN_H
#define LOCUS_LEAN_H

#include <jansson.h>

/*
 * A copy of a line without what is null, or an empty list or object: so absent is null, or empty.
 * In lists nothing is left out. Numbers but `parameters` are cut to seven digits. NULL: no memory.
 */
json_t *lean(const json_t *line);
/*
 * Of a trial line, also without what its benchmark's line says, units, and without metrics that
 * have no value. Its results keep their digits, for others compare them; its batches do not.
 */
json_t *lean_trial(const json_t *line);

#endif
