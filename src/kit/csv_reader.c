/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a text file by lines and fields. */
#include "kit/csv.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arithmetic.h"
#include "base/utf8.h"
#include "base/why.h"

bool csv_reader_open(struct csv_reader *r, const struct input *in, char separator, const char **why)
{
	*r = (struct csv_reader){ .in = in,
				  .why = why,
				  .separator = separator,
				  .block = malloc(INPUT_BLOCK),
				  .line = 1 };
	if (!r->block)
		why_set(why, "%s: %m", in->name);
	return r->block;
}

void csv_reader_go_to(struct csv_reader *r, struct csv_mark mark)
{
	r->line = mark.line;
	if (mark.offset >= r->offset && mark.offset - r->offset <= r->end) {
		r->at = mark.offset - r->offset;
	} else {
		r->at = r->end = 0;
		r->offset = mark.offset;
	}
}

/* The next character; EOF at the end, and if the file cannot be read. */
static int peek(struct csv_reader *r)
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

void csv_reader_next_line(struct csv_reader *r)
{
	const char *end = NULL;

	for (; !end && peek(r) != EOF; r->at = end ? (size_t)(end + 1 - r->block) : r->end)
		end = memchr(r->block + r->at, '\n', r->end - r->at);
	r->line++;
}

static bool separates(const struct csv_reader *r, int c)
{
	return r->separator == CSV_ANY ? c == ',' || c == ';' || c == '\t'
				       : c == r->separator || (r->separator == ' ' && c == '\t');
}

static bool is_blank(const struct csv_reader *r, int c)
{
	return c == ' ' || c == '\r' ||
	       (c == '\t' && r->separator != '\t' && r->separator != CSV_ANY);
}

static void skip_blanks(struct csv_reader *r)
{
	while (is_blank(r, peek(r)))
		r->at++;
}

static const char *const errors_of_excel[] = { "#N/A",	  "#NA",    "#DIV/0!", "#REF!",
					       "#VALUE!", "#NAME?", "#NUM!",   "#NULL!" };

/* Whether the text begins with one of Excel's errors, and nothing but a separator follows it. */
static bool is_error(const char *text)
{
	for (size_t i = 0; i < sizeof(errors_of_excel) / sizeof(*errors_of_excel); i++) {
		const size_t length = strlen(errors_of_excel[i]);

		if (!strncasecmp(text, errors_of_excel[i], length) &&
		    (!text[length] || strchr(",;\t \r\n", text[length])))
			return true;
	}
	return false;
}

/* Whether the line, which begins with #, is a comment. */
static bool is_comment(struct csv_reader *r, struct csv_mark line)
{
	char start[16] = "";

	for (size_t n = 0; n < sizeof(start) - 1 && peek(r) != EOF; n++)
		start[n] = r->block[r->at++];
	csv_reader_go_to(r, line);
	skip_blanks(r);
	return !is_error(start);
}

bool csv_reader_find_row(struct csv_reader *r, struct csv_mark *begin)
{
	for (;; csv_reader_next_line(r)) {
		int c;

		*begin = (struct csv_mark){ r->offset + r->at, r->line };
		skip_blanks(r);
		c = peek(r);
		if (c == EOF)
			return false;
		if (c != '\n' && (c != '#' || !is_comment(r, *begin)))
			return true;
	}
}

char csv_reader_separator(struct csv_reader *r)
{
	char found = ' ';
	int c;

	for (; (c = peek(r)) != EOF && c != '\n'; r->at++)
		if (c == ',' || c == ';' || c == '\t')
			found = (char)(found == ' ' || found == c ? c : CSV_ANY);
	return found;
}

static int refuse_byte(const struct csv_reader *r, size_t i)
{
	const unsigned char c = (unsigned char)r->block[i];

	if (c == '\r')
		return why_fail(r->why,
				"%s: byte %zu: a carriage return (CR) alone; expected lines that "
				"end with LF or CR LF",
				r->in->name, i);
	return why_fail(r->why,
			"%s: byte %zu is 0x%02x; expected an NPY file, which begins "
			"with \\x93NUMPY, or text (CSV)",
			r->in->name, i, c);
}

