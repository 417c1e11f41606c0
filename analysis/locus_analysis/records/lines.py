# SPDX-License-Identifier: Apache-2.0
"""Lines of a record as types: the objects of doc/schema/record-1.schema.json, with the keys that it
allows. `X_why`, which says why X is null, is not among them."""

from __future__ import annotations

from typing import Optional, TypedDict, Union

CountOrText = Union[int, str]
NumberOrText = Union[float, str]
Setting = Union[int, str, bool]


class Job(TypedDict):
    system: str
    id: Optional[str]
    array_task: Optional[str]
    step: Optional[str]
    restart: Optional[CountOrText]
    nodes: Optional[CountOrText]
    cluster: Optional[str]
    partition: Optional[str]


class Series(TypedDict):
    id: str
    run: int
    of: int


class Program(TypedDict):
    version: str
    revision: Optional[str]
    compiler: str
    flags: Optional[str]
    checksum: Optional[str]
    built_with: dict[str, Optional[str]]


class Budget(TypedDict):
    time: Optional[float]
    case: Optional[float]


class Clock(TypedDict):
    source: str
    overhead: float
    resolution: float
    kernel_source: Optional[str]
    cycle_chain: Optional[str]


class Markers(TypedDict):
    library: str
    mode: str
    cpus: str
    groups: list[str]
    regions: int


class Binding(TypedDict):
    bound_by: Optional[str]
    affinity: list[int]
    bind: str
    inherited: Optional[list[Optional[int]]]
    oversubscribe: bool
    memory_policy: Optional[str]


_EventKeys = TypedDict("_EventKeys", {"pass": Optional[int]})


class Event(_EventKeys):
    name: str
    source: Optional[str]
    unit: str
    scope: str
    proven: bool
    why: Optional[str]


class CountersAsked(TypedDict):
    asked: list[str]
    optional: bool
    multiplexed: bool
    passes: int
    papi: Optional[str]
    events: list[Event]


class Cpu(TypedDict):
    vendor: Optional[str]
    model: Optional[str]
    architecture: Optional[str]
    family: Optional[NumberOrText]
    model_number: Optional[NumberOrText]
    stepping: Optional[NumberOrText]
    microcode: Optional[NumberOrText]
    flags: Optional[list[str]]


class Prefetchers(TypedDict):
    register: str
    value: str
    disabled: list[str]


class Firmware(TypedDict):
    bios_vendor: Optional[str]
    bios_version: Optional[str]
    bios_date: Optional[str]
    board_name: Optional[str]
    sys_vendor: Optional[str]
    product_name: Optional[str]


class Node(TypedDict):
    node: int
    memory: Optional[int]
    free: Optional[int]
    cpus: list[int]
    memory_only: bool
    first_touch: int


class Cache(TypedDict):
    level: int
    type: str
    size: Optional[int]
    line: Optional[int]
    ways: Optional[int]
    count: int
    shared_by: int


class Kind(TypedDict):
    name: str
    rank: int
    cores: int
    cpus: list[int]


class _TopologyMay(TypedDict, total=False):
    kinds: list[Kind]


class Topology(_TopologyMay):
    packages: Optional[int]
    cores: int
    cpus: int
    online: Optional[str]
    allowed: Optional[str]
    smt: Optional[int]
    nodes: list[Node]
    caches: Optional[list[Cache]]
    distances: Optional[list[list[Optional[float]]]]
    hwloc: Optional[str]


class Tlb(TypedDict):
    level: int
    type: str
    page: int
    entries: int
    ways: Optional[int]


class _ThpMay(TypedDict, total=False):
    allowed: Optional[bool]  # not before 0.2


class Thp(_ThpMay):
    enabled: Optional[str]
    defrag: Optional[str]
    khugepaged_defrag: Optional[Setting]


class HugePagesOfNode(TypedDict):
    node: int
    total: Optional[int]
    free: Optional[int]


class HugePages(TypedDict):
    size: int
    total: Optional[int]
    free: Optional[int]
    per_node: Optional[list[HugePagesOfNode]]


class Module(TypedDict):
    count: int
    type: Optional[str]
    size: Optional[int]
    speed: Optional[float]
    configured_speed: Optional[float]


class Memory(TypedDict):
    total: Optional[int]
    available: Optional[int]
    page: int
    huge_page: Optional[int]
    thp: Optional[Thp]
    hugepages: Optional[list[HugePages]]
    modules: Optional[list[Module]]
    slots: Optional[int]
    channels: Optional[int]
    overcommit: Optional[Setting]
    swappiness: Optional[Setting]
    zone_reclaim: Optional[Setting]


