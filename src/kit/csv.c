/* SPDX-License-Identifier: Apache-2.0 */
/* A library is not needed: the files hold numbers and separators only. */
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/why.h"
#include "base/utf8.h"
#include "kit/csv.h"

#define ROWS_APART 1024

/* The contents of a line; `n` counts fields. */
struct line {
	struct csv_mark mark;
	size_t n, numbers, names, quoted;
	size_t counted; /* fields that equal their own index: 0,1,2 */
	size_t whole;	/* numbers of digits alone */
	bool unnamed;	/* the first field is empty */
	bool uneven;	/* the numbers are not in equal steps, other than 0 */
	bool repeated;	/* a number equals the one before it */
	double last, step;
};

static bool is_index(const struct csv_field *f, size_t index)
{
	char text[32];

	snprintf(text, sizeof(text), "%zu", index);
	return !strcmp(f->text, text);
}

/* Compares a number with the one before it. */
static void look_at_step(struct line *l, double value)
{
	const double step = value - l->last;

	if (l->n == 1)
		l->step = step;
	if (l->n) {
		l->repeated = l->repeated || step == 0;
		l->uneven =
			l->uneven || step == 0 || !(fabs(step - l->step) <= 1e-6 * fabs(l->step));
	}
	l->last = value;
}

static void look_at_fields(struct csv_reader *r, locale_t c, struct line *l)
{
	struct csv_field f;
	double value;

	*l = (struct line){ .mark = l->mark };
	csv_reader_go_to(r, l->mark);
	do {
		csv_reader_take(r, &f);
		if (csv_field_number(&f, c, &value)) {
			l->numbers++;
			l->whole += strspn(f.text, "0123456789") == f.length;
			look_at_step(l, value);
		}
		l->names += csv_field_names(&f);
		l->quoted += f.quoted;
		l->counted += is_index(&f, l->n);
		l->unnamed = l->unnamed || (l->n == 0 && !*f.text);
		l->n++;
	} while (csv_reader_more(r));
}

/* Finds the separator and the number of values of the next line with values. */
static bool look_at_line(struct csv_reader *r, locale_t c, struct line *l)
{
	*l = (struct line){ .n = 0 };
	if (!csv_reader_find_row(r, &l->mark))
		return false;
	r->separator = csv_reader_separator(r);
	look_at_fields(r, c, l);
	return true;
}

static const char a_number[] = "a finite number";

static int refuse_value(const struct csv_reader *r, size_t value, struct csv_field *f,
			const char *expected)
{
	return why_fail(r->why, "%s: line %zu, value %zu: '%s'; expected %s", r->in->name, r->line,
			value, why_quotable(f->text), expected);
}

/* Refuses the first field of the line that cannot be a name; if all can, the first field. */
static int refuse_names(struct csv_reader *r, const struct line *l, const char *expected)
{
	struct csv_field f;
	size_t value = 0;

	csv_reader_go_to(r, l->mark);
	do {
		csv_reader_take(r, &f);
		value++;
	} while (l->names < l->n && csv_field_names(&f) && csv_reader_more(r));
	return refuse_value(r, value, &f, expected);
}

static int refuse_end(const struct csv_reader *r, const char *after)
{
	return r->failed ? -1
			 : why_fail(r->why, "%s: line %zu: the file ends%s; expected numbers",
				    r->in->name, r->line, after);
}

/*
 * Finds the line of names, if there is one (n > 0), and the first line of values. A first line
 * without any number holds names, as many as there are values, if each can be a name.
 */
static int find_first_lines(struct csv *f, struct csv_reader *r, struct line *names,
			    struct line *values)
{
	static const char or_name[] = "a finite number, or a name for each column";

	if (!look_at_line(r, f->c, values))
		return refuse_end(r, "");
	if (!values->numbers) {
		*names = *values;
		csv_reader_next_line(r);
		if (!look_at_line(r, f->c, values))
			return names->names < names->n && !r->failed
				       ? refuse_names(r, names, or_name)
				       : refuse_end(r, ", after a line without numbers");
		look_at_fields(r, f->c, names);
		csv_reader_go_to(r, values->mark);
	}
	if (r->failed)
		return -1;
	if ((names->n ? names : values)->unnamed)
		return why_fail(r->why,
				"%s: line %zu, value 1: ''; expected a number or a name (pandas "
				"leaves out its index with index=False)",
				r->in->name, (names->n ? names : values)->mark.line);
	if (names->names < names->n)
		return refuse_names(r, names, or_name);
	return values->numbers ? 0 : refuse_names(r, values, a_number);
}

static int check_first_lines(const struct csv_reader *r, const struct line *names,
			     const struct line *values)
{
	if (r->separator == CSV_ANY)
		return why_fail(
			r->why,
			"%s: line %zu: has two of comma, semicolon and tab; expected one as the "
			"separator, and decimal points in numbers",
			r->in->name, values->mark.line);
	if (names->n && names->n != values->n)
		return why_fail(
			r->why,
			"%s: line %zu: %zu value%s; expected %zu, as there are names in line "
			"%zu",
			r->in->name, values->mark.line, values->n, values->n == 1 ? "" : "s",
			names->n, names->mark.line);
	if (values->n > UINT_MAX)
		return why_fail(r->why, "%s: line %zu: %zu values; expected at most %u",
				r->in->name, values->mark.line, values->n, UINT_MAX);
	return 0;
}

