# SPDX-License-Identifier: Apache-2.0
"""Slow switches, planted in networks of several levels, are named, and nothing else; and files that
list each node's switch."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from locus_analysis import __main__ as program
from locus_analysis.cluster import fabric, switches
from locus_analysis.cluster.fabric import Network
from locus_analysis.cluster.switches import Level
from locus_analysis.records.sources import BadInput
from make_records import as_written, record
from pages import Page
from some import some
from test_fabric import lines
from test_parts import FEW, PAIR, RUN, put

Slow = Callable[[int, int], float]  # factor of the time of a pair of nodes


def network(n: int, slow: Slow, each: int, seed: int = 1) -> Network:
    """A network of n nodes, `each` to a switch; a path through more switches takes longer."""
    dice = random.Random(seed)
    pairs = [*itertools.combinations(range(n), 2)]
    far = [
        slow(a, b) * (1.5 if a // each != b // each else 1) * dice.lognormvariate(0, 0.03)
        for a, b in pairs
    ]
    a, b = (np.array([pair[i] for pair in pairs]) for i in range(2))
    y = {"latency": np.log(far), "latency-least": np.log(far), "bandwidth": 0.1 * np.log(far)}
    return Network([f"n{i:03}" for i in range(n)], a, b, y, False)


def level(n: int, each: int, letter: str = "s") -> Level:
    return {f"n{i:03}": f"{letter}{i // each}" for i in range(n)}


def found(
    n: int, each: int, slow: Slow, levels: list[Level], seed: int = 1
) -> tuple[set[tuple[str, str]], set[str]]:
    """The named slow switches, with what is slow, and everything else that is named."""
    slowly, rest, _ = switches.judge(network(n, slow, each, seed), levels)
    named = {(f.host, f.reason.partition(" (")[0]) for f in slowly}
    assert [f.reason for f in slowly if not f.reason.endswith("times the others')")] == []
    return named, {f.host for f in fabric.judge(rest)}


def healthy(_: int, __: int) -> float:
    return 1.0


@pytest.mark.parametrize(("n", "each"), [(9, 3), (12, 4), (40, 10), (64, 8)])
def test_each_fault_is_named_alone(n: int, each: int) -> None:
    """A slow uplink, slow ports of a switch, a slow path between two, or a slow node."""

    def of(*own: int) -> Callable[[int, int], bool]:
        return lambda a, b: sorted((a // each, b // each)) == sorted(own)

    def across(a: int, b: int) -> float:
        return 2.4 if (a // each == 1) != (b // each == 1) else 1

    def within(a: int, b: int) -> float:
        return 2.4 if of(1, 1)(a, b) else 1

    def between(a: int, b: int) -> float:
        return 2.4 if of(0, 2)(a, b) else 1

    def node(a: int, b: int) -> float:
        return 2.4 if 4 in (a, b) else 1

    for seed in range(10):
        levels = [level(n, each)]
        assert found(n, each, healthy, levels, seed) == (set(), set())
        assert found(n, each, across, levels, seed) == (
            {("switch s1", "pairs across it are slow")},
            set(),
        )
        assert found(n, each, within, levels, seed) == (
            {("switch s1", "pairs within it are slow")},
            set(),
        )
        assert found(n, each, between, levels, seed) == (
            {("switch s0 - s2", "pairs between them are slow")},
            set(),
        )
        assert found(n, each, node, levels, seed) == (set(), {"n004"})


def test_without_switches_all_nodes_of_a_slow_one_look_slow() -> None:
    """Without --group all nodes of the switch are named, not the switch."""
    slow = network(40, lambda a, b: 2.4 if (a < 10) != (b < 10) else 1, 10)
    assert {f"n{i:03}" for i in range(10)} <= {f.host for f in fabric.judge(slow)}


def test_the_level_of_the_tree_is_told() -> None:
    """Nine leaf switches of four nodes below three others: the slow one is above leaves."""
    levels = [level(36, 12, "top"), level(36, 4)]

    def slow(a: int, b: int) -> float:
        return 2.4 if (a // 12 == 2) != (b // 12 == 2) else 1

    named = {("switch top2", "pairs across it are slow")}
    assert found(36, 4, slow, levels) == (named, set())

    def leaf(a: int, b: int) -> float:
        return 2.4 if (a // 4 == 5) != (b // 4 == 5) else 1

    assert found(36, 4, leaf, levels) == ({("switch s5", "pairs across it are slow")}, set())


def test_too_few_switches_or_nodes_tell_nothing() -> None:
    def slow(a: int, b: int) -> float:
        return 2.4 if (a < 4) != (b < 4) else 1

    assert found(8, 4, slow, [level(8, 4)])[0] == set()  # two: which is slow?
    assert found(8, 2, slow, [level(8, 2)])[0] == set()
    (note,) = switches.judge(network(8, slow, 4), [level(8, 4)])[2]
    assert note == "no switch is judged: that needs 3 switches with 3 measured nodes each"


TREE = """
# a fat tree
SwitchName=leaf1 Nodes=n[000-003] LinkSpeed=1
switchname=leaf2 nodes=n[004-005],n006,\\
n007
SwitchName=leaf3 Nodes=n[008-011]
SwitchName=leaf4 Nodes=n[012-015]
SwitchName=mid1 Switches=leaf[1-2]
SwitchName=mid2 Switches=leaf3,leaf4   # the other half
SwitchName=root Switches=mid1,mid2
"""


def test_topology_conf(tmp_path: Path) -> None:
    """Levels from the top; the root, which is above all, distinguishes nothing."""
    (tmp_path / "topology.conf").write_text(TREE, encoding="utf-8")
    top, leaf = switches.read(tmp_path / "topology.conf")
    assert top == {f"n{i:03}": f"mid{i // 8 + 1}" for i in range(16)}
    assert leaf == {f"n{i:03}": f"leaf{i // 4 + 1}" for i in range(16)}


def test_a_line_for_each_node_or_list_of_nodes(tmp_path: Path) -> None:
    (tmp_path / "groups").write_text("n[1-2,4] s1\nn3,s2\n\n#\nn[7,9],s2\n", encoding="utf-8")
    (only,) = switches.read(tmp_path / "groups")
    assert only == {"n1": "s1", "n2": "s1", "n4": "s1", "n3": "s2", "n7": "s2", "n9": "s2"}


BAD = [
    ("", "names no node"),
    ("n1\n", "groups:1: 'n1': expected 'n[001-004] s1'"),
    ("n1 s1 s2\n", "groups:1"),
    ("n1 s1\nn1 s2\n", "groups:2: n1 is below s1 and s2; expected one switch"),
    ("n[1-x] s1\n", "groups:1: [1-x]: expected numbers and ranges"),
    ("n[1-999999999] s1\n", "groups:1: more than 100000 nodes"),
    ("SwitchName=s1\n", "either Nodes= or Switches="),
    ("SwitchName=s1 Nodes=n1 Switches=s2\n", "either Nodes= or Switches="),
    ("Nodes=n1\n", "expected SwitchName="),
    ("BlockName=b1 Nodes=n1\n", "'BlockName=b1': expected SwitchName="),
    ("SwitchName=a Nodes=n1\nSwitchName=a Switches=b\nSwitchName=b Switches=a\n", "below itself"),
    ("SwitchName=a Nodes=n1 \\", "names one switch for all nodes"),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_bad_files(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "groups").write_text(text, encoding="utf-8")
    with pytest.raises(BadInput) as error:
        switches.read(tmp_path / "groups")
    assert said in str(error.value) and str(tmp_path / "groups") in str(error.value)


def test_any_text_is_read_or_refused(tmp_path: Path) -> None:
    """Pieces of good files in any order, cut anywhere."""
    dice = random.Random(1)
    pieces = [TREE, "n[1-3] s1\n", "SwitchName=", "Nodes=n[", "]", "\\\n", "[,-]", "é\0", "=", " "]
    refused = 0
    for _ in range(2000):
        text = "".join(dice.choices(pieces, k=dice.randrange(1, 6)))
        (tmp_path / "f").write_text(text[: dice.randrange(len(text) + 1)], encoding="utf-8")
        try:
            switches.read(tmp_path / "f")
        except BadInput:
            refused += 1
    assert 0 < refused < 2000


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        switches.read(tmp_path / "none")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match="it is not UTF-8"):
        switches.read(tmp_path / "binary")


def test_nodes_without_a_switch() -> None:
    of = dict(level(12, 4))
    for node in some(["n003", "n007"]):
        del of[node]
    _, _, (note,) = switches.judge(network(12, healthy, 4), [of])
    assert note == "n003, n007 have no switch in the file of --group"
    with pytest.raises(BadInput, match="names no node of these records, such as n000"):
        switches.judge(network(12, healthy, 4), [{"m1": "s1"}])
    short = network(12, lambda a, b: 2.4 if (a < 4) != (b < 4) else 1, 4)
    short.nodes[:] = [f"{name}.cluster.example" for name in short.nodes]
    assert switches.judge(short, [level(12, 4)])[0]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On lines of a record: the nodes of switch s1, of 12 in all, are slow to all others."""
    (tmp_path / "groups").write_text("n[0001-0004] s1\nn[0005-0008] s2\nn[0009-0012] s3\n")
    slow = {(a, b) for a in range(4) for b in range(4, 12)}
    record = fabric.of_lines(lines(12, pairs=slow))
    named, rest, _ = switches.judge(record, switches.read(tmp_path / "groups"))
    assert [f.host for f in named] == ["switch s1"] and not fabric.judge(rest)
    assert program.main(["sick", "--group", str(tmp_path / "none"), str(tmp_path)]) == 2
    assert "none: cannot be read" in capsys.readouterr().err


