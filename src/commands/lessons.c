/* SPDX-License-Identifier: Apache-2.0 */
/* The table of lessons, and the lines of C that they show. */
#include <string.h>

#include "base/arithmetic.h"
#include "base/message.h"
#include "base/text.h"
#include "commands/commands.h"
#include "harness/ask/options.h"

static const struct lesson lessons[] = {
	{
		.name = "false-sharing",
		.title = "two threads, two counters, one cache line",
		.prediction = "Each thread increments its own counter (*place), and reads no "
			      "other. Dense: the counters lie side by side in one cache line. "
			      "Padded: each is alone on its lines. The instructions are the same, "
			      "so only caches can make a difference: dense will be slower.",
		.benchmark = "sharing",
		.options = { "--variant=fetch-add", "--layout=dense,padded", "--time-budget=12s" },
		.metric = "time",
		.bar = { { "dense", "layout=dense" }, { "padded", "layout=padded" } },
		.compared = { { "Dense takes", 0, 1 } },
		.explanation =
			"A core must own a whole line to write any byte of it. Dense, the line "
			"moves between the cores again and again, though no data are shared: the "
			"sharing is false. The cure is distance (alignas(128)), or a local "
			"variable that is written back once at the end.",
		.next = "locus sharing --variant distance",
		.cpus = 2,
		.lacking = "it takes two threads on two CPUs",
	},
	{
		.name = "first-touch",
		.title = "memory lies where it was touched first",
		.prediction = "malloc() places nothing: a page gets its memory on the node of the "
			      "thread that writes it first. Static: each thread fills the part "
			      "that it will read. Single: one thread fills everything, so all "
			      "pages lie on its node. Threads on other nodes will then read "
			      "remote memory: single will be slower.",
		.benchmark = "numa",
		.options = { "--variant=single,static", "--layout=split", "--kernel=sum",
			     "--time-budget=16s" },
		.metric = "bandwidth",
		.bar = { { "single", "variant=single" }, { "static", "variant=static" } },
		.compared = { { "A pass over single's pages takes", 0, 1 } },
		.explanation =
			"Single's pages are served by one node's memory, through the link between "
			"nodes for all threads of others. The cure is to initialise in parallel, "
			"by the same loop and schedule as the work; or to interleave, where no "
			"thread keeps its part.",
		.next = "locus numa --variant matrix",
		.nodes = 2,
		.lacking = "there is one NUMA node, and all memory is local: both take the same "
			   "time. doc/teaching.md has the picture of a machine with two nodes",
		.places = true,
	},
	{
		.name = "cache-tlb",
		.title = "the time of a load depends on where its data and its translation are",
		.prediction = "Each load gives the index of the next, so none can begin early. 16 "
			      "KiB fit in L1, 64 MiB in no cache near the core: a load will wait "
			      "for memory. One load a page needs few lines but many addresses: "
			      "with pages of 4 KiB the TLB does not hold them, with huge pages it "
			      "does.",
		.benchmark = "latency",
		.options = { "--variant=cycle,page-random", "--size=16K,64M", "--pages=base,thp",
			     "--element=int", "--time-budget=20s" },
		.metric = "time",
		.bar = { { "16 KiB", "variant=cycle,size=16384,pages=thp" },
			 { "64 MiB", "variant=cycle,size=67108864,pages=thp" },
			 { "one a page, huge", "variant=page-random,size=67108864,pages=thp" },
			 { "one a page, 4 KiB", "variant=page-random,size=67108864,pages=base" } },
		.compared = { { "A load beyond the near caches takes", 1, 0 },
			      { "A load that misses the TLB takes", 3, 2 } },
		.explanation = "Caches hold recent lines, the TLB recent translations: both are "
			       "small. Beyond them a load waits for memory, or for a walk through "
			       "the page table. The cure is to use what a line has before the next "
			       "one (blocking, smaller elements), and huge pages for large data.",
		.next = "locus latency, then locus report of its record: a curve of all sizes",
	},
	{
		.name = "lock-striping",
		.title = "one lock for a map, or a lock for each part of it",
		.prediction = "Threads look up and change keys of a hash map; each operation "
			      "holds the lock of the key's stripe. With one stripe all wait for "
			      "one lock. With 32 two threads seldom want the same lock: they will "
			      "work at the same time.",
		.benchmark = "hashmap",
		.options = { "--variant=striped", "--stripes=1,32", "--padded=both", "--reads=50",
			     "--time-budget=12s" },
		.metric = "throughput",
		.bar = { { "1 stripe", "stripes=1" }, { "32 stripes", "stripes=32" } },
		.compared = { { "With one lock an operation takes", 0, 1 } },
		.explanation =
			"A lock is a line that each holder writes, and a place where only one "
			"passes: more threads only make the queue longer. Stripes divide both. "
			"What remains is a line per lock that moves; a reader without a lock "
			"writes none.",
		.next = "locus hashmap --variant striped,striped-waitfree,best",
		.cpus = 2,
		.lacking = "it takes two threads on two CPUs",
	},
	{
		.name = "moving",
		.title = "move the work to its data, or the data to the work",
		.prediction =
			"A message makes an actor read and write its state. Dedicated: "
			"each actor has a thread, and runs only there. Shuffled: it runs on a "
			"random thread each time, as with any queue of tasks for all. The "
			"work is the same, but the state must follow: shuffled will be "
			"slower.",
		.benchmark = "actors",
		.options = { "--variant=shuffled,dedicated", "--state=4K", "--time-budget=12s" },
		.metric = "throughput",
		.bar = { { "shuffled", "variant=shuffled" }, { "dedicated", "variant=dedicated" } },
		.compared = { { "Shuffled, a message takes", 0, 1 } },
		.explanation =
			"A message is one line; a state is many, and warm in the caches of the "
			"core that used it last. Sending the message moves less. Dedicated pays "
			"with imbalance if some actors have more to do: then let idle threads "
			"steal, which moves data only when that pays.",
		.next = "locus actors --variant dedicated,stealing,best",
		.cpus = 2,
		.lacking = "it takes two threads on two CPUs",
	},
};

