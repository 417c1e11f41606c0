# SPDX-License-Identifier: Apache-2.0
"""Bad input: one line that names the problem, the right exit status, and no file overwritten."""

import pytest

CASES = [
    # arguments, status, words of the message
    (["nmua"], 2, ["nmua", "numa"]),
    (["frobnicate"], 2, ["frobnicate", "locus help"]),
    (["--profile", "quick"], 2, ["locus BENCHMARK --profile"]),
    (["list", "numaa"], 2, ["numaa", "numa"]),
    (["list", "numa", "more"], 2, ["more"]),
    (["list", "frobnicate"], 2, ["frobnicate", "locus list"]),
    (["topology", "numa", "more"], 2, ["more"]),
    (["doctor", "more"], 2, ["more"]),
    (["numa", "--kernal", "sum"], 2, ["--kernal", "--kernel"]),
    (["numa", "--zzzzzzzzzzz", "1"], 2, ["--zzzzzzzzzzz", "--help"]),
    (["numa", "--variant", "singel"], 2, ["singel", "single"]),
    (["numa", "--variant", ""], 2, ["--variant"]),
    (["numa", "--kernel", "tirad"], 2, ["--kernel", "tirad", "triad"]),
    (["numa", "--kernel", "sum,,copy"], 2, ["--kernel", "empty"]),
    (["numa", "--size", "12Q"], 2, ["--size", "12Q", "8G"]),
    (["numa", "--size", "-1"], 2, ["--size", "-1"]),
    (["numa", "--size", "nan"], 2, ["--size", "nan"]),
    (["numa", "--size", "0x10"], 2, ["--size", "0x10"]),
    (["numa", "--size", "1e400"], 2, ["--size", "1e400"]),
    (["numa", "--size", "1.5"], 2, ["--size", "1.5"]),
    (["numa", "--size", "8M..1M*2"], 2, ["--size", "8M..1M*2"]),
    (["numa", "--size", "1M..8M*1"], 2, ["--size", "factor"]),
    (["numa", "--size", "0..8M"], 2, ["--size", "0..8M"]),
    (["numa", "--size", "1..9007199254740992+1"], 2, ["--size", "values"]),
    (["numa", "--threads", "two"], 2, ["--threads", "two"]),
    (["numa", "--threads", "0"], 2, ["--threads", "0"]),
    (["numa", "--threads", "99999999"], 2, ["--threads", "65536"]),
    (["numa", "--profile", "quik"], 2, ["--profile", "quik", "quick"]),
    (["numa", "--time-budget", "soon"], 2, ["--time-budget", "soon", "60s"]),
    (["numa", "--time-budget", "0"], 2, ["--time-budget"]),
    (["numa", "--time-budget", "30m1h"], 2, ["--time-budget", "30m1h", "1h30m"]),
    (["numa", "--repeats", "0"], 2, ["--repeats", "0"]),
    (["numa", "--begin-at", "20:15"], 2, ["--begin-at", "'20:15'", "2026-11-28T20:15:00Z"]),
    (["numa", "--seed", "x"], 2, ["--seed", "x"]),
    (["numa", "--tag", "campaign"], 2, ["--tag", "'campaign'", "KEY=VALUE"]),
    (["numa", "--tag", "=may"], 2, ["--tag", "'=may'", "KEY=VALUE"]),
    (["numa", "--tag", "a b=may"], 2, ["--tag", "'a b=may'", "KEY=VALUE"]),
    (["numa", "--tag", ".a=may"], 2, ["--tag", "'.a=may'", "KEY=VALUE"]),
    (["numa", "--tag", "ä=may"], 2, ["--tag", "KEY=VALUE"]),
    (["numa", "--tag", "a=1", "--tag", "ab=2", "--tag", "a=3"], 2, ["--tag", "a is given twice"]),
    (["numa", *(word for i in range(33) for word in ("--tag", f"k{i}="))], 2, ["--tag", "32"]),
    (["numa", "quick"], 2, ["quick", "--"]),
    (["numa", "--resume"], 2, ["--resume", "--output"]),
    (["numa", "--resume", "--append", "--output", "no-file"], 2, ["--resume", "--append"]),
    (["numa", "--to"], 2, ["argument"]),
    (["numa", "--append"], 2, ["--append", "--output"]),
    (["numa", "--topology", "node:2 core:2"], 2, ["--topology", "--dry-run"]),
    (["numa", "--dry-run", "--topology", "nope:x"], 2, ["--topology", "nope:x"]),
    (["numa", "--dry-run", "--topology", "node:2 core:2"], 2, ["the CPUs of a core (pu:1)"]),
    (["numa", "--layout", "sideways"], 2, ["sideways", "packed"]),
    (["numa", "--output"], 2, ["output"]),
    (["numa", "--from", "node:77"], 3, ["--from", "node:77"]),
    (["numa", "--layout", "9999", "--variant", "static"], 3, ["9999"]),
    (["kmeans", "--save-labels", "a,b"], 2, ["--save-labels", "one value", "2"]),
    (["numa", "--layout", "0"], 2, ["--layout", "0"]),
    (["numa", "--layout", "1", "--threads", "2"], 2, ["--layout", "1"]),
    (["numa", "--to", "77"], 3, ["--to", "77"]),
    (["numa", "--to", "nowhere"], 2, ["--to", "nowhere", "first", "all"]),
    (["numa", "--size", "64T"], 3, ["64 TiB", "memory"]),
    (["numa", "--size", "8", "--threads", "1"], 2, ["cache line"]),
    (["dummy", "--threads", "60000"], 3, ["60000 threads", "--oversubscribe"]),
    (
        ["dummy", "--bind", "1023,1021", "--threads", "1"],
        2,
        ["--bind: CPUs 1021,1023 of", "not there", "usable: "],
    ),
    (
        ["numa", "--bind", "1023", "--variant", "static"],
        2,
        ["--bind: CPU 1023 of", "not there", "usable: "],
    ),
    (["numa", "--bind", "sideways"], 2, ["sideways", "close", "spread"]),
    (["suite", "--bind", "1023"], 2, ["--bind: CPU 1023 of"]),
    (["dummy", "--bind", "sideways"], 2, ["sideways"]),
    (["dummy", "--bind", "inherited"], 2, ["inherited", "close"]),
    (["dummy", "--delay", "ten"], 2, ["--delay", "ten"]),
    (["dummy", "--size", "1..20001+1"], 2, ["20000 trials"]),
    (["dummy", "--output", "/nonexistent/folder/file"], 1, ["/nonexistent/folder/file"]),
    (["dummy", "--output", "/"], 1, ["/"]),
]


