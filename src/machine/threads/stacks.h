/* SPDX-License-Identifier: Apache-2.0 */
/* How large the stacks of threads are. */
#ifndef LOCUS_STACKS_H
#define LOCUS_STACKS_H

enum { STACK_BYTES = 1 << 20 };

/*
 * From now on threads get stacks of at most STACK_BYTES, unless OMP_STACKSIZE says otherwise; our
 * largest frames take 64 KiB.
 *
 * The usual 8 MiB hold huge pages. Where transparent ones are on for all memory, and stacks happen
 * to begin at a multiple of 2 MiB (1 process of 512: the kernel maps them anywhere), the first word
 * on a stack makes 2 MiB of it, for each thread. So where memory is limited, a trial that had been
 * found to fit was killed.
 */
void stacks_small(void);

#endif
