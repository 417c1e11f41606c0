/* SPDX-License-Identifier: Apache-2.0 */
#include "benchmarks.h"

const struct benchmark *const benchmarks[] = {
	&numa_benchmark,
	&dummy_benchmark,
	NULL
};