/* The lines of C that a lesson shows, as make has copied them from the sources. */
static const struct extract {
	const char *lesson, *source, *text;
} extracts[] = {
#include "extracts.h"
};

const struct lesson *lesson_at(unsigned i)
{
	return i < LENGTH(lessons) ? &lessons[i] : NULL;
}

const struct lesson *lesson_find(const char *name)
{
	const char *names[LENGTH(lessons)];
	int near;

	for (size_t i = 0; i < LENGTH(lessons); i++) {
		names[i] = lessons[i].name;
		if (!strcmp(names[i], name))
			return &lessons[i];
	}
	near = names_nearest(name, names, LENGTH(lessons));
	if (near >= 0)
		message_own("there is no lesson '%s'; did you mean '%s'?", name, names[near]);
	else
		message_own("there is no lesson '%s'; `locus lesson` lists them", name);
	return NULL;
}

int lesson_list(FILE *f)
{
	for (size_t i = 0; i < LENGTH(lessons); i++)
		fprintf(f, "%-14s %s\n", lessons[i].name, lessons[i].title);
	fprintf(f,
		"\n`locus lesson NAME` takes less than a minute; doc/teaching.md has an exercise "
		"for each\n");
	return EXIT_GOOD;
}

/* ---- code ---- */

enum { TAB = 4, CONTINUED = 8, LONGEST_LINE = 256 }; /* columns; bytes */

/* A line of code without its first `less` tabs; a tab is TAB columns wide. */
static void print_line(const char *line, size_t length, size_t less, FILE *f)
{
	const size_t tabs = strspn(line, "\t");
	char head[LONGEST_LINE], text[LONGEST_LINE];
	const int indent = 2 + TAB * (int)(tabs > less ? tabs - less : 0);

	snprintf(head, sizeof(head), "%*s", indent, "");
	snprintf(text, sizeof(text), "%.*s", (int)(length - tabs), line + tabs);
	message_row(head, text, indent + CONTINUED, f);
}

void lesson_print_code(const struct lesson *l, FILE *f)
{
	const char *source = "";

	for (size_t i = 0; i < LENGTH(extracts); i++) {
		const char *line = extracts[i].text;

		if (strcmp(extracts[i].lesson, l->name))
			continue;
		if (strcmp(extracts[i].source, source))
			fprintf(f, "\nMeasured: %s\n", extracts[i].source);
		source = extracts[i].source;
		for (size_t length; *line; line += length + 1) {
			length = strcspn(line, "\n");
			if (length)
				print_line(line, length, strspn(extracts[i].text, "\t"), f);
		}
	}
}
