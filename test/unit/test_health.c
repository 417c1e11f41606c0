/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `locus health`: files of expected values, facts about machines made of files, and the output
 * line.
 */
#include "commands/health/finding.h"
#include "records.h"

/* The server of records.h, and the other files that health reads. */
static const struct file counted[] = {
	{ "/sys/devices/system/edac/mc/mc0/ce_count", "3\n" },
	{ "/sys/devices/system/edac/mc/mc0/ue_count", "0\n" },
	{ "/sys/devices/system/edac/mc/mc1/ce_count", "4\n" },
	{ "/sys/devices/system/edac/mc/mc1/ue_count", "1\n" },
	{ "/proc/interrupts", "           CPU0       CPU1\n"
			      " NMI:          9          9   Non-maskable interrupts\n"
			      " MCE:          2          5   Machine check exceptions\n" },
	{ 0 },
};

static json_t *server(void)
{
	put_files(counted);
	return provenance_of(intel);
}

/* A file with one class; NULL stands for the machine's own class or cpu. */
static json_t *classes_with(json_t *m, const char *class, const char *cpu, const char *rest)
{
	char text[2048], why[HEALTH_TEXT] = "";
	json_t *classes;

	snprintf(text, sizeof(text),
		 "{\"schema\": \"locus-expected-1.1\", \"classes\": [{\"class\": \"%s\", \"cpu\": "
		 "\"%s\"%s%s}]}",
		 class ? class : text_at(m, "class"), cpu ? cpu : text_at(m, "cpu.model"),
		 *rest ? ", " : "", rest);
	classes = expected_parse(text, strlen(text), why);
	if (!classes)
		fail_msg("%s: %s", text, why);
	return classes;
}

/* Compares the server with a file; returns whether the file has its class. */
static bool judge(struct health *h, const char *class, const char *cpu, const char *rest)
{
	json_t *m = server(), *classes = classes_with(m, class, cpu, rest);
	bool found;

	*h = (struct health){ 0 };
	found = facts_judge(h, classes, m);
	json_decref(classes);
	json_decref(m);
	return found;
}

static void facts_that_are_as_expected(void **state)
{
	struct health h;

	(void)state;
	assert_true(judge(&h, NULL, NULL,
			  "\"facts\": {\"memory.thp.enabled\": \"always\", \"memory.total\": "
			  "{\"least\": 2.7e11, \"most\": 2.8e11}, \"errors.corrected\": {\"most\": "
			  "7}, \"topology.nodes.1.node\": 1, \"frequency.turbo\": true, "
			  "\"memory.thp.allowed\": true, \"cgroup.cpu_quota\": null, "
			  "\"cgroup.memory_limit\": {\"least\": 1e12}}"));
	assert_int_equal(h.facts, 9); /* with the class */
	assert_int_equal(h.findings + h.unknowns, 0);
}

static void a_fact_that_differs(void **state)
{
	static const struct {
		const char *fact, *told;
	} rows[] = {
		{ "\"memory.thp.enabled\": \"madvise\"",
		  "memory thp enabled always, madvise expected" },
		{ "\"frequency.governor\": \"performance\"",
		  "frequency governor powersave,performance, performance expected" },
		{ "\"topology.online\": \"0-31\"", "topology online 0-15, 0-31 expected" },
		{ "\"memory.total\": {\"least\": 5.4e11}",
		  "memory total 252 GiB, at least 503 GiB expected" },
		{ "\"frequency.maximum\": 3.6e9", "frequency maximum 3.500 G, 3.600 G expected" },
		{ "\"errors.corrected\": {\"most\": 6}", "errors corrected 7, at most 6 expected" },
		{ "\"errors.uncorrected\": {\"most\": 0}",
		  "errors uncorrected 1, at most 0 expected" },
		{ "\"errors.machine_checks\": {\"most\": 0}",
		  "errors machine_checks 7, at most 0 expected" },
		{ "\"frequency.turbo\": false", "frequency turbo true, false expected" },
		{ "\"cgroup.cpu_quota\": 4", "cgroup cpu_quota none, 4 expected" },
		{ "\"cgroup.cpu_quota\": {\"most\": 4}",
		  "cgroup cpu_quota none, at most 4 expected" },
	};
	char facts[256];
	struct health h;

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		snprintf(facts, sizeof(facts), "\"facts\": {%s}", rows[i].fact);
		assert_true(judge(&h, NULL, NULL, facts));
		assert_string_equal(h.finding, rows[i].told);
		assert_int_equal(h.findings, 1);
	}
}

