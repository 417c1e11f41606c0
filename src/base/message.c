/* SPDX-License-Identifier: Apache-2.0 */
#include "base/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/utf8.h"

int message_width(FILE *f)
{
	const char *given = getenv("COLUMNS");
	struct winsize size = { 0 };
	long columns = given ? strtol(given, NULL, 10) : 0;

	if (columns <= 0 && ioctl(fileno(f), TIOCGWINSZ, &size) == 0)
		columns = size.ws_col;
	if (columns <= 0 || columns > MESSAGE_WIDTH)
		return MESSAGE_WIDTH;
	return columns < MESSAGE_LEAST ? MESSAGE_LEAST : (int)columns;
}

/* The width of the first bytes of a text. */
static int width_of(const char *text, size_t bytes)
{
	int width = utf8_width(text);

	return width - utf8_width(text + bytes);
}

/* Length of the next piece: up to and including one of `ends`, where a line may be broken. */
static size_t piece_of(const char *text, const char *ends)
{
	const size_t bytes = strcspn(text, ends);

	return bytes + (text[bytes] && text[bytes] != ' ');
}

/*
 * `mark` ends each line but the last. A list that is longer than a line is broken after its commas;
 * a command, which has a mark, is not.
 */
static void wrap(const char *head, const char *text, int indent, const char *mark, FILE *f)
{
	const int most = message_width(f) - utf8_width(mark);
	int used = utf8_width(head), gap = 1;
	const char *ends = " |";

	fputs(head, f);
	for (bool first = true; *text; first = false) {
		size_t word;
		int width;

		if (gap)
			ends = !*mark && width_of(text, strcspn(text, " |")) > most - indent ? " |,"
											     : " |";
		word = piece_of(text, ends);
		width = width_of(text, word);
		gap = gap && !first;
		if (!first && used + gap + width > most) {
			fprintf(f, "%s\n%*s", mark, indent, "");
			used = indent;
		} else if (gap) {
			fputc(' ', f);
			used++;
		}
		fprintf(f, "%.*s", (int)word, text);
		used += width;
		text += word;
		gap = *text == ' ';
		text += gap;
	}
	fputc('\n', f);
}

void message_row(const char *head, const char *text, int indent, FILE *f)
{
	wrap(head, text, indent, "", f);
}

void message_command(const char *head, const char *text, int indent, FILE *f)
{
	wrap(head, text, indent, " \\", f);
}

void message_print(const char *text, int indent, FILE *f)
{
	message_row("", text, indent, f);
}

enum { INDENT = 2 };

static void say(const char *head, const char *format, va_list arguments)
{
	char *text = NULL;
	const int length = vasprintf(&text, format, arguments);
	const char *said = length < 0 ? format : utf8_tame(text); /* no memory */

	if (isatty(STDERR_FILENO))
		message_row(head, said, INDENT, stderr);
	else
		fprintf(stderr, "%s%s\n", head, said);
	free(length < 0 ? NULL : text);
}

void message(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say("", format, arguments);
	va_end(arguments);
}

void message_own(const char *format, ...)
{
	char head[64];
	va_list arguments;

	snprintf(head, sizeof(head), "%s: ", program_invocation_short_name);
	va_start(arguments, format);
	say(head, format, arguments);
	va_end(arguments);
}

/* After an earlier failed write errno may be stale, so the reason comes from writing a newline. */
bool message_flush(void)
{
	bool failed = fflush(stdout);

	if (!failed && !ferror(stdout))
		return true;
	if (!failed)
		failed = putchar('\n') == EOF || fflush(stdout);
	message_own("standard output: %s",
		    failed ? strerror(errno) : "a part could not be written");
	return false;
}
