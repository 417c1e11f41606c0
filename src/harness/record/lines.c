/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "harness/record/lines.h"

enum { BEGINNING = 1000 }; /* bytes: room for most lines */

void lines_open(struct lines *in, FILE *file)
{
	*in = (struct lines){ .file = file };
}

void lines_close(struct lines *in)
{
	free(in->line);
	fclose(in->file);
}

/* Makes room for one more byte and a final zero. */
static bool has_room(struct lines *in)
{
	const size_t room = in->room ? smaller(2 * in->room, LINES_LONGEST + 1) : BEGINNING;
	char *grown;

	if (in->kept + 2 <= in->room)
		return true;
	grown = realloc(in->line, room);
	if (!grown)
		return false;
	in->line = grown;
	in->room = room;
	return true;
}

/* Returns the byte, or EOF at the end. */
static int next_byte(struct lines *in)
{
	const int c = getc_unlocked(in->file);

	if (c == EOF) {
		in->error = ferror(in->file) ? errno : 0;
		return EOF;
	}
	in->length++;
	in->zeros |= !c;
	if (in->kept == LINES_LONGEST)
		return c;
	if (!has_room(in)) {
		in->error = ENOMEM;
		return EOF;
	}
	in->line[in->kept++] = (char)c;
	in->line[in->kept] = '\0';
	return c;
}

bool lines_next(struct lines *in)
{
	int c = 0;

	in->kept = 0;
	in->length = 0;
	in->zeros = false;
	while (c != '\n' && c != EOF)
		c = next_byte(in);
	in->n += in->length > 0;
	return c == '\n';
}

bool lines_too_long(const struct lines *in)
{
	return in->length > (off_t)in->kept;
}
