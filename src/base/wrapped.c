/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"
#include "base/message.h"

/* The width of the first bytes of a text. */
static int width_of(const char *text, size_t bytes)
{
	int width = utf8_width(text);

	return width - utf8_width(text + bytes);
}

/* The bytes of the next piece, up to one of these characters: a line may end after it. */
static size_t piece_of(const char *text, const char *ends)
{
	const size_t bytes = strcspn(text, ends);

	return bytes + (text[bytes] && text[bytes] != ' ');
}

/*
 * `mark` stands at the end of each line but the last. A list that no line has room for is broken
 * after its commas, but not in a command, which has a mark.
 */
static void wrap(const char *head, const char *text, int indent, const char *mark, FILE *f)
{
	const int most = MESSAGE_WIDTH - utf8_width(mark);
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