/* Whatever the machine has. */
static void a_fact_that_the_file_does_not_know(void **state)
{
	static const char *const paths[] = { "frequency.turbo", "memory.channels", "no.such" };
	char facts[256], told[256];
	struct health h;

	(void)state;
	for (size_t i = 0; i < LENGTH(paths); i++) {
		snprintf(facts, sizeof(facts), "\"facts\": {\"%s\": null}", paths[i]);
		snprintf(told, sizeof(told), "fact %s: the file has null, which is unknown",
			 paths[i]);
		assert_true(judge(&h, NULL, NULL, facts));
		assert_int_equal(h.findings, 0);
		assert_int_equal(h.facts, 1); /* the class */
		assert_string_equal(h.unknown, told);
	}
}

static void a_fact_that_is_unknown(void **state)
{
	static const struct {
		const char *path, *told;
	} rows[] = {
		{ "memory.modules.0.count", "No such file or directory" },
		{ "memory.channels", "has none" },
		{ "no.such", "this machine has no such fact" },
		{ "topology.nodes.7", "this machine has no such fact" },
		{ "", "" },
	};
	char facts[256];
	struct health h;

	(void)state;
	for (size_t i = 0; i + 1 < LENGTH(rows); i++) {
		snprintf(facts, sizeof(facts), "\"facts\": {\"%s\": 8}", rows[i].path);
		assert_true(judge(&h, NULL, NULL, facts));
		assert_int_equal(h.findings, 0);
		assert_int_equal(h.unknowns, 1);
		assert_ptr_equal(strstr(h.unknown, rows[i].path), h.unknown);
		assert_non_null(strstr(h.unknown, rows[i].told));
	}
}

/* A slip in the file, which would drain every node. */
static void a_fact_of_another_kind(void **state)
{
	static const struct {
		const char *fact, *told;
	} rows[] = {
		{ "\"cpu.model\": {\"least\": 1}", "the file has a number, the machine a text" },
		{ "\"memory.total\": true", "the file has true or false, the machine a number" },
		{ "\"memory.total\": []", "the file has a list, the machine a number" },
		{ "\"memory.total\": [1]", "the file has a list, the machine a number" },
		{ "\"memory.total\": \"252 GiB\"", "the file has a text, the machine a number" },
		{ "\"topology\": 1", "the file has a number, the machine an object" },
		{ "\"topology.nodes\": 2", "the file has a number, the machine a list" },
		{ "\"frequency.turbo\": \"on\"", "the file has a text, the machine true or false" },
	};
	char facts[256];
	struct health h;

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		snprintf(facts, sizeof(facts), "\"facts\": {%s}", rows[i].fact);
		assert_true(judge(&h, NULL, NULL, facts));
		assert_int_equal(h.findings, 0);
		assert_int_equal(h.facts, 1); /* the class */
		assert_non_null(strstr(h.unknown, rows[i].told));
	}
}

/* A driver without controllers, as in a guest. */
static void errors_that_nobody_counts(void **state)
{
	json_t *errors;

	(void)state;
	put_file("/sys/devices/system/edac/mc/power/control", "auto\n");
	errors = provenance_errors(root);
	assert_true(json_is_null(at(errors, "corrected")));
	assert_non_null(strstr(text_at(errors, "corrected_why"), "No such file or directory"));
	assert_true(json_is_null(at(errors, "machine_checks")));
	json_decref(errors);
}

