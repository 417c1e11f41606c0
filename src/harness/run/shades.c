/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix of the times between CPUs, in shades: each row and each column is a CPU or a few. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "harness/record/record.h"
#include "harness/run/table.h"

enum { SHADES = 4, LEAST_CPUS = 3, INDENT = 6, DIGITS = 8 };

/* Smaller differences have one shade, or noise would look like structure. */
#define FLAT 1.1

struct matrix {
	unsigned cpus, block, blocks; /* a block of CPUs is a row */
	int *cpu;
	double *time; /* cpus x cpus; NaN: no pair */
	double least, most;
};

static unsigned place_of(struct matrix *m, int cpu)
{
	unsigned i = 0;

	while (i < m->cpus && m->cpu[i] != cpu)
		i++;
	if (i == m->cpus)
		m->cpu[m->cpus++] = cpu;
	return i;
}

/* The CPUs in the order of the workers: the first one has met all others. */
static void find_cpus(struct matrix *m, const json_t *a, const json_t *b)
{
	for (size_t i = 0; i < json_array_size(a); i++) {
		place_of(m, (int)json_integer_value(json_array_get(a, i)));
		place_of(m, (int)json_integer_value(json_array_get(b, i)));
	}
}

static void find_times(struct matrix *m, const json_t *cells)
{
	const json_t *a = json_object_get(cells, "a"), *b = json_object_get(cells, "b"),
		     *time = json_object_get(cells, "0.5");

	for (size_t i = 0; i < (size_t)m->cpus * m->cpus; i++)
		m->time[i] = NAN;
	for (size_t i = 0; i < json_array_size(a); i++) {
		const unsigned x = place_of(m, (int)json_integer_value(json_array_get(a, i))),
			       y = place_of(m, (int)json_integer_value(json_array_get(b, i)));

		m->time[x * m->cpus + y] = m->time[y * m->cpus + x] =
			record_real(json_array_get(time, i));
	}
}

static unsigned end_of(const struct matrix *m, unsigned block)
{
	const unsigned end = (block + 1) * m->block;

	return end < m->cpus ? end : m->cpus;
}

/* The mean of the pairs between two blocks; NaN: there is none. */
static double mean_of(const struct matrix *m, unsigned row, unsigned column)
{
	double sum = 0, time;
	unsigned n = 0;

	for (unsigned i = row * m->block; i < end_of(m, row); i++)
		for (unsigned j = column * m->block; j < end_of(m, column); j++) {
			time = m->time[i * m->cpus + j];
			n += isfinite(time);
			sum += isfinite(time) ? time : 0;
		}
	return n ? sum / n : NAN;
}

static void find_ends(struct matrix *m)
{
	m->least = m->most = NAN;
	for (unsigned i = 0; i < m->blocks; i++)
		for (unsigned j = 0; j < m->blocks; j++) {
			const double mean = mean_of(m, i, j);

			m->least = fmin(m->least, mean);
			m->most = fmax(m->most, mean);
		}
}

/* ---- printed ---- */

/* What the user's locale says, whether it is installed or not. */
static bool in_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *locale = NULL;

	for (unsigned i = 0; i < 3 && (!locale || !*locale); i++)
		locale = getenv(names[i]);
	return locale && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8"));
}

static const char *shade(unsigned i)
{
	static const char *const blocks[] = { "░", "▒", "▓", "█" }, *const plain[] = { ".", "+",
										       "%", "#" };

	return (in_utf8() ? blocks : plain)[i];
}

/* Where a shade ends: equal steps of a logarithmic scale. */
static double bound(const struct matrix *m, unsigned steps)
{
	return m->least * pow(m->most / m->least, (double)steps / SHADES);
}

static const char *shade_of(const struct matrix *m, double time)
{
	unsigned i = 0;

	if (isnan(time))
		return " ";
	while (m->most > FLAT * m->least && i + 1 < SHADES && time > bound(m, i + 1))
		i++;
	return shade(i);
}

/* The numbers of the columns, a digit in each line, so that a column is as narrow as a cell. */
static void print_head(const struct matrix *m, int label, int width, FILE *f)
{
	char text[DIGITS + 1];

	for (int line = 0; line < label; line++) {
		fprintf(f, "%*s", INDENT + label + 1, line + 1 < label ? "" : "CPU ");
		for (unsigned j = 0; j < m->blocks; j++) {
			snprintf(text, sizeof(text), "%*d", label, m->cpu[(size_t)j * m->block]);
			fprintf(f, "%c%*s", text[line], j + 1 < m->blocks ? width - 1 : 0, "");
		}
		fputc('\n', f);
	}
}

static void print_cells(const struct matrix *m, int label, int width, FILE *f)
{
	for (unsigned i = 0; i < m->blocks; i++) {
		fprintf(f, "%*s%*d ", INDENT, "", label, m->cpu[(size_t)i * m->block]);
		for (unsigned j = 0; j < m->blocks; j++) {
			const char *cell = shade_of(m, mean_of(m, i, j));

			for (int k = 0; k < width; k++)
				fputs(cell, f);
		}
		fputc('\n', f);
	}
}

static void print_scale(const struct matrix *m, FILE *f)
{
	const bool flat = m->most <= FLAT * m->least;
	const unsigned shades = flat ? 1 : SHADES;
	char from[64], to[64];

	fprintf(f, "%*s%s %s", INDENT, "", shade(0),
		quantity_show_within(m->least, m->least / 20, "s", from, sizeof(from)));
	for (unsigned i = 0; i < shades; i++) {
		const double end = flat ? m->most : bound(m, i + 1);

		fprintf(f, "%s%s%sto %s", i ? ", " : "", i ? shade(i) : "", " ",
			quantity_show_within(end, end / 20, "s", to, sizeof(to)));
	}
	if (m->block > 1)
		fprintf(f, "; a cell: %u x %u", m->block, m->block);
	fputc('\n', f);
}

static void print(struct matrix *m, int columns, FILE *f)
{
	char text[DIGITS + 1];
	int label = 0, room, width;

	for (unsigned i = 0; i < m->cpus; i++) {
		const int own = snprintf(text, sizeof(text), "%d", m->cpu[i]);

		label = own > label ? own : label;
	}
	room = columns - INDENT - label - 1;
	m->block = (m->cpus + (unsigned)room - 1) / (unsigned)room;
	m->blocks = (m->cpus + m->block - 1) / m->block;
	width = 2 * m->blocks <= (unsigned)room ? 2 : 1;
	find_ends(m);
	if (isnan(m->least))
		return;
	print_head(m, label, width, f);
	print_cells(m, label, width, f);
	print_scale(m, f);
}

void shades_print(const json_t *cells, int columns, FILE *f)
{
	const json_t *a = json_object_get(cells, "a"), *b = json_object_get(cells, "b");
	struct matrix m = { .cpu = calloc(2 * json_array_size(a) + 1, sizeof(*m.cpu)) };

	if (m.cpu)
		find_cpus(&m, a, b);
	m.time = m.cpus < LEAST_CPUS ? NULL : calloc((size_t)m.cpus * m.cpus, sizeof(*m.time));
	if (m.time) {
		find_times(&m, cells);
		print(&m, columns, f);
	}
	free(m.time);
	free(m.cpu);
}
