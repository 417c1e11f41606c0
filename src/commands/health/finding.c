/* SPDX-License-Identifier: Apache-2.0 */
/* Findings, and the line that reports them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"
#include "commands/health/finding.h"

/* Most bytes of the host's name in the line, so that the findings have room. */
enum { HOST = 48 };

static void note(char text[HEALTH_TEXT], unsigned *n, const char *format, va_list arguments)
{
	if (!(*n)++) {
		vsnprintf(text, HEALTH_TEXT, format, arguments);
		utf8_whole(utf8_tame(text));
	}
}

void health_finding(struct health *h, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	note(h->finding, &h->findings, format, arguments);
	va_end(arguments);
}

void health_unknown(struct health *h, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	note(h->unknown, &h->unknowns, format, arguments);
	va_end(arguments);
}

/* Cuts a text between characters, to so many bytes. */
static void cut(char *text, size_t most)
{
	if (strlen(text) <= most)
		return;
	while (most && !utf8_begins(text[most]))
		most--;
	text[most] = 0;
}

/* How many things were as expected, and how many are unknown. */
static void tell_good(const struct health *h, char text[HEALTH_TEXT])
{
	char unknown[32] = "";

	if (h->unknowns)
		snprintf(unknown, sizeof(unknown), "; %u unknown", h->unknowns);
	if (*h->no_trials)
		snprintf(text, HEALTH_TEXT, "as expected: %s%s; no trials: %.160s",
			 text_count(h->facts, "fact").of, unknown, h->no_trials);
	else if (h->trials)
		snprintf(text, HEALTH_TEXT, "as expected: %s, %s%s",
			 text_count(h->facts, "fact").of, text_count(h->trials, "trial").of,
			 unknown);
	else
		snprintf(text, HEALTH_TEXT, "as expected: %s%s", text_count(h->facts, "fact").of,
			 unknown);
}

void health_line(const struct health *h, const char *host, char line[HEALTH_LINE + 1])
{
	char name[HEALTH_TEXT], told[HEALTH_TEXT], more[32] = "";
	size_t room;

	snprintf(name, sizeof(name), "%s", host);
	cut(name, HOST);
	snprintf(told, sizeof(told), "%s", h->finding);
	if (!h->findings)
		tell_good(h, told);
	if (h->findings > 1)
		snprintf(more, sizeof(more), "; %u more", h->findings - 1);
	room = HEALTH_LINE - strlen("locus:  ") - strlen(name) - strlen(more);
	cut(told, room);
	snprintf(line, HEALTH_LINE + 1, "locus: %.*s %.*s%s", HOST, name, (int)room, told, more);
}
