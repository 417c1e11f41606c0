# SPDX-License-Identifier: Apache-2.0
"""test/prefixes finds each name in a header that does not say where it belongs, and no other."""

import pathlib
import subprocess

import pytest

PREFIXES = pathlib.Path(__file__).resolve().parent.parent / "prefixes"


@pytest.fixture
def prefixes(tmp_path):
    """prefixes({file: text}): the exit status and lines of test/prefixes for such a src/."""

    def run(files):
        for file, text in files.items():
            path = tmp_path / "src" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")
        done = subprocess.run([PREFIXES, tmp_path], stdout=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stdout.splitlines()

    return run


LOCK = """
#ifndef LOCUS_LOCKS_H
#define LOCUS_LOCKS_H
/* enum { NOT_CODE }; int not_code(void); */
#define LOCK_SPINS (1u << \\
	14)
#define CASE(x) x
#undef CASE
struct queue {
	enum { QUEUE_EMPTY, QUEUE_FULL } state; /* the lock's */
	int (*act)(struct queue *);
};
struct { int x; } lock_pair(int a, int (*b)(int), char text[4]);
enum waiting { WAITING_HERE, WAITING_THERE, WAITINGS };
enum { MOST_LOCKS = 8 };
extern const char *const lock_names[WAITINGS];
typedef void update(struct queue *);
int queue_length(const struct queue *) __attribute__((format(printf, 1, 2)));
static inline void lock_acquire(struct queue *q)
{
	enum { INSIDE = 1 };

	outside(q, INSIDE);
}
#endif
"""
GOOD = {
    "benchmark.h": "enum profile { QUICK, PAPER }; struct metric { int x; };",
    "kit/locks.h": LOCK,
    "kit/metrics.h": "int metric_count(void); int kit_size(void); int zipf_draw(void);\n"
    "extern const char *const random_names[2]; struct metric *zipf_new(struct metric *);",
    "kit/zipf.c": "int zipf_draw(void)\n{\n\treturn 1;\n}\n"
    "struct metric *zipf_new(struct metric *m)\n{\n\treturn m;\n}",
    "kit/random.c": 'const char *const random_names[2] = { "a", "b" };',
    "bench/a/kernels.h": "enum { READ }; enum mix { MIX_READ, MIX_WRITE }; void run(void);",
    "commands/list.h": "int show(void);",
}


def test_a_good_house(prefixes):
    assert prefixes(GOOD) == (0, [])


@pytest.mark.parametrize(
    ("header", "text", "name"),
    [
        ("kit/more.h", "enum { DOUBLE, MORES = 3 };", "DOUBLE"),
        ("kit/more.h", "enum { MORE_ONE, FLOAT = 3 };", "FLOAT"),
        ("kit/more.h", "enum real { REAL_DOUBLE, FLOAT };", "FLOAT"),
        ("kit/more.h", "struct more { enum { MORE_GOOD, BAD } state; };", "BAD"),
        ("kit/more.h", "#define GOLDEN 2", "GOLDEN"),
        ("kit/more.h", "void sort(double *, size_t n);", "sort"),
        ("kit/more.h", "static inline int lockable(void)\n{\n\treturn 1;\n}", "lockable"),
        ("kit/more.h", "extern const struct queue kernels[4];", "kernels"),
        ("kit/more.h", "int most(void);", "most"),
        ("bench/a/more.h", "enum shape { SHAPE_EVEN, BLOBS };", "BLOBS"),
    ],
)
def test_a_name_without_a_home(prefixes, header, text, name):
    status, lines = prefixes({**GOOD, header: text})
    assert status == 1
    assert [line for line in lines if line.startswith(f"src/{header}: {name} ")] == lines


@pytest.mark.parametrize(
    "text",
    [
        "int other(void)\n{\n\treturn sorted_data(1);\n}",
        "static int sorted_data(int n)\n{\n\treturn n;\n}",
        "int sorted_data(int n);",
    ],
)
def test_a_file_that_only_calls_it_is_no_home(prefixes, text):
    status, lines = prefixes(
        {**GOOD, "kit/more.h": "int sorted_data(int n);", "kit/sorted.c": text}
    )
    assert status == 1
    assert lines == ["src/kit/more.h: sorted_data does not say where it belongs"]


def test_a_house_without_headers_is_none(prefixes):
    assert prefixes({})[0] == 1
