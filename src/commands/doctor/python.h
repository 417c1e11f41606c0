/* SPDX-License-Identifier: Apache-2.0 */
/* Whether there is a Python that locus report can run with. */
#ifndef LOCUS_DOCTOR_PYTHON_H
#define LOCUS_DOCTOR_PYTHON_H

#include "commands/doctor/finding.h"

void check_python(const struct patient *, struct finding *);

#endif
