/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kit/agree.h"
#include "machine/watchdog.h"
#include "base/message.h"
#include "base/utf8.h"

enum { MOST_WORDS = 1024 }; /* bytes of words */

bool rank_is_first(const struct ranks *ranks)
{
	return rank_of(ranks) == 0;
}

#define WAITING "waiting for other ranks"

void agree_largest(const struct ranks *ranks, double *x, size_t n)
{
	if (!ranks)
		return;
	watchdog_away(WAITING);
	ranks->most(x, n);
	watchdog_back();
}

void agree_total(const struct ranks *ranks, int64_t *x, size_t n)
{
	if (!ranks)
		return;
	watchdog_away(WAITING);
	ranks->sum(x, n);
	watchdog_back();
}

double agree_most(const struct ranks *ranks, double x)
{
	agree_largest(ranks, &x, 1);
	return x;
}

bool agree_any(const struct ranks *ranks, bool yes)
{
	return agree_most(ranks, yes) > 0;
}

bool agree_same(const struct ranks *ranks, uint64_t x)
{
	double upper = (double)(x >> 11);

	return agree_most(ranks, upper) == -agree_most(ranks, -upper);
}

/* Sums whole parts and billionths as integers: exactly, so that all ranks get the same. */
void agree_sum(const struct ranks *ranks, double *x, size_t n)
{
	enum { AT_ONCE = 1000 };
	int64_t parts[AT_ONCE][3];

	for (size_t at = 0; ranks && at < n; at += AT_ONCE) {
		const size_t length = n - at < AT_ONCE ? n - at : AT_ONCE;

		for (size_t i = 0; i < length; i++) {
			const double value = isfinite(x[at + i]) ? x[at + i] : 0,
				     whole = floor(value);

			parts[i][0] = (int64_t)whole;
			parts[i][1] = llround((value - whole) * 1e9);
			parts[i][2] = !isfinite(x[at + i]);
		}
		agree_total(ranks, parts[0], 3 * length);
		for (size_t i = 0; i < length; i++)
			x[at + i] = parts[i][2] ? NAN
						: (double)parts[i][0] + (double)parts[i][1] * 1e-9;
	}
}

void agree_copy(const struct ranks *ranks, unsigned from, void *bytes, size_t size)
{
	if (!ranks)
		return;
	watchdog_away(WAITING);
	ranks->copy(from, bytes, size);
	watchdog_back();
}

/* The first rank where `is` holds; ranks->ranks: none. */
static unsigned first_of(const struct ranks *ranks, bool is)
{
	return (unsigned)-agree_most(ranks, is ? -(double)ranks->rank : -(double)ranks->ranks);
}

void agree_words(const struct ranks *ranks, char **words)
{
	char text[MOST_WORDS] = "", host[UTF8_HOST];
	unsigned first;

	if (!ranks || (first = first_of(ranks, *words)) == ranks->ranks)
		return;
	if (ranks->rank == first && first)
		snprintf(text, sizeof(text), "on rank %u (%s): %s", first, utf8_host(host), *words);
	else if (ranks->rank == first)
		snprintf(text, sizeof(text), "%s", *words);
	agree_copy(ranks, first, text, sizeof(text));
	free(*words);
	*words = strdup(text);
	if (!*words) /* without a message this rank would continue, and the others would not */
		abort();
}

bool agree_go_on(const struct ranks *ranks, char *why_not)
{
	bool good;

	agree_words(ranks, &why_not);
	good = !why_not;
	if (why_not && rank_is_first(ranks))
		message_own("%s", why_not);
	free(why_not);
	return good;
}

/* Replaces the descriptor and not the FILE, to which libraries may keep a pointer. */
void mute_begin(struct mute *m, const struct ranks *ranks)
{
	*m = (struct mute){ -1, -1 };
	if (rank_is_first(ranks))
		return;
	m->was = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
	m->kept = memfd_create("stderr", MFD_CLOEXEC);
	if (m->was >= 0 && m->kept >= 0)
		dup2(m->kept, STDERR_FILENO);
}

/* The first line of the messages that were kept. */
static char *first_line(const struct mute *m)
{
	char text[MOST_WORDS];
	ssize_t n = m->kept >= 0 ? pread(m->kept, text, sizeof(text) - 1, 0) : 0;

	text[n > 0 ? n : 0] = 0;
	text[strcspn(text, "\n")] = 0;
	return strdup(*text ? text : "failed without a message");
}

void mute_end(struct mute *m, const struct ranks *ranks, int *status)
{
	char *words = ranks && *status ? first_line(m) : NULL;

	if (m->was >= 0) {
		dup2(m->was, STDERR_FILENO);
		close(m->was);
	}
	if (m->kept >= 0)
		close(m->kept);
	agree_words(ranks, &words);
	if (words && rank_is_first(ranks) && !*status)
		message_own("%s", words);
	*status = (int)agree_most(ranks, *status);
	free(words);
}
