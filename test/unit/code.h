/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at the machine code of the running program: whether the loop of a kernel has the
 * instructions it was written for, whatever the compiler did.
 */
#ifndef LOCUS_TEST_CODE_H
#define LOCUS_TEST_CODE_H

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * What the loop of a kernel must consist of: at least so many of one instruction, with these
 * registers. Besides it only instructions in `also`: they count, compare, jump, and load where the
 * instruction itself cannot. The lists allow what gcc and clang generate.
 */
struct expectation {
	const char *function, *instruction, *registers;
	unsigned least;
	const char *also;
};

/* Other flags generate other code; the measured kernels are to be built with -O2. */
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
	!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define PLAIN true
#else
#define PLAIN false
#endif

enum { MOST_INSTRUCTIONS = 4096 };
struct instruction {
	uint64_t at, target; /* the target of a jump; else 0 */
	char name[16], operands[80];
};
struct code {
	unsigned n;
	struct instruction list[MOST_INSTRUCTIONS];
};

/*
 * The target of a jump like "jne 4005d0 <f+0x10>" or "cbnz x2, 4005d0 <f+0x10>"; 0: not a jump, or
 * a call.
 */
static inline uint64_t target_of(const struct instruction *i)
{
	const char *label = strstr(i->operands, " <"), *digits = label;

	if (!label || !strchr("jbct", i->name[0]) || strncmp(i->name, "call", 4) == 0 ||
	    strncmp(i->name, "bl", 2) == 0)
		return 0;
	while (digits > i->operands && isxdigit((unsigned char)digits[-1]))
		digits--;
	return strtoull(digits, NULL, 16);
}

/* Reads a line of objdump like "  4005d0:\tvaddpd 0x40(%rsi),%zmm1,%zmm1". */
static inline bool read_instruction(const char *line, struct instruction *i)
{
	const char *operands;

	memset(i, 0, sizeof(*i));
	if (sscanf(line, " %" SCNx64 ":\t%15s", &i->at, i->name) != 2)
		return false;
	/* in "1b4:\tb\t1c8" skip the b of the address */
	operands = strstr(strchr(line, ':'), i->name) + strlen(i->name);
	snprintf(i->operands, sizeof(i->operands), "%.*s", (int)strcspn(operands, "\n"), operands);
	i->target = target_of(i);
	return true;
}

static inline void disassemble(const char *function, struct code *code)
{
	char command[PATH_MAX + 256], line[512];
	/* emulators imitate this file of /proc; the others describe the emulator */
	char *program = realpath("/proc/self/exe", NULL);
	FILE *f;

	snprintf(command, sizeof(command),
		 "objdump -d --no-show-raw-insn --disassemble=%s '%s' 2>/dev/null", function,
		 program ? program : "");
	free(program);
	code->n = 0;
	f = popen(command, "r");
	if (!f)
		return;
	while (code->n < MOST_INSTRUCTIONS && fgets(line, sizeof(line), f))
		code->n += read_instruction(line, &code->list[code->n]);
	pclose(f);
}

/* Is the word in a list that blanks divide? */
static inline bool listed(const char *word, const char *list)
{
	const size_t length = strlen(word);

	for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
		if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
			return true;
	return false;
}

static inline bool wanted(const struct expectation *e, const struct instruction *i)
{
	return listed(i->name, e->instruction) && strstr(i->operands, e->registers);
}

/*
 * Is there a loop, from the target of a jump back to the jump, with only the expected instructions?
 */
static inline bool has_loop(const struct expectation *e, const struct code *code)
{
	for (unsigned end = 0; end < code->n; end++) {
		const uint64_t begin = code->list[end].target;
		unsigned found = 0;
		bool pure = true;

		if (!begin || begin >= code->list[end].at)
			continue;
		for (unsigned i = end + 1; i-- > 0 && code->list[i].at >= begin;) {
			found += wanted(e, &code->list[i]);
			pure &= wanted(e, &code->list[i]) || listed(code->list[i].name, e->also);
		}
		if (pure && found >= e->least)
			return true;
	}
	return false;
}

