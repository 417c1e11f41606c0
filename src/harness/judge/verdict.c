/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/judge/verdict.h"
#include "base/utf8.h"

const char *const status_names[STATUSES] = { [STATUS_OK] = "ok",
					     [STATUS_UNCONVERGED] = "unconverged",
					     [STATUS_BIMODAL] = "bimodal",
					     [STATUS_NOISY] = "noisy",
					     [STATUS_INTERRUPTED] = "interrupted",
					     [STATUS_MISPLACED] = "misplaced",
					     [STATUS_WRONG] = "wrong",
					     [STATUS_FAILED] = "failed",
					     [STATUS_IMPOSSIBLE] = "impossible" };

enum status status_named(const char *name)
{
	enum status s = STATUS_OK;

	while (s < STATUS_IMPOSSIBLE && strcmp(status_names[s], name))
		s++;
	return s;
}

void verdict_add(struct verdict *v, enum status status, const char *format, ...)
{
	char text[1024];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	if (status > v->status)
		json_array_insert_new(v->reasons, 0, utf8_json(text));
	else
		json_array_append_new(status == STATUS_OK ? v->notes : v->reasons, utf8_json(text));
	if (status > v->status)
		v->status = status;
}
