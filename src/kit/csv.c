/* SPDX-License-Identifier: Apache-2.0 */
/* A library is not needed: the files hold numbers and separators only. */
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/why.h"
#include "kit/csv.h"

/* Where a line begins: its offset in the file, and its number, from 1. */
struct csv_mark {
	size_t offset, line;
};
#define ROWS_APART 1024

/* Reads a CSV file by characters, and counts the lines. */
struct reader {
	const struct input *in;
	const char **why;
	char separator;
	char *block;
	size_t at, end; /* in the block: the next character; its end */
	size_t offset;	/* of the block, in the file */
	size_t line;
	bool failed; /* and said why */
};

static bool reader_open(struct reader *r, const struct input *in, char separator, const char **why)
{
	*r = (struct reader){ .in = in,
			      .why = why,
			      .separator = separator,
			      .block = malloc(INPUT_BLOCK),
			      .line = 1 };
	if (!r->block)
		why_set(why, "%s: %m", in->name);
	return r->block;
}

static void go_to(struct reader *r, struct csv_mark mark)
{
	r->at = r->end = 0;
	r->offset = mark.offset;
	r->line = mark.line;
}

/* The next character; EOF at the end, and where the file can't be read. */
static int peek(struct reader *r)
{
	ssize_t n;

	if (r->at == r->end && !r->failed) {
		r->offset += r->end;
		n = input_read_some(r->in, r->block, INPUT_BLOCK, r->offset, r->why);
		r->failed = n < 0;
		r->at = 0;
		r->end = n < 0 ? 0 : (size_t)n;
	}
	return r->at < r->end ? (unsigned char)r->block[r->at] : EOF;
}

static void next_line(struct reader *r)
{
	const char *end = NULL;

	for (; !end && peek(r) != EOF; r->at = end ? (size_t)(end + 1 - r->block) : r->end)
		end = memchr(r->block + r->at, '\n', r->end - r->at);
	r->line++;
}

/* In place of the separator, for a line that has two of comma, semicolon and tab. */
#define ANY '?'

static bool separates(const struct reader *r, int c)
{
	return r->separator == ANY ? c == ',' || c == ';' || c == '\t'
				   : c == r->separator || (r->separator == ' ' && c == '\t');
}

static bool is_blank(const struct reader *r, int c)
{
	return c == ' ' || c == '\r' || (c == '\t' && r->separator != '\t' && r->separator != ANY);
}

static void skip_blanks(struct reader *r)
{
	while (is_blank(r, peek(r)))
		r->at++;
}

/* From a line's beginning, goes to the first line with values: this or a later one. */
static bool find_row(struct reader *r, struct csv_mark *begin)
{
	for (;; next_line(r)) {
		int c;

		*begin = (struct csv_mark){ r->offset + r->at, r->line };
		skip_blanks(r);
		c = peek(r);
		if (c == EOF)
			return false;
		if (c != '\n' && c != '#')
			return true;
	}
}

/* Longer fields are cut, and then are no numbers. */
struct field {
	char text[512];
	size_t length;
};

/*
 * Reads a field, without blanks around it. Leaves the reader at the separator or line end;
 * separators within quotes don't count.
 */
static void take_field(struct reader *r, struct field *f)
{
	bool quoted = false;
	int c;

	f->length = 0;
	skip_blanks(r);
	for (size_t n = 0; (c = peek(r)) != EOF && c != '\n' && (quoted || !separates(r, c));
	     r->at++) {
		quoted ^= c == '"';
		if (n < sizeof(f->text) - 1)
			f->text[n] = (char)c;
		n++;
		if (!is_blank(r, c))
			f->length = n;
	}
	f->text[f->length < sizeof(f->text) ? f->length : sizeof(f->text) - 1] = 0;
}

