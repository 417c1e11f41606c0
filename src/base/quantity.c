/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with units: parsed and printed. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/numbers.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

struct suffix {
	const char *name;
	double factor;
};

static const struct suffix binary[] = { { "", 1 },	  { "B", 1 },	     { "K", 0x1p10 },
					{ "KB", 0x1p10 }, { "KiB", 0x1p10 }, { "M", 0x1p20 },
					{ "MB", 0x1p20 }, { "MiB", 0x1p20 }, { "G", 0x1p30 },
					{ "GB", 0x1p30 }, { "GiB", 0x1p30 }, { "T", 0x1p40 },
					{ "TB", 0x1p40 }, { "TiB", 0x1p40 }, { 0 } };
static const struct suffix decimal[] = {
	{ "", 1 }, { "k", 1e3 }, { "M", 1e6 }, { "G", 1e9 }, { 0 }
};
/* Largest first, the order in which they may follow each other. */
static const struct suffix seconds[] = { { "h", 3600 },	 { "min", 60 },	 { "m", 60 },	 { "s", 1 },
					 { "ms", 1e-3 }, { "us", 1e-6 }, { "ns", 1e-9 }, { 0 } };

/*
 * Parses a decimal number without sign, leading blank, hexadecimal digits or infinity. Returns the
 * text after it; NULL: no such number.
 */
static const char *parse_decimal(const char *text, double *number)
{
	char *end;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return NULL;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return NULL;
	errno = 0;
	*number = strtod(text, &end);
	return end == text || errno ? NULL : end;
}

/* A number and one of the suffixes. */
static int parse_scaled(const char *text, const struct suffix *suffix, double *number)
{
	const char *end = parse_decimal(text, number);

	while (end && suffix->name && strcasecmp(end, suffix->name))
		suffix++;
	if (!end || !suffix->name)
		return -1;
	*number *= suffix->factor;
	return isfinite(*number) ? 0 : -1;
}

/* "1h30m": numbers with units, each unit smaller than the last. */
static int parse_units(const char *text, double *sum)
{
	double last = INFINITY, number;

	*sum = 0;
	do {
		const struct suffix *unit = seconds;
		size_t length;

		text = parse_decimal(text, &number);
		length = text ? strspn(text, LETTERS) : 0;
		while (length && unit->name &&
		       (strncasecmp(text, unit->name, length) || unit->name[length]))
			unit++;
		if (!length || !unit->name || unit->factor >= last)
			return -1;
		last = unit->factor;
		*sum += number * unit->factor;
		text += length;
	} while (*text);
	return isfinite(*sum) ? 0 : -1;
}

/* A whole number up to 2^53, which a double holds exactly. */
static int parse_whole(const char *text, const struct suffix *suffix, uint64_t *number)
{
	double real;

	if (parse_scaled(text, suffix, &real) || real != floor(real) || real > 0x1p53)
		return -1;
	*number = (uint64_t)real;
	return 0;
}

int quantity_bytes(const char *text, uint64_t *number, char *why, size_t size)
{
	if (!parse_whole(text, binary, number))
		return 0;
	snprintf(why, size,
		 "'%s' is not a size; expected bytes such as 4096, 64K or 8G (powers of 1024)",
		 text);
	return -1;
}

int quantity_count(const char *text, uint64_t *number, char *why, size_t size)
{
	if (!parse_whole(text, decimal, number))
		return 0;
	snprintf(why, size,
		 "'%s' is not a count; expected a whole number such as 12, 1e9, 10k or 2M", text);
	return -1;
}

static bool within(double number, double least, double most)
{
	return number == 0 || (number >= least && number <= most);
}

int quantity_seconds(const char *text, double *number, char *why, size_t size)
{
	static const struct suffix none[] = { { "", 1 }, { 0 } };

	if ((!parse_scaled(text, none, number) || !parse_units(text, number)) &&
	    within(*number, 1e-9, 1e9))
		return 0;
	snprintf(why, size,
		 "'%s' is not a time from 1ns to 1e9s; expected one such as 60s, 500ms or 1h30m "
		 "(the larger unit first)",
		 text);
	return -1;
}

int quantity_real(const char *text, double *number, char *why, size_t size)
{
	if (!parse_scaled(text, decimal, number) && within(*number, 1e-90, 1e90))
		return 0;
	snprintf(why, size,
		 "'%s' is not a number from 1e-90 to 1e90; expected one such as 0.5, 12 or 1e-3",
		 text);
	return -1;
}

