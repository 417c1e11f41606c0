/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The streaming kernels, in each instruction set of this CPU: results against a plain loop, and
 * the instructions of their machine code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "bench/numa/kernels.h"
#include "code.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- results ---- */

enum { MOST = 1100, GUARD = 64, ALIGNMENTS = 16 };
#define UNTOUCHED (-1.0)

/*
 * An array with guard elements before and after it. Arrays begin `offset` elements into the body,
 * which is aligned to vectors, lines and pairs of lines.
 */
struct guarded {
	_Alignas(ALIGNMENTS * sizeof(double)) double before[GUARD], body[ALIGNMENTS + MOST + GUARD];
};

static void prepare(struct guarded *g, size_t offset, size_t n, unsigned period)
{
	for (size_t i = 0; i < LENGTH(g->before); i++)
		g->before[i] = UNTOUCHED;
	for (size_t i = 0; i < LENGTH(g->body); i++)
		g->body[i] = i >= offset && i < offset + n && period ? (double)(i * i % period)
								     : UNTOUCHED;
}

/* Is everything but g->body[offset .. offset + n) untouched? */
static bool contained(const struct guarded *g, size_t offset, size_t n)
{
	for (size_t i = 0; i < LENGTH(g->before); i++)
		if (g->before[i] != UNTOUCHED)
			return false;
	for (size_t i = 0; i < LENGTH(g->body); i++)
		if ((i < offset || i >= offset + n) && g->body[i] != UNTOUCHED)
			return false;
	return true;
}

static double sum_of(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return sum;
}

static void run_once(const struct kernel *k, enum isa set, size_t n, unsigned shift)
{
	static struct guarded to, x, y;
	const size_t at_to = shift, at_x = shift * 3 % ALIGNMENTS, at_y = shift * 7 % ALIGNMENTS;
	const uint64_t passes = n % 3;
	double sum;

	prepare(&to, at_to, n, 0);
	prepare(&x, at_x, n, 1009);
	prepare(&y, at_y, n, 503);
	sum = k->run[set](k->writes ? to.body + at_to : NULL, x.body + at_x,
			  k->reads > 1 ? y.body + at_y : NULL, n, passes);
	assert_true(sum == (k->writes ? 0 : (double)passes * sum_of(x.body + at_x, n)));
	assert_true(contained(&to, at_to, k->writes && passes ? n : 0));
	for (size_t i = 0; k->writes && passes && i < n; i++)
		assert_true(to.body[at_to + i] ==
			    k->of_x * x.body[at_x + i] + k->of_y * y.body[at_y + i]);
	assert_true(contained(&x, at_x, n) && contained(&y, at_y, n));
}

/*
 * All lengths below 68, and longer ones around multiples of the unrolled loops, at all alignments
 * of a double.
 */
static void computes_what_it_says(void **state)
{
	static const size_t longer[] = { 95,  96,  127, 128,  129,  255,  256, 257,
					 511, 512, 515, 1023, 1024, 1025, MOST };
	const struct kernel *k = *state;

	for (enum isa set = 0; set < ISAS; set++) {
		if (!k->run[set] || !isa_usable(set))
			continue;
		for (unsigned shift = 0; shift < ALIGNMENTS; shift++) {
			for (size_t n = 0; n < 68; n++)
				run_once(k, set, n, shift);
			for (size_t i = 0; i < LENGTH(longer); i++)
				run_once(k, set, longer[i], shift);
		}
	}
}

/* The sum changes when any one element does: none is left out or counted twice. */
static void every_element_counts_once(void **state)
{
	static struct guarded x;
	const struct kernel *k = *state;

	for (enum isa set = 0; set < ISAS; set++) {
		if (!k->run[set] || !isa_usable(set))
			continue;
		for (size_t n = 1; n < 300; n += 7) {
			prepare(&x, 1, n, 1);
			for (size_t i = 0; i < n; i++) {
				x.body[1 + i] = 1;
				assert_true(k->run[set](NULL, x.body + 1, NULL, n, 1) == 1);
				x.body[1 + i] = 0;
			}
		}
	}
}

/* ---- the table ---- */

static void table_has_the_order_of_its_choices(void **state)
{
	char names[256] = "";

	(void)state;
	for (unsigned i = 0; i < KERNELS; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? "," : "",
			 kernels[i].name);
	assert_string_equal(names, KERNEL_CHOICES);
}

