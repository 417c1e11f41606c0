/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding TLBs from CPUID. The registers are from real machines, in the collection of Instlatx64
 * (github.com/InstLatx64/InstLatx64), whose file is named above each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "machine/provenance/provenance.h"
#include "machine/topology/tlb.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define K4	      (4 << 10)
#define M2	      (2 << 20)
#define M4	      (4 << 20)
#define G1	      (1 << 30)

#define INTEL	0x756e6547, 0x6c65746e, 0x49656e69
#define AMD	0x68747541, 0x444d4163, 0x69746e65
#define HYGON	0x6f677948, 0x656e6975, 0x6e65476e
#define ZHAOXIN 0x68532020, 0x20206961, 0x68676e61

struct answer {
	uint32_t leaf, subleaf;
	struct cpuid registers;
};

/* GenuineIntel00906E9_Kabylake_CPUID.txt */
static const struct answer kaby_lake[] = {
	{ 0x0, 0, { 0x16, INTEL } },
	{ 0x2, 0, { 0x76036301, 0x00f0b5ff, 0, 0x00c30000 } },
	{ 0x80000000, 0, { 0x80000008, 0, 0, 0 } },
	{ 0 },
};
/* GenuineIntel00006F6_Conroe_CPUID.txt */
static const struct answer conroe[] = {
	{ 0x0, 0, { 0xa, INTEL } },
	{ 0x2, 0, { 0x05b0b101, 0x005657f0, 0, 0x2cb43049 } },
	{ 0x80000000, 0, { 0x80000008, 0, 0, 0 } },
	{ 0 },
};
/* GenuineIntel00506C9_Goldmont_CPUID3.txt */
static const struct answer goldmont[] = {
	{ 0x0, 0, { 0x15, INTEL } },
	{ 0x2, 0, { 0x6164a001, 0x0000ffc4, 0, 0 } },
	{ 0x80000000, 0, { 0x80000008, 0, 0, 0 } },
	{ 0 },
};
/* GenuineIntel00806F8_SapphireRapids_05_CPUID.txt */
static const struct answer sapphire_rapids[] = {
	{ 0x0, 0, { 0x20, INTEL } },
	{ 0x2, 0, { 0x00feff01, 0x000000f0, 0, 0 } },
	{ 0x18, 0, { 0x8, 0, 0, 0 } },
	{ 0x18, 1, { 0, 0x00080001, 0x20, 0x4022 } },
	{ 0x18, 2, { 0, 0x00080006, 0x04, 0x4022 } },
	{ 0x18, 3, { 0, 0x0010000f, 0x01, 0x4125 } },
	{ 0x18, 4, { 0, 0x00040001, 0x10, 0x4024 } },
	{ 0x18, 5, { 0, 0x00040006, 0x08, 0x4024 } },
	{ 0x18, 6, { 0, 0x00080008, 0x01, 0x4124 } },
	{ 0x18, 7, { 0, 0x00080007, 0x80, 0x4043 } },
	{ 0x18, 8, { 0, 0x00080009, 0x80, 0x4043 } },
	{ 0x80000000, 0, { 0x80000008, 0, 0, 0 } },
	{ 0 },
};
/*
 * A guest on such a processor: leaf 0x2 refers to leaf 0x18, which the hypervisor fills with zeros.
 */
