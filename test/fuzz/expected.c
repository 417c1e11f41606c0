/* SPDX-License-Identifier: Apache-2.0 */
/* Files of expected values: refused with a reason, or held against a machine and its trials. */
#include "fuzz.h"

#include <string.h>

#include "commands/health/examiner.h"

/* Facts at each depth and of each type, and results of two trials. */
static const char machine[] =
	"{\"class\": \"a\", \"cpu\": {\"model\": \"b\"}, \"memory\": {\"total\": 68719476736, "
	"\"modules\": [{\"count\": 8, \"speed\": 4800000000}], \"channels\": null, "
	"\"channels_why\": \"hidden\"}, \"turbo\": true, \"clock\": 2.5}";
static const char lines[] =
	"{\"t\": {\"status\": \"ok\", \"scale\": 0.001, \"metrics\": {\"time\": {\"value\": 1.5}, "
	"\"rate\": {\"value\": 2}}, \"batches\": {\"metrics\": {\"time\": [1400, null, 1600]}}}, "
	"\"u\": {\"status\": \"wrong\", \"reasons\": [\"so it is\"]}, \"v\": {\"status\": "
	"\"noisy\", "
	"\"metrics\": {\"time\": {\"value\": 3}}}}";

static void judge(const json_t *classes)
{
	json_t *m = json_loads(machine, 0, NULL), *results = json_loads(lines, 0, NULL);
	char line[HEALTH_LINE + 1];
	struct health h = { 0 };
	const json_t *own, *one;
	size_t i;

	must(m && results);
	own = facts_judge(&h, classes, m);
	must(own || h.findings || h.unknowns);
	json_array_foreach(classes, i, one)
		trials_judge(&h, one, results);
	must(!h.findings == !*h.finding);
	health_line(&h, "n1", line);
	must(strlen(line) <= HEALTH_LINE && !strncmp(line, "locus: n1 ", 10) &&
	     !strchr(line, '\n'));
	json_decref(results);
	json_decref(m);
}

void fuzz_expected(const uint8_t *data, size_t size)
{
	char why[HEALTH_TEXT] = "";
	json_t *classes = expected_parse((const char *)data, size, why);

	must(!classes == !!*why);
	if (classes)
		judge(classes);
	json_decref(classes);
}
