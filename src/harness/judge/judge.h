/* SPDX-License-Identifier: Apache-2.0 */
/* How a trial ended: the reasons for its status. */
#ifndef LOCUS_JUDGE_H
#define LOCUS_JUDGE_H

#include "harness/sample/estimates.h"
#include "harness/judge/verdict.h"

void judge(const struct series *, struct estimates time, struct verdict *);

#endif
