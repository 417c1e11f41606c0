/* SPDX-License-Identifier: Apache-2.0 */
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "cluster/cluster.h"

/* Adds a part to the text. */
static void separate(FILE *f, const char *with)
{
	if (ftell(f) > 0)
		fputs(with, f);
}

/* MPICH and its descendants have a line "MPICH Device:	ch4:ofi". */
static void add_device(FILE *f, const char *description)
{
	static const char key[] = "MPICH Device:";
	const char *at = strstr(description, key);

	if (!at)
		return;
	at += strlen(key);
	at += strspn(at, "\t ");
	separate(f, "; ");
	fprintf(f, "%.*s", (int)strcspn(at, "\n"), at);
}

/* --- variables by which users choose --- */

static const char *const variables[] = {
	"OMPI_MCA_pml=",
	"OMPI_MCA_btl=",
	"OMPI_MCA_mtl=",
	"OMPI_MCA_btl_tcp_if_",
	"UCX_TLS=",
	"UCX_NET_DEVICES=",
	"FI_PROVIDER=",
	"PSM2_DEVICES=",
	"PSM3_",
	"I_MPI_FABRICS=",
	"I_MPI_OFI_PROVIDER=",
	"MPIR_CVAR_NEMESIS_NETMOD=",
	"MPIR_CVAR_OFI_",
	"MPIR_CVAR_CH4_OFI_PROVIDER",
	"MV2_IBA_HCA=",
};

static void add_variables(FILE *f, char *const *environment)
{
	for (; environment && *environment; environment++)
		for (size_t i = 0; i < LENGTH(variables); i++)
			if (!strncmp(*environment, variables[i], strlen(variables[i]))) {
				separate(f, "; ");
				fprintf(f, "%.200s", *environment);
			}
}

/* --- components of Open MPI, which are libraries: it closes those that it does not use --- */

static const char *const kinds[] = { "pml", "mtl", "btl" };

/* The component in a line of maps: the N of mca_KIND_N.so; NULL: there is none. */
static const char *component_of(const char *line, const char *kind, size_t *length)
{
	const char *at = strstr(line, "/mca_");

	if (!at || strncmp(at + 5, kind, strlen(kind)) || at[5 + strlen(kind)] != '_')
		return NULL;
	at += 5 + strlen(kind) + 1;
	*length = strcspn(at, ".\n");
	return at;
}

/* A library is mapped in several parts, which follow each other. */
static void add_components(FILE *f, const char *kind, FILE *maps)
{
	char line[1024], last[64] = "";
	bool any = false;

	rewind(maps);
	while (fgets(line, sizeof(line), maps)) {
		size_t length;
		const char *name = component_of(line, kind, &length);

		if (!name || length >= sizeof(last) ||
		    (!strncmp(last, name, length) && !last[length]))
			continue;
		memcpy(last, name, length);
		last[length] = '\0';
		separate(f, any ? ", " : "; ");
		fprintf(f, "%s%s%s", any ? "" : kind, any ? "" : " ", last);
		any = true;
	}
}

char *transport_text(const char *description, char *const *environment, FILE *maps)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	add_device(f, description);
	for (size_t i = 0; maps && i < LENGTH(kinds); i++)
		add_components(f, kinds[i], maps);
	add_variables(f, environment);
	if (fclose(f) || (text && *text))
		return text;
	free(text);
	return NULL;
}

/* --- of this process --- */

/* The first part of MPI's description: "Open MPI v4.1.4", "MPICH Version: 4.0.2". */
static char *name_of(const char *description)
{
	char *name = strndup(description, strcspn(description, ",\n"));

	for (char *at = name; at && *at; at++)
		*at = *at == '\t' ? ' ' : *at;
	return name;
}

void transport_find(struct ranks *ranks)
{
	char description[MPI_MAX_LIBRARY_VERSION_STRING];
	FILE *maps = fopen("/proc/self/maps", "re");
	int length;

	MPI_Get_library_version(description, &length);
	ranks->library = name_of(description);
	ranks->transport = transport_text(description, environ, maps);
	ranks->transport_why = ranks->transport
				       ? NULL
				       : "neither the MPI library nor its variables name a "
					 "transport";
	if (maps)
		fclose(maps);
}