class Kernel(TypedDict):
    release: Optional[str]
    version: Optional[str]
    command_line: Optional[str]


class Frequency(TypedDict):
    driver: Optional[str]
    governor: Optional[str]
    minimum: Optional[float]
    maximum: Optional[float]
    base: Optional[float]
    turbo: Optional[bool]
    boost_source: Optional[str]


class Cgroup(TypedDict):
    version: Optional[int]
    path: Optional[str]
    memory_limit: Optional[int]
    cpu_quota: Optional[float]
    cpuset: Optional[str]


class Errors(TypedDict):
    corrected: Optional[int]
    uncorrected: Optional[int]
    machine_checks: Optional[int]


_MachineKeys = TypedDict("_MachineKeys", {"class": Optional[str]})


class _MachineMay(TypedDict, total=False):
    errors: Errors
    id: Optional[str]


class Machine(_MachineKeys, _MachineMay):
    cpu: Cpu
    prefetchers: Optional[Prefetchers]
    firmware: Firmware
    virtual: Optional[str]
    topology: Topology
    tlb: list[Tlb]
    memory: Memory
    kernel: Kernel
    frequency: Optional[Frequency]
    numa_balancing: Optional[int]
    mitigations: Optional[dict[str, Optional[str]]]
    cgroup: Optional[Cgroup]
    perf_event_paranoid: Optional[int]
    environment: dict[str, Optional[str]]
    libc: Optional[str]


class Mpi(TypedDict, total=False):
    library: Optional[str]
    transport: Optional[str]


class Begin(TypedDict):
    """Of --begin-at."""

    at: str
    late: float


class _HeaderMay(TypedDict, total=False):
    begin: Begin
    mpi: Mpi


class Header(_HeaderMay):
    type: str
    run: str
    schema: str
    started: str
    host: str
    rank: int
    ranks: int
    job: Optional[Job]
    tags: dict[str, str]
    resumes: list[str]
    series: Optional[Series]
    program: Program
    command: list[str]
    profile: str
    altered: list[str]
    seed: int
    budget: Budget
    clock: Clock
    markers: Optional[Markers]
    binding: Binding
    counters: Optional[CountersAsked]
    machine: Machine


class _RegionMay(TypedDict, total=False):
    uncounted: list[int]


class Region(_RegionMay):
    """A trial's region for LIKWID."""

    name: str
    calls: int
    seconds: float
    measured: float


class Protocol(TypedDict):
    version: int
    text: str


class Statistic(TypedDict):
    quantile: float
    of: str
    then: str


class Parameter(TypedDict):
    name: str
    type: str
    unit: Optional[str]
    choices: list[str]
    curve: bool
    output: bool
    help: str


class Metric(TypedDict):
    name: str
    unit: str
    better: Optional[str]
    kind: str
    help: str


class Ratio(TypedDict):
    name: str
    parameter: str
    of: str
    to: str
    metric: str
    help: str


class Variant(TypedDict):
    name: str
    summary: str
    unused: list[str]
    divided: bool


class Explaining(TypedDict):
    events: str
    what: str


class KernelEvent(TypedDict):
    name: str
    unit: str


class Counted(TypedDict):
    per: str
    explaining: list[Explaining]
    kernel: list[KernelEvent]


class Benchmark(TypedDict):
    type: str
    run: str
    name: str
    summary: str
    protocol: Protocol
    source: Optional[str]
    unit: str
    scored: str
    statistic: Statistic
    parameters: list[Parameter]
    metrics: list[Metric]
    ratios: list[Ratio]
    variants: list[Variant]
    counters: Counted


_MeetingsKeys = TypedDict(
    "_MeetingsKeys", {"0": float, "0.25": float, "0.5": float, "0.75": float, "0.99": float}
)


class Meetings(_MeetingsKeys):
    n: int


_PairLevelKeys = TypedDict(
    "_PairLevelKeys", {"0": float, "0.25": float, "0.5": float, "0.75": float, "0.99": float}
)


class _PairLevelMay(TypedDict, total=False):
    meetings: Meetings
    crowding: Optional[float]


class PairLevel(_PairLevelKeys, _PairLevelMay):
    level: str
    pairs: int


class Outstanding(TypedDict):
    cpu: int
    level: str
    median: float
    of: float


class Crowding(TypedDict):
    pairs: int
    median: float
    most: float


class _PairsMay(TypedDict, total=False):
    levels: list[PairLevel]
    outstanding: list[Outstanding]
    crowding: Optional[Crowding]


class Pairs(_PairsMay):
    rounds: int