static void choice_is_the_widest_usable(void **state)
{
	(void)state;
	for (unsigned i = 0; i < KERNELS; i++) {
		enum isa set = ISAS;
		stream *run = kernel_choose(&kernels[i], &set);

		if (!run) {
			assert_true(kernels[i].streaming);
			continue;
		}
		assert_ptr_equal(run, kernels[i].run[set]);
		assert_true(isa_usable(set));
		while (++set < ISAS)
			assert_true(!kernels[i].run[set] || !isa_usable(set));
	}
}

/* ---- machine code ---- */

static const struct expectation expectations[] = {
#ifdef __x86_64__
#define COUNTING  " add sub lea cmp test inc dec mov nop nopl nopw cs jne ja jae jb jbe je jl jg "
#define LOADS	  "movupd movups movapd vmovupd vmovups vmovapd vmovdqu vmovdqu64 "
#define FMA	  "vfmadd132pd vfmadd213pd vfmadd231pd vaddpd "
#define STREAMING "movntpd movntps vmovntpd vmovntps vmovntdq"
	{ "sum_scalar", "addsd vaddsd", "%xmm", 1, COUNTING },
	{ "sum_avx512", "vaddpd", "%zmm", 8, COUNTING },
	{ "sum_avx2", "vaddpd", "%ymm", 8, COUNTING },
	{ "sum_baseline", "addpd vaddpd", "%xmm", 8, COUNTING LOADS },
	{ "copy_avx512", LOADS, "%zmm", 8, COUNTING },
	{ "triad_avx512", FMA, "%zmm", 4, COUNTING LOADS "vmulpd " },
	{ "triad_avx2", FMA, "%ymm", 4, COUNTING LOADS "vmulpd " },
	{ "copy_nt_avx512", STREAMING, "%zmm", 4, COUNTING LOADS },
	{ "triad_nt_avx512", STREAMING, "%zmm", 4, COUNTING LOADS FMA "vmulpd " },
	{ "triad_nt_avx2", STREAMING, "%ymm", 4, COUNTING LOADS FMA "vmulpd " },
	{ "triad_nt_baseline", STREAMING, "%xmm", 4, COUNTING LOADS FMA "mulpd vmulpd addpd " },
#endif
#ifdef __aarch64__
#define COUNTING " add sub subs cmp nop mov b.ne b.hi b.cs b.cc b.ls b.eq cbnz cbz "
	{ "sum_scalar", "fadd", "d", 1, COUNTING "ldr " },
	{ "sum_baseline", "fadd", "v", 8, COUNTING "ldr ldp ldur " },
	{ "copy_baseline", "str stp stur", "q", 2, COUNTING "ldr ldp ldur " },
	{ "triad_nt_baseline", "stnp", "q", 2, COUNTING "ldr ldp ldur fmla fmul fadd " },
#endif
	{ .function = NULL }
};

struct suite {
	size_t n;
	char name[KERNELS + LENGTH(expectations) + 4][64];
	struct CMUnitTest test[KERNELS + LENGTH(expectations) + 4];
};

static void add(struct suite *s, const char *subject, const char *what, CMUnitTestFunction function,
		const void *about)
{
	snprintf(s->name[s->n], sizeof(s->name[0]), "%s_%s", subject, what);
	s->test[s->n] = (struct CMUnitTest){ s->name[s->n], function, NULL, NULL, (void *)about };
	s->n++;
}

int main(void)
{
	static struct suite s;
	const char *why_not = unreadable();

	add(&s, "table", "has_the_order_of_its_choices", table_has_the_order_of_its_choices, NULL);
	add(&s, "choice", "is_the_widest_usable", choice_is_the_widest_usable, NULL);
	for (unsigned i = 0; i < KERNELS; i++)
		add(&s, kernels[i].name, "computes_what_it_says", computes_what_it_says,
		    &kernels[i]);
	add(&s, "sum", "counts_every_element_once", every_element_counts_once, &kernels[SUM]);
	add(&s, "sum-scalar", "counts_every_element_once", every_element_counts_once,
	    &kernels[SUM_SCALAR]);
	for (unsigned i = 0; !why_not && expectations[i].function; i++)
		add(&s, expectations[i].function, "loops_as_meant", loop_is_what_was_meant,
		    &expectations[i]);
	if (why_not)
		printf("# machine code not looked at: %s\n", why_not);
	return _cmocka_run_group_tests("numa kernels", s.test, s.n, NULL, NULL);
}
