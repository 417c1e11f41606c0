/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzzer, with the main() of libFuzzer: LOCUS_FUZZ_TARGET names the target. */
#include "fuzz.h"

#include <stdlib.h>

static const struct target *target;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *name = getenv("LOCUS_FUZZ_TARGET");

	(void)argc, (void)argv;
	target = find_target(name ? name : "");
	if (!target)
		exit(2);
	in_parts = true;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	target->run(data, size);
	return 0;
}
