/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "harness/sample/quotients.h"
#include "harness/record/json.h"
#include "base/statistics.h"

/* Of rows with the same name, the first whose events were both counted is taken. */
static const struct quotient {
	const char *name, *per, *of, *over;
} quotients[] = {
	{ "instructions per cycle", "cycle", "PAPI_TOT_INS", "PAPI_TOT_CYC" },
	{ "instructions per cycle", "cycle", "perf::INSTRUCTIONS", "perf::CYCLES" },
	{ "instructions per cycle", "cycle", "perf::INSTRUCTIONS", "perf::CPU-CYCLES" },
	{ "branch miss rate", "branch", "PAPI_BR_MSP", "PAPI_BR_CN" },
	{ "branch miss rate", "branch", "PAPI_BR_MSP", "PAPI_BR_INS" },
	{ "branch miss rate", "branch", "perf::BRANCH-MISSES", "perf::BRANCH-INSTRUCTIONS" },
	{ "branch miss rate", "branch", "perf::BRANCH-MISSES", "perf::BRANCHES" },
	{ "L1 miss rate", "access", "PAPI_L1_DCM", "PAPI_L1_DCA" },
	{ "L1 miss rate", "load", "perf::L1-DCACHE-LOAD-MISSES", "perf::L1-DCACHE-LOADS" },
	{ "L2 miss rate", "access", "PAPI_L2_DCM", "PAPI_L2_DCA" },
	{ "L2 miss rate", "access", "PAPI_L2_TCM", "PAPI_L2_TCA" },
	{ "L3 miss rate", "access", "PAPI_L3_TCM", "PAPI_L3_TCA" },
	{ "last cache's miss rate", "access", "perf::CACHE-MISSES", "perf::CACHE-REFERENCES" },
	{ "TLB miss rate", "load", "perf::DTLB-LOAD-MISSES", "perf::DTLB-LOADS" },
	{ "remote share", "load", "perf::NODE-LOAD-MISSES", "perf::NODE-LOADS" },
};

const json_t *quotients_counter(const json_t *list, const char *name)
{
	const json_t *counter;
	size_t i;

	json_array_foreach(list, i,
			   counter) if (!strcmp(json_string_value(json_object_get(counter, "name")),
						name)) return counter;
	return NULL;
}

static double value_of(const json_t *counter)
{
	return record_real(json_object_get(counter, "value"));
}

static double bound_of(const json_t *counter, size_t upper)
{
	return record_real(json_array_get(json_object_get(counter, "ci"), upper));
}

/* NULL where one of the two was not counted. */
static json_t *quotient_json(const struct quotient *q, const json_t *of, const json_t *over)
{
	const double value = value_of(of) / value_of(over), least = bound_of(over, 0);
	const struct estimate e = { value, bound_of(of, 0) / bound_of(over, 1),
				    least > 0 ? bound_of(of, 1) / least : NAN };
	const bool trusted = json_is_true(json_object_get(of, "trusted")) &&
			     json_is_true(json_object_get(over, "trusted"));
	const json_int_t n = json_integer_value(json_object_get(of, "samples")),
			 m = json_integer_value(json_object_get(over, "samples"));

	if (!of || !over || !isfinite(value))
		return NULL;
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:f, s:o, s:n, s:n, s:I, s:b, s:s?}", "name",
			 q->name, "source", "ratio", "unit", "1", "scope", "thread", "per", q->per,
			 "value", value, "ci", record_interval(e.low, e.high), "per_thread",
			 "total", "samples", n < m ? n : m, "trusted", trusted, "why",
			 trusted ? NULL : "one of the two counts is doubtful");
}

void quotients_add(json_t *list)
{
	for (size_t i = 0; i < LENGTH(quotients); i++) {
		const struct quotient *q = &quotients[i];
		json_t *ratio = quotients_counter(list, q->name)
					? NULL
					: quotient_json(q, quotients_counter(list, q->of),
							quotients_counter(list, q->over));

		if (ratio)
			json_array_append_new(list, ratio);
	}
}
