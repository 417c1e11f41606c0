/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Includes LOOPS for the types of values, in the instructions that vectors.h has defined, and
 * undefines these for the next instruction set. No header: vectors.h includes it once for each set.
 */
#define LANES	   (WIDTH / sizeof(REAL))
#define V(address) (*(NAME(vector) *)(address))
#define VECTOR_TYPES                                                                   \
	typedef REAL NAME(vector) __attribute__((vector_size(WIDTH), may_alias));      \
	typedef REAL NAME(unaligned)                                                   \
		__attribute__((vector_size(WIDTH), aligned(sizeof(REAL)), may_alias)); \
	typedef INT NAME(integers) __attribute__((vector_size(WIDTH), may_alias));

#define REAL		   double
#define IS_FLOAT	   0
#define INT		   int64_t
#define NAME(function)	   SET(function, double)
#define OP(name)	   OP_OF(name, pd)
#define INTEGER_OP(name)   OP_OF(name, epi64)
#define COMPARE(a, b, how) COMPARE_OF(pd)(a, b, how)
VECTOR_TYPES
#include LOOPS
#undef REAL
#undef INT
#undef NAME
#undef OP
#undef INTEGER_OP
#undef COMPARE
#undef IS_FLOAT

#define REAL		   float
#define IS_FLOAT	   1
#define INT		   int32_t
#define NAME(function)	   SET(function, float)
#define OP(name)	   OP_OF(name, ps)
#define INTEGER_OP(name)   OP_OF(name, epi32)
#define COMPARE(a, b, how) COMPARE_OF(ps)(a, b, how)
VECTOR_TYPES
#include LOOPS
#undef REAL
#undef INT
#undef NAME
#undef OP
#undef INTEGER_OP
#undef COMPARE
#undef IS_FLOAT

#undef LANES
#undef V
#undef VECTOR_TYPES
#undef SET
#undef TARGET
#undef WIDTH
#undef OP_OF
#undef COMPARE_OF
#undef SPLAT
#undef MINUS_PRODUCT
#undef MIN
#undef MAX
#undef LEAST
#undef TOTAL
#undef GREATER
#undef AT_MOST
#undef EQUAL
#undef DIFFER
#undef PICK
#undef PICK_INTEGERS
#undef BITS
#undef IN_PLACE
