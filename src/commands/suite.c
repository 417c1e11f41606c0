/* SPDX-License-Identifier: Apache-2.0 */
#include "commands/suite.h"
#include "harness/ask/options.h"
#include "harness/run/engine.h"
#include "kit/agree.h"

int benchmark_command(const struct program *p, const struct benchmark *b, int argc, char **argv)
{
	struct options options;
	struct mute mute;
	int status;

	mute_begin(&mute, p->ranks);
	status = options_parse(&options, b, argc, argv);
	mute_end(&mute, p->ranks, &status);
	if (status)
		return status == OPTIONS_HELPED ? EXIT_GOOD : status;
	return engine_run(&options, p->benchmarks, p->ranks);
}

int suite_command(const struct program *p, int argc, char **argv)
{
	return benchmark_command(p, NULL, argc, argv);
}
