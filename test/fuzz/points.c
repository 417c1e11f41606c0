/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of points. Either refused with a reason, or all rows can be read, are finite, and are the
 * same by any division.
 */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/kmeans/points.h"

/* One line, which any terminal can show, that begins with the file's name. */
static void check_reason(const char *why, const char *path)
{
	must(!strncmp(why, path, strlen(path)) && strlen(why) > strlen(path) + 10);
	for (; *why; why++)
		must((unsigned char)*why >= ' ' && *why != 0x7f);
}

static void read_part(const struct source *s, size_t first, size_t n, enum real as,
		      const char *whole)
{
	const size_t row = source_dimensions(s) * real_bytes(as);
	char why[256];
	char *part = malloc(n * row);

	must(part && !source_read(s, first, n, as, part, why, sizeof(why)));
	must(!memcmp(part, whole + first * row, n * row));
	free(part);
}

static void read_all(const struct source *s, enum real as, size_t cut, const char *path)
{
	const size_t n = source_points(s), d = source_dimensions(s);
	char why[256];
	char *whole = malloc(n * d * real_bytes(as));

	must(whole);
	if (source_read(s, 0, n, as, whole, why, sizeof(why))) {
		check_reason(why, path);
		free(whole);
		return;
	}
	for (size_t i = 0; i < n * d; i++)
		must(isfinite(real_get(as, whole, i)));
	if (cut)
		read_part(s, 0, cut, as, whole);
	read_part(s, cut, n - cut, as, whole);
	free(whole);
}

static void read_points(const uint8_t *data, size_t size)
{
	const struct memory_file *m = memory_file(data, size);
	char why[256] = "";
	struct source *s = source_open(m->path, why, sizeof(why));

	if (!s) {
		check_reason(why, m->path);
		return;
	}
	/* Not their product: rows may lack values until they are read. */
	must(source_points(s) && source_points(s) <= size);
	must(source_dimensions(s) && source_dimensions(s) <= size + 1);
	read_all(s, size % 2 ? FLOAT : DOUBLE, size % source_points(s), m->path);
	source_close(s);
}

void fuzz_csv(const uint8_t *data, size_t size)
{
	read_points(data, size);
}

/*
 * With NPY's magic it is a file as it stands; else a header and, in the lines after it, values, of
 * which a file is made.
 */
void fuzz_npy(const uint8_t *data, size_t size)
{
	const uint8_t *const end = size ? memchr(data, '\n', size) : NULL;
	const size_t header = end ? (size_t)(end - data) : size;
	const uint8_t preamble[] = { 0x93, 'N', 'U', 'M',	    'P',
				     'Y',  1,	0,   header & 0xff, header >> 8 & 0xff };
	uint8_t *file;

	if (size >= 6 && !memcmp(data, preamble, 6)) {
		read_points(data, size);
		return;
	}
	file = malloc(size + sizeof(preamble));
	must(file);
	memcpy(file, preamble, sizeof(preamble));
	memcpy(file + sizeof(preamble), data, header);
	memcpy(file + sizeof(preamble) + header, data + header + !!end, size - header - !!end);
	read_points(file, size + sizeof(preamble) - !!end);
	free(file);
}
