/* SPDX-License-Identifier: Apache-2.0 */
/* Pruning by the distances between centres. */
#ifndef LOCUS_KMEANS_EXPONION_H
#define LOCUS_KMEANS_EXPONION_H

#include "bench/kmeans/method.h"

extern const struct method method_exponion;

#endif