static inline void loop_is_what_was_meant(void **state)
{
	static struct code code;
	const struct expectation *e = *state;

	disassemble(e->function, &code);
	if (!code.n)
		fail_msg("%s: no such function in this program", e->function);
	if (!has_loop(e, &code))
		fail_msg("%s: no loop of at least %u %s on %s and only%s", e->function, e->least,
			 e->instruction, e->registers, e->also);
}

/*
 * For kernels that no single instruction characterises: extended regular expressions, each for a
 * whole instruction ("mov (%rdi),%rax"). In some loop (LOOP), or in the whole function (ALL), each
 * pattern of `must` matches an instruction, and all other instructions match `may`.
 */
struct shape {
	const char *function;
	enum { LOOP, ALL } extent;
	const char *may, *must[8];
};

/* Parts of such expressions, in objdump's syntax. */
#ifdef __x86_64__
#define R	 "%[a-z0-9]+"
#define AT	 "(-?0x[0-9a-f]+)?\\(" R "(," R "(,[1248])?)?\\)"
#define ON_STACK "(0x[0-9a-f]+)?\\(%rsp\\)"
#define NUMBER	 "\\$-?0x[0-9a-f]+"
#define ADDED	 "add[lq]? \\$0x1," R "|inc[lq]? " R "|lea 0x1\\(" R "\\)," R
#define LOADED	 "mov(zbl|b|l|q)? " AT "," R
#define STORED	 "mov[blq]? " R "," AT
#define CALL(F)	 "call [0-9a-f]+ <" F "(@plt)?>"
/* counts, compares and jumps, without access to memory */
#define ARITHMETIC                                                                 \
	"(add|sub|and|or|shl|shr|cmp|test|mov)[lqbw]? (" R "|" NUMBER ")," R       \
	"|(inc|dec|not|neg|shl|shr)[lq]? " R "|xor " R "," R "|movz[bw]l " R "," R \
	"|(cmov|set)[a-z]+ " R ".*|lea " AT "," R                                  \
	"|j[a-z]+ .*|(cs |data16 )*nop[wl]?( .*)?|xchg %ax,%ax"
/* ... and the beginning and end of a function, and spilled registers */
#define AROUND                                                                             \
	ARITHMETIC "|push " R "|pop " R "|ret|endbr64|[a-z]+ (" R "|" NUMBER ")," ON_STACK \
		   "|[a-z]+ " ON_STACK "," R
#elif defined(__aarch64__)
#define R	"([wx]([0-9]+|zr)|sp)"
#define AT	"\\[[^]]+\\]"
#define ADDED	"add " R ", " R ", #0x1"
#define LOADED	"(ldr|ldrb|ldar|ldarb|ldapr|ldaprb) " R ", " AT
#define STORED	"(str|strb|stlr|stlrb) " R ", " AT
#define CALL(F) "bl [0-9a-f]+ <" F "(@plt)?>"
#define ARITHMETIC                                                                                \
	"(add|sub|subs|cmp|ccmp|tst|mov|and|orr|eor|mvn|bic|cset|csel|csinc|lsl|lsr|ubfiz|ubfx) " \
	".*|nop|b(\\.[a-z]+)? .*|cbn?z .*|tbn?z .*"
#define AROUND ARITHMETIC "|(stp|ldp|str|ldr) [^[]*\\[sp.*|ret|paciasp|autiasp|bti .*|hint .*"
#endif

enum { MOST_PATTERNS = 8 };
struct patterns {
	unsigned n;
	regex_t of[MOST_PATTERNS + 1]; /* the last one is `may` */
};

static inline void compile_pattern(regex_t *r, const char *text)
{
	char whole[2048];

	snprintf(whole, sizeof(whole), "^(%s)$", text);
	if (regcomp(r, whole, REG_EXTENDED | REG_NOSUB))
		fail_msg("not a regular expression: %s", whole);
}

