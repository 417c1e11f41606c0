/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "harness/ask/value.h"

char *value_print(const struct parameter *p, union value v, char *text, size_t size)
{
	const char *list = p->choices;

	switch (p->type) {
	case P_COUNT:
	case P_SIZE:
	case P_NODE:
	case P_FOUND:
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
	case P_FOUND:
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
