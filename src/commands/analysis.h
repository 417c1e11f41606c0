/* SPDX-License-Identifier: Apache-2.0 */
/* The part of locus that is written in Python, which reads records. */
#ifndef LOCUS_ANALYSIS_H
#define LOCUS_ANALYSIS_H

#include <stdbool.h>

/*
 * The interpreter: LOCUS_PYTHON, else the one that configure found. NULL: this locus was built
 * without.
 */
const char *analysis_python(void);

/*
 * Puts the folder of the Python package before what PYTHONPATH has. It lies beside the executable
 * (build tree) or in ../share/locus (installed), since a package may be moved after it was
 * installed; LOCUS_ANALYSIS names another one. False with errno: ENOENT where it is not there.
 */
bool analysis_find(void);

#endif
