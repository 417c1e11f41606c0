/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forbid SYSCALL[,SYSCALL]... COMMAND [ARGUMENT]...: runs a command for which these system calls
 * fail with EPERM, as in containers. `threads` is no call, but those that start a thread, and no
 * process.
 */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#ifndef SYS_set_mempolicy_home_node
#define SYS_set_mempolicy_home_node 450
#endif

static const struct {
	const char *name;
	unsigned number;
} calls[] = {
	{ "clone", SYS_clone },
	{ "clone3", SYS_clone3 },
	{ "get_mempolicy", SYS_get_mempolicy },
	{ "madvise", SYS_madvise },
	{ "mbind", SYS_mbind },
	{ "migrate_pages", SYS_migrate_pages },
	{ "move_pages", SYS_move_pages },
	{ "perf_event_open", SYS_perf_event_open },
	{ "sched_getaffinity", SYS_sched_getaffinity },
	{ "sched_setaffinity", SYS_sched_setaffinity },
	{ "set_mempolicy", SYS_set_mempolicy },
	{ "set_mempolicy_home_node", SYS_set_mempolicy_home_node },
};
enum { CALLS = sizeof(calls) / sizeof(*calls) };

static int number_of(const char *name)
{
	for (unsigned i = 0; i < CALLS; i++)
		if (!strcmp(calls[i].name, name))
			return (int)calls[i].number;
	fprintf(stderr, "forbid: no system call '%s' in its table\n", name);
	exit(2);
}

enum { MOST = 2 * CALLS + 8 };
#define JUMP(test, value, yes, no) \
	((struct sock_filter)BPF_JUMP(BPF_JMP | (test) | BPF_K, (unsigned)(value), yes, no))
#define LOAD(offset) ((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset))
#define FAIL(error)  ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error)))

/*
 * A filter can't see the flags of clone3(). Without that call, libraries use clone(), whose first
 * argument they are.
 */
static void forbid_threads(struct sock_fprog *program)
{
	const bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	const struct sock_filter code[] = {
		JUMP(BPF_JEQ, SYS_clone3, 0, 1),
		FAIL(ENOSYS),
		JUMP(BPF_JEQ, SYS_clone, 0, 4),
		LOAD(offsetof(struct seccomp_data, args[0]) + (big ? 4 : 0)),
		JUMP(BPF_JSET, CLONE_THREAD, 0, 1),
		FAIL(EPERM),
		LOAD(offsetof(struct seccomp_data, nr)),
	};

	memcpy(program->filter + program->len, code, sizeof(code));
	program->len += sizeof(code) / sizeof(*code);
}

/*
 * For each call: is it this one? Then it fails. The command is of our own architecture, so that its
 * numbers are ours.
 */
static void forbid(char *names)
{
	struct sock_filter code[MOST + 9] = { LOAD(offsetof(struct seccomp_data, nr)) };
	struct sock_fprog program = { .len = 1, .filter = code };

	for (char *name = strtok(names, ","); name && program.len < MOST;
	     name = strtok(NULL, ",")) {
		if (!strcmp(name, "threads")) {
			forbid_threads(&program);
			continue;
		}
		code[program.len++] = JUMP(BPF_JEQ, number_of(name), 0, 1);
		code[program.len++] = FAIL(EPERM);
	}
	code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("forbid: seccomp");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: forbid SYSCALL[,SYSCALL]... COMMAND [ARGUMENT]...\n");
		return 2;
	}
	forbid(argv[1]);
	execvp(argv[2], argv + 2);
	fprintf(stderr, "forbid: %s: %s\n", argv[2], strerror(errno));
	return 127;
}