/* Goes to the next field of the line, where there is one. */
static bool more_fields(struct reader *r)
{
	int c;

	if (r->separator == ' ')
		skip_blanks(r);
	c = peek(r);
	if (c == '\n' || c == EOF)
		return false;
	if (r->separator != ' ')
		r->at++;
	return true;
}

/*
 * Whatever strtod takes except hexadecimal digits. NaN and infinity count: as values they are
 * refused later, and they are no names.
 */
static bool is_number(locale_t c, const struct field *f, double *value)
{
	char *end;

	if (!f->length || strspn(f->text, "0123456789+-.eEnaifytNAIFYT") != f->length)
		return false;
	*value = strtod_l(f->text, &end, c);
	return !*end;
}

/* What separates the values of the line. */
static char separator_of(struct reader *r)
{
	char found = ' ';
	int c;

	for (; (c = peek(r)) != EOF && c != '\n'; r->at++)
		if (c == ',' || c == ';' || c == '\t')
			found = (char)(found == ' ' || found == c ? c : ANY);
	return found;
}

struct line {
	struct csv_mark mark;
	size_t fields, numbers;
};

static void count_fields(struct reader *r, locale_t c, struct line *l)
{
	struct field f;
	double value;

	l->fields = l->numbers = 0;
	go_to(r, l->mark);
	do {
		take_field(r, &f);
		l->fields++;
		l->numbers += is_number(c, &f, &value);
	} while (more_fields(r));
}

/* Finds the separator and the number of values of the next line with values. */
static bool look_at_line(struct reader *r, locale_t c, struct line *l)
{
	if (!find_row(r, &l->mark))
		return false;
	r->separator = separator_of(r);
	count_fields(r, c, l);
	return true;
}

