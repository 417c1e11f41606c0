# SPDX-License-Identifier: Apache-2.0
"""Rows of the tables (trials.sql, tables.sql, page.sql) as types: a key for each column.
select() in database.py checks that a query gives just these."""

from __future__ import annotations

from typing import Optional, TypedDict, Union

from .lines import Crowding, Outstanding
from .lines import PairLevel as PairLevelOfLine

Parameter = Union[float, str]


class Range(TypedDict):
    """From the least to the greatest of so many values, where these are too few for an interval."""

    of: int
    low: float
    high: float


class Mode(TypedDict):
    value: float
    share: float


class TimeMode(TypedDict):
    time: float
    share: float


class Value(TypedDict):
    """A value and its 95 % interval."""

    value: Optional[float]
    low: Optional[float]
    high: Optional[float]


class OverRuns(TypedDict, total=False):
    """What the runs of a series add to a value (insight/run_variation.py)."""

    sound_runs: int  # in which the trial is ok
    tried: int  # runs
    between: Optional[float]  # (max - min) / median


class Metric(Value, OverRuns):
    """A metric of a trial."""

    range: Optional[Range]
    with_noise: Optional[float]
    modes: Optional[list[Mode]]
    unit: str
    kind: str
    why: Optional[str]


class InRun(TypedDict):
    """`whole` is the run, or the last of the runs that resumed each other."""

    whole: str


class HasStatus(TypedDict):
    status: str


class Verdict(HasStatus):
    """How far a trial can be trusted: its status, and why it is not ok."""

    flag: Optional[int]
    reasons: list[str]


class Judged(Value, Verdict):
    """A value that conclusions can be drawn from."""

    modes: list[float]  # those of the value; empty where there is one


class _RatioMay(OverRuns, total=False):
    range: Optional[Range]  # of runs


class Ratio(Judged, _RatioMay):
    """A ratio to another trial, with the graver status of the two."""

    name: str
    parameter: str
    metric: str
    of: str
    to: str
    trial: str


_Quantiles = TypedDict(
    "_Quantiles",
    {
        "0": list[Optional[float]],
        "0.25": list[Optional[float]],
        "0.5": list[Optional[float]],
        "0.75": list[Optional[float]],
        "0.99": list[Optional[float]],
    },
)


class Cells(_Quantiles):
    """Pairs of CPUs, as columns: a line `matrix`."""

    type: str
    run: str
    trial: str
    a: list[int]
    b: list[int]
    level: list[str]
    n: list[int]


class PairLevel(PairLevelOfLine, total=False):
    """Pairs of CPUs that share one level."""

    runs: list[float]  # of a series: the median of each run


class Pairs(TypedDict):
    """Meetings of pairs of CPUs."""

    rounds: int
    levels: list[PairLevel]
    outstanding: list[Outstanding]
    crowding: Optional[Crowding]
    cells: Cells


class Run(TypedDict):
    run: str
    file: str
    host: str
    rank: int
    ranks: int
    started: str
    profile: str
    altered: list[str]
    command: list[str]
    resumes: list[str]
    header: str  # JSON
    series: str
    repeats: bool
    ordinal: int


class Outcome(Run):
    exit_status: Optional[int]
    signal: Optional[str]
    skipped: Optional[int]
    elapsed: Optional[float]
    ended: bool
    trials: int
    unfinished: int
    comparisons: int
    resumed_by: Optional[str]


class Shown(Value, Verdict, InRun):
    """What `headline` and `told` have in common."""

    part: str
    id: str
    place: int
    benchmark: str
    variant: str
    notes: list[str]
    in_matrix: bool
    threads: int
    panel: str
    point: str
    setting: str
    everything: str
    host: str
    metric: str
    unit: str
    better: Optional[str]
    range: Optional[Range]
    with_noise: Optional[float]
    why: Optional[str]
    modes: Optional[list[Mode]]
    n: Optional[int]
    batches: Optional[int]
    noisy: Optional[int]
    crowded: Optional[float]
    spread_within: Optional[float]
    spread_between: Optional[float]
    how: Optional[str]
    local_share: Optional[float]


class Headline(Shown):
    parameters: str  # JSON


class Measured(Shown):
    """The columns of Trial that the view `told` has, too."""

    bind: str
    oversubscribed: bool
    cycles: Optional[float]
    time_modes: Optional[list[TimeMode]]
    huge: Optional[float]
    rank: int
    ranks: int
    cpu: Optional[str]


class Told(Measured):
    parameters: str  # JSON, as the next three
    pairs: Optional[str]
    metrics: str
    ratios: str


class Trial(Measured, OverRuns):
    """A row of `told`, parsed; the quantiles of its distributions."""

    parameters: dict[str, Parameter]
    pairs: Optional[Pairs]
    metrics: dict[str, Metric]
    ratios: list[Ratio]
    quantiles: dict[str, dict[float, float]]


class Distribution(TypedDict):
    whole: str
    id: str
    metric: str
    n: int
    quantiles: str  # JSON, as the next
    buckets: str


class Pages(TypedDict):
    whole: str
    id: str
    node: int
    pages: int
    share: Optional[float]


_From = TypedDict("_From", {"from": str})


class Cell(Headline, _From):
    """A cell of the node x node matrix."""

    to: str
    filled: list[Optional[int]]
    threads_node: str
    threads_order: Optional[int]
    memory_order: Optional[int]
    memory_node: str
    greatest: Optional[float]
    least: Optional[float]


class MatrixCell(Cell):
    shown_by: str
    shown_with: str


class Mark(TypedDict):
    """Samples of one trial, side by side in time."""

    whole: str
    part: str
    id: str
    bucket: int
    moment: float
    ratio: Optional[float]
    least: Optional[float]
    greatest: Optional[float]
    n: int
    noisy: int
    benchmark: Optional[str]
    variant: Optional[str]
    setting: Optional[str]
    flag: Optional[int]
    status: str


_Pass = TypedDict("_Pass", {"pass": Optional[int]})


class Event(_Pass):
    whole: str
    part: str
    ordinal: int
    place: int
    name: str
    source: Optional[str]
    unit: str
    scope: str
    proven: bool
    why: Optional[str]


class Counter(TypedDict):
    whole: str
    id: str
    counter_place: int
    name: str
    source: Optional[str]
    unit: str
    scope: str
    per: str
    value: Optional[float]
    low: Optional[float]
    high: Optional[float]
    per_thread: Optional[list[Optional[float]]]
    total: Optional[float]
    samples: Optional[int]
    trusted: bool
    why: Optional[str]


class Counting(TypedDict):
    whole: str
    id: str
    counted: Optional[float]
    counted_low: Optional[float]
    counted_high: Optional[float]
    bare: Optional[float]
    bare_low: Optional[float]
    bare_high: Optional[float]


class CountersAsked(TypedDict):
    whole: str
    part: str
    ordinal: int
    asked: list[str]
    multiplexed: bool
    passes: int
    papi: Optional[str]
    papi_why: Optional[str]
    events: str  # JSON


class Peer(TypedDict):
    run: str
    place: int
    benchmark: str
    work: str
    parameters: str  # JSON
    threads: int
    peer: str
    version: Optional[str]
    pairs: int
    ours: float
    theirs: float
    value: float
    low: Optional[float]
    high: Optional[float]
    goal: Optional[float]
    agreement: str
