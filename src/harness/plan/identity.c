/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "harness/plan/identity.h"
#include "harness/ask/options.h"
#include "harness/ask/value.h"

uint64_t identity_hash(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h;
}

char *identity_text(const struct trial *t, const char *bind)
{
	const struct benchmark *b = t->benchmark;
	char *identity = NULL, text[VALUE_ROOM];
	size_t size;
	FILE *f = open_memstream(&identity, &size);

	if (!f)
		return NULL;
	fprintf(f, "%s/%s", b->name, t->variant->name);
	for (unsigned i = 0; i < parameter_count(b); i++)
		if (parameter_applies(b, t->variant, i) && !b->parameters[i].output)
			fprintf(f, " %s=%s", b->parameters[i].name,
				value_print(&b->parameters[i], t->value[i], text, sizeof(text)));
	fprintf(f, " threads=%u", t->threads);
	if (t->ranks && t->ranks->ranks > 1)
		fprintf(f, " ranks=%u", t->ranks->ranks);
	fprintf(f, " bind=%s%s protocol=%u", bind, t->oversubscribed ? " oversubscribed" : "",
		b->version);
	fclose(f);
	return identity;
}