SPREAD = "".join(f"n[{i:04},{i + 4:04},{i + 8:04},{i + 12:04}] s{i}\n" for i in range(1, 5))


def test_on_the_page(tmp_path: Path) -> None:
    """The nodes of a switch stand together in the maps, and the slow switch is named."""
    (tmp_path / "groups").write_text(SPREAD, encoding="utf-8")
    own = {0, 4, 8, 12}
    slow = {(min(a, b), max(a, b)) for a in own for b in {*range(16)} - own}
    header, *rest = as_written(record(FEW, [PAIR], RUN))
    trial = next(line["id"] for line in rest if line["type"] == "trial")
    rows = [json.loads(line) for line in lines(16, pairs=slow)]
    rows = [{**row, "run": RUN, "trial": trial} for row in rows if row["type"] == "row"]
    put(tmp_path / "fabric.jsonl", [header, *rest[:-2], *rows, *rest[-2:]])
    words = ["report", "--pictures", "--group", str(tmp_path / "groups"), str(tmp_path)]
    assert program.main(words) == 0
    page = Page(tmp_path / "report.html")
    assert "switch s1" in page.text and "pairs across it are slow" in page.text
    cells = some([*page.rows("node", "switches")])
    across = [ends for i in (2, 3, 4) for ends in (f"s1 - s{i}", f"s{i} - s1")]
    assert {c["switches"] for c in cells if c["ratio"] > 1.5} == {*across}
    assert program.main([*words, "--group", str(tmp_path / "none")]) == 2
