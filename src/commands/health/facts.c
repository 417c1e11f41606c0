/* SPDX-License-Identifier: Apache-2.0 */
/* Compares facts of the machine with a class of the file. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/text.h"
#include "commands/health/finding.h"

/* most bytes of a value in a line; most bytes of a fact's path */
enum { WORDS = 48, LONGEST = 128 };

/* ---- values ---- */

/* Where null is no gap, in the record and in the file: nothing is set. */
static bool may_be_none(const char *path)
{
	return !strcmp(path, "cgroup.cpu_quota") || !strcmp(path, "cgroup.memory_limit");
}

/* The entry of a list at an index, "0"; NULL: it is no index, or too large. */
static const json_t *entry_at(const json_t *list, const char *index)
{
	char *end;
	const unsigned long i = strtoul(index, &end, 10);

	return isdigit((unsigned char)*index) && !*end ? json_array_get(list, i) : NULL;
}

/*
 * The value at a path of names and indices, "memory.modules.0.count". NULL: nothing is there; *why:
 * the reason beside the null at which the path ends, or NULL.
 */
static const json_t *value_at(const json_t *machine, const char *path, const char **why)
{
	const char *full = path;
	const json_t *at = machine;
	char word[LONGEST], reason[LONGEST + 8];

	*why = NULL;
	while (at && *path) {
		const size_t length = strcspn(path, ".");
		const json_t *in = at;

		snprintf(word, sizeof(word), "%.*s", (int)length, path);
		snprintf(reason, sizeof(reason), "%s_why", word);
		at = json_is_array(in) ? entry_at(in, word) : json_object_get(in, word);
		if (json_is_null(at))
			*why = json_string_value(json_object_get(in, reason));
		path += length + (path[length] == '.');
		if (json_is_null(at) && *path)
			return NULL;
	}
	return json_is_null(at) && !may_be_none(full) ? NULL : at;
}

static bool ends_in(const char *path, const char *word)
{
	const size_t n = strlen(path), own = strlen(word);

	return n >= own && !strcmp(path + n - own, word);
}

/* The value in a few words: bytes as GiB, other large numbers with a prefix. */
static const char *words_of(const char *path, const json_t *value, char text[WORDS])
{
	char bytes[TEXT_BYTES], *dumped;
	const double number = json_number_value(value);

	if (json_is_string(value)) {
		snprintf(text, WORDS, "%s", json_string_value(value));
	} else if (json_is_null(value)) {
		snprintf(text, WORDS, "none");
	} else if (json_is_number(value) && number >= 1e6 && number < 1e18 &&
		   (ends_in(path, "total") || ends_in(path, "size") || ends_in(path, "memory"))) {
		snprintf(text, WORDS, "%s", text_bytes(bytes, (uint64_t)number));
	} else if (json_is_number(value) && number >= 1e6) {
		quantity_show(number, "", text, WORDS);
		text[strcspn(text, " ") + (strchr(text, ' ') ? 2 : 0)] = 0;
	} else {
		dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
		snprintf(text, WORDS, "%s", dumped ? dumped : "?");
		free(dumped);
	}
	return text;
}

/* "memory thp enabled" */
static const char *label_of(const char *path, char label[LONGEST])
{
	snprintf(label, LONGEST, "%s", path);
	for (char *dot = label; (dot = strchr(dot, '.'));)
		*dot = ' ';
	return label;
}

/* ---- facts ---- */

/* A limit that is not set is beyond every other. */
static bool is_beyond(const json_t *value, const json_t *bound, bool most)
{
	const double own = json_is_null(value) ? INFINITY : json_number_value(value),
		     end = json_number_value(bound);

	return bound && (most ? own > end : own < end);
}

static const char *kind_of(const json_t *value)
{
	return json_is_string(value)	? "a text"
	       : json_is_number(value)	? "a number"
	       : json_is_boolean(value) ? "true or false"
	       : json_is_array(value)	? "a list"
	       : json_is_object(value)	? "an object"
					: "nothing";
}

/*
 * Whether fact and value are of one kind; "none" goes with all. Otherwise the file has a
 * slip, which says nothing about the machine.
 */