/* The instruction's text with single blanks, without objdump's comment. */
static inline void print_instruction(const struct instruction *i, char *text, size_t size)
{
	size_t n = (size_t)snprintf(text, size, "%s", i->name);

	for (const char *c = i->operands;
	     *c && n + 2 < size && strncmp(c, "//", 2) && strncmp(c, " # ", 3); c++)
		if (!isspace((unsigned char)*c))
			text[n++] = *c;
		else if (text[n - 1] != ' ')
			text[n++] = ' ';
	while (n && text[n - 1] == ' ')
		n--;
	text[n] = '\0';
}

/*
 * Do the instructions from first to last have this shape? `culprit`: the first that is not allowed,
 * or the pattern that is missing.
 */
static inline bool has_shape(const struct patterns *p, const struct shape *s,
			     const struct code *code, unsigned first, unsigned last, char *culprit,
			     size_t size)
{
	bool found[MOST_PATTERNS] = { false };
	char text[128];

	for (unsigned i = first; i <= last; i++) {
		bool known = false;

		print_instruction(&code->list[i], text, sizeof(text));
		for (unsigned j = 0; j <= p->n; j++) {
			if (regexec(&p->of[j == p->n ? MOST_PATTERNS : j], text, 0, NULL, 0))
				continue;
			known = true;
			if (j < p->n)
				found[j] = true;
		}
		if (!known) {
			snprintf(culprit, size, "%s", text);
			return false;
		}
	}
	for (unsigned j = 0; j < p->n; j++)
		if (!found[j]) {
			snprintf(culprit, size, "lacks %s", s->must[j]);
			return false;
		}
	return true;
}

static inline void has_the_shape_that_was_meant(void **state)
{
	static struct code code;
	const struct shape *s = *state;
	struct patterns p = { 0 };
	char culprit[512] = "no loop";
	bool right = false;

	disassemble(s->function, &code);
	if (!code.n)
		fail_msg("%s: no such function in this program", s->function);
	while (p.n < MOST_PATTERNS && s->must[p.n]) {
		compile_pattern(&p.of[p.n], s->must[p.n]);
		p.n++;
	}
	compile_pattern(&p.of[MOST_PATTERNS], s->may);
	if (s->extent == ALL)
		right = has_shape(&p, s, &code, 0, code.n - 1, culprit, sizeof(culprit));
	for (unsigned end = 0, begin; s->extent == LOOP && !right && end < code.n; end++) {
		for (begin = end; begin > 0 && code.list[begin].at > code.list[end].target; begin--)
			;
		if (code.list[end].target && code.list[begin].at == code.list[end].target)
			right = has_shape(&p, s, &code, begin, end, culprit, sizeof(culprit));
	}
	for (unsigned i = 0; i < p.n; i++)
		regfree(&p.of[i]);
	regfree(&p.of[MOST_PATTERNS]);
	if (!right)
		fail_msg("%s: %s: %s", s->function,
			 s->extent == ALL ? "not of the shape that was meant"
					  : "no loop of the shape that was meant",
			 culprit);
}

/* Why machine code cannot be read here; NULL: it can. */
static inline const char *unreadable(void)
{
	if (!PLAIN)
		return "built without optimisation, or with sanitizers";
	return system("objdump --version >/dev/null 2>&1")
		       ? "objdump is missing (Debian, Fedora, Spack: binutils)"
		       : NULL;
}

/*
 * Checks that each of n functions has the intended shape; entries without a function are skipped.
 */
static inline void have_the_shapes_that_were_meant(const struct shape *shapes, size_t n)
{
	const char *why_not = unreadable();

	if (why_not) {
		print_message("skipped: %s\n", why_not);
		skip();
	}
	for (size_t i = 0; i < n; i++) {
		void *shape = (void *)&shapes[i];

		if (shapes[i].function)
			has_the_shape_that_was_meant(&shape);
	}
}

#endif