static const struct answer guest[] = {
	{ 0x0, 0, { 0x1c, INTEL } },
	{ 0x2, 0, { 0x00feff01, 0x000000f0, 0, 0 } },
	{ 0x80000000, 0, { 0x80000021, 0, 0, 0 } },
	{ 0x80000006, 0, { 0, 0, 0x08007040, 0 } },
	{ 0 },
};
/* AuthenticAMD0830F10_K17_Rome_CPUID.txt */
static const struct answer zen_2[] = {
	{ 0x0, 0, { 0x10, AMD } },
	{ 0x80000000, 0, { 0x80000020, AMD } },
	{ 0x80000005, 0, { 0xff40ff40, 0xff40ff40, 0x20080140, 0x20080140 } },
	{ 0x80000006, 0, { 0x48006400, 0x68006400, 0x02006140, 0x08009140 } },
	{ 0x80000019, 0, { 0xf040f040, 0, 0, 0 } },
	{ 0 },
};
/* AuthenticAMD0A00F11_K19_Milan_CPUID1.txt */
static const struct answer zen_3[] = {
	{ 0x0, 0, { 0x10, AMD } },
	{ 0x80000000, 0, { 0x80000023, AMD } },
	{ 0x80000005, 0, { 0xff40ff40, 0xff40ff40, 0x20080140, 0x20080140 } },
	{ 0x80000006, 0, { 0x48002200, 0x68004200, 0x02006140, 0x08009140 } },
	{ 0x80000019, 0, { 0xf040f040, 0xf0400000, 0, 0 } },
	{ 0 },
};
/* AuthenticAMD0A10F11_K19_Genoa_01_CPUID.txt */
static const struct answer zen_4[] = {
	{ 0x0, 0, { 0x10, AMD } },
	{ 0x80000000, 0, { 0x80000028, AMD } },
	{ 0x80000005, 0, { 0xff48ff40, 0xff48ff40, 0x20080140, 0x20080140 } },
	{ 0x80000006, 0, { 0x5c002200, 0x6c004200, 0x04006140, 0x0c009140 } },
	{ 0x80000019, 0, { 0xf048f040, 0xf0400000, 0, 0 } },
	{ 0x80000021, 0, { 0x00062fcf, 0x0000015c, 0, 0 } },
	{ 0 },
};
/*
 * AuthenticAMD0B00F21_K20_Turin_01_CPUID.txt: TLBs of level 2 have so many entries that CPUID
 * counts them in units of 32.
 */
static const struct answer zen_5[] = {
	{ 0x0, 0, { 0x10, AMD } },
	{ 0x80000000, 0, { 0x80000028, AMD } },
	{ 0x80000005, 0, { 0xff60ff40, 0xff60ff40, 0x300c0140, 0x20080140 } },
	{ 0x80000006, 0, { 0x40802040, 0x60804040, 0x04008140, 0x08009140 } },
	{ 0x80000019, 0, { 0xf060f040, 0x40200000, 0, 0 } },
	{ 0x80000021, 0, { 0xd93fffcf, 0x00080382, 0, 0 } },
	{ 0 },
};
/* HygonGenuine0900F11_Hygon_01_CPUID.txt */
static const struct answer hygon[] = {
	{ 0x0, 0, { 0xd, HYGON } },
	{ 0x80000000, 0, { 0x8000001f, HYGON } },
	{ 0x80000005, 0, { 0xff40ff40, 0xff40ff40, 0x20080140, 0x40040140 } },
	{ 0x80000006, 0, { 0x26006400, 0x66006400, 0x02006140, 0x00808140 } },
	{ 0x80000019, 0, { 0xf040f040, 0, 0, 0 } },
	{ 0 },
};
/* AuthenticAMD00005A2_GeodeLX_CPUID.txt: one TLB of level 2 for instructions and data. */
static const struct answer geode[] = {
	{ 0x0, 0, { 0x1, AMD } },
	{ 0x80000000, 0, { 0x80000006, AMD } },
	{ 0x80000005, 0, { 0, 0xff10ff10, 0x40100120, 0x40100120 } },
	{ 0x80000006, 0, { 0x0000f004, 0x00002040, 0x00804120, 0 } },
	{ 0 },
};

static const struct answer *answers;
static unsigned asked;

/* Beyond the last leaf it answers as CPUs do: with registers of another leaf. */
static struct cpuid ask(uint32_t leaf, uint32_t subleaf)
{
	asked++;
	for (const struct answer *a = answers; a->registers.eax || a->leaf || a->subleaf; a++) {
		if (a->leaf == leaf && a->subleaf == subleaf)
			return a->registers;
		if (!a->leaf && leaf < 0x80000000 && leaf > a->registers.eax)
			return (struct cpuid){ 0x7f, 0x0010000f, 0x10, 0x4021 };
		if (a->leaf == 0x80000000 && leaf > a->registers.eax)
			return (struct cpuid){ 0xff40ff40, 0xf040f040, 0x10, 0x4021 };
	}
	return (struct cpuid){ 0 };
}

