/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "bench/numa/state.h"

/* It is read after release(). */
static _Thread_local char sentence[200];

static const char *wrong_sum(const char *who, double sum, double right, uint64_t passes)
{
	snprintf(sentence, sizeof(sentence), "%s summed %.17g in %llu passes, not %.17g", who, sum,
		 (unsigned long long)passes, right);
	return sentence;
}

static const char *sums_by_part(const struct state *s)
{
	const struct arrays *a = &s->arrays;

	for (unsigned i = 0; i < a->threads; i++) {
		const struct own *own = &s->own[i];
		const double right =
			contents_sum(arrays_border(a, i), arrays_border(a, i + 1), own->passes);
		char who[32];

		if (own->sum == right)
			continue;
		snprintf(who, sizeof(who), "worker %u", i);
		return wrong_sum(who, own->sum, right, own->passes);
	}
	return NULL;
}

/* Nobody knows beforehand who takes which chunk: only the sum of all is known. */
static const char *sum_of_chunks(const struct state *s)
{
	const uint64_t passes = s->own[0].passes;
	const double right = contents_sum(0, s->arrays.elements, passes);
	double sum = 0;

	for (unsigned i = 0; i < s->arrays.threads; i++)
		sum += s->own[i].sum;
	return sum == right ? NULL : wrong_sum("all workers", sum, right, passes);
}

static void check(void *state, struct worker *self)
{
	struct state *s = state;
	const double *result = s->arrays.base[RESULT];
	const size_t end = arrays_border(&s->arrays, self->index + 1);
	size_t i = arrays_border(&s->arrays, self->index);

	while (i < end && result[i] == contents_element(s->kernel, i))
		i++;
	s->own[self->index].wrong = i;
}

static const char *stored(struct state *s, const struct trial *trial)
{
	const struct arrays *a = &s->arrays;

	team_run(trial->team, check, s);
	for (unsigned i = 0; i < a->threads; i++) {
		const size_t wrong = s->own[i].wrong;

		if (wrong == arrays_border(a, i + 1))
			continue;
		snprintf(sentence, sizeof(sentence),
			 "element %zu of the result is %.17g, not %.17g (worker %u)", wrong,
			 a->base[RESULT][wrong], contents_element(s->kernel, wrong), i);
		return sentence;
	}
	return NULL;
}

const char *state_verify(void *state, const struct trial *trial)
{
	struct state *s = state;

	if (s->kernel->writes)
		return stored(s, trial);
	return s->arrays.rule->dealt ? sum_of_chunks(s) : sums_by_part(s);
}