/* "x, y, z", or as many as fit, and "..."; '?' for control characters. */
static void list_fields(struct csv_reader *r, struct csv_mark line, char *list, size_t size)
{
	struct csv_field f;
	size_t used = 0;
	int n;

	csv_reader_go_to(r, line);
	do {
		csv_reader_take(r, &f);
		for (char *c = f.text; *c; c++)
			if ((unsigned char)*c < ' ' || *c == 0x7f)
				*c = '?';
		n = snprintf(list + used, size - used, "%s%s", used ? ", " : "", f.text);
		if ((size_t)n >= size - used - sizeof(", ...")) {
			snprintf(list + used, size - used, "%s...", used ? ", " : "");
			return;
		}
		used += (size_t)n;
	} while (csv_reader_more(r));
}

/*
 * Whether a first line of numbers may hold names: 0,1,2, as pandas names columns; the only one in
 * quotes, since some programs quote only text; years or wavelengths in equal steps; whole numbers
 * above fractions.
 */
static bool may_be_names(const struct line *l, const struct line *next)
{
	const bool whole = l->whole == l->n;

	if (l->counted == l->n)
		return true;
	if (!next->n)
		return false;
	if (l->quoted == l->n && !next->quoted)
		return true;
	if (!l->uneven && (l->n > 2 || (l->n == 2 && whole && fabs(l->step) == 1)))
		return true;
	return whole && !l->repeated && next->whole < next->n;
}

/*
 * Says how the first line was read, if that was a guess. A line of numbers is always read as a
 * point, so that none gets lost.
 */
static void note_guess(struct csv *f, struct csv_reader *r, const struct line *names,
		       const struct line *values, const struct line *next)
{
	const struct line *const first = names->n ? names : values;
	char list[64], said[sizeof(f->guess)];

	if (!names->n && !may_be_names(values, next))
		return;
	list_fields(r, first->mark, list, sizeof(list));
	snprintf(said, sizeof(said),
		 names->n ? "line %zu taken for names: %s"
			  : "line %zu taken for a point: %s; if these are names, delete the line",
		 first->mark.line, list);
	utf8_print(said, f->guess, sizeof(f->guess));
}

static int read_first_lines(struct csv *f, struct csv_reader *r, struct csv_mark *first)
{
	struct line names = { .n = 0 }, values, next;
	char separator;

	if (find_first_lines(f, r, &names, &values) || check_first_lines(r, &names, &values))
		return -1;
	separator = r->separator;
	csv_reader_next_line(r);
	look_at_line(r, f->c, &next);
	r->separator = f->separator = separator;
	f->columns = (unsigned)values.n;
	*first = values.mark;
	note_guess(f, r, &names, &values, &next);
	return r->failed ? -1 : 0;
}

static int find_rows(struct csv *f, struct csv_reader *r, struct csv_mark mark)
{
	size_t room = 0;

	for (csv_reader_go_to(r, mark); csv_reader_find_row(r, &mark); csv_reader_next_line(r)) {
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
	struct csv_reader r;
	int status = -1;

	*f = (struct csv){ .c = newlocale(LC_ALL_MASK, "C", (locale_t)0) };
	if (!f->c)
		return why_fail(why, "%s: %m", in->name);
	if (!csv_reader_open(&r, in, ' ', why))
		return -1;
	if (!csv_reader_check(&r) && !read_first_lines(f, &r, &first))
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

/* Stores the field's value, rounded to the type. NULL; or the expected content. */
static const char *put_value(const struct csv_field *field, locale_t c, void *to, enum real as,
			     size_t i)
{
	double value;

	if (!csv_field_number(field, c, &value))
		return a_number;
	real_set(as, to, i, value);
	if (!isfinite(real_get(as, to, i)))
		return as == REAL_FLOAT ? "a finite number of type float" : a_number;
	return csv_field_is_exact(field, value) ? NULL : "an integer that a double holds exactly";
}

static int read_row(const struct csv *f, struct csv_reader *r, enum real as, void *to)
{
	size_t j = 0;

	do {
		struct csv_field field;
		const char *expected;

		csv_reader_take(r, &field);
		if (j++ >= f->columns || r->failed)
			continue;
		expected = put_value(&field, f->c, to, as, j - 1);
		if (expected)
			return refuse_value(r, j, &field, expected);
	} while (csv_reader_more(r));
	if (!r->failed && j != f->columns)
		return why_fail(r->why, "%s: line %zu: %zu value%s; expected %u, as in line %zu",
				r->in->name, r->line, j, j == 1 ? "" : "s", f->columns,
				f->mark->line);
	return r->failed ? -1 : 0;
}

int csv_read(const struct csv *f, const struct input *in, size_t first, size_t n, enum real as,
	     void *to, const char **why)
{
	struct csv_reader r;
	struct csv_mark mark;
	int status = 0;

	if (!csv_reader_open(&r, in, f->separator, why))
		return -1;
	csv_reader_go_to(&r, f->mark[first / ROWS_APART]);
	for (size_t i = first / ROWS_APART * ROWS_APART; !status && i < first + n;
	     i++, csv_reader_next_line(&r)) {
		if (!csv_reader_find_row(&r, &mark))
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