/* The power of 1000 that makes a number easy to read. */
static int power_of(double x, const char *unit)
{
	int power = 0;

	if (!strcmp(unit, "1") || !isfinite(x))
		return 0;
	for (x = fabs(x); x > 0 && x < 0.99995 && power > -4; x *= 1e3)
		power--;
	for (; x >= 999.95 && power < 5; x /= 1e3)
		power++;
	return power;
}

double quantity_scale(double x, const char *unit)
{
	return pow(1e3, power_of(x, unit));
}

/* "2026-11-28T20:15:00.5Z" */
static int parse_date(const char *text, double *s)
{
	struct tm tm = { 0 }, read;
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	double fraction = 0;

	if (!end || tm.tm_year < 70 || tm.tm_year >= 8100)
		return -1;
	if (*end == '.' && !(end = parse_decimal(end, &fraction)))
		return -1;
	read = tm;
	*s = (double)timegm(&tm) + fraction;
	/* the 30th of February would be the 2nd of March */
	return strcmp(end, "Z") || fraction >= 1 || tm.tm_mday != read.tm_mday ? -1 : 0;
}

int quantity_moment(const char *text, double *s, char *why, size_t size)
{
	const bool since = *text == '@';
	const char *end = since ? parse_decimal(text + 1, s) : NULL;

	if (since ? end && !*end && *s < 253402300800.0 : !parse_date(text, s))
		return 0;
	snprintf(why, size,
		 "'%.60s' is not a moment such as 2026-11-28T20:15:00Z (UTC) or @1795896900 (s "
		 "since 1970)",
		 text);
	return -1;
}

/* --- as many digits as an interval supports --- */

enum { FEWEST_DIGITS = 2, MOST_DIGITS = 4 };

static double rounded(double x, int digits)
{
	char text[32];

	snprintf(text, sizeof(text), "%.*e", digits - 1, x);
	return strtod(text, NULL);
}

/* The decimals that give so many digits in all; large numbers keep all before the point. */
static int decimals_for(double x, int digits)
{
	const double to = rounded(x, digits);

	return to != 0 ? (int)fmax(0, digits - 1 - floor(log10(fabs(to)))) : digits - 1;
}

/* Down to the first digit that an error of `doubt` reaches, within the limits above. */
static int decimals_of(double x, double doubt)
{
	const int most = decimals_for(x, MOST_DIGITS), fewest = decimals_for(x, FEWEST_DIGITS);
	const double known = doubt > 0 ? -floor(log10(doubt)) : most;

	return (int)fmin(most, fmax(fewest, known));
}

/* Without doubt 0.25 stays 0.25; with it the zeros of 1.00 say how exact it is. */
static void show_number(double x, double doubt, char *text, size_t size)
{
	const bool plain = x == 0 || (fabs(x) < 1e4 && fabs(x) > 1e-4);

	if (plain && doubt > 0)
		snprintf(text, size, "%.*f", decimals_of(x, doubt), x);
	else
		snprintf(text, size, "%.*g", MOST_DIGITS, x);
}

/* The power at which x, as it is printed, is below 1000: 999.7 is 1.00 k if it has no decimals. */
static int printed_power(double x, double doubt, const char *unit)
{
	const int power = power_of(x, unit);
	const double scale = pow(1e3, power);

	return decimals_of(x / scale, doubt / scale) ? power : power_of(rounded(x, 3), unit);
}

char *quantity_show_within(double x, double doubt, const char *unit, char *text, size_t size)
{
	static const char *const prefix[] = { "p", "n", "u", "m", "", "k", "M", "G", "T", "P" };
	const int power = printed_power(x, doubt, unit);
	const double scale = pow(1e3, power);

	if (isnan(x))
		snprintf(text, size, "-");
	else if (!strcmp(unit, "1"))
		show_number(x, doubt, text, size);
	else
		snprintf(text, size, "%.*f %s%s", decimals_of(x / scale, doubt / scale), x / scale,
			 prefix[4 + power], unit);
	return text;
}

char *quantity_show(double x, const char *unit, char *text, size_t size)
{
	return quantity_show_within(x, NAN, unit, text, size);
}