@pytest.mark.parametrize("arguments, status, words", CASES, ids=[" ".join(c[0]) for c in CASES])
def test_bad_input(locus, arguments, status, words):
    done = locus(*arguments)
    assert done.status == status, done
    for word in words:
        assert word in done.err, done.err
    assert len([line for line in done.err.splitlines() if line.startswith("locus")]) == 1, done.err


def test_an_existing_output_is_left_alone(locus, tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text("dear diary\n")
    done = locus("dummy --variant steady --output", file)
    assert (
        done.status == 2
        and str(file) in done.err
        and "--resume" in done.err
        and "--append" in done.err
    )
    for mode in ("--resume", "--append"):
        done = locus("dummy --variant steady --output", file, mode)
        assert done.status == 2 and "line 1" in done.err
    assert file.read_text() == "dear diary\n"


def test_another_schema_version_is_refused(locus, tmp_path):
    file = tmp_path / "future.jsonl"
    text = '{"type":"header","run":"0123456789abcdef","schema":"locus-record-99"}\n'
    file.write_text(text)
    done = locus("dummy --variant steady --output", file, "--resume")
    assert done.status == 2 and "another schema" in done.err and "locus-record-1" in done.err
    assert file.read_text() == text


LEAST = "dummy --variant steady --repeats 2 --output"
# A line may have 64 MiB; the program itself takes less than 64.
BOUNDED = ["prlimit", f"--as={192 << 20}"]


@pytest.mark.native("sanitizers reserve address space without bound")
@pytest.mark.parametrize("mode", ["--resume", "--append"])
def test_a_line_that_is_too_long_is_refused(locus, tmp_path, mode):
    """As in all readers. The file stays as it is."""
    file = tmp_path / "long.jsonl"
    assert locus(LEAST, file).status == 0
    number = len(file.read_bytes().splitlines()) + 1
    with file.open("ab") as record:
        record.write(b'{"type":"samples","x":"')
        for _ in range(256):
            record.write(b"x" * (1 << 20))
        record.write(b'"}\n')
    size = file.stat().st_size
    done = locus(LEAST, file, mode, prefix=BOUNDED)
    said = f"line {number}: longer than 64 MiB: not a line of a record"
    assert done.status == 2 and said in done.err, done
    assert file.stat().st_size == size


@pytest.mark.native("sanitizers reserve address space without bound")
@pytest.mark.parametrize("rest", [b"", b'{"type":"samples","batches":[1,2'])
def test_zeros_that_a_failed_disk_left_take_no_memory(locus, tmp_path, read, rest):
    """The zeros, and the line that they cut off, are gone when the run continues."""
    file = tmp_path / "zeros.jsonl"
    assert locus(LEAST, file).status == 0
    whole = file.read_bytes()
    with file.open("ab") as record:
        record.write(rest)
        record.truncate(len(whole) + len(rest) + (256 << 20))
    done = locus(LEAST, file, "--resume", prefix=BOUNDED)
    assert done.status == 0 and file.read_bytes().startswith(whole), done
    assert read(file)[-1]["skipped"] == 1


def test_no_hugepages(locus, tmp_path, trials):
    file = tmp_path / "huge.jsonl"
    done = locus(
        "numa --variant static --kernel sum --size 1G --pages 1G --threads 1 --profile quick"
        " --output",
        file,
    )
    if done.status == 0:
        pytest.skip("this machine has 1 GiB pages reserved")
    assert done.status == 3 and "hugepages" in done.out + done.err
    assert trials(file)["static"]["status"] == "impossible"


def test_a_folder_in_which_nothing_can_be_made(locus):
    done = locus("dummy --variant steady --output /proc/nothing.jsonl")
    assert done.status == 1 and "/proc/nothing.jsonl" in done.err


def test_omp_thread_limit(locus, tmp_path, cpus):
    """Nothing is measured, so there is no record that the same command would find in its way."""
    if len(cpus) < 2:
        pytest.skip("one CPU")
    file = tmp_path / "none.jsonl"
    done = locus(
        "dummy --variant steady --threads 2 --profile quick --output",
        file,
        env={"OMP_THREAD_LIMIT": "1"},
    )
    assert done.status == 1 and "OMP_THREAD_LIMIT" in done.err
    assert not file.exists()
