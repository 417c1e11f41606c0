/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz targets: each takes any bytes and returns. What holds whatever they are, a target says with
 * must(); sanitizers see the rest. replay.c runs targets on files, as those of corpus/; libfuzzer.c
 * runs one under libFuzzer.
 */
#ifndef LOCUS_FUZZ_H
#define LOCUS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct machine;

struct target {
	const char *name; /* also of its folder in corpus/ */
	void (*run)(const uint8_t *data, size_t size);
};
extern const struct target targets[];		    /* ends with a row without a name */
const struct target *find_target(const char *name); /* NULL after a message */

/* Whether an input is for a part of its target, where that has parts (trees.c); else for all. */
extern bool in_parts;

void fuzz_cpuid(const uint8_t *data, size_t size);
void fuzz_csv(const uint8_t *data, size_t size);
void fuzz_dmi(const uint8_t *data, size_t size);
void fuzz_doctor(const uint8_t *data, size_t size);
void fuzz_expected(const uint8_t *data, size_t size);
void fuzz_limits(const uint8_t *data, size_t size);
void fuzz_machine(const uint8_t *data, size_t size);
void fuzz_npy(const uint8_t *data, size_t size);
void fuzz_options(const uint8_t *data, size_t size);
void fuzz_places(const uint8_t *data, size_t size);
void fuzz_record(const uint8_t *data, size_t size);
void fuzz_texts(const uint8_t *data, size_t size);
void fuzz_topology(const uint8_t *data, size_t size);
void fuzz_values(const uint8_t *data, size_t size);

/* Ends the program with a line on descriptor 2 where the condition does not hold. */
#define must(condition) ((condition) ? (void)0 : broken(#condition, __FILE__, __LINE__))
void broken(const char *condition, const char *file, int line) __attribute__((noreturn));

/*
 * The bytes as a text, up to the first zero: to be freed, and no longer than it is, so that reading
 * beyond is seen.
 */
char *text_from(const uint8_t *data, size_t size);

/* The next line of a text, without its end; NULL at the text's end. The text is cut up. */
char *next_line(char **rest);

/* A regular file in memory with these bytes; the callee's, until the next call. */
struct memory_file {
	int file;
	char path[64];
};
const struct memory_file *memory_file(const uint8_t *data, size_t size);

/* Between the two nothing is printed. listen_end() returns what stderr got, up to 4 KiB of it. */
void listen_begin(void);
const char *listen_end(void);

FILE *nowhere(void); /* /dev/null */

/* One of a few small machines, opened once. Any number chooses one. */
const struct machine *described_machine(unsigned choice);
struct machine *open_described(unsigned choice); /* the same, to be closed */

#endif
