/* SPDX-License-Identifier: Apache-2.0 */
#include "commands/card.h"
#include "commands/runs.h"
#include "commands/suite.h"
#include "harness/ask/options.h"
#include "harness/run/engine.h"
#include "kit/agree.h"

/* All ranks get the same status; the first one prints. */
static int parse(struct options *o, const struct program *p, const struct benchmark *b, int argc,
		 char **argv)
{
	struct mute mute;
	int status;

	mute_begin(&mute, p->ranks);
	status = options_parse(o, b, argc, argv);
	mute_end(&mute, p->ranks, &status);
	return status;
}

int benchmark_command(const struct program *p, const struct benchmark *b, int argc, char **argv)
{
	struct options options;
	const int status = parse(&options, p, b, argc, argv);

	if (status)
		return status == OPTIONS_HELPED ? EXIT_GOOD : status;
	if (options.runs > 1 && !options.dry_run && !runs_is_one(&options))
		return runs_all(p, &options, b->name);
	return engine_run(&options, p->benchmarks, p->ranks);
}

int suite_command(const struct program *p, int argc, char **argv)
{
	struct options options;
	char path[CARD_PATH];
	int status = parse(&options, p, NULL, argc, argv), file;

	if (status)
		return status == OPTIONS_HELPED ? EXIT_GOOD : status;
	if (options.runs > 1 && !options.dry_run && !runs_is_one(&options))
		return runs_all(p, &options, "suite");
	file = card_prepare(&options, path);
	status = engine_run(&options,
			    options.profile == QUICK && p->quick ? p->quick : p->benchmarks,
			    p->ranks);
	card_print(&options, file, status);
	return status;
}
