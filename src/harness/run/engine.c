/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/text.h"
#include "harness/ask/parameters.h"
#include "harness/run/run.h"
#include "harness/plan/plan.h"
#include "kit/agree.h"
#include "machine/threads/affinity.h"
#include "machine/topology/topology.h"
#include "machine/watchdog.h"

static void say_nothing_was_measured(const struct run *r)
{
	if (!r->budget.measured && r->count[STATUS_INTERRUPTED] && !r->signal && !r->unwritable &&
	    rank_is_first(r->ranks))
		message_own(
			"the time budget was spent before any trial completed a batch: " RUN_MORE);
}

static bool possible(const struct plans *p)
{
	const struct planned *trial;

	for (unsigned i = 0; (trial = plans_trial(p, i)); i++)
		if (!trial->refusal)
			return true;
	return false;
}

/* ", on CPUs 0-1": the CPUs that may be used. To be freed; NULL: unknown, or no memory. */
static char *name_cpus(const struct affinity *affinity)
{
	char *list = NULL, *text;

	if (!affinity || !affinity->allowed ||
	    hwloc_bitmap_list_asprintf(&list, affinity->allowed) < 0)
		return NULL;
	text = text_of(", on CPU%s %s", affinity->cpus > 1 ? "s" : "", list);
	free(list);
	return text;
}

/* Before the first trial begins, prints the number of trials, their CPUs, and their time. */
static void announce(const struct run *r)
{
	const struct options *o = r->options;
	const unsigned left = r->plans.trials - r->skipped;
	char duration[TEXT_DURATION], *cpus;

	if (!table_is_read(&r->table) || !possible(&r->plans))
		return;
	if (o->series.run)
		fprintf(r->table.printer.to, "%srun %u of %u: ", o->series.run > 1 ? "\n" : "",
			o->series.run, o->runs);
	cpus = name_cpus(r->setting.affinity);
	fprintf(r->table.printer.to, "%s: %s%s%s, profile %s, %s %s%s\n\n",
		o->benchmark ? o->benchmark->name : "suite", text_count(left, "trial").of,
		o->benchmark ? "" : " of ",
		o->benchmark ? "" : text_count(r->plans.plans, "benchmark").of,
		profile_names[o->profile], plans_bound(&r->plans, o),
		text_duration(duration, r->seconds), cpus ? cpus : "");
	fflush(r->table.printer.to);
	free(cpus);
}

static int measure(struct run *r)
{
	int status;

	watchdog_away("preparing LIKWID's regions");
	regions_register(&r->regions, &r->plans, r->ranks);
	watchdog_back();
	run_moment_await(r);
	run_header(r);
	announce(r);
	measure_plans(r);
	table_close(&r->table);
	regions_close(&r->regions, &r->plans, r->ranks);
	run_ended(r);
	results_end(r);
	say_nothing_was_measured(r);
	status = run_status(r);
	run_end(r, status);
	return status;
}

/* 0, or the status to exit with after a message, on all ranks. */
static int open_record(struct run *r)
{
	const struct options *o = r->options;
	const bool scratch = !o->output && o->scratch;
	const char *path = scratch ? o->scratch : o->output;
	const int status = record_open(&r->record, rank_is_first(r->ranks) ? path : NULL,
				       o->resume	      ? RECORD_RESUME
				       : o->append || scratch ? RECORD_APPEND
							      : RECORD_NEW,
				       o->output_option);

	if (!agree_any(r->ranks, status))
		return 0;
	if (r->record)
		record_close(r->record);
	return (int)agree_most(r->ranks, status);
}

/* If the record goes to standard output, the table goes to standard error. */
static void open_table(struct run *r)
{
	const struct options *o = r->options;
	const bool first = rank_is_first(r->ranks),
		   taken = o->output && !strcmp(o->output, RECORD_STDOUT);
	FILE *to = taken ? stderr : stdout;

	table_open(&r->table, first && !o->quiet ? to : NULL, first && o->quiet ? stderr : NULL,
		   o->format);
	r->table.brief = o->brief && r->table.printer.to;
}

