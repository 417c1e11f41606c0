/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/kmeans/points.h"
#include "kit/random.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "NPY files are read and written as they lie in memory");

/*
 * Numbers at random, each by its place in a stream and not by those before it: a finalizer of
 * multiples of the golden ratio (Steele, Lea and Flood 2014). Words of a stream are streams again:
 * of a row, say.
 */
static uint64_t word(uint64_t stream, uint64_t i)
{
	return mix(stream + (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

enum use { OF_ROWS, OF_CHOICES, OF_MIDDLES, OF_STARTS };

static uint64_t stream(uint64_t seed, enum use use)
{
	return word(word(seed, 0), use);
}

/* In [0,1): the upper 53 bits. */
static double unit(uint64_t word)
{
	return (double)(word >> 11) * 0x1p-53;
}

static void put(const struct points *p, size_t at, double value)
{
	real_set(p->real, p->x, at, value);
}

/* A float has 24 bits of the same number: rounded to them, it could be 1. */
static void uniform_row(const struct points *p, size_t at, uint64_t row)
{
	const uint64_t kept = p->real == FLOAT ? UINT64_MAX << 40 : UINT64_MAX;

	for (unsigned j = 0; j < p->d; j++)
		put(p, at + j, unit(word(row, j) & kept));
}

/*
 * Two normal deviates of two words (Box and Muller 1958). They end at 8.57 deviations, where 53
 * bits do.
 */
static void blob_row(const struct points *p, size_t at, uint64_t row, uint64_t middle,
		     double spread)
{
	for (unsigned j = 0; j < p->d; j += 2) {
		const double radius = spread * sqrt(-2 * log(1 - unit(word(row, j)))),
			     angle = 2 * M_PI * unit(word(row, j + 1));

		put(p, at + j, 20 * unit(word(middle, j)) - 10 + radius * cos(angle));
		if (j + 1 < p->d)
			put(p, at + j + 1,
			    20 * unit(word(middle, j + 1)) - 10 + radius * sin(angle));
	}
}

void points_generate(const struct recipe *r, size_t first, struct points *part)
{
	const uint64_t rows = stream(r->seed, OF_ROWS), choices = stream(r->seed, OF_CHOICES),
		       middles = stream(r->seed, OF_MIDDLES);

	for (size_t i = 0; i < part->n; i++) {
		const uint64_t row = word(rows, first + i);

		if (r->shape == UNIFORM)
			uniform_row(part, i * part->d, row);
		else
			blob_row(part, i * part->d, row,
				 word(middles, (word(choices, first + i) >> 32) * r->k >> 32),
				 r->spread);
	}
}

/* Permuted twice: of few rows, once would draw some by a tenth more often than others. */
size_t points_drawn(uint64_t seed, size_t n, size_t turn)
{
	const uint64_t starts = stream(seed, OF_STARTS);

	return permute(permute(turn, n, word(starts, 0)), n, word(starts, 1));
}

/*
 * Files. No well-kept C library reads NPY, whose header is one line; and a CSV file of numbers is
 * strtod and a separator: both are read here. With pread only, so that threads need not agree on a
 * position; and not mapped, since a file that is cut off meanwhile would be SIGBUS.
 */
struct source {
	int file;
	char *name; /* for messages */
	size_t bytes;
	size_t n;
	unsigned d;
	enum real real;
	size_t data;	   /* NPY: where the values begin */
	char separator;	   /* CSV; 0: NPY */
	struct mark *mark; /* CSV: of every ROWS_APART-th row */
	locale_t c;	   /* CSV: where the decimal point is one */
};

/* Where a line begins. */
struct mark {
	size_t offset, line; /* the first line is 1 */
};
#define ROWS_APART 1024

/* Where what is wrong is said, and with which file. */
struct reason {
	const char *file;
	char *text;
	size_t size;
};

/* In one line, whatever was found. Returns -1. */
static int wrong(struct reason why, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int wrong(struct reason why, const char *format, ...)
{
	const int length = snprintf(why.text, why.size, "%s: ", why.file);
	va_list list;

	va_start(list, format);
	if (length >= 0 && (size_t)length < why.size)
		vsnprintf(why.text + length, why.size - (size_t)length, format, list);
	va_end(list);
	for (char *c = why.text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return -1;
}

/* Something found, for a message: the beginning of it, and only what any terminal shows. */
static char *plain(char *text)
{
	size_t i;

	for (i = 0; i < 32 && text[i]; i++)
		if (text[i] < ' ' || text[i] > '~')
			text[i] = '?';
	text[i] = 0;
	return text;
}

/* Of what is there, as much as was asked for; fewer only at the end of the file. */
static ssize_t read_some(const struct source *s, void *to, size_t bytes, size_t offset,
			 struct reason why)
{
	size_t done = 0;
	ssize_t n = 1;

	while (done < bytes && n > 0) {
		n = pread(s->file, (char *)to + done, bytes - done, (off_t)(offset + done));
		done += n > 0 ? (size_t)n : 0;
	}
	return n < 0 ? wrong(why, "byte %zu can't be read: %m", offset + done) : (ssize_t)done;
}

static int read_all(const struct source *s, void *to, size_t bytes, size_t offset,
		    struct reason why)
{
	const ssize_t n = read_some(s, to, bytes, offset, why);

	if (n >= 0 && (size_t)n < bytes)
		return wrong(why, "byte %zu: the file ends; expected %zu B more",
			     offset + (size_t)n, bytes - (size_t)n);
	return n < 0 ? -1 : 0;
}

/*
 * The header of an NPY file: a Python dict, {'descr': '<f8', 'fortran_order': False, 'shape': (3,
 * 2), }
 */
struct header {
	char *at;
	char type[16];
	bool fortran;
	size_t shape[2];
	unsigned dimensions;
};

static bool take(struct header *h, const char *what)
{
	h->at += strspn(h->at, " \t\n");
	if (strncmp(h->at, what, strlen(what)))
		return false;
	h->at += strlen(what);
	return true;
}

static bool take_text(struct header *h, char *text, size_t size)
{
	const char *const quote = take(h, "'") ? "'" : take(h, "\"") ? "\"" : NULL;
	const size_t length = quote ? strcspn(h->at, quote) : 0;

	if (!quote || length >= size || h->at[length] != *quote)
		return false;
	memcpy(text, h->at, length);
	text[length] = 0;
	h->at += length + 1;
	return true;
}

/* Each of them returns what was expected where it did not find it, or NULL. */
static const char *take_type(struct header *h)
{
	return take_text(h, h->type, sizeof(h->type)) ? NULL : "the name of a type, such as '<f8'";
}

static const char *take_order(struct header *h)
{
	h->fortran = take(h, "True");
	return h->fortran || take(h, "False") ? NULL : "True or False";
}

static const char *take_shape(struct header *h)
{
	if (!take(h, "("))
		return "'('";
	for (h->dimensions = 0; !take(h, ")"); h->dimensions++) {
		char *end;

		errno = 0;
		h->shape[h->dimensions % 2] = strtoull(h->at, &end, 10);
		if (*h->at < '0' || *h->at > '9' || errno)
			return "a number of values below 2^64";
		h->at = end;
		(void)take(h, "L"); /* as Python 2 wrote them */
		if (!take(h, ",") && *h->at != ')')
			return "',' or ')'";
	}
	return NULL;
}

static const struct {
	const char *name;
	const char *(*take)(struct header *);
} entries[] = { { "descr", take_type }, { "fortran_order", take_order }, { "shape", take_shape } };
#define ENTRIES (sizeof(entries) / sizeof(*entries))

static const char *take_entry(struct header *h, unsigned *seen)
{
	char name[16];
	char *const start = h->at;
	const char *expected;

	if (!take_text(h, name, sizeof(name)))
		return "a name in quotes";
	for (unsigned i = 0; i < ENTRIES; i++) {
		if (strcmp(name, entries[i].name) || *seen & 1u << i)
			continue;
		*seen |= 1u << i;
		expected = take(h, ":") ? entries[i].take(h) : "':'";
		if (!expected && !take(h, ",") && *h->at != '}')
			expected = "',' or '}'";
		return expected;
	}
	h->at = start;
	return "descr, fortran_order and shape, each once";
}

static const char *take_header(struct header *h, const char *end)
{
	unsigned seen = 0;
	const char *expected = take(h, "{") ? NULL : "'{'";

	while (!expected && !take(h, "}"))
		expected = take_entry(h, &seen);
	if (!expected && seen != (1u << ENTRIES) - 1)
		expected = "descr, fortran_order and shape";
	if (!expected && (take(h, ""), h->at != end))
		expected = "the end of the header";
	return expected;
}

#define BLOCK ((size_t)1 << 18) /* bytes read at once */

static const char npy_magic[] = "\x93NUMPY";
#define MAGIC (sizeof(npy_magic) - 1)

/* Where the header begins, and how long it is. */
static int npy_preamble(const struct source *s, size_t *begin, size_t *length, struct reason why)
{
	unsigned char start[12] = "";

	if (read_all(s, start, MAGIC + 4, 0, why))
		return -1;
	if (start[6] < 1 || start[6] > 3 || start[7])
		return wrong(why, "byte 6: NPY version %u.%u; expected 1.0, 2.0 or 3.0", start[6],
			     start[7]);
	*begin = start[6] == 1 ? 10 : 12;
	if (read_all(s, start, *begin, 0, why))
		return -1;
	*length = start[8] | (size_t)start[9] << 8 | (size_t)start[10] << 16 |
		  (size_t)start[11] << 24;
	if (*length > UINT16_MAX)
		return wrong(why, "byte 8: a header of %zu B; expected at most %u", *length,
			     UINT16_MAX);
	return 0;
}

static const struct {
	const char *name;
	enum real real;
} types[] = { { "<f8", DOUBLE }, { "<f4", FLOAT } };

static int npy_describe(struct source *s, struct header *h, struct reason why)
{
	const size_t there = s->bytes > s->data ? s->bytes - s->data : 0;
	size_t bytes = 0;
	unsigned t = 0;
	bool huge;

	while (t < sizeof(types) / sizeof(*types) && strcmp(h->type, types[t].name))
		t++;
	if (t == sizeof(types) / sizeof(*types))
		return wrong(why,
			     "the header says type '%s'; expected '<f8' or '<f4' (float64 or "
			     "float32, little endian)",
			     plain(h->type));
	if (h->fortran)
		return wrong(why, "the header says Fortran order; expected C order");
	if (h->dimensions < 1 || h->dimensions > 2)
		return wrong(
			why,
			"the header says %u dimensions; expected rows and columns, or one column",
			h->dimensions);
	s->real = types[t].real;
	s->n = h->shape[0];
	s->d = h->dimensions == 1 ? 1 : (unsigned)h->shape[1];
	if (!s->n || !s->d || (h->dimensions == 2 && h->shape[1] > UINT_MAX))
		return wrong(why,
			     "the header says %zu rows of %zu values; expected at least one, and "
			     "at most %u in a row",
			     s->n, h->dimensions == 1 ? 1 : h->shape[1], UINT_MAX);
	huge = __builtin_mul_overflow(s->n, s->d, &bytes) ||
	       __builtin_mul_overflow(bytes, real_bytes(s->real), &bytes);
	if (huge || bytes != there)
		return wrong(
			why,
			"byte %zu: %zu B of values; expected %zu rows of %u, of %zu B each: %s",
			s->data, there, s->n, s->d, real_bytes(s->real),
			huge || bytes > there ? "it is cut off"
					      : "there is more than its header says");
	return 0;
}

static int npy_open(struct source *s, struct reason why)
{
	struct header h = { .at = NULL };
	size_t begin = 0, length = 0;
	const char *expected;
	char *text;
	int status;

	if (npy_preamble(s, &begin, &length, why))
		return -1;
	text = calloc(length + 1, 1);
	if (!text)
		return wrong(why, "%m");
	h.at = text;
	status = read_all(s, text, length, begin, why);
	expected = status ? NULL : take_header(&h, text + length);
	if (expected)
		status = wrong(why, "byte %zu: the header has '%s'; expected %s",
			       begin + (size_t)(h.at - text), plain(h.at), expected);
	free(text);
	s->data = begin + length;
	return status ? -1 : npy_describe(s, &h, why);
}

/*
 * Values become values of the type wanted. Which of them is the first that is not finite; n: none
 * is.
 */
static size_t convert(const void *from, enum real real, void *to, enum real as, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		real_set(as, to, i, real_get(real, from, i));
		if (!isfinite(real_get(as, to, i)))
			return i;
	}
	return n;
}

static int npy_read(const struct source *s, size_t first, size_t n, enum real as, void *to,
		    struct reason why)
{
	const size_t each = real_bytes(s->real), most = BLOCK / each, begin = first * s->d,
		     values = n * s->d;
	void *block = calloc(BLOCK, 1);
	int status = 0;

	if (!block)
		return wrong(why, "%m");
	for (size_t i = 0, m, bad; !status && i < values; i += m) {
		m = values - i < most ? values - i : most;
		status = read_all(s, block, m * each, s->data + (begin + i) * each, why);
		bad = status ? m : convert(block, s->real, (char *)to + i * real_bytes(as), as, m);
		if (bad < m) {
			const size_t at = begin + i + bad;
			const double found = real_get(s->real, block, bad);

			status = wrong(
				why,
				"byte %zu (row %zu, column %zu): %g; expected a finite number%s",
				s->data + at * each, at / s->d + 1, at % s->d + 1, found,
				as == FLOAT ? " of type float" : "");
		}
	}
	free(block);
	return status;
}

/* A CSV file as characters, and the number of the line that they are in. */
struct reader {
	const struct source *s;
	struct reason why;
	char *block;
	size_t at, end, offset, line; /* in the block; of the block in the file */
	bool failed;		      /* and said why */
};

static bool reader_open(struct reader *r, const struct source *s, struct reason why)
{
	*r = (struct reader){ .s = s, .why = why, .block = malloc(BLOCK), .line = 1 };
	if (!r->block)
		wrong(why, "%m");
	return r->block;
}

static void go_to(struct reader *r, struct mark mark)
{
	r->at = r->end = 0;
	r->offset = mark.offset;
	r->line = mark.line;
}

/* EOF also where the file can't be read. */
static int peek(struct reader *r)
{
	ssize_t n;

	if (r->at == r->end && !r->failed) {
		r->offset += r->end;
		n = read_some(r->s, r->block, BLOCK, r->offset, r->why);
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

/* Where a line has two of comma, semicolon and tab, any of them. */
#define ANY '?'

static bool separates(const struct reader *r, int c)
{
	const char separator = r->s->separator;

	return separator == ANY ? c == ',' || c == ';' || c == '\t'
				: c == separator || (separator == ' ' && c == '\t');
}

static bool is_blank(const struct reader *r, int c)
{
	return c == ' ' || c == '\r' ||
	       (c == '\t' && r->s->separator != '\t' && r->s->separator != ANY);
}

static void skip_blanks(struct reader *r)
{
	while (is_blank(r, peek(r)))
		r->at++;
}

/* From the beginning of a line to the first with values, this one or a later one. */
static bool find_row(struct reader *r, struct mark *begin)
{
	for (;; next_line(r)) {
		int c;

		*begin = (struct mark){ r->offset + r->at, r->line };
		skip_blanks(r);
		c = peek(r);
		if (c == EOF)
			return false;
		if (c != '\n' && c != '#')
			return true;
	}
}

/* A value is never so long; what is, is not read as one. */
struct field {
	char text[512];
	size_t length;
};

/*
 * Without the blanks around it. Leaves the reader at what ends it: in a name in quotes, no
 * separator does.
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

	if (r->s->separator == ' ')
		skip_blanks(r);
	c = peek(r);
	if (c == '\n' || c == EOF)
		return false;
	if (r->s->separator != ' ')
		r->at++;
	return true;
}

/*
 * Of what strtod takes, not hexadecimal digits. NaN and infinity are numbers here, for they are no
 * names.
 */
static bool is_number(const struct source *s, const struct field *f, double *value)
{
	char *end;

	if (!f->length || strspn(f->text, "0123456789+-.eEnaifytNAIFYT") != f->length)
		return false;
	*value = strtod_l(f->text, &end, s->c);
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
	struct mark mark;
	size_t fields, numbers;
};

static void count_fields(struct reader *r, struct line *l)
{
	struct field f;
	double value;

	l->fields = l->numbers = 0;
	go_to(r, l->mark);
	do {
		take_field(r, &f);
		l->fields++;
		l->numbers += is_number(r->s, &f, &value);
	} while (more_fields(r));
}

/* The next line with values says what separates them, and how many there are. */
static bool look_at_line(struct source *s, struct reader *r, struct line *l)
{
	if (!find_row(r, &l->mark))
		return false;
	s->separator = separator_of(r);
	count_fields(r, l);
	return true;
}

/* What a text of numbers has not, in what was read first. */
static int csv_is_text(struct reader *r)
{
	(void)peek(r);
	for (size_t i = 0; i < r->end; i++) {
		const unsigned char c = (unsigned char)r->block[i];

		if ((c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7f)
			return wrong(r->why,
				     "byte %zu is 0x%02x; expected an NPY file, which begins with "
				     "\\x93NUMPY, or text (CSV)",
				     i, c);
	}
	if (r->end >= 3 && memcmp(r->block, "\xef\xbb\xbf", 3) == 0)
		r->at = 3; /* a mark of UTF-8 */
	return r->failed ? -1 : 0;
}

/* A first line without any number is of names: as many as there are values. */
static int csv_first_lines(struct source *s, struct reader *r, struct mark *first)
{
	struct line names = { .fields = 0 }, values = { .fields = 0 };

	s->separator = ' ';
	if (!look_at_line(s, r, &values))
		return r->failed
			       ? -1
			       : wrong(r->why, "line %zu: the file ends; expected points", r->line);
	if (!values.numbers) {
		names.mark = values.mark;
		next_line(r);
		if (!look_at_line(s, r, &values))
			return r->failed ? -1
					 : wrong(r->why,
						 "line %zu: the file ends, after a line without "
						 "numbers; expected points",
						 r->line);
		count_fields(r, &names);
	}
	if (r->failed)
		return -1;
	if (s->separator == ANY)
		return wrong(r->why,
			     "line %zu: has two of comma, semicolon and tab; expected one between "
			     "values, and points in numbers",
			     values.mark.line);
	if (names.fields && names.fields != values.fields)
		return wrong(r->why,
			     "line %zu: %zu value%s; expected %zu, as there are names in line %zu",
			     values.mark.line, values.fields, values.fields == 1 ? "" : "s",
			     names.fields, names.mark.line);
	if (values.fields > UINT_MAX)
		return wrong(r->why, "line %zu: %zu values; expected at most %u", values.mark.line,
			     values.fields, UINT_MAX);
	s->d = (unsigned)values.fields;
	*first = values.mark;
	return 0;
}

static int csv_find_rows(struct source *s, struct reader *r, struct mark mark)
{
	size_t room = 0;

	for (go_to(r, mark); find_row(r, &mark); next_line(r)) {
		if (s->n / ROWS_APART == room) {
			const size_t larger = room ? 2 * room : 8;
			struct mark *const marks = reallocarray(s->mark, larger, sizeof(*marks));

			if (!marks)
				return wrong(r->why, "%m");
			s->mark = marks;
			room = larger;
		}
		if (s->n % ROWS_APART == 0)
			s->mark[s->n / ROWS_APART] = mark;
		s->n++;
	}
	return r->failed ? -1 : 0;
}

static int csv_open(struct source *s, struct reason why)
{
	struct reader r;
	struct mark first = { 0, 0 };
	int status = -1;

	if (!reader_open(&r, s, why))
		return -1;
	s->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!s->c)
		wrong(why, "%m");
	else if (!csv_is_text(&r) && !csv_first_lines(s, &r, &first))
		status = csv_find_rows(s, &r, first);
	free(r.block);
	return status;
}

static int csv_row(struct reader *r, enum real as, void *to)
{
	const struct source *s = r->s;
	size_t j = 0;

	do {
		struct field f;
		double value;

		take_field(r, &f);
		if (j++ >= s->d || r->failed)
			continue;
		if (!is_number(s, &f, &value) ||
		    convert(&value, DOUBLE, (char *)to + (j - 1) * real_bytes(as), as, 1) == 0)
			return wrong(
				r->why, "line %zu, value %zu: '%s'; expected a finite number%s",
				r->line, j, plain(f.text), as == FLOAT ? " of type float" : "");
	} while (more_fields(r));
	if (!r->failed && j != s->d)
		return wrong(r->why, "line %zu: %zu value%s; expected %u, as in line %zu", r->line,
			     j, j == 1 ? "" : "s", s->d, s->mark->line);
	return r->failed ? -1 : 0;
}

static int csv_read(const struct source *s, size_t first, size_t n, enum real as, void *to,
		    struct reason why)
{
	struct reader r;
	struct mark mark;
	int status = 0;

	if (!reader_open(&r, s, why))
		return -1;
	go_to(&r, s->mark[first / ROWS_APART]);
	for (size_t i = first / ROWS_APART * ROWS_APART; !status && i < first + n;
	     i++, next_line(&r)) {
		if (!find_row(&r, &mark))
			status = r.failed ? -1
					  : wrong(why,
						  "line %zu: the file ends; rows expected after "
						  "it: %zu",
						  r.line, first + n - i);
		else if (i >= first)
			status = csv_row(&r, as, (char *)to + (i - first) * s->d * real_bytes(as));
	}
	free(r.block);
	return status;
}

/* Nothing that could make us wait is opened: a pipe without a writer, a terminal, a tape. */
static int open_path(struct source *s, const char *path, struct reason why)
{
	struct stat status;

	s->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (s->file < 0 || fstat(s->file, &status))
		return wrong(why, "%m");
	if (!S_ISREG(status.st_mode))
		return wrong(why, "is %s; expected a file, or - for standard input",
			     S_ISDIR(status.st_mode)	? "a folder"
			     : S_ISFIFO(status.st_mode) ? "a pipe"
							: "a device");
	return 0;
}

static bool write_all(int file, const void *from, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		const ssize_t n = write(file, (const char *)from + done, bytes - done);

		if (n < 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* A file without a name. Not all file systems make one at once. */
static int open_unlinked(void)
{
	const char *folder = getenv("TMPDIR");
	char path[PATH_MAX];
	int file;

	folder = folder && *folder ? folder : "/tmp";
	file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (file >= 0 ||
	    snprintf(path, sizeof(path), "%s/locus-XXXXXX", folder) >= (int)sizeof(path))
		return file;
	file = mkostemp(path, O_CLOEXEC);
	if (file >= 0)
		unlink(path);
	return file;
}

/* Puts the rest of standard input into a file, which takes its place. A signal ends it. */
static int spool(struct reason why)
{
	const int file = open_unlinked();
	char *block = malloc(BLOCK);
	ssize_t n = 1;
	bool good = file >= 0 && block;

	while (good && n > 0) {
		n = read(STDIN_FILENO, block, BLOCK);
		good = n >= 0 && write_all(file, block, (size_t)n);
	}
	good = good && lseek(file, 0, SEEK_SET) == 0 && dup2(file, STDIN_FILENO) >= 0;
	if (!good)
		wrong(why, "can't be put into a file in %s: %m",
		      getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	free(block);
	if (file >= 0)
		close(file);
	return good ? 0 : -1;
}

static int open_input(struct source *s, struct reason why)
{
	struct stat status;

	if (fstat(STDIN_FILENO, &status))
		return wrong(why, "%m");
	if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode))
		return wrong(why, "is %s; expected a file or a pipe",
			     isatty(STDIN_FILENO)      ? "a terminal"
			     : S_ISDIR(status.st_mode) ? "a folder"
						       : "a device");
	/* Of a file of which others have read the beginning, only the rest is meant. */
	if ((!S_ISREG(status.st_mode) || lseek(STDIN_FILENO, 0, SEEK_CUR)) && spool(why))
		return -1;
	s->file = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	return s->file >= 0 ? 0 : wrong(why, "%m");
}

/* Points it must have, whichever format it is. */
static int open_either(struct source *s, struct reason why)
{
	struct stat status;
	char start[MAGIC];
	ssize_t n;

	if (fstat(s->file, &status))
		return wrong(why, "%m");
	s->bytes = (size_t)status.st_size;
	n = read_some(s, start, MAGIC, 0, why);
	if (n == 0)
		return wrong(why, "is empty; expected points");
	if (n < 0)
		return -1;
	return n == MAGIC && memcmp(start, npy_magic, MAGIC) == 0 ? npy_open(s, why)
								  : csv_open(s, why);
}

struct source *source_open(const char *path, char *why, size_t size)
{
	const bool input = strcmp(path, "-") == 0;
	const struct reason reason = { input ? "standard input" : path, why, size };
	struct source *s = calloc(1, sizeof(*s));

	if (!s) {
		wrong(reason, "%m");
		return NULL;
	}
	s->file = -1;
	s->name = strdup(reason.file);
	if (!s->name)
		wrong(reason, "%m");
	else if (!(input ? open_input(s, reason) : open_path(s, path, reason)) &&
		 !open_either(s, reason))
		return s;
	source_close(s);
	return NULL;
}

size_t source_points(const struct source *s)
{
	return s->n;
}

unsigned source_dimensions(const struct source *s)
{
	return s->d;
}

enum real source_real(const struct source *s)
{
	return s->real;
}

int source_read(const struct source *s, size_t first, size_t n, enum real as, void *to, char *why,
		size_t size)
{
	const struct reason reason = { s->name, why, size };

	if (!n)
		return 0;
	return s->separator ? csv_read(s, first, n, as, to, reason)
			    : npy_read(s, first, n, as, to, reason);
}

void source_close(struct source *s)
{
	if (s->file >= 0)
		close(s->file);
	if (s->c)
		freelocale(s->c);
	free(s->mark);
	free(s->name);
	free(s);
}

struct npy {
	const char *path;
	int file, error; /* errno of what failed first; 0: nothing did */
};

void npy_add(struct npy *f, const void *values, size_t bytes)
{
	if (!f->error && !write_all(f->file, values, bytes))
		f->error = errno;
}

struct npy *npy_create(const char *path, const char *type, size_t rows, size_t columns, char *why,
		       size_t size)
{
	const struct reason reason = { path, why, size };
	struct npy *f = malloc(sizeof(*f));
	char shape[64], header[128];
	int length;

	if (!f) {
		wrong(reason, "%m");
		return NULL;
	}
	*f = (struct npy){ .path = path,
			   .file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) };
	if (f->file < 0) {
		wrong(reason, errno == EEXIST ? "exists; give another name" : "%m");
		free(f);
		return NULL;
	}
	/* A header of version 1.0, filled up so that the values begin at a multiple of 64. */
	snprintf(shape, sizeof(shape), columns ? "%zu, %zu" : "%zu,", rows, columns);
	length = snprintf(header, sizeof(header),
			  "%s%c%c%c%c{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
			  npy_magic, 1, 0, (int)(sizeof(header) - MAGIC - 4), 0, type, shape);
	memset(header + length, ' ', sizeof(header) - (size_t)length);
	header[sizeof(header) - 1] = '\n';
	npy_add(f, header, sizeof(header));
	return f;
}

int npy_finish(struct npy *f, char *why, size_t size)
{
	const struct reason reason = { f->path, why, size };
	int status = 0;

	/* A full disk may be known late, and over a network only when the file is closed. */
	if (!f->error && fsync(f->file))
		f->error = errno;
	if (close(f->file) && !f->error)
		f->error = errno;
	if (f->error) {
		errno = f->error;
		status = wrong(reason, "can't be written: %m; what was there of it is removed");
		unlink(f->path);
	}
	free(f);
	return status;
}

int save_npy(const char *path, const char *type, const void *values, size_t rows, size_t columns,
	     char *why, size_t size)
{
	struct npy *f = npy_create(path, type, rows, columns, why, size);

	if (!f)
		return -1;
	npy_add(f, values, rows * (columns ? columns : 1) * (size_t)(type[2] - '0'));
	return npy_finish(f, why, size);
}
