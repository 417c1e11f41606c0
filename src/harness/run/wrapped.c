/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/utf8.h"
#include "harness/run/wrapped.h"

/* Columns of the first bytes of a text. */
static int width_of(const char *text, size_t bytes)
{
	int width = utf8_width(text);

	return width - utf8_width(text + bytes);
}

void wrapped_print(const char *text, int indent, FILE *f)
{
	int used = 0;

	while (*text) {
		const size_t word = strcspn(text, " ");
		const int width = width_of(text, word);

		if (used && used + 1 + width > WRAPPED_WIDTH) {
			fprintf(f, "\n%*s", indent, "");
			used = indent;
		} else if (used) {
			fputc(' ', f);
			used++;
		}
		fprintf(f, "%.*s", (int)word, text);
		used += width;
		text += word;
		text += *text == ' ';
	}
	fputc('\n', f);
}
