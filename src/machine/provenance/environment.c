/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/provenance/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/utf8.h"
#include "machine/provenance/sources.h"

bool environment_is_secret(const char *name, size_t length)
{
	static const char *const words[] = { "PASS", "SECRET", "TOKEN", "CREDENTIAL",
					     "JWT",  "JWKS",   "KEY",	"AUTH" };
	char *copy = strndup(name, length);
	bool secret = !copy;

	for (unsigned i = 0; copy && i < LENGTH(words); i++)
		secret |= strcasestr(copy, words[i]) != NULL;
	free(copy);
	return secret;
}

json_t *provenance_environment(void)
{
	static const char *const prefixes[] = { "OMP_",	       "GOMP_",
						"KMP_",	       "SLURM_",
						"LIKWID",      "MALLOC_",
						"LD_PRELOAD=", "LD_LIBRARY_PATH=",
						"LOCUS_",      "GLIBC_TUNABLES=" };
	json_t *environment = json_object();

	for (char **variable = environ; environ && *variable; variable++) {
		size_t length = strcspn(*variable, "=");
		char *name;

		for (unsigned i = 0; i < LENGTH(prefixes); i++) {
			if (strncmp(*variable, prefixes[i], strlen(prefixes[i])) ||
			    !(*variable)[length])
				continue;
			name = strndup(*variable, length);
			if (!name)
				continue;
			if (environment_is_secret(name, length))
				source_put_value(environment, name, NULL,
						 "left out: it may be a secret");
			else
				source_put_value(environment, name,
						 utf8_json(*variable + length + 1), "no memory");
			free(name);
		}
	}
	return environment;
}
