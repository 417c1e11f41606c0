# SPDX-License-Identifier: Apache-2.0
"""Anonymous records: a secret planted into any text of a record, found by its schema, is not in
what is sent; and what is sent is still a valid record with the same machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from locus_analysis import __main__ as program
from locus_analysis.export import anonymous as subject
from locus_analysis.records import schema
from make_records import (
    FOUR,
    ONE,
    TWO,
    Line,
    as_written,
    brief,
    dummy,
    flag,
    kmeans,
    numa,
    record,
    run_id,
    write,
)
from test_summary import all_of

GOOD = 0
SECRET = "zanzibar-k7Q"
# Where a text may hide in another: alone, after known words, within a path, joined, as a number.
SECRETS = (SECRET, f"AMD EPYC {SECRET}", f"/home/{SECRET}/a.npy", f"gcc+{SECRET}", f"kvm_{SECRET}")
SERIAL = "8675309867"
HASH = "fnv1a64:5ec2e75ec2e75ec2"  # of a serial number, which could be found by trial
MARKS = ("zanzibar", SERIAL, HASH)
WITHOUT_TEXTS = ("matrix", "soak", "soak-verdict")


def anonymous(
    capsys: pytest.CaptureFixture[str], path: Path, lines: list[Line]
) -> tuple[str, list[Line]]:
    """The text that is sent, and its lines."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert program.main(["export", "--anonymous", str(path)]) == GOOD
    out, _ = capsys.readouterr()
    return out, [json.loads(line) for line in out.splitlines()]


def may_be_text(form: Line) -> bool:
    kind = form.get("type", "string" if "pattern" in form else ())
    texts = "string" in ([kind] if isinstance(kind, str) else kind)
    return texts and not ({"enum", "const"} & form.keys())


def filled(form: Line, secret: str, key: str = "") -> Any:
    """A value of this part of the schema, with a secret in each text."""
    form = schema.resolved(form)
    if "enum" in form:
        return form["enum"][0]
    if "const" in form:
        return form["const"]
    kinds = form.get("type", "object" if "properties" in form else "string")
    kind = kinds if isinstance(kinds, str) else kinds[0]
    if may_be_text(form):
        return of_pattern(form.get("pattern", ""), secret)
    if kind == "array":
        return [filled(form.get("items", {}), secret, key)] * form.get("minItems", 1)
    if kind == "object":
        return of_object(form, secret, key)
    return True if kind == "boolean" else max(1, form.get("minimum", 0))


def of_pattern(pattern: str, secret: str) -> str:
    """The secret where the format lets it be; else a text that fits."""
    fits = {
        "^[0-9a-f]{16}$": "0123456789abcdef",
        "^0x[0-9a-f]+$": "0x1a4",
        "^locus-record-1\\.[0-9]+$": "locus-record-1.0",
        "^build-id:([0-9a-f]{2})+$": "build-id:5ec2e7",
        "^[1-9][0-9]*$": "2",
        "^fnv1a64:[0-9a-f]{16}$": HASH,
        "=fnv1a64:[0-9a-f]{16}": f"file={secret}=fnv1a64:0123456789abcdef",
        "^[A-Za-z0-9_]{1,80}$": SECRET.replace("-", "_"),
        "^[A-Za-z0-9][A-Za-z0-9_.-]*$": SERIAL if secret == SERIAL else SECRET,
    }
    moment = "2025-03-14T09:26:53.589Z"
    return moment if pattern.startswith("^[0-9]{4}-") else fits.get(pattern, secret)


def of_object(form: Line, secret: str, within: str = "") -> Line:
    """All members that the schema knows, and one of each kind that it allows besides. A member that
    may contain its own kind is nested once."""
    own = form.get("properties", {}).items()
    found = {k: filled(v, secret, k) for k, v in own if v is not True and k != within}
    if "_why$" in form.get("patternProperties", {}):
        found["other_why"] = secret
    others = form.get("additionalProperties")
    if isinstance(others, dict):
        found[SECRET] = filled(others, secret)
    return found


def poisoned(kind: str, secret: str) -> Line:
    """A line of this type with the secret in each text."""
    line = {"type": kind, "run": "0123456789abcdef", **of_object(schema.definition(kind), secret)}
    if kind == "header":
        line["schema"] = "locus-record-1.0"
    return line