static bool is_of_kind(struct health *h, const char *path, const json_t *fact, const json_t *value)
{
	const char *expected = json_is_object(fact) ? "a number" : kind_of(fact),
		   *own = kind_of(value);

	if (json_is_null(fact) || json_is_null(value) || !strcmp(expected, own))
		return true;
	health_unknown(h, "fact %.80s: the file has %s, the machine %s", path, expected, own);
	return false;
}

/* Numbers are equal by value: whoever edits the file may write 2.0 for 2. */
static bool is_equal(const json_t *fact, const json_t *value)
{
	bool equal = json_array_size(fact) == json_array_size(value);

	if (json_is_number(fact) && json_is_number(value))
		return json_number_value(fact) == json_number_value(value);
	if (!json_is_array(fact) || !json_is_array(value))
		return json_equal((json_t *)fact, (json_t *)value);
	for (size_t i = 0; equal && i < json_array_size(fact); i++)
		equal = is_equal(json_array_get(fact, i), json_array_get(value, i));
	return equal;
}

/* Judges a fact whose value is known. */
static void judge_one(struct health *h, const char *path, const json_t *fact, const json_t *value)
{
	const json_t *least = json_object_get(fact, "least"), *most = json_object_get(fact, "most");
	const bool low = is_beyond(value, least, false), high = is_beyond(value, most, true);
	char label[LONGEST], own[WORDS], expected[WORDS];

	if (!is_of_kind(h, path, fact, value))
		return;
	h->facts++;
	if (json_is_object(fact) ? !low && !high : is_equal(fact, value))
		return;
	health_finding(h, "%s %s, %s%s expected", label_of(path, label), words_of(path, value, own),
		       low    ? "at least "
		       : high ? "at most "
			      : "",
		       words_of(path,
				low    ? least
				: high ? most
				       : fact,
				expected));
}

static void judge_all(struct health *h, const json_t *of_class, const json_t *machine)
{
	const char *path, *why;
	const json_t *value;
	json_t *fact;

	json_object_foreach(json_object_get(of_class, "facts"), path, fact) {
		value = value_at(machine, path, &why);
		if (json_is_null(fact) && !may_be_none(path))
			health_unknown(h, "fact %.80s: the file has null, which is unknown", path);
		else if (value)
			judge_one(h, path, fact, value);
		else
			health_unknown(h, "%.80s: %.150s", path,
				       why ? why : "this machine has no such fact");
	}
}

/* ---- the class ---- */

static const char *known_text(const json_t *object, const char *key)
{
	const char *text = health_string(object, key);

	return text ? text : "unknown";
}

/*
 * A machine whose class is not in the file, although classes of its processor are, has changed: it
 * is compared with the most similar of these classes.
 */
static void judge_unlike(struct health *h, const json_t *classes, const json_t *machine)
{
	const char *own = known_text(machine, "class"),
		   *cpu = known_text(json_object_get(machine, "cpu"), "model");
	const json_t *one, *best = NULL;
	struct health least = { 0 };
	size_t i;

	json_array_foreach(classes, i, one) {
		struct health told = { 0 };

		if (strcmp(known_text(one, "cpu"), cpu))
			continue;
		judge_all(&told, one, machine);
		if (!best || told.findings < least.findings) {
			best = one;
			least = told;
		}
	}
	if (!best) {
		health_unknown(h, "the file has no values for its class %s, %.60s", own, cpu);
		return;
	}
	*h = least;
	h->facts++;
	health_finding(h, "class %s, %.40s expected of its processor", own,
		       known_text(best, "class"));
}

const json_t *facts_judge(struct health *h, const json_t *classes, const json_t *machine)
{
	const char *own = json_string_value(json_object_get(machine, "class"));
	const json_t *one;
	size_t i;

	if (!own) {
		health_unknown(h, "the class of this machine is unknown");
		return NULL;
	}
	json_array_foreach(classes, i, one)
		if (!strcmp(known_text(one, "class"), own)) {
			h->facts++;
			judge_all(h, one, machine);
			return one;
		}
	judge_unlike(h, classes, machine);
	return NULL;
}
