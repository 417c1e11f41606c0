/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streaming kernels: one pass over arrays of double. Each is written once (loops.h), compiled for
 * each instruction set, and chosen at run time, so that one binary serves every node of a cluster.
 */
#ifndef LOCUS_NUMA_KERNELS_H
#define LOCUS_NUMA_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/instructions.h"

/*
 * Makes `passes` passes over n elements: to[i] = f(x[i], y[i]); returns 0. Kernels that do not
 * write return the sum of x[i] over all passes. The arrays don't overlap and are aligned to
 * doubles; those that the kernel does not use may be NULL.
 */
typedef double stream(double *to, const double *x, const double *y, size_t n, uint64_t passes);

struct kernel {
	const char *name;
	/* words read and written, and operations, per element */
	unsigned reads, writes, flops;
	/* non-temporal stores, without write-allocate */
	bool streaming;
	double of_x, of_y; /* with writes: to[i] = of_x * x[i] + of_y * y[i] */
	stream *run[ISAS]; /* NULL: no such form, or not on this architecture */
};

enum { SUM, SUM_SCALAR, COPY, SCALE, ADD, TRIAD, COPY_NT, SCALE_NT, ADD_NT, TRIAD_NT, KERNELS };
/* in this order */
#define KERNEL_CHOICES "sum,sum-scalar,copy,scale,add,triad,copy-nt,scale-nt,add-nt,triad-nt"
extern const struct kernel kernels[KERNELS];

/*
 * The widest form that this CPU can run, and its instruction set; NULL: none (no non-temporal
 * stores for this architecture).
 */
stream *kernel_choose(const struct kernel *, enum isa *);

#endif