@pytest.mark.parametrize("kind", sorted(schema.types() - {"benchmark"}))
@pytest.mark.parametrize("secret", [*SECRETS, SERIAL])
def test_no_text_of_a_line_is_sent(kind: str, secret: str) -> None:
    """The schema makes the lines, so a text that a later version adds is tested, too."""
    line = json.dumps(poisoned(kind, secret))
    assert any(mark in line for mark in MARKS) or kind in WITHOUT_TEXTS
    told = json.dumps(subject.clean(subject.Cleaner({}), json.loads(line)))
    assert not any(mark in told for mark in MARKS)


@pytest.fixture
def lines() -> list[Line]:
    return as_written(record(TWO, flag(numa(TWO)) + flag(dummy(), every=2), run_id("secret")))


def test_what_is_sent_is_a_record(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, lines: list[Line]
) -> None:
    """The header has a secret in each text, and so has the name of the file."""
    header = {**poisoned("header", SECRET), "run": lines[0]["run"]}
    header["counters"]["events"][0]["why"] = None
    schema.check(header, strict=True)
    assert json.dumps(header).count(SECRET) > 90
    text, sent = anonymous(capsys, tmp_path / f"{SECRET}.jsonl", [header, *lines[1:]])
    assert not any(mark in text for mark in MARKS)
    assert len(sent) == len(lines)
    (tmp_path / "sent.jsonl").write_text(text)
    assert program.main(["validate", str(tmp_path / "sent.jsonl")]) == GOOD


def test_names_of_files_are_numbers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lines = as_written(record(ONE, kmeans(), run_id("files")))
    trials = [line for line in lines if line["type"] == "trial"][:2]
    for i, trial in enumerate(trials):
        trial["parameters"] = {"points": f"/home/{SECRET}/{i}.npy"}
        trial["identity"] = f"points=/home/{SECRET}=fnv1a64:0123456789abcdef"
        trial["status"], trial["reasons"] = "failed", [f"/home/{SECRET}/{i}.npy: not allowed"]
    text, sent = anonymous(capsys, tmp_path / "a.jsonl", lines)
    assert SECRET not in text and "/home" not in text
    first, second = (line for line in sent if line.get("id") in [t["id"] for t in trials])
    assert (first["parameters"], second["parameters"]) == (
        {"points": "file-1"},
        {"points": "file-2"},
    )
    assert "identity" not in first and first["reasons"] == ["/.../...-.../...: not ..."]


def test_the_card_is_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    points = [p for p in all_of(TWO) if "node" not in p.parameters]  # numa declares no node
    lines = record(TWO, points, run_id("card"))
    made = as_written(brief(lines))
    given = write(tmp_path / "given.jsonl", made)
    assert program.main(["summary", str(given)]) == GOOD
    card, _ = capsys.readouterr()
    text, _ = anonymous(capsys, given, made)
    (tmp_path / "sent.jsonl").write_text(text)
    assert program.main(["summary", str(tmp_path / "sent.jsonl")]) == GOOD
    sent, _ = capsys.readouterr()
    assert TWO.host in card and TWO.host not in text
    assert sent.split() == card.replace(TWO.host, "host-1").split()


def test_other_commands_are_no_repeats(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Runs with the same command are; a command whose values are left out is still another one."""
    commands = [["locus", "numa", "--input", f"{SECRET}{i}", "--quiet"] for i in (1, 2, 1)]
    lines = [
        line
        for i, command in enumerate(commands)
        for line in record(ONE, numa(ONE)[:1], run_id(str(i)), command=command)
    ]
    _, sent = anonymous(capsys, tmp_path / "a.jsonl", lines)
    one, other, same = (line["command"] for line in sent if line["type"] == "header")
    assert one == same != other and one[1] == "numa" and one[-1] == "--quiet"


def test_hosts_are_told_apart(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Even two machines with one name are."""
    made = as_written(record(ONE, dummy(), run_id("a")))
    made += as_written(record(TWO, dummy(), run_id("b")))
    other = as_written(record(FOUR, dummy(), run_id("c")))
    other[0]["host"] = TWO.host
    _, sent = anonymous(capsys, tmp_path / "a.jsonl", made + other)
    assert [line["host"] for line in sent if line["type"] == "header"] == [
        "host-1",
        "host-2",
        "host-3",
    ]


def test_a_store_has_no_lines_to_send(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    given = write(tmp_path / "a.jsonl", record(ONE, dummy(), run_id("a")))
    store = str(tmp_path / "store")
    assert program.main(["aggregate", str(given), "--into", store]) == GOOD
    capsys.readouterr()
    assert program.main(["export", "--anonymous", store]) == 2
    out, err = capsys.readouterr()
    assert not out and "1 of these 1 runs are in a store, which has no lines" in err
