# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: reads records, and checks each line against the schema."""

import collections
import itertools
import json
import math
import pathlib
import statistics

import pytest
from lacking import lacking

SCHEMA = pathlib.Path(__file__).resolve().parents[1] / "doc/schema/record-1.schema.json"

DEFINITIONS = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]
QUANTILES = ("0", "0.01", "0.05", "0.1", "0.25", "0.5", "0.75", "0.9", "0.95", "0.99", "1")
NOTHING: dict = {}  # what the schema says of keys that it does not name
KNOWN: dict = {}  # members() of parts of the schema
UNFILLED = {"by_worker"}  # keys that fill() does not add: most metrics have no such thing


def batches(line):
    """Splits a samples line into one for each batch; a sketch covers all its batches, and stays."""
    if line["type"] != "samples" or "n" not in line or "sketch" in line:
        return [line]
    found, first = [], 0
    for i, n in enumerate(line["n"]):
        own = {**line, "batch": line["batch"] + i, "at": line["at"][i], "cycle": line["cycle"][i]}
        del own["n"]
        own["times"] = line["times"][first : first + n]
        for cause in ("noisy", "crowded"):
            own[cause] = [at - first for at in line.get(cause, ()) if first <= at < first + n]
        found.append(own)
        first += n
    return found


def part(line):
    own = ("type", "run", "trial", "metric")
    return {key: value for key, value in line.items() if key not in own}


