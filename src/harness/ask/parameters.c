/* SPDX-License-Identifier: Apache-2.0 */
/* A parameter of a benchmark: its values by profile, and the text of one value. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "harness/ask/parameters.h"

bool parameter_applies(const struct benchmark *b, const struct variant *v, unsigned parameter)
{
	return !(v->unused & BIT(parameter)) && b->parameters[parameter].type != P_DERIVED;
}

const char *const profile_names[PROFILES] = {
	[QUICK] = "quick", [STANDARD] = "standard", [PAPER] = "paper"
};

const char *profile_value(const char *const value[PROFILES], enum profile profile)
{
	while (profile > QUICK && !value[profile])
		profile--;
	return value[profile];
}

struct preset profile_preset(const struct benchmark *b, enum profile profile)
{
	struct preset p = { 0 };

	for (unsigned i = QUICK; i <= profile; i++) {
		const struct preset *own = &b->preset[i];

		p = (struct preset){ own->variants ? own->variants : p.variants,
				     own->threads ? own->threads : p.threads,
				     own->sample > 0 ? own->sample : p.sample,
				     own->repeats ? own->repeats : p.repeats };
	}
	return p;
}

const char *profile_override(const struct variant *v, unsigned parameter, enum profile profile)
{
	for (const struct override *o = v->defaults; o && o < v->defaults + v->n_defaults; o++)
		if (o->parameter == parameter)
			return profile_value(o->value, profile);
	return NULL;
}

/* ---- one value ---- */

char *value_print(const struct parameter *p, union value v, char *text, size_t size)
{
	const char *list = p->choices;

	switch (p->type) {
	case P_COUNT:
	case P_SIZE:
	case P_NODE:
	case P_DERIVED:
		snprintf(text, size, "%llu", (unsigned long long)v.count);
		break;
	case P_REAL:
		snprintf(text, size, "%.12g", v.real);
		break;
	case P_CHOICE:
		for (unsigned i = 0; i <= v.choice; i++)
			names_next(&list, text, size);
		break;
	case P_LAYOUT:
	case P_PATH:
		utf8_print(v.text, text, size);
		break;
	}
	return text;
}

bool value_same(const struct parameter *p, union value a, union value b)
{
	switch (p->type) {
	case P_COUNT:
	case P_SIZE:
	case P_NODE:
	case P_DERIVED:
		return a.count == b.count;
	case P_REAL:
		return a.real == b.real;
	case P_CHOICE:
		return a.choice == b.choice;
	case P_LAYOUT:
	case P_PATH:
		return strcmp(a.text, b.text) == 0;
	}
	return false;
}

char *value_show(const struct parameter *p, union value v, char *text, size_t size)
{
	char bytes[TEXT_BYTES];

	if (p->zero && (p->type == P_REAL ? v.real == 0 : v.count == 0)) {
		snprintf(text, size, "%s", p->zero);
		return text;
	}
	if (p->type != P_SIZE)
		return value_print(p, v, text, size);
	snprintf(text, size, "%s", text_bytes(bytes, v.count));
	return text;
}
