/* SPDX-License-Identifier: Apache-2.0 */
/* The fixed work of cores: quanta of multiply-adds in registers, by the width of a vector. */
#ifndef LOCUS_QUANTUM_H
#define LOCUS_QUANTUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/instructions.h"

/*
 * A quantum is QUANTUM_STEPS times x = x * x + C in each lane of each chain: independent chains
 * hide the latency of a step. The map is chaotic and its multiplications use all bits, so that an
 * error in any step grows, and gives another answer.
 */
enum { QUANTUM_STEPS = 1024, QUANTUM_CHAINS = 12, QUANTUM_MOST_LANES = 8 };
#define QUANTUM_C     (-1.99)
#define QUANTUM_START 0.25 /* of the first chain's first lane; each next lane begins 1/1024 later */

/* The widths in the order of enum isa: 64 bits are one lane, a scalar. */
#define QUANTUM_WIDTHS "64,128,256,512"

/*
 * Does a quantum from this start, and returns its answer: the sum of the bits of all lanes at the
 * end.
 */
typedef uint64_t quantum(double start);
extern quantum *const quantum_of[ISAS];

/*
 * The answer from QUANTUM_START, which every CPU has to find: a constant, so that no CPU of the
 * machine has to be believed.
 */
uint64_t quantum_answer(enum isa);

/* Whether the product is rounded before the sum: on x86, where not every CPU has FMA. */
bool quantum_rounds_twice(enum isa);

/*
 * Statistics of n > 0 quanta of the same work, in the unit of their times. A quantum that took more
 * than QUANTA_INTERRUPTED times the median was interrupted; the time beyond the median is lost.
 */
#define QUANTA_INTERRUPTED 1.1
struct quanta {
	double median, tail; /* tail: 99.9 % quantile */
	double lost;	     /* share of the time, from 0 to 1 */
	double gap;	     /* the longest quantum less the median */
};
/* Sorts the times. */
struct quanta quanta_of(double *times, size_t n);

#endif
