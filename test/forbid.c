/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forbid SYSCALL[,SYSCALL]... COMMAND [ARGUMENT]...: runs a command for which these system calls
 * fail with EPERM, as in containers.
 */
#include <errno.h>
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

/*
 * For each call: is it this one? Then it fails. The command is of our own architecture, so that its
 * numbers are ours.
 */
static void forbid(char *names)
{
	struct sock_filter code[2 * CALLS + 2] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
							    offsetof(struct seccomp_data, nr)) };
	struct sock_fprog program = { .len = 1, .filter = code };

	for (char *name = strtok(names, ","); name && program.len < 2 * CALLS;
	     name = strtok(NULL, ",")) {
		code[program.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
								   (unsigned)number_of(name), 0, 1);
		code[program.len++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
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
