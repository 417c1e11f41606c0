/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deals the points of all workers anew, so that each has those of some parts of the space: divided
 * as they are given, each worker's would lie everywhere, the farther apart the more workers there
 * are. Afterwards a share's points and labels are in the order in which they were dealt.
 */
#ifndef LOCUS_KMEANS_DEAL_H
#define LOCUS_KMEANS_DEAL_H

#include "bench/kmeans/method.h"

enum { MOST_PARTS = 256 };

/*
 * All workers call it together, in the first iteration: share->place has the part of each point, of
 * `parts`; `row`: bytes of a point. Neighbouring parts have neighbouring numbers.
 */
void deal_points(struct share *, size_t row, unsigned parts);

/* All workers call it together, after the last iteration: labels in the order as given. */
void deal_labels(struct share *);
/* The same once this worker has written its points' labels to joint->label, by place. */
void deal_labels_by_place(struct share *);

#endif
