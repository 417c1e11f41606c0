/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counter events used by several benchmarks, for the rows of struct explained: alternatives, the
 * best first, separated by |.
 */
#ifndef LOCUS_EVENTS_H
#define LOCUS_EVENTS_H

#define EVENT_CYCLES	    "PAPI_TOT_CYC|perf::CPU-CYCLES"
#define EVENT_INSTRUCTIONS  "PAPI_TOT_INS|perf::INSTRUCTIONS"
#define EVENT_BRANCH_MISSES "PAPI_BR_MSP|perf::BRANCH-MISSES"
#define EVENT_L1_MISSES	    "PAPI_L1_DCM|perf::L1-DCACHE-LOAD-MISSES"
#define EVENT_L2_MISSES	    "PAPI_L2_DCM"
#define EVENT_TLB_MISSES    "PAPI_TLB_DM|perf::DTLB-LOAD-MISSES"
/*
 * misses of the last-level cache: by loads only, if perf distinguishes these; otherwise by all
 * accesses
 */
#define EVENT_L3_LOAD_MISSES "PAPI_L3_TCM|perf::LLC-LOAD-MISSES|perf::CACHE-MISSES"
#define EVENT_L3_MISSES	     "PAPI_L3_TCM|perf::CACHE-MISSES"
/* loads served by another core's modified line, within the same last-level cache */
#define EVENT_TAKEN_FROM_CORE                                                                  \
	"MEM_LOAD_L3_HIT_RETIRED:XSNP_FWD|MEM_LOAD_L3_HIT_RETIRED:XSNP_HITM|MEM_LOAD_UOPS_L3_" \
	"HIT_RETIRED:XSNP_HITM|PAPI_CA_ITV"

/* Rows of struct explained for cores that take lines from each other: where the lines came from. */
#define EVENTS_OF_TAKEN_LINES                                                                   \
	{ EVENT_TAKEN_FROM_CORE,                                                                \
	  "loads served by a line that another core below the same L3 has modified" },          \
	{                                                                                       \
		EVENT_L3_MISSES, "lines from beyond the last-level cache: from another package" \
	}

#endif
