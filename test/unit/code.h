/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at the machine code of the running program: a kernel is what its loop consists of, whatever the compiler made of its source. */
#ifndef LOCUS_TEST_CODE_H
#define LOCUS_TEST_CODE_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * What the loop of a kernel must consist of: at least so many of an instruction, with these registers, and besides nothing but
 * `also`: what counts, compares, jumps, and loads where the instruction itself can't. Both gcc and clang are on the list.
 */
struct expectation {
	const char *function, *instruction, *registers;
	unsigned least;
	const char *also;
};

/* Other flags make other code; what is measured is to be built with -O2. */
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
	uint64_t at, target; /* of a jump; else 0 */
	char name[16], operands[80];
};
struct code {
	unsigned n;
	struct instruction list[MOST_INSTRUCTIONS];
};

/* Of a line like "  4005d0:\tvaddpd 0x40(%rsi),%zmm1,%zmm1". */
static bool read_instruction(const char *line, struct instruction *i)
{
	const char *operands;

	memset(i, 0, sizeof(*i));
	if (sscanf(line, " %" SCNx64 ":\t%15s", &i->at, i->name) != 2)
		return false;
	operands = strstr(line, i->name) + strlen(i->name);
	snprintf(i->operands, sizeof(i->operands), "%.*s", (int)strcspn(operands, "\n"), operands);
	if (i->name[0] == 'j' || i->name[0] == 'b')
		sscanf(operands, "%" SCNx64, &i->target);
	return true;
}

static void disassemble(const char *function, struct code *code)
{
	char command[256], line[512];
	FILE *f;

	snprintf(command, sizeof(command), "objdump -d --no-show-raw-insn --disassemble=%s /proc/%d/exe 2>/dev/null", function,
		 getpid());
	code->n = 0;
	f = popen(command, "r");
	if (!f)
		return;
	while (code->n < MOST_INSTRUCTIONS && fgets(line, sizeof(line), f))
		code->n += read_instruction(line, &code->list[code->n]);
	pclose(f);
}

/* Is the word in a list that blanks divide? */
static bool listed(const char *word, const char *list)
{
	const size_t length = strlen(word);

	for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
		if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
			return true;
	return false;
}

static bool wanted(const struct expectation *e, const struct instruction *i)
{
	return listed(i->name, e->instruction) && strstr(i->operands, e->registers);
}

/* Is there a loop, from the target of a jump back to the jump, of what is expected and nothing else? */
static bool has_loop(const struct expectation *e, const struct code *code)
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

static void loop_is_what_was_meant(void **state)
{
	static struct code code;
	const struct expectation *e = *state;

	disassemble(e->function, &code);
	if (!code.n)
		fail_msg("%s: no such function in this program", e->function);
	if (!has_loop(e, &code))
		fail_msg("%s: no loop of at least %u %s on %s and only%s", e->function, e->least, e->instruction, e->registers,
			 e->also);
}

/* Why machine code can't be looked at here; NULL: it can. */
static const char *unreadable(void)
{
	if (!PLAIN)
		return "built without optimisation, or with sanitizers";
	return system("objdump --version >/dev/null 2>&1") ? "objdump is missing (Debian, Fedora, Spack: binutils)" : NULL;
}

#endif
