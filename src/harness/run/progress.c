/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness/run/progress.h"
#include "base/text.h"
#include "base/utf8.h"
#include "machine/clock.h"

#define ERASE "\r\033[K"

void progress_begin(struct progress *p, bool quiet)
{
	const char *terminal = getenv("TERM");

	*p = (struct progress){ .wanted = !quiet && isatty(STDERR_FILENO) && terminal &&
					  strcmp(terminal, "dumb") };
}

static int terminal_width(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;
}

/* Bytes of the first so many characters. */
static size_t bytes_of(const char *text, int width)
{
	const char *at = text;

	for (; *at; at++)
		if (utf8_begins(*at) && width-- <= 0)
			break;
	return (size_t)(at - text);
}

void progress_show(struct progress *p, const char *what, unsigned done, unsigned all, double left)
{
	const double now = clock_now();
	char text[640], duration[TEXT_DURATION];

	if (!p->wanted || (p->shown && now - p->last < 0.1))
		return;
	snprintf(text, sizeof(text), "%u of %u, %s left  %s", done, all,
		 text_duration(duration, left), what);
	/* a line that the terminal wraps could not be erased */
	fprintf(stderr, ERASE "%.*s", (int)bytes_of(text, terminal_width() - 1), text);
	p->shown = true;
	p->last = now;
}

void progress_clear(struct progress *p)
{
	if (p->shown)
		fprintf(stderr, ERASE);
	p->shown = false;
}