static void expect(const struct answer *given, const struct tlb *expected, unsigned n)
{
	struct tlb tlbs[MOST_TLBS];
	const char *why;

	answers = given;
	assert_int_equal(tlb_decode(ask, tlbs, &why), n);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(tlbs[i].level, expected[i].level);
		assert_string_equal(tlbs[i].type, expected[i].type);
		assert_int_equal(tlbs[i].page, expected[i].page);
		assert_int_equal(tlbs[i].entries, expected[i].entries);
		assert_int_equal(tlbs[i].ways, expected[i].ways);
	}
}

#define EXPECT(given, ...)                                            \
	do {                                                          \
		static const struct tlb expected[] = { __VA_ARGS__ }; \
		expect(given, expected, LENGTH(expected));            \
	} while (0)

static void descriptors_of_leaf_2(void **state)
{
	(void)state;
	EXPECT(kaby_lake, { 1, "data", K4, 64, 4 }, { 1, "data", M2, 32, 4 },
	       { 1, "data", G1, 4, 4 }, { 1, "instruction", K4, 64, 8 },
	       { 1, "instruction", M2, 8, 8 }, { 2, "unified", K4, 1536, 6 },
	       { 2, "unified", M2, 1536, 6 }, { 2, "unified", G1, 16, 4 });
	EXPECT(conroe, { 1, "data", K4, 16, 4 }, { 1, "data", M4, 16, 4 },
	       { 1, "instruction", K4, 128, 4 }, { 1, "instruction", M2, 8, 4 },
	       { 2, "data", K4, 256, 4 }, { 2, "data", M4, 32, 4 });
	EXPECT(goldmont, { 1, "data", K4, 32, 32 }, { 1, "data", M2, 32, 4 },
	       { 1, "instruction", K4, 48, 48 }, { 2, "data", K4, 512, 4 });
}

static void parameters_of_leaf_18(void **state)
{
	(void)state;
	EXPECT(sapphire_rapids, { 1, "instruction", K4, 256, 8 }, { 1, "instruction", M2, 32, 8 },
	       { 1, "load", K4, 64, 4 }, { 1, "load", M2, 32, 4 }, { 1, "load", G1, 8, 8 },
	       { 1, "store", K4, 16, 16 }, { 1, "store", M2, 16, 16 }, { 1, "store", G1, 16, 16 },
	       { 2, "unified", K4, 1024, 8 }, { 2, "unified", K4, 1024, 8 },
	       { 2, "unified", M2, 1024, 8 }, { 2, "unified", G1, 1024, 8 });
}

