/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves out empty or repeated members of trial and samples lines, since there are many such lines.
 */
#ifndef LOCUS_LEAN_H
#define LOCUS_LEAN_H

#include <jansson.h>

/*
 * A copy of a line without members that are null or an empty list or object: an absent key means
 * null or empty. Lists keep all elements. Numbers are rounded to seven digits; in `batches`,
 * `samples` and `quantiles` to five, `skew` and `elapsed` to four, in `noise` to three.
 * `parameters` stay as they are, and each `value` has all its digits, since results are compared.
 * NULL: no memory.
 */
json_t *lean(const json_t *line);
/*
 * Makes a trial line lean. Also leaves out members that follow from others or from the benchmark's
 * line (doc/schema/README.md says how), and metrics without a value; the list of the others becomes
 * an object, by name. Lists of times become whole multiples of `scale`.
 */
json_t *lean_trial(const json_t *line);
/*
 * Takes matrices, rows and distributions, which few readers need, out of a trial line: the cells of
 * pairs of workers, the rows of ranks, and the distributions of metrics. Returns them as a list of
 * lines, which name run and trial; NULL: no memory.
 */
json_t *lean_parts(json_t *trial);

#endif
