/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLBs from arbitrary CPUID answers. The input has six words for each answer: leaf, subleaf and the
 * four registers.
 */
#include "fuzz.h"

#include <jansson.h>
#include <string.h>

#include "machine/provenance/provenance.h"
#include "machine/topology/tlb.h"

static const uint8_t *answers;
static size_t answers_size;
static unsigned asked;

static struct cpuid answer(uint32_t leaf, uint32_t subleaf)
{
	struct {
		uint32_t leaf, subleaf;
		struct cpuid registers;
	} a;

	asked++;
	for (size_t at = 0; at + sizeof(a) <= answers_size; at += sizeof(a)) {
		memcpy(&a, answers + at, sizeof(a));
		if (a.leaf == leaf && a.subleaf == subleaf)
			return a.registers;
	}
	return (struct cpuid){ 0 };
}

void fuzz_cpuid(const uint8_t *data, size_t size)
{
	struct tlb tlbs[MOST_TLBS];
	const char *why = NULL;
	json_t *list;
	unsigned n;

	answers = data;
	answers_size = size;
	asked = 0;
	n = tlb_decode(answer, tlbs, &why);
	must(n <= MOST_TLBS && (n || why) && asked < 100);
	for (unsigned i = 0; i < n; i++) {
		const struct tlb *t = &tlbs[i];

		must(t->level >= 1 && t->level <= 7 && (!i || t[-1].level <= t->level));
		must(t->type && t->entries && t->entries < UINT64_C(1) << 48);
		must(t->page >= 4 << 10 && t->page <= 1 << 30 && !(t->page & (t->page - 1)));
	}
	tlb_print(tlbs, n, nowhere());
	list = provenance_tlb(tlbs, n);
	must(json_array_size(list) == n);
	json_decref(list);
}
