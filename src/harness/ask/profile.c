/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "harness/ask/profile.h"

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