/* Control characters are not text, nor is a carriage return that ends a line as Macs once did. */
static bool is_text(const struct csv_reader *r, size_t i)
{
	const unsigned char c = (unsigned char)r->block[i];

	if (c == '\r')
		return i + 1 == r->end || strchr("\r\n", r->block[i + 1]);
	return (c >= ' ' || c == '\t' || c == '\n') && c != 0x7f;
}

/* Other files that users have: how they begin. */
static const struct {
	const char *begin, *what;
} others[] = {
	{ "\xff\xfe", "text in UTF-16; expected ASCII or UTF-8" },
	{ "\xfe\xff", "text in UTF-16; expected ASCII or UTF-8" },
	{ "\x1f\x8b", "compressed by gzip; expected NPY or CSV: unpack it first" },
	{ "\3757zXZ", "compressed by xz; expected NPY or CSV: unpack it first" },
	{ "\x28\xb5\x2f\xfd", "compressed by zstd; expected NPY or CSV: unpack it first" },
	{ "PK\x03\x04", "an archive, such as .npz or .xlsx; expected NPY (numpy.save) or CSV" },
	{ "\x89HDF", "HDF5; expected NPY or CSV" },
	{ "PAR1\x15", "Parquet; expected NPY or CSV" },
};

int csv_reader_check(struct csv_reader *r)
{
	(void)peek(r);
	for (size_t i = 0; i < LENGTH(others); i++) {
		const size_t n = strlen(others[i].begin);

		if (r->end >= n && !memcmp(r->block, others[i].begin, n))
			return why_fail(r->why, "%s: is %s", r->in->name, others[i].what);
	}
	for (size_t i = 0; i < r->end; i++)
		if (!is_text(r, i))
			return refuse_byte(r, i);
	r->at += utf8_mark(r->block, r->end);
	return r->failed ? -1 : 0;
}

/* Removes quotes around the text, and blanks within them. */
static void unquote(struct csv_field *f)
{
	size_t begin = 1, end = f->length - 1;

	f->quoted = f->length > 1 && f->length < sizeof(f->text) && f->text[0] == '"' &&
		    f->text[end] == '"';
	if (!f->quoted)
		return;
	while (begin < end && f->text[begin] == ' ')
		begin++;
	while (begin < end && f->text[end - 1] == ' ')
		end--;
	f->length = end - begin;
	memmove(f->text, f->text + begin, f->length);
	f->text[f->length] = 0;
}

void csv_reader_take(struct csv_reader *r, struct csv_field *f)
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
	unquote(f);
}

bool csv_reader_more(struct csv_reader *r)
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

bool csv_field_number(const struct csv_field *f, locale_t c, double *value)
{
	char *end;

	if (!f->length || strspn(f->text, "0123456789+-.eEnaifytNAIFYT") != f->length)
		return false;
	*value = strtod_l(f->text, &end, c);
	return !*end;
}

bool csv_field_is_exact(const struct csv_field *f, double value)
{
	const char *const digits = f->text + strspn(f->text, "+-0");
	char text[sizeof(f->text)];

	if (fabs(value) < 0x1p53 || digits[strspn(digits, "0123456789")])
		return true;
	snprintf(text, sizeof(text), "%.0f", fabs(value));
	return !strcmp(text, digits);
}

/* Words that programs write instead of a number, besides those that strtod takes. */
static const char *const no_names[] = { "na",	    "n/a",	 "n.a.",    "<na>",
					"nat",	    "null",	 "(null)",  "nil",
					"none",	    "\\n",	 "missing", "undefined",
					"nan(ind)", "-nan(ind)", "true",    "false" };

bool csv_field_names(const struct csv_field *f)
{
	const char *const start = f->text + strspn(f->text, " \"'+-.,");
	bool letter = false;

	for (size_t i = 0; i < sizeof(no_names) / sizeof(*no_names); i++)
		if (!strcasecmp(f->text, no_names[i]))
			return false;
	for (const char *c = f->text; *c; c++)
		letter = letter || isalpha((unsigned char)*c) || *c == '_' || *c & 0x80;
	return letter && !isdigit((unsigned char)*start) && !is_error(f->text);
}
