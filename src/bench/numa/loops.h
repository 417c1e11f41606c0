/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops of the streaming kernels: a template that kernels.c includes once for each instruction
 * set, with
 *
 *	NAME(kernel)       the function's name
 *	TARGET             the attribute that allows the instructions; empty for those that are
 *                         always there
 *	WIDTH              bytes of a vector
 *	STREAM(to, v, w)   two non-temporal stores of vectors; undefined if there are none
 *	STREAM_END         the fence that makes them visible to other CPUs
 *
 * Vectors are explicit, so that the code depends neither on the vectoriser nor on -O3. A template
 * and not inline functions, because before inlining gcc splits vectors to the width that the naming
 * function may use. No software prefetch: it gained nothing from memory, and cost half of the speed
 * in L1 and a quarter in L2 (Sapphire Rapids, 512 B to 8 KiB ahead).
 */
#define LANES (WIDTH / sizeof(double))

typedef double NAME(vector) __attribute__((vector_size(WIDTH), aligned(sizeof(double)), may_alias));
#define V(address, k) (*(NAME(vector) *)((address) + (k)*LANES))

/* Adds four vectors to one sum; compilers would interleave them with other sums. */
#define ADD(sum, k)           \
	(sum) += V(x + i, k); \
	IN_PLACE(sum)
#define CHAIN(sum, k)      \
	ADD(sum, k);       \
	ADD(sum, (k) + 1); \
	ADD(sum, (k) + 2); \
	ADD(sum, (k) + 3)

/*
 * An addition has a latency of 3 or 4 cycles, and two start in each cycle: from L1, 8 sums keep
 * both units busy (more were no faster). From L2 on the widest vectors arrive more slowly: 4 chains
 * suffice, and are faster because they throttle loads that could not be served yet (Sapphire
 * Rapids, L2: 98 % of the rate of loads alone, against 91 %). The sums are kept over all passes;
 * reducing them after each cost 5 % of the speed in L1.
 */
TARGET static double NAME(sum)(double *to, const double *x, const double *y, size_t n,
			       uint64_t passes)
{
	NAME(vector) s[8] = { 0 }, all;
	double sum = 0;

	(void)to, (void)y;
	for (size_t head = unaligned(x, WIDTH, n); passes; passes--) {
		size_t i = 0;

		for (; i < head; i++)
			sum += x[i];
		for (; WIDTH == 64 && n > MOST_IN_L1 && n - i >= 16 * LANES; i += 16 * LANES) {
			CHAIN(s[0], 0);
			CHAIN(s[1], 4);
			CHAIN(s[2], 8);
			CHAIN(s[3], 12);
		}
		for (; n - i >= 8 * LANES; i += 8 * LANES) {
			s[0] += V(x + i, 0);
			s[1] += V(x + i, 1);
			s[2] += V(x + i, 2);
			s[3] += V(x + i, 3);
			s[4] += V(x + i, 4);
			s[5] += V(x + i, 5);
			s[6] += V(x + i, 6);
			s[7] += V(x + i, 7);
		}
		for (; n - i >= LANES; i += LANES)
			s[0] += V(x + i, 0);
		for (; i < n; i++)
			sum += x[i];
		AGAIN(x);
	}
	/* Unrolled, and in another variable: an array with a variable index would be in memory. */
	all = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
	for (size_t lane = 0; lane < LANES; lane++)
		sum += all[lane];
	return sum;
}

#undef CHAIN
#undef ADD

/*
 * to[i] = RESULT(x[i], y[i]): single elements until stores are aligned, then four vectors a turn,
 * then the rest.
 */
#define MAP(kernel, RESULT, STORE, END)                                                           \
	TARGET static double NAME(kernel)(double *to, const double *x, const double *y, size_t n, \
					  uint64_t passes)                                        \
	{                                                                                         \
		(void)y;                                                                          \
		for (size_t head = unaligned(to, WIDTH, n); passes; passes--) {                   \
			size_t i = 0;                                                             \
                                                                                                  \
			for (; i < head; i++)                                                     \
				to[i] = RESULT(x[i], y[i]);                                       \
			for (; n - i >= 4 * LANES; i += 4 * LANES) {                              \
				STORE(to + i, RESULT(V(x + i, 0), V(y + i, 0)),                   \
				      RESULT(V(x + i, 1), V(y + i, 1)));                          \
				STORE(to + i + 2 * LANES, RESULT(V(x + i, 2), V(y + i, 2)),       \
				      RESULT(V(x + i, 3), V(y + i, 3)));                          \
			}                                                                         \
			for (; i < n; i++)                                                        \
				to[i] = RESULT(x[i], y[i]);                                       \
			END;                                                                      \
			AGAIN(x);                                                                 \
		}                                                                                 \
		return 0;                                                                         \
	}

#define STORE(to, v, w) (V(to, 0) = (v), V(to, 1) = (w))
MAP(copy, RESULT_COPY, STORE, )
MAP(scale, RESULT_SCALE, STORE, )
MAP(add, RESULT_ADD, STORE, )
MAP(triad, RESULT_TRIAD, STORE, )
#undef STORE

#ifdef STREAM
MAP(copy_nt, RESULT_COPY, STREAM, STREAM_END)
MAP(scale_nt, RESULT_SCALE, STREAM, STREAM_END)
MAP(add_nt, RESULT_ADD, STREAM, STREAM_END)
MAP(triad_nt, RESULT_TRIAD, STREAM, STREAM_END)
#undef STREAM
#endif

#undef MAP
#undef V
#undef LANES
#undef WIDTH
#undef TARGET
#undef NAME
