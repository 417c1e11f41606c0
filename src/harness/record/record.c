/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a record: opened, locked, written line by line. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/ask/options.h"
#include "harness/record/lean.h"
#include "harness/record/record.h"
#include "base/message.h"

struct record {
	char *path;
	const char *option; /* in messages; NULL: --output, and the command has --resume */
	int file;	    /* -1: none */
	/* end of the last whole line, end of the data on the disk; -1: not a regular file */
	off_t end, synced;
	bool failed;
	char run[17];
	struct earlier earlier;
};

/* ---- times and numbers ---- */

/* s since 1970, at the ends of the years 1 and 9999: readers' calendars have no others. */
#define FIRST INT64_C(-62135596800)
#define LAST  INT64_C(253402300799)

char *record_time_of(struct timespec t, char text[RECORD_TIME])
{
	const time_t second = t.tv_sec < FIRST ? FIRST : t.tv_sec > LAST ? LAST : t.tv_sec;
	const unsigned ms = second < t.tv_sec	? 999
			    : second > t.tv_sec ? 0
						: (unsigned)(t.tv_nsec / 1000000) % 1000;
	struct tm tm;

	gmtime_r(&second, &tm);
	snprintf(text, RECORD_TIME, "%04d-%02d-%02dT%02d:%02d:%02d.%03uZ", tm.tm_year + 1900,
		 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, ms);
	return text;
}

char *record_time(char text[RECORD_TIME])
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return record_time_of(t, text);
}

