/* SPDX-License-Identifier: Apache-2.0 */
/* The text that names a trial, with a hash for each input file. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/plan/request.h"
#include "harness/ask/options.h"
#include "harness/ask/parameters.h"
#include "base/hash.h"
#include "base/why.h"
#include "kit/input.h"

/* Hashes an open input file. -1, and why. */
static int hash_open(const struct input *in, uint64_t *hash, const char **why)
{
	char *block = malloc(INPUT_BLOCK);
	ssize_t n = block ? 1 : why_fail(why, "out of memory");

	*hash = HASH_BEGIN;
	for (size_t at = 0; n > 0; at += (size_t)n) {
		n = input_read_some(in, block, INPUT_BLOCK, at, why);
		if (n > 0)
			*hash = hash_more(*hash, block, (size_t)n);
	}
	free(block);
	return n < 0 ? -1 : 0;
}

/* The hash of the file as text, kept in `contents` by `name`. NULL, and why. */
static const char *hash_file(const char *path, const char *name, json_t *contents, const char **why)
{
	const json_t *known = json_object_get(contents, name);
	struct input in;
	char text[HASH_TEXT];
	uint64_t hash;
	int failed;

	if (known)
		return json_string_value(known);
	if (input_open(&in, path, why))
		return NULL;
	failed = hash_open(&in, &hash, why);
	input_close(&in);
	if (!failed)
		json_object_set_new(contents, name, json_string(hash_print(hash, text)));
	return json_string_value(json_object_get(contents, name));
}

/* The text of a value; for an input file, the hash of its contents. NULL, and why. */
static const char *value_of(const struct trial *t, unsigned i, char text[VALUE_ROOM],
			    json_t *contents, const char **why)
{
	const struct parameter *p = &t->benchmark->parameters[i];

	value_print(p, t->value[i], text, VALUE_ROOM);
	if (!p->input || !p->input(t->value))
		return text;
	return hash_file(t->value[i].text, text, contents, why);
}

char *identity_text(const struct trial *t, const char *bind, json_t *contents, const char **why)
{
	const struct benchmark *b = t->benchmark;
	char *identity = NULL, text[VALUE_ROOM];
	const char *value = "";
	size_t length;
	FILE *f = open_memstream(&identity, &length);

	assert(b->protocol.version); /* records hold protocols from 1 on */
	*why = "out of memory";
	if (!f)
		return NULL;
	fprintf(f, "%s/%s", b->name, t->variant->name);
	for (unsigned i = 0; i < b->n_parameters && value; i++) {
		if (!parameter_applies(b, t->variant, i) || b->parameters[i].output)
			continue;
		value = value_of(t, i, text, contents, why);
		fprintf(f, " %s=%s", b->parameters[i].name, value ? value : "");
	}
	fprintf(f, " threads=%u", t->threads);
	if (t->ranks && t->ranks->ranks > 1)
		fprintf(f, " ranks=%u", t->ranks->ranks);
	fprintf(f, " bind=%s%s protocol=%u", bind, t->oversubscribed ? " oversubscribed" : "",
		b->protocol.version);
	fclose(f);
	if (value)
		return identity;
	free(identity);
	return NULL;
}
