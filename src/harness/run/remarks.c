/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/run/remarks.h"
#include "base/wrapped.h"

/* Stands for a number in a pattern. */
#define NUMBER '\001'

enum { MOST_NUMBERS = 12, NUMBER_ROOM = 24 };

struct remark {
	unsigned rank, trials, numbers;
	const char *label;
	char *pattern;
	/* the smallest and the largest of each number, as they were written */
	char least[MOST_NUMBERS][NUMBER_ROOM], most[MOST_NUMBERS][NUMBER_ROOM];
};

/* The length of the number that begins at `at`; 0: none does, or it is part of a word. */
static size_t number_length(const char *sentence, const char *at)
{
	const char *before = at > sentence ? at - 1 : " ";
	char *end;

	if (!isdigit((unsigned char)*at) || isalnum((unsigned char)*before) ||
	    strchr("._-/\\=", *before) || (at[0] == '0' && isalpha((unsigned char)at[1])))
		return 0;
	strtod(at, &end);
	if (isalnum((unsigned char)*end) || *end == '_' || *end == '/' || end - at >= NUMBER_ROOM)
		return 0;
	return (size_t)(end - at);
}

/* The sentence without its numbers, which go into least and most. False: no memory. */
static bool read_pattern(struct remark *r, const char *sentence)
{
	char *to = r->pattern = malloc(strlen(sentence) + 1);

	if (!to)
		return false;
	for (const char *at = sentence; *at; to++) {
		const size_t n = r->numbers < MOST_NUMBERS ? number_length(sentence, at) : 0;

		*to = *at;
		if (n || *at == NUMBER)
			*to = n ? NUMBER : '?';
		if (n) {
			memcpy(r->least[r->numbers], at, n);
			memcpy(r->most[r->numbers++], at, n);
		}
		at += n ? n : 1;
	}
	*to = 0;
	return true;
}

static void widen(struct remark *r, const struct remark *other)
{
	for (unsigned i = 0; i < r->numbers; i++) {
		const double number = strtod(other->least[i], NULL);

		if (number < strtod(r->least[i], NULL))
			memcpy(r->least[i], other->least[i], NUMBER_ROOM);
		if (number > strtod(r->most[i], NULL))
			memcpy(r->most[i], other->most[i], NUMBER_ROOM);
	}
	r->trials++;
}

void remarks_add(struct remarks *list, unsigned rank, const char *label, const char *sentence)
{
	struct remark new = { .rank = rank, .trials = 1, .label = label }, *grown;
	unsigned i = 0;

	if (!read_pattern(&new, sentence))
		return;
	for (i = 0; i < list->n &&
		    (list->remark[i].rank != rank || strcmp(list->remark[i].pattern, new.pattern));
	     i++)
		;
	if (i < list->n) {
		widen(&list->remark[i], &new);
		free(new.pattern);
		return;
	}
	grown = realloc(list->remark, (list->n + 1) * sizeof(*grown));
	if (!grown) {
		free(new.pattern);
		return;
	}
	list->remark = grown;
	for (i = list->n++; i && grown[i - 1].rank > rank; i--)
		grown[i] = grown[i - 1];
	grown[i] = new;
}

static void print(const struct remark *r, const char *mark, FILE *f)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	unsigned number = 0;

	if (!to)
		return;
	fprintf(to, "%s%u %s%s: ", mark, r->trials, r->label,
		!strcmp(r->label, "trial") && r->trials > 1 ? "s" : "");
	for (const char *c = r->pattern; *c; c++) {
		if (*c != NUMBER) {
			fputc(*c, to);
			continue;
		}
		fprintf(to, "%s", r->least[number]);
		if (strcmp(r->least[number], r->most[number]))
			fprintf(to, " to %s", r->most[number]);
		number++;
	}
	fclose(to);
	if (text)
		wrapped_print(text, 2, f);
	free(text);
}

void remarks_print(const struct remarks *list, const char *mark, FILE *f)
{
	for (unsigned i = 0; i < list->n; i++)
		print(&list->remark[i], mark, f);
}

void remarks_free(struct remarks *list)
{
	for (unsigned i = 0; i < list->n; i++)
		free(list->remark[i].pattern);
	free(list->remark);
	*list = (struct remarks){ 0 };
}
