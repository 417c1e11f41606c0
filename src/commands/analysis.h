/* SPDX-License-Identifier: Apache-2.0 */
/* The part of locus that is written in Python, which reads records. */
#ifndef LOCUS_ANALYSIS_H
#define LOCUS_ANALYSIS_H

#include <limits.h>
#include <stdbool.h>

/*
 * The interpreter: LOCUS_PYTHON; else the one in a folder `venv` beside the package's, which may be
 * newer than the build; else the one that configure found. NULL: none.
 */
const char *analysis_python(void);

enum {
	ANALYSIS_REMEDY = 512,
	ANALYSIS_BEGIN = 4, /* words: PYTHON -I -c CODE */
	ANALYSIS_FOLDER = PATH_MAX + 32,
};

/*
 * The beginning of each command line that starts Python, which must not be NULL. Python is
 * isolated: it runs no code from the current folder, where others may write, nor from PYTHONPATH
 * and PYTHONHOME, which other software may have set. It has the modules of its own installation, or
 * venv.
 */
void analysis_isolate(char *words[ANALYSIS_BEGIN], const char *code);

/* The code that runs the package; its first arguments are the folder and the command. */
extern const char analysis_code[];

/*
 * Finds the folder of the Python package relative to the executable, since an installation may be
 * moved: in ../share/locus (installed) or beside it (build tree); LOCUS_ANALYSIS names another one.
 * False: not found.
 */
bool analysis_find(char folder[ANALYSIS_FOLDER]);

/* A shell command that installs what the package needs, where analysis_python() finds it. */
void analysis_remedy(char command[ANALYSIS_REMEDY]);

#endif