def fnv1a64(text):
    found = 0xCBF29CE484222325
    for byte in text.encode():
        found = (found ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{found:016x}"


def identity(trial, header, benchmark):
    """The trial's identity, as doc/schema defines it."""
    parameters = "".join(
        f" {name}={value:.12g}" if isinstance(value, float) else f" {name}={value}"
        for name, value in trial["parameters"].items()
    )
    ranks = f" ranks={header['ranks']}" if header["ranks"] > 1 else ""
    over = " oversubscribed" if trial["oversubscribed"] else ""
    return (
        f"{trial['benchmark']}/{trial['variant']}{parameters} threads={trial['threads']}{ranks}"
        f" bind={trial['bind']}{over} protocol={benchmark['protocol']['version']}"
    )


def spread(values):
    return (max(values) - min(values)) / statistics.median(values) if len(values) > 1 else None


def placements(before):
    """Where pages lay before and after the samples, with what holds for most."""
    after = before.pop("after") or before
    after.pop("after", None)
    for place in (before, after):
        place["how"] = place["how"] or "verified"
        if place["how"] != "unverified":
            for count in ("unmapped", "misplaced"):
                place[count] = place[count] or 0
        if "huge_bytes_why" not in place:
            place["huge_bytes"] = place["huge_bytes"] or 0
    return {"before": before, "after": after}


def follow(metric, time, is_rate):
    """The interval, or the range, of a metric that leaves it out, from that of the time."""

    def at(end):
        return metric["value"] * time["value"] / end if is_rate else metric["value"]

    if time["ci"] and metric["ci"] is None:
        metric["ci"] = [at(end) for end in reversed(time["ci"])]
    if time["range"] and metric["range"] is None:
        low, high = (at(time["range"][end]) for end in ("high", "low"))
        metric["range"] = {"of": time["range"]["of"], "low": low, "high": high}
    if time["with_noise"] is not None and metric["with_noise"] is None:
        metric["with_noise"] = at(time["with_noise"])


def derive(trial, full, header, benchmark):
    """Adds what a trial line does not hold, since readers can derive it."""
    full["identity"] = full["identity"] or identity(full, header, benchmark)
    assert fnv1a64(full["identity"]) == full["id"], full["identity"]
    if full["placement"]:
        full["placement"] = placements(full["placement"])
    if not full["samples"]:
        return
    own, batches = full["samples"], full["batches"]
    for times in (own["quantiles"], batches["metrics"].get("time", [])):
        times[:] = [None if t is None else t * full["scale"] for t in times]
    for mode in own["modes"]:
        mode["time"] *= full["scale"]
    own["quantiles"] = dict(zip(QUANTILES, own["quantiles"]))
    own["batches"] = sum(batches["allocations"])
    full["noise"]["samples"] = own["noisy"] / own["n"]
    time = trial.get("metrics", {}).get("time", {}).get("value")
    full["cycles"] = full["cycle"] and time and time / full["cycle"]
    times, estimates = iter(batches["metrics"].get("time", [])), []
    for n in batches["allocations"]:
        estimates.append([t for t in itertools.islice(times, n) if t is not None])
    within = [s for s in map(spread, estimates) if s is not None]
    full["spread_within"] = statistics.median(within) if within else None
    full["spread_between"] = spread([statistics.median(batch) for batch in estimates if batch])


def told(trial, header, benchmark, parts):
    """The trial, completed from its benchmark line and from the lines of its parts."""
    full = fill(trial, DEFINITIONS["trial"])
    derive(trial, full, header, benchmark)
    own = full["metrics"]
    for ratio in full["ratios"]:
        declared = {**benchmark["ratios"][ratio["ratio"]]}
        if ratio["to"]:
            declared.update(of=str(full["threads"]), to=ratio["to"])
        ratio.update(declared)
    for one in parts:
        if one["type"] == "matrix":
            full["pairs"]["cells"] = part(one)
        elif one["type"] == "row":
            full["rows"] = [*full.get("rows", []), part(one)]
        else:
            own[one["metric"]]["distribution"] = part(one)
    for metric in benchmark["metrics"]:
        name = metric["name"]
        if {name, "time"} <= own.keys() and name not in full["batches"]["metrics"]:
            follow(own[name], own["time"], metric["kind"] == "rate")
    why = "not reported for this trial" if full["samples"] else (full["reasons"] or [""])[0]
    full.update(unit=benchmark["unit"], statistic=benchmark["statistic"])
    for metric in own.values():
        if metric["with_noise"] is None:
            metric["with_noise"] = metric["value"]
    full["metrics"] = [
        {
            **{key: metric[key] for key in ("name", "unit", "better")},
            **own.get(metric["name"], {"value": None, "ci": None, "with_noise": None}),
            "why": None if metric["name"] in own else why,
        }
        for metric in benchmark["metrics"]
    ]
    return full


def by_round(trial, name):
    """A metric's value in each round of a trial's batches, and the batch's allocation."""
    told = trial["batches"]
    batches = [n for n, k in enumerate(told["allocations"]) for _ in range(k)]
    values = told["metrics"].get(name)
    if values is None:
        return None
    return dict(zip(told["round"] or range(len(batches)), zip(values, batches)))


def check_ratio(ratio, trial, other):
    """That a ratio of two trials is the median of those of their rounds."""
    better = {m["name"]: m["better"] for m in trial["metrics"]}
    over, under = (other, trial) if better[ratio["metric"]] == "higher" else (trial, other)
    ours, theirs = (by_round(t, ratio["metric"]) for t in (over, under))
    if not ours or not theirs:
        return
    found = collections.defaultdict(list)
    for n, (value, allocation) in ours.items():
        if n in theirs and value and theirs[n][0]:
            found[allocation].append(math.log(value / theirs[n][0]))
    if not found:  # no round has both: the quotient of the values, which has no interval
        assert not ratio["ci"]
        return
    expected = math.exp(statistics.median(map(statistics.median, found.values())))
    assert ratio["value"] == pytest.approx(expected, rel=2e-4)  # batches have five digits


@pytest.fixture(scope="session")
def schema():
    try:
        import jsonschema_rs
    except ImportError:
        lacking("jsonschema-rs", "python -m pip install -r analysis/requirements.txt")
    return jsonschema_rs.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def resolved(part):
    while "$ref" in part:
        part = DEFINITIONS[part["$ref"].rsplit("/", 1)[1]]
    choices = [] if "properties" in part else part.get("oneOf", [])
    return next((one for one in choices if one.get("type") != "null"), part)


def empty(part):
    """The value of a key that a trial or samples line left out."""
    kind = part.get("type", ())
    if part.get("const") is True:
        return False
    if kind == "array":
        return []
    return {} if kind == "object" and "properties" not in part else None


def members(part):
    """The schemas of an object's own keys, of other keys, and of a list's elements. The schema
    never changes, so what was found for a part of it is kept, by its address."""
    if id(part) not in KNOWN:
        whole = resolved(part)
        own = {
            name: resolved(one)
            for name, one in whole.get("properties", {}).items()
            if one is not True
        }
        others = whole.get("additionalProperties")
        others = resolved(others) if isinstance(others, dict) else NOTHING
        KNOWN[id(part)] = own, others, whole.get("items", NOTHING)
    return KNOWN[id(part)]


def fill(value, part):
    """A copy in which keys that were left out have their value: null, or empty."""
    if not isinstance(value, (dict, list)):
        return value
    own, others, items = members(part)
    if isinstance(value, list):
        return [fill(one, items) for one in value]
    full = {name: fill(one, own.get(name, others)) for name, one in value.items()}
    for name in own.keys() - full.keys() - UNFILLED:
        full[name] = empty(own[name])
    return full


@pytest.fixture(scope="session")
def read(schema):
    """Reads a record. Each line must be complete and valid by the schema. Keys that trial and
    samples lines left out are filled in."""

    def lines(path, whole=True):
        text = pathlib.Path(path).read_text(encoding="utf-8")
        if whole:
            assert text.endswith("\n"), "the last line is not whole"
        objects = [json.loads(line) for line in text.split("\n")[:-1]]
        for number, one in enumerate(objects, 1):
            errors = [
                f"{path}:{number}: {e.instance_path}: {e.message[:200]}"
                for e in schema.iter_errors(one)
            ]
            assert not errors, errors
        objects = [own for one in objects for own in batches(one)]
        parts = collections.defaultdict(list)
        for one in objects:
            if one["type"] in ("matrix", "row", "distribution"):
                parts[one["run"], one["trial"]].append(one)
        headers = {one["run"]: one for one in objects if one["type"] == "header"}
        tables = {(one["run"], one["name"]): one for one in objects if one["type"] == "benchmark"}
        return [
            told(
                one,
                headers[one["run"]],
                tables[one["run"], one["benchmark"]],
                parts[one["run"], one["id"]],
            )
            if one["type"] == "trial"
            else fill(one, DEFINITIONS["samples"])
            if one["type"] == "samples"
            else one
            for one in objects
        ]

    return lines
