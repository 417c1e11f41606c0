/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"
#include "base/wrapped.h"

/* The width of the first bytes of a text. */
static int width_of(const char *text, size_t bytes)
{
	int width = utf8_width(text);

	return width - utf8_width(text + bytes);
}

/*
 * `mark` stands at the end of each line but the last. Lists are broken after a comma; not those of
 * commands, which have a mark.
 */
static void wrap(const char *head, const char *text, int indent, const char *mark, FILE *f)
{
	const int most = WRAPPED_WIDTH - utf8_width(mark);
	const char *ends = *mark ? " |" : " |,";
	int used = utf8_width(head), gap = 0;

	fputs(head, f);
	for (bool first = true; *text; first = false) {
		size_t word = strcspn(text, ends);
		int width;

		word += text[word] && text[word] != ' ';
		width = width_of(text, word);
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

void wrapped_row(const char *head, const char *text, int indent, FILE *f)
{
	wrap(head, text, indent, "", f);
}

void wrapped_command(const char *head, const char *text, int indent, FILE *f)
{
	wrap(head, text, indent, " \\", f);
}

void wrapped_print(const char *text, int indent, FILE *f)
{
	wrapped_row("", text, indent, f);
}