static void leaves_of_amd(void **state)
{
	(void)state;
	EXPECT(zen_2, { 1, "data", K4, 64, 64 }, { 1, "data", M2, 64, 64 },
	       { 1, "data", G1, 64, 64 }, { 1, "instruction", K4, 64, 64 },
	       { 1, "instruction", M2, 64, 64 }, { 1, "instruction", G1, 64, 64 },
	       { 2, "data", K4, 2048, 8 }, { 2, "data", M2, 2048, 4 },
	       { 2, "instruction", K4, 1024, 8 }, { 2, "instruction", M2, 1024, 8 });
	EXPECT(zen_3, { 1, "data", K4, 64, 64 }, { 1, "data", M2, 64, 64 },
	       { 1, "data", G1, 64, 64 }, { 1, "instruction", K4, 64, 64 },
	       { 1, "instruction", M2, 64, 64 }, { 1, "instruction", G1, 64, 64 },
	       { 2, "data", K4, 2048, 8 }, { 2, "data", M2, 2048, 4 }, { 2, "data", G1, 64, 64 },
	       { 2, "instruction", K4, 512, 4 }, { 2, "instruction", M2, 512, 2 });
	EXPECT(zen_4, { 1, "data", K4, 72, 72 }, { 1, "data", M2, 72, 72 },
	       { 1, "data", G1, 72, 72 }, { 1, "instruction", K4, 64, 64 },
	       { 1, "instruction", M2, 64, 64 }, { 1, "instruction", G1, 64, 64 },
	       { 2, "data", K4, 3072, 8 }, { 2, "data", M2, 3072, 6 }, { 2, "data", G1, 64, 64 },
	       { 2, "instruction", K4, 512, 4 }, { 2, "instruction", M2, 512, 2 });
	EXPECT(zen_5, { 1, "data", K4, 96, 96 }, { 1, "data", M2, 96, 96 },
	       { 1, "data", G1, 96, 96 }, { 1, "instruction", K4, 64, 64 },
	       { 1, "instruction", M2, 64, 64 }, { 1, "instruction", G1, 64, 64 },
	       { 2, "data", K4, 4096, 8 }, { 2, "data", M2, 4096, 4 }, { 2, "data", G1, 1024, 4 },
	       { 2, "instruction", K4, 2048, 4 }, { 2, "instruction", M2, 2048, 2 });
	EXPECT(hygon, { 1, "data", K4, 64, 64 }, { 1, "data", M2, 64, 64 },
	       { 1, "data", G1, 64, 64 }, { 1, "instruction", K4, 64, 64 },
	       { 1, "instruction", M2, 64, 64 }, { 1, "instruction", G1, 64, 64 },
	       { 2, "data", K4, 1536, 8 }, { 2, "data", M2, 1536, 2 },
	       { 2, "instruction", K4, 1024, 8 }, { 2, "instruction", M2, 1024, 8 });
	EXPECT(geode, { 1, "data", K4, 16, 16 }, { 1, "instruction", K4, 16, 16 },
	       { 2, "unified", K4, 64, 2 }, { 2, "unified", M2, 4, 4 });
}

static void none_says_why(void **state)
{
	static const struct answer zhaoxin[] = { { 0x0, 0, { 0x20, ZHAOXIN } }, { 0 } };
	static const struct answer no_leaf_2[] = { { 0x0, 0, { 0x1, INTEL } }, { 0 } };
	static const struct answer only_al[] = { { 0x0, 0, { 0x2, INTEL } },
						 { 0x2, 0, { 0x03, 0, 0, 0 } },
						 { 0 } };
	/* the highest bit says that a register has no descriptors */
	static const struct answer invalid[] = {
		{ 0x0, 0, { 0x2, INTEL } },
		{ 0x2, 0, { 0x80b6c303, 0x80b6c363, 0xff03b603, 0x8003b603 } },
		{ 0 }
	};
	static const struct answer no_extended[] = { { 0x0, 0, { 0x1, AMD } }, { 0 } };
	static const struct answer disabled[] = {
		{ 0x0, 0, { 0x10, AMD } },
		{ 0x80000000, 0, { 0x80000006, AMD } },
		{ 0x80000006, 0, { 0x00400040, 0xf000f000, 0, 0 } },
		{ 0 }
	};
	static const struct answer *const silent[] = { guest,	zhaoxin,  no_leaf_2,  invalid,
						       only_al, disabled, no_extended };

	(void)state;
	for (unsigned i = 0; i < LENGTH(silent); i++) {
		struct tlb tlbs[MOST_TLBS];
		const char *why = "";

		answers = silent[i];
		assert_int_equal(tlb_decode(ask, tlbs, &why), 0);
		assert_non_null(strstr(why, silent[i] == zhaoxin ? "vendor" : "hypervisor"));
	}
}

