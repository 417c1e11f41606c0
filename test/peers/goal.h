/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the 95 % interval of a ratio says of its goal: reached where all of the interval is within
 * it, missed where no part of it is, else open. The rule of beside.py and of the report. For C and
 * C++.
 */
#ifndef LOCUS_GOAL_H
#define LOCUS_GOAL_H

#include <stdbool.h>

/* A ratio that is to be between `least` and `most`; INFINITY: any more. */
static inline bool goal_missed(double low, double high, double least, double most)
{
	return high < least || low > most;
}

static inline const char *goal_outcome(double low, double high, double least, double most)
{
	if (goal_missed(low, high, least, most))
		return "missed";
	return low >= least && high <= most ? "reached" : "open";
}

#endif
