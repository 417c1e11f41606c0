/* SPDX-License-Identifier: Apache-2.0 */
/* cores: the answers of its fixed work, how interruptions change quanta, a CPU that errs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/cores/quantum.h"
#include "code.h"

/* One step, by libm's fma(), or by a product that is stored, and so rounded, before the sum. */
static double step(double x, bool twice)
{
	volatile double product;

	if (!twice)
		return fma(x, x, QUANTUM_C);
	product = x * x;
	return product + QUANTUM_C;
}

static uint64_t answer_by_hand(unsigned lanes, bool twice)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < QUANTUM_CHAINS; i++)
		for (unsigned j = 0; j < lanes; j++) {
			double x = QUANTUM_START + (i * QUANTUM_MOST_LANES + j) / 1024.0;
			uint64_t bits;

			for (unsigned k = 0; k < QUANTUM_STEPS; k++)
				x = step(x, twice);
			memcpy(&bits, &x, sizeof(bits));
			sum += bits;
		}
	return sum;
}

static void test_the_constants_are_what_other_code_finds(void **state)
{
	(void)state;
	for (enum isa set = ISA_SCALAR; set < ISAS; set++)
		if (quantum_of[set])
			assert_int_equal(quantum_answer(set),
					 answer_by_hand(isa_width(set) / sizeof(double),
							quantum_rounds_twice(set)));
}

static void test_each_width_finds_the_answer(void **state)
{
	(void)state;
	assert_non_null(quantum_of[ISA_SCALAR]);
	for (enum isa set = ISA_SCALAR; set < ISAS; set++)
		if (quantum_of[set] && isa_usable(set))
			assert_int_equal(quantum_of[set](QUANTUM_START), quantum_answer(set));
}

/*
 * An error of one bit in any start value changes the answer: 2^-45 of the first value, where an
 * error of 2^-54 would be rounded away.
 */
static void test_a_wrong_bit_gives_another_answer(void **state)
{
	(void)state;
	for (enum isa set = ISA_SCALAR; set < ISAS; set++)
		if (quantum_of[set] && isa_usable(set))
			assert_int_not_equal(quantum_of[set](QUANTUM_START + 0x1p-45),
					     quantum_answer(set));
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b);
}

static void test_quanta_without_interruptions_lose_nothing(void **state)
{
	double times[1000];
	struct quanta q;

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		times[i] = 10 + 0.001 * (i * 7 % 1000); /* 10 to 10.999: at most a tenth more */
	q = quanta_of(times, 1000);
	assert_true(near(q.median, 10.4995));
	assert_true(q.lost == 0);
	assert_true(near(q.gap, 0.4995));
	assert_true(near(q.tail, 10.998001));
}

/* Gaps of 5 and 85 in a thousand quanta of 10: the longest gap is beyond the 99.9 % quantile. */
static void test_planted_gaps_are_found(void **state)
{
	double times[1000];
	struct quanta q;

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		times[i] = 10;
	times[17] += 5;
	times[333] += 85;
	q = quanta_of(times, 1000);
	assert_true(near(q.median, 10));
	assert_true(near(q.gap, 85));
	assert_true(near(q.lost, 90.0 / (10 * 1000 + 90)));
	assert_true(near(q.tail, 15 + 0.001 * 80));
}

static void test_one_quantum_is_enough(void **state)
{
	double time = 3;
	struct quanta q = quanta_of(&time, 1);

	(void)state;
	assert_true(q.median == 3 && q.tail == 3 && q.gap == 0 && q.lost == 0);
}

/* Twelve chains in registers, and nothing else in the loop. */
static const struct expectation expectations[] = {
#if defined(__x86_64__)
#define COUNTING " add sub dec cmp mov nop nopl nopw jne "
#define TIMES	 "mulsd vmulsd mulpd vmulpd "
#define PLUS	 "addsd vaddsd subsd vsubsd addpd vaddpd subpd vsubpd "
	{ "quantum_64", TIMES, "%xmm", QUANTUM_CHAINS, COUNTING PLUS "movapd vmovapd " },
	{ "quantum_128", TIMES, "%xmm", QUANTUM_CHAINS, COUNTING PLUS "movapd vmovapd " },
	{ "quantum_256", "vfmadd132pd vfmadd213pd vfmadd231pd", "%ymm", QUANTUM_CHAINS, COUNTING },
	{ "quantum_512", "vfmadd132pd vfmadd213pd vfmadd231pd", "%zmm", QUANTUM_CHAINS, COUNTING },
#elif defined(__aarch64__)
#define COUNTING " add sub subs cmp nop mov b.ne cbnz "
	{ "quantum_64", "fmadd", "d", QUANTUM_CHAINS, COUNTING },
	/* fmla adds to one of its sources: the sum is first copied there */
	{ "quantum_128", "fmla", "v", QUANTUM_CHAINS, COUNTING },
#endif
	{ NULL, NULL, NULL, 0, NULL }
};

static void test_loops_are_what_was_meant(void **state)
{
	const char *why_not = unreadable();

	(void)state;
	if (why_not) {
		print_message("skipped: %s\n", why_not);
		skip();
	}
	for (const struct expectation *e = expectations; e->function; e++)
		loop_is_what_was_meant(&(void *){ (void *)e });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_constants_are_what_other_code_finds),
		cmocka_unit_test(test_each_width_finds_the_answer),
		cmocka_unit_test(test_a_wrong_bit_gives_another_answer),
		cmocka_unit_test(test_quanta_without_interruptions_lose_nothing),
		cmocka_unit_test(test_planted_gaps_are_found),
		cmocka_unit_test(test_one_quantum_is_enough),
		cmocka_unit_test(test_loops_are_what_was_meant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
