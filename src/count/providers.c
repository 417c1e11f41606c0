/* SPDX-License-Identifier: Apache-2.0 */
#include "count/kernel.h"
#include "count/papi.h"
#include "count/perf.h"
#include "count/providers.h"

const struct provider *const provider_table[PROVIDERS] = { [PROVIDER_KERNEL] = &kernel_provider,
							   [PROVIDER_SOFTWARE] = &perf_software,
							   [PROVIDER_PAPI] = &papi_provider,
							   [PROVIDER_HARDWARE] = &perf_hardware };

static bool is_loaded(const struct providers *p, unsigned provider)
{
	return !provider_table[provider]->open || p->of[provider].library;
}

bool providers_reach(struct providers *p, unsigned provider)
{
	const struct provider *row = provider_table[provider];

	if (!p->of[provider].asked && row->open)
		p->of[provider].library = row->open(p->multiplex, &p->of[provider].why);
	p->of[provider].asked = true;
	return is_loaded(p, provider);
}

void providers_close(struct providers *p)
{
	for (unsigned i = 0; i < PROVIDERS; i++)
		if (p->of[i].library)
			provider_table[i]->close(p->of[i].library);
}

void providers_names(const struct providers *p, void (*each)(void *, const char *), void *argument)
{
	for (unsigned i = 0; i < PROVIDERS; i++)
		if (is_loaded(p, i) && provider_table[i]->names)
			provider_table[i]->names(p->of[i].library, each, argument);
}