static void resume(struct run *r)
{
	json_t *machine = rank_is_first(r->ranks) ? provenance_machine(r->setting.machine) : NULL;

	record_compare(r->record, machine);
	json_decref(machine);
	r->skipped = resume_mark(&r->plans, r->record, r->counting, r->ranks, r->options->output);
}

static int with_team(struct team *team, void *argument)
{
	struct run *r = argument;
	const struct options *o = r->options;
	int status;

	if (!agree_go_on(r->ranks, NULL))
		return EXIT_BAD;
	r->team = team;
	status = open_record(r);
	if (status)
		return status;
	if (o->resume)
		resume(r);
	run_moment_plan(r);
	cut_start(r);
	progress_begin(&r->progress, o->quiet || !rank_is_first(r->ranks));
	open_table(r);
	r->clock = clock_measure();
	r->undisturbed = calloc(r->setting.machine->cpus, sizeof(*r->undisturbed));
	status = measure(r);
	cut_stop();
	return record_close(r->record) && status == EXIT_GOOD ? EXIT_BAD : status;
}

/*
 * Opens the team before the record: if threads can't be created, which may end the process, there
 * is no empty record that the same command would find in its way.
 */
static int perform(struct run *r)
{
	const unsigned threads = plans_threads(&r->plans);
	int status;

	errno = 0;
	status = team_open(threads, with_team, r);
	if (status >= 0)
		return status;
	agree_go_on(r->ranks, text_of("%u threads could not be created: %s", threads,
				      errno == EAGAIN ? "OMP_THREAD_LIMIT allows fewer; unset it"
						      : strerror(errno)));
	return EXIT_BAD;
}

static int find_counters(struct run *r)
{
	const struct options *o = r->options;
	const struct counting_asked asked = { o->counters, o->counters_optional, o->multiplex };
	const struct benchmark *benchmarks[r->plans.plans + 1];

	if (!o->counters)
		return 0;
	for (unsigned i = 0; i < r->plans.plans; i++)
		benchmarks[i] = r->plans.plan[i].benchmark;
	switch (counting_open(&r->counting, asked, benchmarks, r->plans.plans, r->ranks)) {
	case COUNTING_READY:
		return 0;
	case COUNTING_IMPOSSIBLE:
		return EXIT_IMPOSSIBLE;
	default:
		return EXIT_BAD;
	}
}

/* 0: all ranks have the same plans; else the status to exit with after a message. */
static int plan(struct run *r, const struct benchmark *const *table)
{
	struct mute mute;
	int status;

	mute_begin(&mute, r->ranks);
	status = setting_find(&r->setting, r->options, r->ranks);
	mute_end(&mute, r->ranks, &status);
	if (status)
		return status;
	setting_share(&r->setting);
	mute_begin(&mute, r->ranks);
	status = plans_make(&r->plans, table, r->options, &r->setting);
	mute_end(&mute, r->ranks, &status);
	return status ? status : plans_agree(&r->plans, &r->setting);
}

int engine_run(const struct options *o, const struct benchmark *const *table,
	       const struct ranks *ranks)
{
	struct run r = { .options = o, .ranks = ranks, .random = o->seed };
	int status;

	budget_begin(&r.budget, ranks, effort_time(o));
	/* Before the first parallel region, which is in setting_find(): see markers.h. */
	if (!o->dry_run)
		regions_open(&r.regions);
	status = plan(&r, table);
	if (!status)
		r.seconds = plans_seconds(&r.plans, o);
	if (!status && o->dry_run)
		plans_print(&r.plans, &r.setting, r.seconds, o->verbose, stdout);
	else if (!status)
		status = find_counters(&r);
	if (!status && !o->dry_run)
		status = perform(&r);
	counting_close(r.counting);
	free(r.undisturbed);
	plans_free(&r.plans);
	regions_free(&r.regions);
	setting_free(&r.setting);
	return status;
}
