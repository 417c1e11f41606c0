/* SPDX-License-Identifier: Apache-2.0 */
/* What runs: the program as it was built, in which job. New references; NULL: no memory. */
#ifndef LOCUS_PROGRAM_H
#define LOCUS_PROGRAM_H

#include <jansson.h>

json_t *provenance_program(void);
json_t *provenance_job(void); /* null outside a batch system */

#endif
