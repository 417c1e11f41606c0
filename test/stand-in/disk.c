/* SPDX-License-Identifier: Apache-2.0 */
/* A disk that takes LATE s for what it is to keep, by LD_PRELOAD: of fdatasync(), and no other. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int fdatasync(int file)
{
	const double s = atof(getenv("LATE"));
	struct timespec left = { (time_t)s, (long)((s - (double)(time_t)s) * 1e9) };

	while (nanosleep(&left, &left))
		;
	return (int)syscall(SYS_fdatasync, file);
}
