# SPDX-License-Identifier: Apache-2.0
"""The record of a run: valid, complete, and with the reasons of failures."""

import json
import os
import pty
import re
import select
import statistics

import pytest
from listed import unwrapped
from retries import tries
from some import some

FAULTS = {
    "failing": "failed",
    "impossible": "impossible",
    "wrong": "wrong",
    "misplaced": "misplaced",
}
MODES = r"\S+ and \S+ us/turn \((\d+) % / (\d+) % of samples\)$"
NAMES = ["steady", "jitter", "humps", "idle", "sums", *FAULTS]


@pytest.fixture(scope="module")
def run(locus, tmp_path_factory):
    file = tmp_path_factory.mktemp("record") / "dummy.jsonl"
    done = locus("dummy --profile quick --time-budget 3s --output", file)
    return done, file


def test_every_line_is_as_the_schema_says(run, read):
    lines = read(run[1])
    assert [lines[0]["type"], lines[-1]["type"]] == ["header", "end"]
    assert {line["run"] for line in lines} == {lines[0]["run"]}
    assert len({line["type"] for line in lines}) == 5


def test_a_batch_is_at_its_start(locus, tmp_path, read):
    """`at` is the start of a batch: after a sample of half a second, less than that is left of
    the run."""
    file = tmp_path / "a.jsonl"
    locus("dummy --variant steady --threads 1 --duration 500ms --repeats 1 --quiet --output", file)
    lines = read(file)
    batches = [line for line in lines if line["type"] == "samples"]
    took = [sum(line["times"]) * line["units"] for line in batches]
    assert took[-1] > 0.25
    assert batches[-1]["at"] + took[-1] <= lines[-1]["elapsed"]


def test_statuses(run, trials):
    found = trials(run[1])
    assert sorted(found) == sorted(NAMES)
    for variant, status in FAULTS.items():
        assert found[variant]["status"] == status and found[variant]["reasons"], variant
    assert found["idle"]["status"] == "failed" and "no unit" in found["idle"]["reasons"][0]
    for variant in ("steady", "jitter", "humps", "sums"):
        status, reasons = found[variant]["status"], found[variant]["reasons"]
        assert status in ("ok", "unconverged", "bimodal", "noisy"), reasons
        assert bool(reasons) == (status != "ok")
    assert run[0].status == 1
    said = " ".join(run[0].out.split())
    for reason in (r for t in found.values() for r in t["reasons"]):
        # a number that differs between trials is shown from the least to the most
        number = r"\d+(\.\d+)?(e-\d+)?"
        words = re.split(f"(?<![\\w.]){number}(?!\\w)", reason)[::3]
        assert re.search(f"{number}( to {number})?".join(map(re.escape, words)), said), reason


def test_memory_that_is_used_up_fails_the_trial(locus, tmp_path, trials):
    """Workers take 64 bytes a turn from their own pools while the clock runs. Samples of 50,000
    turns include the 65 that use up 4 KiB, however long the machine delays their calibration.
    """
    long = "--delay 1 --duration 50ms"
    for threads, pool, failed in (1, f"4K {long}", True), (2, "16M", False):
        file = tmp_path / f"{threads}.jsonl"
        done = locus(
            "dummy --variant grows --oversubscribe --repeats 2 "
            f"--threads {threads} --pool {pool} --output",
            file,
        )
        trial = trials(file)["grows"]
        pages = trial["placement"]["before"]
        assert pages["misplaced"] == pages["unmapped"] == 0 and pages["pages"] > 0
        assert (trial["status"] == "failed") == failed == (done.status == 1), trial
        if failed:
            assert trial["reasons"][0].startswith("the turns: worker 0 has 4096 bytes")
            assert "wanted 64 more" in trial["reasons"][0]
        else:
            assert pages["local_share"] == 1
            assert pages["pages"] == threads * (16 << 20) // pages["page"]


