# SPDX-License-Identifier: Apache-2.0
"""What others change while a run goes on: the trial that fails, or is flagged, names the change."""

import pytest
from test_numa import trials
from test_restricted import VERSIONS, limited

UNPINNED = "thread 1 could not be pinned to CPU 3: sched_setaffinity"


def in_flight(change, command):
    """The command, and the change as soon as its record has samples."""
    return f"""{command} --output record.jsonl &
run=$!
until grep -q type.:.samples record.jsonl 2>/dev/null; do
	kill -0 $run || break
	sleep 0.1
done
{change}
wait $run"""


# The run ends by the failure, long before it would be complete.
LONG = "--repeats 5000 --duration 1ms --time-budget 200s"
THREADS = f"locus dummy --variant steady --threads 2 --bind 0,3 {LONG}"
ONLINE = "/sys/devices/system/cpu/cpu3/online"
OFFLINE = f"""{in_flight(f"echo 0 >{ONLINE} || exit 77", THREADS)}
status=$?; echo 1 >{ONLINE}; exit $status"""


def reason(done, variant):
    """The first reason of the only trial."""
    assert done.status == 1, done
    (trial,) = trials(done, variant)
    assert trial["status"] == "failed" and done.record[-1]["type"] == "end", trial
    return trial["reasons"][0]


@pytest.mark.guest("2x2", OFFLINE)
def test_a_cpu_that_goes_offline(done):
    said = f"{UNPINNED}: this process can't use it any more: "
    change = "the CPUs online changed from 0-3 to 0-2 during the run"
    assert reason(done, "steady").startswith(said + change)


@pytest.mark.guest(
    VERSIONS,
    limited("", in_flight("echo 0-1 >/cgroup/job/cpuset.cpus || exit 77", THREADS)),
)
def test_a_cpuset_that_shrinks(done):
    said = f"{UNPINNED}: this process can't use it any more: "
    change = "the CPUs of the cpuset changed from 0-3 to 0-1 during the run"
    assert reason(done, "steady") == said + change


@pytest.mark.guest(
    "2x2",
    limited(
        "",
        in_flight(
            "echo 0 >/cgroup/job/cpuset.mems || exit 77",
            "locus numa --variant bind --to 1 --layout packed --size 2M --time-budget 20s",
        ),
    ),
)
def test_a_node_that_is_taken_away(done):
    said = "its memory could not be prepared: Invalid argument: "
    change = "the nodes that the cpuset allows changed from 0-1 to 0 during the run"
    assert reason(done, "bind") == said + change


# NUMA balancing scans every 100 ms instead of every second.
BALANCED = f"""mount -t debugfs debug /sys/kernel/debug 2>/dev/null
for scan in delay period_min; do
	echo 100 >/sys/kernel/debug/sched/numa_balancing/scan_${{scan}}_ms || exit 77
done
trap 'echo 0 >/proc/sys/kernel/numa_balancing' EXIT
{
    in_flight(
        "echo 1 >/proc/sys/kernel/numa_balancing || exit 77",
        "locus numa --variant single --layout split --size 16M --repeats 40 --duration 1ms"
        " --time-budget 200s",
    )
}"""


@pytest.mark.guest("v1", BALANCED)
def test_balancing_that_is_switched_on(done):
    assert done.status == 1, done
    (trial,) = trials(done, "single")
    change = "numa_balancing changed from 0 to 1 during the run: the kernel moves pages"
    assert trial["status"] == "misplaced" and change in trial["reasons"][0], trial


# No trial is complete before its time is over, however steady its samples are; and the quota is set
# long before, in a guest whose own CPUs are busy, too.
ENDED = "--repeats 5000 --duration 1ms --time-budget 10s"
# A fifth of a CPU: with less, a guest whose own CPUs are busy may not close its record in time.
QUOTA = "echo 20000 >/cgroup/job/cpu.cfs_quota_us 2>/dev/null || echo 20000 >/cgroup/job/cpu.max"


@pytest.mark.guest(
    VERSIONS,
    limited(
        "",
        in_flight(QUOTA, f"locus latency --variant cycle --size 16K {ENDED}"),
    ),
)
def test_a_quota_that_is_set(done):
    """Each trial has a line; one that was begun and not done says why."""
    assert done.status == 0, done
    found = [line for line in done.record if line["type"] == "trial"]
    assert found and done.record[-1]["type"] == "end"
    reasons = [sentence for trial in found for sentence in trial.get("reasons", [])]
    assert any("the cgroup gives 20 % of a CPU (cpu." in sentence for sentence in reasons), reasons
    change = "the cgroup's CPU quota changed from none to 20 % of a CPU during the run"
    assert change in reasons, reasons