static void a_class_that_has_changed(void **state)
{
	struct health h;

	(void)state;
	assert_false(judge(&h, "00000000feedbeef", NULL,
			   "\"facts\": {\"memory.total\": {\"least\": 5.4e11}}"));
	assert_string_equal(h.finding, "memory total 252 GiB, at least 503 GiB expected");
	assert_int_equal(h.findings, 2);
	assert_false(judge(&h, "00000000feedbeef", NULL, ""));
	assert_non_null(strstr(h.finding, "00000000feedbeef expected of its processor"));
	assert_false(judge(&h, "00000000feedbeef", "Another", ""));
	assert_int_equal(h.findings, 0);
	assert_non_null(strstr(h.unknown, "the file has no values for its class"));
}

static void of_several_classes_the_nearest(void **state)
{
	char text[2048], why[HEALTH_TEXT];
	json_t *m = server(), *classes;
	struct health h = { 0 };

	(void)state;
	snprintf(text, sizeof(text),
		 "{\"schema\": \"locus-expected-1.1\", \"classes\": [{\"class\": \"a\", \"cpu\": "
		 "\"%s\", \"facts\": {\"numa_balancing\": 0, \"topology.cores\": 9}}, {\"class\": "
		 "\"b\", \"cpu\": \"%s\", \"facts\": {\"numa_balancing\": 0}}]}",
		 text_at(m, "cpu.model"), text_at(m, "cpu.model"));
	classes = expected_parse(text, strlen(text), why);
	assert_null(facts_judge(&h, classes, m));
	assert_string_equal(h.finding, "numa_balancing 1, 0 expected");
	assert_int_equal(h.findings, 2);
	json_object_del(m, "class");
	h = (struct health){ 0 };
	assert_null(facts_judge(&h, classes, m));
	assert_string_equal(h.unknown, "the class of this machine is unknown");
	json_decref(classes);
	json_decref(m);
}

#define FILE_OF(classes) "{\"schema\": \"locus-expected-1.0\", \"classes\": " classes "}"
#define METRIC(more)                                                                         \
	"\"metrics\": [{\"trial\": \"t\", \"metric\": \"time\", \"name\": \"n\", \"unit\": " \
	"\"s\", \"better\": \"lower\", " more "}]"
#define CLASS(more) FILE_OF("[{\"class\": \"a\", \"cpu\": \"b\", " more "}]")

static void files_that_are_wrong(void **state)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ "", "line 1: " },
		{ "[]", "its schema is '', expected locus-expected-1.1; locus export --expect" },
		{ "{\"schema\": \"locus-expected-2.0\"}", "its schema is 'locus-expected-2.0'" },
		{ FILE_OF("[]"), "it has no list of classes" },
		{ FILE_OF("{\"a\": 1}"), "it has no list of classes" },
		{ FILE_OF("[1]"), "a class has no text \"class\"" },
		{ FILE_OF("[{\"class\": \"a\"}]"), "a class has no text \"cpu\"" },
		{ CLASS("\"facts\": []"), "\"facts\" of a class is no object" },
		{ CLASS("\"health\": {}"), "\"health\" of a class is no list" },
		{ CLASS("\"facts\": {\"x\": {}}"), "fact x: expected a value" },
		{ CLASS("\"facts\": {\"x\": {\"most\": \"1\"}}"), "fact x: expected a value" },
		{ CLASS("\"facts\": {\"x\": {\"most\": 1, \"lest\": 1}}"), "fact x: expected" },
		{ CLASS("\"facts\": {\"x\": {\"most\": 1, \"least\": 5}}"),
		  "fact x: least and most are not in this order" },
		{ CLASS("\"metrics\": [{}]"), "a metric has no text \"trial\"" },
		{ CLASS(METRIC("\"low\": 2, \"high\": 1")), "n: low and high are not" },
		{ CLASS(METRIC("\"low\": 0, \"high\": 1")), "n: low and high are not" },
		{ CLASS("\"health\": [{}]"), "an entry of health has no text \"trial\"" },
		{ CLASS("\"health\": [{\"trial\": \"t\", \"metric\": \"time\", \"component\": "
			"\"clock\"}]"),
		  "health names time of trial t, which has no bounds" },
	};
	char why[HEALTH_TEXT];

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		*why = 0;
		assert_null(expected_parse(rows[i].text, strlen(rows[i].text), why));
		assert_ptr_equal(strstr(why, rows[i].why), why);
	}
}

