/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a floating-point type that is chosen when the program runs. */
#ifndef LOCUS_REAL_H
#define LOCUS_REAL_H

#include <stddef.h>

enum real { REAL_DOUBLE, REAL_FLOAT };
/* the choices of a parameter, in the order of enum real */
#define REAL_CHOICES "double,float"

static inline size_t real_bytes(enum real r)
{
	return r == REAL_FLOAT ? sizeof(float) : sizeof(double);
}

/* The i-th of values of this type. */
static inline double real_get(enum real r, const void *values, size_t i)
{
	return r == REAL_FLOAT ? (double)((const float *)values)[i] : ((const double *)values)[i];
}

static inline void real_set(enum real r, void *values, size_t i, double value)
{
	if (r == REAL_FLOAT)
		((float *)values)[i] = (float)value;
	else
		((double *)values)[i] = value;
}

#endif
