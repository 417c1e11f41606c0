/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/limits/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sysfs.h"

static bool listed(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (; list; list = strchr(list, ',')) {
		list += *list == ',';
		if (!strncmp(list, word, length) && (list[length] == ',' || !list[length]))
			return true;
	}
	return false;
}

/*
 * Lines are "4:memory:/job" (version 1) and "0::/job" (version 2); if both are there, version 1 has
 * the controller.
 */
static int find_path(const char *root, const char *controller, struct hierarchy *h)
{
	char *text = sysfs_text(root, "/proc/self/cgroup"), *rest = text, *line, *controllers,
	     *path;

	h->version = 0;
	while (rest && (line = strsep(&rest, "\n"))) {
		controllers = strchr(line, ':');
		path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path || path[1] != '/')
			continue;
		*path++ = '\0';
		controllers++;
		if (*controllers ? !listed(controllers, controller) : h->version == 1)
			continue;
		h->version = *controllers ? 1 : 2;
		snprintf(h->path, sizeof(h->path), "%s", path);
	}
	free(text);
	return h->version ? 0 : -1;
}

/* Blanks in a mount point are written "\040". */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; to++) {
		unsigned code;

		if (*text == '\\' && sscanf(text, "\\%3o", &code) == 1 && strnlen(text, 4) == 4) {
			*to = (char)code;
			text += 4;
		} else {
			*to = *text++;
		}
	}
	*to = '\0';
}

/* The path relative to the mounted part of the hierarchy; "" if it is outside (namespaces). */
static const char *below(const char *path, const char *mounted)
{
	size_t length = strcmp(mounted, "/") ? strlen(mounted) : 0;

	if (strstr(path, "/..") || strncmp(path, mounted, length) ||
	    (path[length] && path[length] != '/'))
		return "";
	return strcmp(path + length, "/") ? path + length : "";
}

/* Whether this line of mountinfo mounts the hierarchy; then sets mount and group. */
static bool mounts(char *line, const char *controller, struct hierarchy *h)
{
	char *separator = strstr(line, " - "), *mounted = NULL, *mount = NULL, *type = NULL,
	     *options = NULL;
	bool found = false;

	if (!separator || sscanf(separator, " - %ms %*s %ms", &type, &options) != 2)
		goto out;
	if (strcmp(type, h->version == 1 ? "cgroup" : "cgroup2") ||
	    (h->version == 1 && !listed(options, controller)))
		goto out;
	if (sscanf(line, "%*s %*s %*s %ms %ms", &mounted, &mount) != 2)
		goto out;
	unescape(mounted);
	unescape(mount);
	if (strlen(mount) + strlen(h->path) >= PATH_MAX)
		goto out;
	stpcpy(stpcpy(h->group, mount), below(h->path, mounted));
	strcpy(h->mount, mount);
	found = true;
out:
	free(mounted);
	free(mount);
	free(type);
	free(options);
	return found;
}

int hierarchy_find(const char *root, const char *controller, struct hierarchy *h)
{
	char *text, *rest, *line;
	bool found = false;

	if (find_path(root, controller, h))
		return -1;
	rest = text = sysfs_text(root, "/proc/self/mountinfo");
	while (rest && !found && (line = strsep(&rest, "\n")))
		found = mounts(line, controller, h);
	free(text);
	return found ? 0 : -1;
}

bool hierarchy_up(struct hierarchy *h)
{
	char *slash = strrchr(h->group, '/');

	if (!slash || !strcmp(h->group, h->mount) || (size_t)(slash - h->group) < strlen(h->mount))
		return false;
	*slash = '\0';
	return true;
}

const char *hierarchy_group(const struct hierarchy *h)
{
	const char *name = h->group + strlen(h->mount);

	return *name ? name : "/";
}