json_t *record_number(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

json_t *record_count(double value)
{
	return fabs(value) < 9e15 && value == floor(value) ? json_integer((json_int_t)value)
							   : record_number(value);
}

json_t *record_interval(double low, double high)
{
	return isfinite(low) && isfinite(high) ? json_pack("[f, f]", low, high) : json_null();
}

double record_real(const json_t *value)
{
	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* ---- opening ---- */

static const char *option_of(const struct record *r)
{
	return r->option ? r->option : "--output";
}

static int complain(const struct record *r, const char *what, int status)
{
	message_own("%s: %s: %s", option_of(r), r->path, what);
	return status;
}

static int refuse_existing(const struct record *r)
{
	return complain(r,
			r->option ? "exists; give another name"
				  : "exists; give another name, --resume it, or --append to it",
			EXIT_COMMAND_LINE);
}

/* Reads the lines of earlier runs; sets `end` after the last one that may stay. */
static int read_back(struct record *r)
{
	char wrong[EARLIER_WRONG];
	const int error = earlier_read(&r->earlier, r->file, &r->end, wrong);

	if (error)
		return complain(r, strerror(error), EXIT_BAD);
	r->synced = r->end;
	return *wrong ? complain(r, wrong, EXIT_COMMAND_LINE) : 0;
}

/* A file system without locks is accepted with a message: most clusters have one. */
static int lock_file(const struct record *r)
{
	if (TEMP_FAILURE_RETRY(flock(r->file, LOCK_EX | LOCK_NB)) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return complain(r,
				"another process is writing it; wait for its end, or give another "
				"name",
				EXIT_BAD);
	message_own("%s: %s: no lock (%s): make sure that no other process writes it", option_of(r),
		    r->path, strerror(errno));
	return 0;
}

/*
 * Looks into the file only with the lock: between open() and flock(), another process may have
 * locked it, even if this process created it, and have written its run.
 */
static int take_file(struct record *r, enum record_mode mode)
{
	int status = lock_file(r);
	struct stat s;

	if (status)
		return status;
	if (mode == RECORD_NEW && fstat(r->file, &s) == 0 && s.st_size)
		return refuse_existing(r);
	status = read_back(r);
	if (!status && TEMP_FAILURE_RETRY(ftruncate(r->file, r->end)))
		return complain(r, strerror(errno), EXIT_BAD);
	if (mode == RECORD_APPEND)
		earlier_forget(&r->earlier);
	return status;
}

static int open_file(struct record *r, enum record_mode mode)
{
	const int own = mode == RECORD_NEW ? O_EXCL : 0;
	struct stat s;

	if (!strcmp(r->path, RECORD_STDOUT)) { /* even if it is a file: others may write to it */
		r->end = r->synced = -1;
		r->file = dup(STDOUT_FILENO);
		return r->file >= 0 ? 0 : complain(r, strerror(errno), EXIT_BAD);
	}
	/* a pipe or a terminal: nothing to read back, lock or cut off */
	if (stat(r->path, &s) == 0 && !S_ISREG(s.st_mode)) {
		r->end = r->synced = -1;
		r->file = (int)TEMP_FAILURE_RETRY(open(r->path, O_WRONLY | O_APPEND | O_CLOEXEC));
		return r->file >= 0 ? 0 : complain(r, strerror(errno), EXIT_BAD);
	}
	r->file = (int)TEMP_FAILURE_RETRY(
		open(r->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | own, 0666));
	if (r->file >= 0)
		return take_file(r, mode);
	if (errno == EEXIST)
		return refuse_existing(r);
	return complain(r, strerror(errno), EXIT_BAD);
}

static int no_memory(void)
{
	message_own("record: %s", strerror(ENOMEM));
	return EXIT_BAD;
}

int record_open(struct record **out, const char *path, enum record_mode mode, const char *option)
{
	struct record *r = calloc(1, sizeof(*r));
	uint64_t id;
	int status;

	*out = NULL;
	if (!r)
		return no_memory();
	r->file = -1;
	r->option = option;
	if (!earlier_open(&r->earlier)) {
		record_close(r);
		return no_memory();
	}
	if (getrandom(&id, sizeof(id), 0) != sizeof(id))
		id = (uint64_t)getpid() << 32 ^ (uint64_t)(uintptr_t)r;
	snprintf(r->run, sizeof(r->run), "%016" PRIx64, id);
	r->path = path ? strdup(path) : NULL;
	status = r->path ? open_file(r, mode) : 0;
	if (!status) {
		*out = r;
		return 0;
	}
	record_close(r);
	return status;
}

/* ---- what the file holds already ---- */

json_t *record_runs(const struct record *r)
{
	return r->earlier.runs;
}

void record_compare(struct record *r, const json_t *machine)
{
	earlier_compare(&r->earlier, machine);
}

bool record_is_of_another_host(const struct record *r)
{
	return json_array_size(r->earlier.runs) && !r->earlier.ours;
}

bool record_has(const struct record *r, const char *trial_id)
{
	return json_object_get(r->earlier.complete, trial_id) != NULL;
}

bool record_has_counter(const struct record *r, const char *trial_id, const char *event)
{
	return json_object_get(json_object_get(r->earlier.complete, trial_id), event) != NULL;
}

/* ---- writing ---- */

static bool write_whole(struct record *r, const char *text, size_t length)
{
	for (size_t done = 0; done < length;) {
		ssize_t n = TEMP_FAILURE_RETRY(write(r->file, text + done, length - done));

		if (n > 0)
			done += (size_t)n;
		else if (n < 0)
			return false;
	}
	if (r->end >= 0)
		r->end += (off_t)length;
	return true;
}

static void fail(struct record *r)
{
	int error = errno;

	r->failed = true;
	if (r->end >= 0)
		(void)!TEMP_FAILURE_RETRY(ftruncate(r->file, r->end));
	message_own("%s: %s: %s. Complete trials are kept. %s, then rerun%s.", option_of(r),
		    r->path, strerror(error),
		    error == ENOSPC || error == EDQUOT ? "Free space" : "Solve this",
		    r->option ? "" : " with --resume");
}

/* If it fails, nobody knows which of the lines since the last time are on the disk. */
static bool put_on_disk(struct record *r)
{
	if (r->end < 0 || TEMP_FAILURE_RETRY(fdatasync(r->file)) == 0 || errno == EINVAL) {
		r->synced = r->end;
		return true;
	}
	r->end = r->synced;
	return false;
}

/*
 * The lines written for one line: samples and trials are made lean. The parts of a trial come
 * before its own line, which completes it. NULL: no memory.
 */
static json_t *as_written(json_t *line, const char *type)
{
	json_t *own, *lines;

	if (!strcmp(type, "samples"))
		return json_pack("[o]", lean(line));
	if (strcmp(type, "trial"))
		return json_pack("[O]", line);
	own = lean_trial(line);
	lines = lean_parts(own);
	json_array_append_new(lines, own);
	return lines;
}

/* Writes the text and its newline in one piece. False, with errno. */
static bool write_line(struct record *r, const json_t *line)
{
	char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(12));
	const size_t length = text ? strlen(text) : 0;
	int error = ENOMEM;
	bool good;

	if (text)
		text[length] = '\n'; /* in the place of the final zero */
	good = text && write_whole(r, text, length + 1);
	if (text)
		error = errno;
	free(text);
	errno = error;
	return good;
}

void record_line(struct record *r, const char *type, json_t *object, bool sync)
{
	json_t *line = json_pack("{s:s, s:s}", "type", type, "run", r->run), *lines = NULL;
	const json_t *one;
	bool good;
	size_t i;

	if (r->file < 0 || r->failed)
		goto out;
	errno = ENOMEM;
	good = !json_object_update(line, object) && (lines = as_written(line, type));
	json_array_foreach(lines, i, one)
		good = good && write_line(r, one);
	if (!good || (sync && !put_on_disk(r)))
		fail(r);
out:
	json_decref(lines);
	json_decref(line);
	json_decref(object);
}

bool record_failed(const struct record *r)
{
	return r->failed;
}

bool record_close(struct record *r)
{
	bool failed = r->failed;

	/* after EINTR the file is closed all the same */
	if (r->file >= 0 && close(r->file) && errno != EINTR && !failed) {
		fail(r);
		failed = true;
	}
	earlier_close(&r->earlier);
	free(r->path);
	free(r);
	return failed;
}