static void files_that_are_good(void **state)
{
	static const char text[] =
		CLASS(METRIC("\"low\": 1, \"high\": 1") ", \"health\": [{\"trial\": \"t\", "
							"\"metric\": \"time\", "
							"\"component\": \"clock\"}]");
	char why[HEALTH_TEXT];
	json_t *classes;

	(void)state;
	put_file("/expected.json", text);
	classes = expected_read(in_tree("/expected.json"), why);
	assert_non_null(expected_bounds(json_array_get(classes, 0), "t", "time"));
	assert_null(expected_bounds(json_array_get(classes, 0), "t", "bandwidth"));
	json_decref(classes);
	assert_null(expected_read(in_tree("/none"), why));
	assert_non_null(strstr(why, "/none: cannot be read: No such file or directory"));
	assert_null(expected_read(root, why));
	assert_non_null(strstr(why, ": cannot be read: Is a directory"));
	put_file("/expected.json", "\xef\xbb\xbf" FILE_OF("[{\"class\": \"a\", \"cpu\": \"b\"}]"));
	classes = expected_read(in_tree("/expected.json"), why);
	assert_int_equal(json_array_size(classes), 1);
	json_decref(classes);
	put_file("/expected.json", "\xef\xbb\xbf");
	assert_null(expected_read(in_tree("/expected.json"), why));
	put_file("/expected.json", "{");
	assert_null(expected_read(in_tree("/expected.json"), why));
	assert_non_null(strstr(why, "/expected.json: line 1: "));
}

static void the_line_is_never_long(void **state)
{
	char host[300], line[HEALTH_LINE + 1];
	struct health h = { .facts = 1 };

	(void)state;
	health_line(&h, "n0150", line);
	assert_string_equal(line, "locus: n0150 as expected: 1 fact");
	h.trials = 2;
	health_line(&h, "n0150", line);
	assert_string_equal(line, "locus: n0150 as expected: 1 fact, 2 trials");
	health_unknown(&h, "noisy");
	health_line(&h, "n0150", line);
	assert_string_equal(line, "locus: n0150 as expected: 1 fact, 2 trials; 1 unknown");
	health_finding(&h, "memory bandwidth %s", "352.0 GB/s");
	health_line(&h, "n0150", line);
	assert_string_equal(line, "locus: n0150 memory bandwidth 352.0 GB/s");
	*host = 'x'; /* so that the limit falls inside a character */
	for (size_t i = 1; i + 2 < sizeof(host); i += 2)
		memcpy(host + i, "\u00e9", 3);
	h = (struct health){ 0 };
	health_finding(&h, "%s\n", host);
	health_finding(&h, "another");
	health_line(&h, host, line);
	assert_in_range(strlen(line), HEALTH_LINE - 1, HEALTH_LINE);
	assert_string_equal(line + strlen(line) - strlen("\u00e9; 1 more"), "\u00e9; 1 more");
	assert_null(strchr(line, '\n'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(facts_that_are_as_expected), TEST(a_fact_that_differs),
		TEST(errors_that_nobody_counts),  TEST(a_fact_that_the_file_does_not_know),
		TEST(a_fact_that_is_unknown),	  TEST(a_fact_of_another_kind),
		TEST(a_class_that_has_changed),	  TEST(of_several_classes_the_nearest),
		TEST(files_that_are_wrong),	  TEST(files_that_are_good),
		TEST(the_line_is_never_long),
	};

	return cmocka_run_group_tests(tests, open_server, close_machine);
}
