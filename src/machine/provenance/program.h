/* SPDX-License-Identifier: Apache-2.0 */
/* How the program was built, and in which job it runs. New references; NULL: ENOMEM. */
#ifndef LOCUS_PROGRAM_H
#define LOCUS_PROGRAM_H

#include <jansson.h>

json_t *provenance_program(void);
json_t *provenance_job(void); /* null outside a batch system */

#endif
