/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/actors/biased.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

bool biased_barriers(void)
{
	return !syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

void biased_barrier(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}
