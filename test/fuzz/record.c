/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record given to --resume. If it is refused, it is unchanged. If it is accepted, whole lines
 * from its beginning remain, and only an unfinished line, or a line with zeros and all behind it,
 * is cut off. New lines are added behind, and the record can be resumed again.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/ask/options.h"
#include "harness/record/record.h"

struct bytes {
	uint8_t *at;
	size_t n;
};

/* Replaces "@" by the name of this host, which a corpus can't know. */
static struct bytes with_host(const uint8_t *data, size_t size)
{
	static const char mark[] = "\"@\"";
	const uint8_t *const at = memmem(data, size, mark, sizeof(mark) - 1);
	const size_t before = at ? (size_t)(at - data) + 1 : size, after = at ? before + 1 : size;
	char host[256] = "";
	struct bytes b;

	gethostname(host, sizeof(host) - 1);
	b.at = malloc(size + sizeof(host));
	must(b.at);
	memcpy(b.at, data, before);
	b.n = before;
	if (at)
		b.n = (size_t)((uint8_t *)stpcpy((char *)b.at + before, host) - b.at);
	memcpy(b.at + b.n, data + after, size - after);
	b.n += size - after;
	return b;
}

static struct bytes contents(int file)
{
	struct stat s;
	struct bytes b;

	must(!fstat(file, &s));
	b = (struct bytes){ malloc((size_t)s.st_size + 1), (size_t)s.st_size };
	must(b.at && pread(file, b.at, b.n, 0) == (ssize_t)b.n);
	return b;
}

static int open_record(struct record **r, const char *path)
{
	int status;
	const char *said;

	listen_begin();
	status = record_open(r, path, RECORD_RESUME, NULL);
	said = listen_end();
	must(!status == !*said);
	must(!status || !strncmp(said, "locus: --output: ", 17));
	return status;
}

static void go_on(const char *path, struct record *r)
{
	const size_t runs = json_array_size(record_runs(r));
	const bool has = record_has(r, "a");

	record_line(r, "end", json_pack("{s:i}", "status", 0), false);
	must(!record_close(r));
	must(open_record(&r, path) ==
	     (runs ? 0 : EXIT_COMMAND_LINE)); /* without a header, ours is the first line */
	if (!runs)
		return;
	must(json_array_size(record_runs(r)) == runs && record_has(r, "a") == has);
	must(!record_has_counter(r, "a", "x") || has);
	must(!record_close(r));
}

static bool may_be_cut_off(const uint8_t *at, size_t n)
{
	const uint8_t *const end = memchr(at, '\n', n);

	return !end || memchr(at, '\0', (size_t)(end - at));
}

void fuzz_record(const uint8_t *data, size_t size)
{
	struct bytes before = with_host(data, size), after;
	const struct memory_file *m = memory_file(before.at, before.n);
	struct record *r;
	const int status = open_record(&r, m->path);

	after = contents(m->file);
	must(after.n <= before.n && !memcmp(after.at, before.at, after.n));
	if (status) {
		must(status == EXIT_COMMAND_LINE && after.n == before.n);
	} else {
		must(!after.n || after.at[after.n - 1] == '\n');
		must(may_be_cut_off(before.at + after.n, before.n - after.n));
		go_on(m->path, r);
	}
	free(before.at);
	free(after.at);
}
