/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "harness/ask/profile.h"
#include "harness/ask/help.h"

char *help_parameter(const struct parameter *p)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	fprintf(f, "%s", p->help);
	if (p->choices)
		fprintf(f, ": %s", p->choices);
	fprintf(f, " (%s: %s", profile_names[QUICK], p->value[QUICK]);
	for (enum profile i = STANDARD; i < PROFILES; i++)
		if (p->value[i])
			fprintf(f, "; %s: %s", profile_names[i], p->value[i]);
	fprintf(f, ")");
	fclose(f);
	return text;
}

const char *help_argument(const struct parameter *p)
{
	static const char *const argument[] = {
		[P_COUNT] = "LIST",  [P_SIZE] = "SIZES", [P_REAL] = "NUMBERS",
		[P_CHOICE] = "LIST", [P_PATH] = "FILE",	 [P_LAYOUT] = "LAYOUTS",
		[P_NODE] = "NODES"
	};

	return argument[p->type];
}

char *help_text(const struct benchmark *b)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (!b) {
		fprintf(f, "Runs every benchmark, in quick those that show most in a minute, and "
			   "splits the time budget evenly over them.");
	} else {
		fprintf(f, "%s: %s.\n\nVariants:\n", b->name, b->summary);
		for (const struct variant *v = b->variants; v < b->variants + b->n_variants; v++)
			fprintf(f, "  %-14s %s\n", v->name, v->summary);
	}
	fprintf(f, "\vLists: 1,2,4. Ranges: 16K..256M*2 (factor), 0..64+8 (step); a comma in a "
		   "file's name is \\,. "
		   "Times: 60 (seconds), 500ms, 2min, 1h30m; units are h, min or m, s, ms, us, ns. "
		   "Exit status: 0 good, also when noisy; 1 wrong, misplaced, failed, or output "
		   "unwritable; 2 command line; 3 impossible here; 128+n by signal n.");
	fclose(f);
	return text;
}