/* Refuses control characters in the first block; skips a byte order mark. */
static int check_text(struct reader *r)
{
	(void)peek(r);
	for (size_t i = 0; i < r->end; i++) {
		const unsigned char c = (unsigned char)r->block[i];

		if ((c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7f)
			return why_fail(
				r->why,
				"%s: byte %zu is 0x%02x; expected an NPY file, which begins "
				"with \\x93NUMPY, or text (CSV)",
				r->in->name, i, c);
	}
	if (r->end >= 3 && memcmp(r->block, "\xef\xbb\xbf", 3) == 0)
		r->at = 3;
	return r->failed ? -1 : 0;
}

/* `what`: of which type it has to be, or "". */
static int refuse_value(const struct reader *r, size_t value, struct field *f, const char *what)
{
	return why_fail(r->why, "%s: line %zu, value %zu: '%s'; expected a finite number%s",
			r->in->name, r->line, value, why_quotable(f->text), what);
}

/* Refuses a second line without numbers. */
static int refuse_names(struct reader *r, struct csv_mark mark)
{
	struct field f;

	go_to(r, mark);
	take_field(r, &f);
	return refuse_value(r, 1, &f, "");
}

/* A first line without any number is a header: as many names as there are values. */
static int read_first_lines(struct csv *f, struct reader *r, struct csv_mark *first)
{
	struct line names = { .fields = 0 }, values = { .fields = 0 };

	if (!look_at_line(r, f->c, &values))
		return r->failed ? -1
				 : why_fail(r->why, "%s: line %zu: the file ends; expected numbers",
					    r->in->name, r->line);
	if (!values.numbers) {
		names.mark = values.mark;
		next_line(r);
		if (!look_at_line(r, f->c, &values))
			return r->failed ? -1
					 : why_fail(r->why,
						    "%s: line %zu: the file ends, after a line "
						    "without "
						    "numbers; expected numbers",
						    r->in->name, r->line);
		count_fields(r, f->c, &names);
	}
	if (r->failed)
		return -1;
	if (!values.numbers)
		return refuse_names(r, values.mark);
	if (r->separator == ANY)
		return why_fail(
			r->why,
			"%s: line %zu: has two of comma, semicolon and tab; expected one as the "
			"separator, and decimal points in numbers",
			r->in->name, values.mark.line);
	if (names.fields && names.fields != values.fields)
		return why_fail(
			r->why,
			"%s: line %zu: %zu value%s; expected %zu, as there are names in line "
			"%zu",
			r->in->name, values.mark.line, values.fields, values.fields == 1 ? "" : "s",
			names.fields, names.mark.line);
	if (values.fields > UINT_MAX)
		return why_fail(r->why, "%s: line %zu: %zu values; expected at most %u",
				r->in->name, values.mark.line, values.fields, UINT_MAX);
	f->columns = (unsigned)values.fields;
	f->separator = r->separator;
	*first = values.mark;
	return 0;
}

static int find_rows(struct csv *f, struct reader *r, struct csv_mark mark)
{
	size_t room = 0;

	for (go_to(r, mark); find_row(r, &mark); next_line(r)) {
		if (f->rows / ROWS_APART == room) {
			const size_t larger = room ? 2 * room : 8;
			struct csv_mark *const marks =
				reallocarray(f->mark, larger, sizeof(*marks));

			if (!marks)
				return why_fail(r->why, "%s: %m", r->in->name);
			f->mark = marks;
			room = larger;
		}
		if (f->rows % ROWS_APART == 0)
			f->mark[f->rows / ROWS_APART] = mark;
		f->rows++;
	}
	return r->failed ? -1 : 0;
}

int csv_open(struct csv *f, const struct input *in, const char **why)
{
	struct csv_mark first = { 0, 0 };
	struct reader r;
	int status = -1;

	*f = (struct csv){ .c = newlocale(LC_ALL_MASK, "C", (locale_t)0) };
	if (!f->c)
		return why_fail(why, "%s: %m", in->name);
	if (!reader_open(&r, in, ' ', why))
		return -1;
	if (!check_text(&r) && !read_first_lines(f, &r, &first))
		status = find_rows(f, &r, first);
	free(r.block);
	return status;
}

void csv_close(struct csv *f)
{
	if (f->c)
		freelocale(f->c);
	free(f->mark);
}

/* Stores the value, rounded to the type; false if that is no finite number. */
static bool put_value(void *to, enum real as, size_t i, double value)
{
	real_set(as, to, i, value);
	return isfinite(real_get(as, to, i));
}

static int read_row(const struct csv *f, struct reader *r, enum real as, void *to)
{
	size_t j = 0;

	do {
		struct field field;
		double value;

		take_field(r, &field);
		if (j++ >= f->columns || r->failed)
			continue;
		if (!is_number(f->c, &field, &value) || !put_value(to, as, j - 1, value))
			return refuse_value(r, j, &field, as == REAL_FLOAT ? " of type float" : "");
	} while (more_fields(r));
	if (!r->failed && j != f->columns)
		return why_fail(r->why, "%s: line %zu: %zu value%s; expected %u, as in line %zu",
				r->in->name, r->line, j, j == 1 ? "" : "s", f->columns,
				f->mark->line);
	return r->failed ? -1 : 0;
}

int csv_read(const struct csv *f, const struct input *in, size_t first, size_t n, enum real as,
	     void *to, const char **why)
{
	struct reader r;
	struct csv_mark mark;
	int status = 0;

	if (!reader_open(&r, in, f->separator, why))
		return -1;
	go_to(&r, f->mark[first / ROWS_APART]);
	for (size_t i = first / ROWS_APART * ROWS_APART; !status && i < first + n;
	     i++, next_line(&r)) {
		if (!find_row(&r, &mark))
			status = r.failed ? -1
					  : why_fail(why,
						     "%s: line %zu: the file ends; rows expected "
						     "after "
						     "it: %zu",
						     in->name, r.line, first + n - i);
		else if (i >= first)
			status = read_row(f, &r, as,
					  (char *)to + (i - first) * f->columns * real_bytes(as));
	}
	free(r.block);
	return status;
}
