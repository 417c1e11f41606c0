/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_UNROLL_H
#define LOCUS_UNROLL_H

#include "config.h"

/*
 * UNROLL before a loop; UNROLL_INLINE before a function that is compiled once for each constant
 * argument. Builds with sanitizers, which are not measured, unroll and inline nothing: there each
 * copy has its own checks, and three kernels took a third of the build's time to compile.
 */
#ifdef LOCUS_SANITIZED
#define UNROLL
#define UNROLL_INLINE static inline
#else
#define UNROLL	      _Pragma("GCC unroll 64")
#define UNROLL_INLINE static inline __attribute__((always_inline))
#endif

#endif
