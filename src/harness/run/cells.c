/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/run/cells.h"
#include "base/utf8.h"

static void print_blanks(const struct cells *c, const char *text, int width)
{
	const int blanks = width - utf8_width(text);

	fprintf(c->to, "%*s", blanks > 0 ? blanks : 0, "");
}

static void begin(const struct cells *c)
{
	if (c->markdown)
		fprintf(c->to, "| ");
}

static void end(const struct cells *c)
{
	fputs(c->markdown ? " " : "  ", c->to);
}

/* A vertical line would end a cell of Markdown. */
static void print_text(const struct cells *c, const char *text)
{
	for (; *text; text++) {
		if (c->markdown && *text == '|')
			fputc('\\', c->to);
		fputc(*text, c->to);
	}
}

void cells_left(const struct cells *c, const char *text, int width)
{
	begin(c);
	print_text(c, text);
	print_blanks(c, text, width);
	end(c);
}

void cells_right(const struct cells *c, const char *text, int width)
{
	begin(c);
	print_blanks(c, text, width);
	print_text(c, text);
	end(c);
}

void cells_last(const struct cells *c, const char *text, const char *colour)
{
	begin(c);
	if (colour && c->coloured)
		fprintf(c->to, "\033[%sm%s\033[0m", colour, text);
	else
		print_text(c, text);
	fputs(c->markdown ? " |\n" : "\n", c->to);
}

void cells_rule(const struct cells *c, unsigned left, unsigned right)
{
	if (!c->markdown)
		return;
	for (unsigned i = 0; i < left; i++)
		fprintf(c->to, "|---");
	for (unsigned i = 0; i < right; i++)
		fprintf(c->to, "|--:");
	fprintf(c->to, "|---|\n");
}
