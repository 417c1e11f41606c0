/* SPDX-License-Identifier: Apache-2.0 */
/* The doctor's findings. */
#ifndef LOCUS_TEST_OPINION_H
#define LOCUS_TEST_OPINION_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "commands/doctor/doctor.h"

/*
 * The doctor's text about a copy of /proc and /sys, or ("") about this machine; *status: its exit
 * status.
 */
static inline char *opinion(const char *of, const struct machine *m, int *status)
{
	/* static: gcc 12 takes text that a stream wrote for a part of the frame */
	static char *text;
	static size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	*status = *of ? doctor_at(of, m, out) : doctor(m, out);
	fclose(out);
	return text;
}

#endif