def test_what_is_reported_by_worker_and_as_a_distribution(locus, tmp_path, trials):
    """Worker i reports i + 1, and 1, 2, .. 1000 us."""
    file = tmp_path / "tells.jsonl"
    locus("dummy --variant tells --threads 3 --oversubscribe --repeats 4 --output", file)
    trial = trials(file)["tells"]
    found = {m["name"]: m for m in trial["metrics"]}
    assert found["fairness"]["value"] == pytest.approx(1 / 3)
    assert found["imbalance"]["value"] == 1.5
    assert found["fairness"]["by_worker"] == found["imbalance"]["by_worker"] == [1, 2, 3]
    rising = found["rising"]
    assert rising["value"] == pytest.approx(500e-6, rel=1 / 64)
    assert rising["distribution"]["n"] == trial["samples"]["n"] * 3 * 1000
    quantiles = rising["distribution"]["quantiles"]
    for share, value in some(quantiles.items()):
        assert value == pytest.approx(float(share) * 1e-3, rel=1 / 64)
    buckets = some(rising["distribution"]["buckets"])
    assert sum(sum(counts) for _, *counts in buckets) == rising["distribution"]["n"]
    for first, *counts in buckets:  # as doc/schema says
        for bucket in range(first, first + len(counts)):
            begin = 2.0 ** (bucket // 64 - 64) * (1 + bucket % 64 / 64)
            assert 0.98e-6 <= begin <= 1e-3
    assert {"by_worker", "distribution"}.isdisjoint(found["asked"])


def test_workers_of_a_role_follow_from_a_parameter(locus, tmp_path, read):
    file = tmp_path / "roles.jsonl"
    locus(
        "dummy --variant roles --writers 1,2,3 --threads 3 --oversubscribe --repeats 4 --output",
        file,
    )
    found = {t["parameters"]["writers"]: t for t in read(file) if t["type"] == "trial"}
    assert sorted(found) == [1, 2]  # with 3 threads there would be no reader
    for writers, trial in found.items():
        assert [(r["name"], r["workers"]) for r in trial["roles"]] == [
            ("writer", writers),
            ("reader", 3 - writers),
        ]
        wrote, read_on = trial["roles"]
        assert wrote["units"] == writers * trial["samples"]["units"]
        times = trial["samples"]["quantiles"]
        assert times["0"] * 0.999 <= writers / wrote["throughput"] <= times["1"] * 1.001
        assert read_on["units"] >= 0 and read_on["throughput"] >= 0


def test_a_variant_without_its_library_is_impossible(locus, tmp_path, trials):
    why = "it needs libabsent, which nobody has"
    assert f"impossible here: {why}" in unwrapped(locus("list dummy").out)
    assert f"impossible: {why}" in locus("dummy --variant absent --dry-run").out
    file = tmp_path / "absent.jsonl"
    assert locus("dummy --variant absent --profile quick --output", file).status == 3
    trial = trials(file)["absent"]
    assert (trial["status"], trial["reasons"]) == ("impossible", [why])


def test_what_was_not_measured_is_null_with_a_reason(run, trials):
    for variant in ("failing", "impossible"):
        trial = trials(run[1])[variant]
        for metric in trial["metrics"]:
            assert metric["value"] is None and metric["why"] in trial["reasons"]
        assert trial["samples"] is None and trial["stopped"] is None


@pytest.mark.native("what is measured is no question of memory or threads")
def test_the_delay_is_what_was_asked_for(locus, tmp_path, trials):
    """The least time is the delay: noise can only add. (The same clock waits for the delay and
    measures it.)"""
    file = tmp_path / "steady.jsonl"
    locus("dummy --variant steady --delay 50 --profile quick --time-budget 3s --output", file)
    trial = trials(file)["steady"]
    least = trial["samples"]["quantiles"]["0"]
    assert 50e-6 <= least < 52e-6
    time = trial["metrics"][-1]
    assert time["name"] == "time" and time["unit"] == "s/turn"
    assert time["ci"][0] <= time["value"] <= time["ci"][1]


@pytest.mark.alone
@pytest.mark.native("what is measured is no question of memory or threads")
def test_two_heaps_are_said_to_be_so(locus, tmp_path, trials):
    """Bimodal samples are a status. With one thread; disturbed samples blur the modes, and then the
    test is tried again."""
    for n in tries(20, "samples of two heaps were not told from those of one"):
        file = tmp_path / f"{n}.jsonl"
        locus("dummy --variant steady,humps --threads 1 --repeats 200 --output", file)
        by_variant = trials(file)
        one, two = (by_variant[variant]["samples"]["modes"] for variant in ("steady", "humps"))
        if not one and two:
            assert by_variant["humps"]["samples"]["modes_of"] == "samples"
            assert by_variant["humps"]["status"] in ("bimodal", "noisy")
            said = [re.match(MODES, reason) for reason in by_variant["humps"]["reasons"]]
            shares = [int(share) for share in some(filter(None, said))[0].groups()]
            assert sum(shares) == 100
            assert [100 * mode["share"] for mode in two] == pytest.approx(shares, abs=0.5)
            assert two[0]["time"] * 1.2 < two[1]["time"]
            return


def five_digits(values):
    """Batches and quantiles in records have five digits: the error is half of the last one."""
    return pytest.approx(values, rel=5.01e-5)


def test_raw_samples_and_their_summary_agree(run, read):
    lines = read(run[1])
    for trial in some(line for line in lines if line["type"] == "trial" and line["samples"]):
        batches = [
            line for line in lines if line["type"] == "samples" and line["trial"] == trial["id"]
        ]
        times = [t for b in batches for t in b["times"]]
        assert len(times) == trial["samples"]["n"] and len(batches) == trial["samples"]["batches"]
        assert sum(len(b["noisy"]) for b in batches) == trial["samples"]["noisy"]
        if None in times:
            continue
        quantiles = trial["samples"]["quantiles"]
        assert (quantiles["0"], quantiles["0.5"]) == five_digits(
            (min(times), statistics.median(times))
        )
        allocations = {b["allocation"] for b in batches}
        medians = [
            statistics.median(
                statistics.median(b["times"]) for b in batches if b["allocation"] == a
            )
            for a in allocations
        ]
        assert trial["metrics"][-1]["with_noise"] == pytest.approx(statistics.median(medians))
        if not trial["samples"]["noisy"] and not any(b["crowded"] for b in batches):
            assert trial["metrics"][-1]["value"] == trial["metrics"][-1]["with_noise"]


def test_intervals_that_follow_are_those_of_the_table(locus, tmp_path, read):
    """The record leaves out intervals of rates and of constants; the table has all."""
    file = tmp_path / "numa.jsonl"
    done = locus(
        "numa --variant single,static --kernel triad --size 1M --pages base --repeats 12"
        " --duration 1ms --format json --output",
        file,
    )
    raw = [json.loads(line) for line in file.read_text().splitlines()]
    for trial in some(line for line in raw if line["type"] == "trial"):
        assert [name for name, m in trial["metrics"].items() if "ci" in m] == ["time"]
    told = [line for line in read(file) if line["type"] == "trial"]
    for row, trial in some([*zip(json.loads(done.out), told)]):
        for ours, theirs in zip(row["metrics"], trial["metrics"]):
            assert ours["ci"] == (theirs["ci"] and pytest.approx(theirs["ci"], rel=1e-6)), ours


def without(own, causes):
    """The times of each batch without these causes; which allocations keep a quarter."""
    left = [
        [t for i, t in enumerate(b["times"]) if not any(i in b[c] for c in causes)] for b in own
    ]
    sizes: dict[int, tuple[int, int]] = {}
    for times, b in zip(left, own):
        kept, of = sizes.get(b["allocation"], (0, 0))
        sizes[b["allocation"]] = kept + len(times), of + len(b["times"])
    return left, [4 * kept >= of for kept, of in sizes.values()]


def undisturbed(own):
    """The times of each batch that count."""
    if any(b["crowded"] for b in own):
        left, enough = without(own, ("noisy", "crowded"))
        if all(enough) or sum(enough) >= max(6, len(enough) / 2):
            return left
    left, enough = without(own, ("noisy",))
    return left if all(enough) else [b["times"] for b in own]


def test_batches_need_no_samples(run, read):
    """A trial line's values by batch agree with the samples' lines."""
    lines = read(run[1])
    seen = set()
    for trial in some(line for line in lines if line["type"] == "trial" and line["samples"]):
        told = trial["batches"]
        own = [line for line in lines if line["type"] == "samples" and line["trial"] == trial["id"]]
        assert [n for n, k in enumerate(told["allocations"]) for _ in range(k)] == [
            line["allocation"] for line in own
        ]
        if None not in (t for line in own for t in line["times"]):
            found = [statistics.median(times) if times else None for times in undisturbed(own)]
            time = told["metrics"]["time"]
            assert [t is None for t in time] == [t is None for t in found]
            assert [t for t in time if t] == five_digits([t for t in found if t])
        for values in told["metrics"].values():
            assert len(values) == len(own)
        for n, k in enumerate(told["round"] or range(len(own))):
            assert n <= k and (trial["id"], k) not in seen, "twice in one round"
            seen.add((trial["id"], k))


def most_digits(text):
    """The most digits of the real numbers in the text, each of which is in quotes."""
    reals = re.findall(r"'(-?[0-9.]+)(?:e-?[0-9]+)?'", text)
    return max((len(real.strip("-0.").replace(".", "")) for real in reals), default=0)


def test_numbers_of_batches_have_five_digits_and_those_of_samples_seven(run):
    """Counts and results keep all digits."""
    lines = [json.loads(line, parse_float=str) for line in run[1].read_text().splitlines()]
    trials = [line for line in lines if line["type"] == "trial"]
    for told in some(line for line in trials if "batches" in line):
        for key in ("batches", "samples"):
            assert most_digits(str([told.get(key)])) <= 5, told
        assert most_digits(str([told.get("noise")])) <= 3, told
    for told in some(line for line in lines if line["type"] == "samples"):
        assert most_digits(str(told)) <= 7, told
    assert max(most_digits(str(line["metrics"])) for line in trials if "metrics" in line) > 7


def test_batches_share_a_line_for_less_than_a_second(locus, tmp_path):
    """An allocation has several batches here: each of 100 samples is a batch."""
    file = tmp_path / "one.jsonl"
    locus("dummy --variant steady --threads 1 --repeats 100 --duration 1ms --output", file)
    lines = [json.loads(line) for line in file.read_bytes().splitlines()]
    for line in some(line for line in lines if line["type"] == "samples" and "n" in line):
        begun = line["at"]
        assert begun == sorted(begun) and begun[-1] - begun[0] < 1
        assert len(line["n"]) == len(begun) == len(line["cycle"]) > 1
        assert sum(line["n"]) == len(line["times"])


def test_variants_were_sampled_in_turn(run, read):
    lines = read(run[1])
    batches = sorted((line for line in lines if line["type"] == "samples"), key=lambda b: b["at"])
    order = [line["trial"] for line in batches]
    for trial in some(
        {trial for trial in order if order.count(trial) > 1}
    ):  # a busy machine may reach one batch only
        first = order.index(trial)
        last = len(order) - 1 - order[::-1].index(trial)
        assert {t for t in order if t != trial} & set(order[first:last]), (
            "one trial's batches came all at once"
        )
    changes = sum(a != b for a, b in zip(order, order[1:]))
    assert changes > len(order) / 2


def test_identity_and_id(run, read):
    trials = [line for line in read(run[1]) if line["type"] == "trial"]
    assert len({t["id"] for t in trials}) == len(trials)
    for t in trials:
        assert re.fullmatch(
            rf"dummy/{t['variant']} delay=10 size=0 threads=1 bind=\S+ protocol=[1-9]",
            t["identity"],
        )


def test_the_same_trial_has_the_same_identity_in_another_run(locus, run, trials, tmp_path):
    file = tmp_path / "again.jsonl"
    locus("dummy --variant steady --repeats 3 --output", file)
    assert trials(file)["steady"]["id"] == trials(run[1])["steady"]["id"]


def test_budgets_are_recorded(locus, tmp_path, read):
    file = tmp_path / "budgets.jsonl"
    words = (
        "dummy --variant steady --repeats 1 --time-budget 2min --case-budget 1m30s --duration 900us"
        " --output"
    )
    assert locus(words, file).status == 0
    header = read(file)[0]
    assert header["altered"] == ["repeats", "duration", "case-budget", "time-budget"]
    assert header["budget"] == {"time": 120, "case": 90}


def test_repeats_are_exactly_so_many(locus, tmp_path, read):
    for n in (1, 2, 7):
        file = tmp_path / f"{n}.jsonl"
        assert locus("dummy --variant steady,jitter --repeats", n, "--output", file).status == 0
        lines = read(file)
        assert lines[0]["altered"] == ["repeats"]
        for trial in some(line for line in lines if line["type"] == "trial"):
            assert trial["samples"]["n"] == n
            assert (trial["metrics"][-1]["ci"] is None) == (n < 6)


def test_beyond_ten_thousand_samples_a_sketch(locus, tmp_path, read):
    file = tmp_path / "many.jsonl"
    words = "dummy --variant steady --threads 1 --delay 1 --duration 20us --repeats 10100 --output"
    locus(words, file)
    batches = [line for line in read(file) if line["type"] == "samples"]
    assert sum(len(b["times"]) for b in batches if b["times"]) == 10000
    assert sum(b["sketch"]["n"] for b in batches if not b["times"]) == 100


def test_of_pairs_a_sketch_of_each_allocation_at_least(locus, tmp_path, read, cpus):
    if len(cpus) < 2:
        pytest.skip("one CPU")
    file = tmp_path / "pairs.jsonl"
    words = "core-to-core --protocol two-lines --threads 2 --repeats 40 --duration 100us --output"
    locus(words, file)
    lines = read(file)
    (trial,) = [line for line in lines if line["type"] == "trial"]
    sketches = [line for line in lines if line["type"] == "samples"]
    assert not any(line["times"] for line in some(sketches))
    assert sum(line["sketch"]["n"] for line in sketches) == trial["samples"]["n"]
    assert {line["allocation"] for line in sketches} == set(
        range(len(trial["batches"]["allocations"]))
    )
    for line in sketches:
        assert not line["n"] or sum(line["n"]) == line["sketch"]["n"]


def test_append_adds_a_run(locus, tmp_path, read):
    file = tmp_path / "two.jsonl"
    for _ in range(2):
        assert locus("dummy --variant steady --repeats 1 --output", file, "--append").status == 0
    lines = read(file)
    assert [line["resumes"] for line in lines if line["type"] == "header"] == [[], []] and len(
        {line["run"] for line in lines}
    ) == 2


def test_an_appended_run_is_resumed_by_itself(locus, tmp_path, read):
    """A trial that only the earlier run measured is still to be done in the appended one."""
    file = tmp_path / "two.jsonl"
    measure = "dummy --variant steady,jitter --repeats 1 --output"
    assert locus(measure, file).status == 0
    assert locus("dummy --variant steady --repeats 1 --output", file, "--append").status == 0
    assert locus(measure, file, "--resume").status == 0
    _, second, third = (line for line in read(file) if line["type"] == "header")
    assert third["resumes"] == [second["run"]] and read(file)[-1]["skipped"] == 1
    last = [
        line["variant"]
        for line in read(file)
        if line["type"] == "trial" and line["run"] == third["run"]
    ]
    assert last == ["jitter"]


def test_what_an_editor_did_to_a_record(locus, tmp_path, read):
    """A byte order mark does no harm. A number that is too large is told as such."""
    file = tmp_path / "a.jsonl"
    measure = "dummy --variant steady --repeats 1 --output"
    assert locus(measure, file).status == 0
    text = file.read_bytes()
    file.write_bytes(b"\xef\xbb\xbf" + text)
    assert locus(measure, file, "--resume").status == 0
    assert json.loads(file.read_bytes().splitlines()[-1])["skipped"] == 1
    file.write_bytes(text.replace(b'"rank":0', b'"rank":9223372036854775808', 1))
    done = locus(measure, file, "--resume")
    assert done.status and "line 1: this line has a number beyond 64 bits" in done.err


def test_progress_is_quiet_off_a_terminal(run):
    assert run[0].err == ""


def test_progress_on_a_terminal(locus):
    ours, its = pty.openpty()
    done = locus(
        "dummy --variant steady,jitter --repeats 30 --time-budget 60s",
        stderr=its,
        env={"TERM": "xterm"},
    )
    said = ""
    while not said.endswith("\r\x1b[K") and select.select([ours], [], [], 10)[0]:
        said += os.read(ours, 100000).decode()
    os.close(its)
    os.close(ours)
    assert done.status == 0 and re.match(
        r"\r\x1b\[K0 of 2, 60 s left  dummy/(steady|jitter)\r", said
    )
    assert said.endswith("\r\x1b[K")  # the progress line is erased


def test_a_closed_stdout_harms_nothing(locus, tmp_path, read):
    file = tmp_path / "closed.jsonl"
    reader, writer = os.pipe()
    os.close(reader)
    locus("dummy --variant steady --repeats 2 --output", file, stdout=writer)
    os.close(writer)
    assert read(file)[0]["type"] == "header"


def test_a_pipe_as_output(locus):
    done = locus("dummy --variant steady --repeats 1 --output /dev/stderr")
    assert done.status == 0
    assert json.loads(done.err.splitlines()[0])["type"] == "header"


def test_suite_takes_no_longer_than_its_budget(locus, tmp_path, read):
    file = tmp_path / "suite.jsonl"
    done = locus("suite --profile quick --time-budget 2s --output", file)
    lines = read(file)
    assert done.status == lines[-1]["status"] and "dummy" not in {
        line.get("benchmark") for line in lines
    }
    # A batch or a first touch may be under way when the time is up; the plan alone would take
    # minutes.
    assert lines[-1]["elapsed"] < 60
