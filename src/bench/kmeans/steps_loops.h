/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of the ladder, for points of type REAL. No header: ladder.c includes it once for each
 * type. Each step is one loop in which the number of dimensions (where it is 2), the memory layout
 * and what happens to a point are constants, so that it has no branches for them.
 */
INLINE uint32_t NAME(nearest)(const unsigned char *means, size_t stride, uint32_t k, const REAL *x,
			      unsigned d)
{
	uint32_t nearest = 0;
	REAL least = (REAL)INFINITY;

	for (uint32_t c = 0; c < k; c++) {
		const REAL *mean = (const REAL *)(means + c * stride);
		REAL distance = 0;

		for (unsigned j = 0; j < d; j++)
			distance += (x[j] - mean[j]) * (x[j] - mean[j]);
		if (distance < least) {
			least = distance;
			nearest = c;
		}
	}
	return nearest;
}

INLINE void NAME(add)(unsigned char *sums, unsigned char *count, const REAL *x, unsigned d)
{
	for (unsigned j = 0; j < d; j++)
		((double *)sums)[j] += x[j];
	++*(uint64_t *)count;
}

INLINE void NAME(add_locked)(unsigned char *cluster, const REAL *x, unsigned d, bool apart)
{
	struct spin_lock *lock = (struct spin_lock *)(cluster + LOCK_AT(d, sizeof(REAL), apart));

	spin_lock_acquire(lock);
	NAME(add)
	(cluster + SUM_AT(d, sizeof(REAL), apart), cluster + COUNT_AT(d, sizeof(REAL), apart), x,
	 d);
	spin_lock_release(lock);
}

/*
 * Assigns the worker's points, and treats each at once as `then` says. Returns how many labels
 * changed.
 */
INLINE uint64_t NAME(assign)(struct ladder *l, unsigned worker, unsigned d, size_t stride,
			     enum then then)
{
	const size_t end = end_of(l, worker), entry = l->entry;
	const uint32_t k = l->problem.k;
	const REAL *points = l->problem.points.x;
	unsigned char *clusters = l->clusters, *sums = l->sums + worker * l->block;
	size_t *groups = l->own[worker].group;
	uint32_t *label = l->solution.label;
	uint64_t changed = 0;

	for (size_t i = begin_of(l, worker); i < end; i++) {
		const REAL *x = points + i * d;
		const uint32_t c = NAME(nearest)(clusters, stride, k, x, d);

		changed += label[i] != c;
		label[i] = c;
		if (then == ADD_TOGETHER)
			NAME(add_locked)(clusters + c * stride, x, d, false);
		if (then == ADD_APART)
			NAME(add_locked)(clusters + c * stride, x, d, true);
		if (then == ADD_OWN)
			NAME(add)
		(sums + c * entry, sums + c * entry + ENTRY(d) - sizeof(uint64_t), x, d);
		if (then == COUNT)
			groups[c + 1]++;
	}
	return changed;
}

/* The second phase of 2p. */
INLINE uint64_t NAME(add_all)(struct ladder *l, unsigned worker, unsigned d)
{
	const size_t end = end_of(l, worker);
	const REAL *points = l->problem.points.x;
	const uint32_t *label = l->solution.label;

	for (size_t i = begin_of(l, worker); i < end; i++)
		NAME(add_locked)
	(l->clusters + label[i] * STRIDE(d, sizeof(REAL), false), points + i * d, d, false);
	return 0;
}

/* Adds up all threads' groups of cluster c. */
static void NAME(add_groups)(const struct ladder *l, uint32_t c, double *sum, uint64_t *count)
{
	const unsigned d = l->problem.points.d;

	for (unsigned worker = 0; worker < l->problem.threads; worker++) {
		const size_t *end = l->own[worker].group + c,
			     *order = l->order + begin_of(l, worker);

		for (size_t i = c ? end[-1] : 0; i < *end; i++)
			NAME(add)
		((unsigned char *)sum, (unsigned char *)count,
		 (const REAL *)l->problem.points.x + order[i] * d, d);
	}
}

#define STEP(STEP_NAME, CALL)                                                   \
	static uint64_t NAME(STEP_NAME##_2)(struct ladder * l, unsigned worker) \
	{                                                                       \
		const unsigned d = 2;                                           \
                                                                                \
		return CALL;                                                    \
	}                                                                       \
	static uint64_t NAME(STEP_NAME##_d)(struct ladder * l, unsigned worker) \
	{                                                                       \
		const unsigned d = l->problem.points.d;                         \
                                                                                \
		return CALL;                                                    \
	}
STEP(assign_only, NAME(assign)(l, worker, d, STRIDE(d, sizeof(REAL), false), NOTHING))
STEP(add_after, NAME(add_all)(l, worker, d))
STEP(add_together, NAME(assign)(l, worker, d, STRIDE(d, sizeof(REAL), false), ADD_TOGETHER))
STEP(add_apart, NAME(assign)(l, worker, d, STRIDE(d, sizeof(REAL), true), ADD_APART))
STEP(add_own, NAME(assign)(reset_sums(l, worker), worker, d, d * sizeof(REAL), ADD_OWN))
STEP(group, put_in_order(l, worker,
			 NAME(assign)(reset_groups(l, worker), worker, d, d * sizeof(REAL), COUNT)))
#undef STEP

#define STEPS(D)                                                             \
	{                                                                    \
		[RUNG_TWO_PHASES] = { .assign = NAME(assign_only_##D),       \
				      .add = NAME(add_after_##D) },          \
		[RUNG_ONE_PHASE] = { .assign = NAME(add_together_##D) },     \
		[RUNG_ONE_PHASE_PADDED] = { .assign = NAME(add_apart_##D) }, \
		[RUNG_THREE_PHASES] = { .assign = NAME(group_##D) },         \
		[RUNG_PRIVATE_DENSE] = { .assign = NAME(add_own_##D) },      \
		[RUNG_PRIVATE_PADDED] = { .assign = NAME(add_own_##D) },     \
	}
static const struct steps NAME(steps)[RUNGS] = STEPS(d), NAME(steps_of_2)[RUNGS] = STEPS(2);
#undef STEPS
