/* SPDX-License-Identifier: Apache-2.0 */
/* Values of parameters: refused with a reason, or their canonical form parses to the same value. */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "harness/ask/parameters.h"
#include "base/text.h"
#include "machine/topology/topology.h"

static uint64_t cores(const struct machine *m, enum profile p)
{
	(void)p;
	return m->cores;
}

static const struct parameter parameters[] = {
	{ .name = "n", .help = "a number", .type = P_COUNT, .automatic = cores, .all = cores },
	{ .name = "size", .help = "bytes", .type = P_SIZE, .automatic = cores },
	{ .name = "x", .help = "a real", .type = P_REAL },
	{ .name = "kernel", .help = "what", .type = P_CHOICE, .choices = "sum,copy,triad" },
	{ .name = "to", .help = "a node", .type = P_NODE },
	{ .name = "layout", .help = "where", .type = P_LAYOUT },
	{ .name = "points", .help = "a file", .type = P_PATH },
};
enum { PARAMETERS = sizeof(parameters) / sizeof(*parameters), MOST_BYTES = 1 << 13 };

/* A printed value parses to itself. Not tested for paths: their commas would need escapes. */
static void read_again(const struct parameter *p, union value v, const struct machine *m)
{
	static char text[MOST_BYTES], again[MOST_BYTES];
	char why[512];
	struct values list;

	value_print(p, v, text, sizeof(text));
	value_show(p, v, again, sizeof(again));
	if (p->type == P_PATH || strstr(text, "\\x")) /* \x: bytes that are not UTF-8 */
		return;
	must(!values_parse(p, text, m, QUICK, &list, why, sizeof(why)) && list.n == 1);
	must(!strcmp(value_print(p, list.value[0], again, sizeof(again)), text));
	values_free(p, &list);
}

/* The values of a range increase, and do not exceed its end. */
static void check_range(const struct parameter *p, const char *text, const struct values *list,
			const struct machine *m)
{
	const char *dots = strstr(text, "..");
	char end[MOST_BYTES], why[512];
	struct values to;

	if ((p->type != P_COUNT && p->type != P_SIZE) || !dots || strchr(text, ','))
		return;
	snprintf(end, sizeof(end), "%.*s", (int)strcspn(dots + 2, "*+"), dots + 2);
	for (unsigned i = 1; i < list->n; i++)
		must(list->value[i].count > list->value[i - 1].count);
	if (values_parse(p, end, m, QUICK, &to, why, sizeof(why))) /* too long for one value */
		return;
	must(list->value[list->n - 1].count <= to.value[to.n - 1].count);
	values_free(p, &to);
}

static void parse_list(const struct parameter *p, const char *text, const struct machine *m)
{
	char why[512];
	struct values list;
	const int status = values_parse(p, text, m, QUICK, &list, why, sizeof(why));

	must(status == 0 || status == 2 || status == 3);
	must(status ? !list.n && strlen(why) > 10 : list.n > 0);
	for (unsigned i = 0; i < list.n && i < 4; i++)
		read_again(p, list.value[i], m);
	if (list.n) {
		check_range(p, text, &list, m);
		read_again(p, list.value[list.n - 1], m);
	}
	values_free(p, &list);
}

static void parse_number(const char *text)
{
	static const char *const names[] = { "single", "random", "static", "interleave",
					     "threads" };
	const int near = names_nearest(text, names, sizeof(names) / sizeof(*names));
	char why[128], shown[64];
	double s;

	must(near >= -1 && near < (int)(sizeof(names) / sizeof(*names)));
	if (quantity_seconds(text, &s, why, sizeof(why))) {
		must(strlen(why) > 10);
		return;
	}
	must(isfinite(s) && s >= 0);
	must(*quantity_show(s, "s", shown, sizeof(shown)));
}

/* The input: a byte for the type and the machine, then the text. */
void fuzz_values(const uint8_t *data, size_t size)
{
	char *text;

	if (!size || size > MOST_BYTES)
		return;
	text = text_from(data + 1, size - 1);
	parse_list(&parameters[*data % PARAMETERS], text, described_machine(*data / PARAMETERS));
	parse_number(text);
	free(text);
}