/* Unknown associativity, reserved codes, and descriptors for pages of 4 MiB only. */
static void what_is_not_told(void **state)
{
	static const struct answer old[] = { { 0x0, 0, { 0x2, INTEL } },
					     { 0x2, 0, { 0x005b0501, 0x00005000, 0, 0x0000004f } },
					     { 0 } };
	static const struct answer reserved[] = { { 0x0, 0, { 0x10, AMD } },
						  { 0x80000000, 0, { 0x80000006, AMD } },
						  { 0x80000006, 0, { 0x90407020, 0, 0, 0 } },
						  { 0 } };

	(void)state;
	EXPECT(old, { 1, "data", K4, 64, 0 }, { 1, "data", M4, 64, 0 },
	       { 1, "instruction", K4, 32, 0 }, { 1, "instruction", K4, 64, 0 },
	       { 1, "instruction", M2, 64, 0 }, { 2, "data", M4, 32, 4 });
	EXPECT(reserved, { 2, "data", M2, 64, 0 }, { 2, "instruction", M2, 32, 0 });
}

/* CPUID with endless subleaves: each has a TLB (edx 0x21), or none has (0). */
static uint32_t endless_edx;

static struct cpuid endless(uint32_t leaf, uint32_t subleaf)
{
	(void)subleaf;
	asked++;
	return leaf ? (struct cpuid){ UINT32_MAX, 0xffffffff, UINT32_MAX, endless_edx }
		    : (struct cpuid){ UINT32_MAX, INTEL };
}

static void lists_end(void **state)
{
	struct tlb tlbs[MOST_TLBS];
	const char *why;

	(void)state;
	endless_edx = 0x21;
	asked = 0;
	assert_int_equal(tlb_decode(endless, tlbs, &why), MOST_TLBS);
	assert_true(asked < 100);
	assert_true(tlbs[0].entries == UINT64_C(0xffff) * UINT32_MAX);
	endless_edx = 0;
	asked = 0;
	tlb_decode(endless, tlbs, &why);
	assert_true(asked < 100);
}

static void in_the_record(void **state)
{
	static const struct tlb tlbs[] = { { 1, "data", K4, 64, 4 },
					   { 1, "instruction", K4, 32, 0 } };
	json_t *list = provenance_tlb(tlbs, LENGTH(tlbs)), *none = provenance_tlb(tlbs, 0), *first,
	       *second;
	json_int_t level, page, entries, ways;
	const char *type, *why;

	(void)state;
	assert_int_equal(json_array_size(list), 2);
	first = json_array_get(list, 0), second = json_array_get(list, 1);
	assert_int_equal(json_unpack(first, "{s:I, s:s, s:I, s:I, s:I !}", "level", &level, "type",
				     &type, "page", &page, "entries", &entries, "ways", &ways),
			 0);
	assert_true(level == 1 && page == K4 && entries == 64 && ways == 4);
	assert_string_equal(type, "data");
	assert_int_equal(json_unpack(second, "{s:n, s:s}", "ways", "ways_why", &why), 0);
	assert_int_equal(json_array_size(none), 0);
	json_decref(list);
	json_decref(none);
}

static void for_people(void **state)
{
	static const struct tlb tlbs[] = { { 1, "load", K4, 64, 4 },
					   { 1, "store", G1, 16, 16 },
					   { 2, "unified", M2, 1536, 0 } };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	tlb_print(tlbs, LENGTH(tlbs), out);
	fclose(out);
	assert_string_equal(text, "TLB         page  entries       ways  of\n"
				  "L1         4 KiB       64          4  load\n"
				  "L1         1 GiB       16        all  store\n"
				  "L2         2 MiB     1536          -  unified\n");
	free(text);
}

static void this_machine_answers(void **state)
{
	struct tlb tlbs[MOST_TLBS];
	const char *why = NULL;
	unsigned n = tlb_read(tlbs, &why);

	(void)state;
	assert_true(n ? tlbs[0].level == 1 && tlbs[0].entries : why && *why);
}
int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptors_of_leaf_2), cmocka_unit_test(parameters_of_leaf_18),
		cmocka_unit_test(leaves_of_amd),	 cmocka_unit_test(none_says_why),
		cmocka_unit_test(what_is_not_told),	 cmocka_unit_test(lists_end),
		cmocka_unit_test(in_the_record),	 cmocka_unit_test(for_people),
		cmocka_unit_test(this_machine_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
