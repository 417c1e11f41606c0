/* SPDX-License-Identifier: Apache-2.0 */
/* The part of locus that is written in Python, which reads records. */
#ifndef LOCUS_ANALYSIS_H
#define LOCUS_ANALYSIS_H

#include <stdbool.h>

/*
 * The interpreter: LOCUS_PYTHON, else the one that configure found. NULL: this locus was built
 * without Python.
 */
const char *analysis_python(void);

/*
 * Puts the folder of the Python package in front of PYTHONPATH. It is looked for relative to the
 * executable, since an installation may be moved: in ../share/locus (installed) or beside it (build
 * tree); LOCUS_ANALYSIS names another one. False with errno; ENOENT: there is no such folder.
 */
bool analysis_find(void);

#endif
