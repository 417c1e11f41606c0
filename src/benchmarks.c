/* SPDX-License-Identifier: Apache-2.0 */
#include "benchmarks.h"

const struct benchmark *const benchmarks[] = {
	&latency_benchmark,
	&numa_benchmark,
	&sharing_benchmark,
	&checkpoint_benchmark,
	&kmeans_benchmark,
	&search_benchmark,
	&dummy_benchmark,
	NULL
};
