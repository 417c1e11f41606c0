# SPDX-License-Identifier: Apache-2.0
"""Restricted processes: limits of control groups (version 1 and 2), and of a user in a
container. locus must refuse what exceeds them before the kernel kills it."""

import dataclasses
import re

import pytest
from some import some
from test_numa import MEASURED, ONCE, trials

MIB = 1 << 20

# Limits: the file of version 1, that of version 2, and the value.
MEMORY = "limit memory.limit_in_bytes memory.max 32M"
HUGE = "limit hugetlb.2MB.limit_in_bytes hugetlb.2MB.max 4M"
ONE_CPU = "limit cpuset.cpus cpuset.cpus 3"
ONE_NODE = "limit cpuset.mems cpuset.mems 1"
QUOTA = "limit cpu.cfs_quota_us cpu.max 50000"

VERSIONS = ["v1", "2x2"]
GROUPS = """
limit() { file=/cgroup/job/$1; [ -e $file ] || file=/cgroup/job/$2; echo $3 >$file || exit 77; }
if [ ! -d /cgroup ]; then
	mkdir /cgroup
	if grep -q cgroups=v1 /proc/cmdline; then
		mount -t cgroup -o memory,hugetlb,cpuset,cpu cgroup /cgroup
	else
		mount -t cgroup2 cgroup /cgroup
		echo +memory +hugetlb +cpuset +cpu >/cgroup/cgroup.subtree_control
	fi
fi
mkdir /cgroup/job
echo 0-3 >/cgroup/job/cpuset.cpus
echo 0-1 >/cgroup/job/cpuset.mems # without, version 1 lets nobody in
"""


def limited(limit, script):
    """The script, in a control group."""
    return f"""{GROUPS}{limit}
(echo 0 >/cgroup/job/cgroup.procs || exit 77; {script}); status=$?
until rmdir /cgroup/job; do sleep 0.1; done 2>/dev/null; exit $status"""


def said(done, finding):
    """The groups of the regular expression; a sentence may be wrapped over two lines."""
    found = re.search(finding, done.out) or re.search(finding, " ".join(done.out.split()))
    assert found, f"no {finding} in:\n{done.out}{done.err}"
    return found.groups()


TOO_LARGE = "locus numa --variant static --kernel sum --repeats 1 --size"


# From a size that is refused down to one that fits: no process is killed. The largest size that
# fits depends on the memory in use, 1 to 3 MiB, plus pages of the last process that the kernel has
# yet to free: on a slow CPU a smaller size may be refused after a larger one fitted.
DOWN = " ".join(f"{size}M" for size in range(30, 18, -3))
OF_32_MIB = limited(
    MEMORY,
    f"""locus doctor; {TOO_LARGE} 256M 2>&1; refused=$?
for size in {DOWN}; do {TOO_LARGE} $size --pages base --layout all --duration 1ms
echo status $?; done >sizes 2>&1; exit $refused""",
)


@pytest.mark.guest(VERSIONS, OF_32_MIB)
def test_sizes_beyond_a_limit_of_memory_are_refused(done):
    assert done.status == 3, done
    said(done, r"\[--\] memory limit +32 MiB by a cgroup; [23]\d(\.\d)? MiB can be taken now")
    left, used, unit = said(
        done,
        r"needs 256 MiB of memory, and 5 MiB for .*, but only ([\d.]+) MiB is available "
        r"because of memory\.(?:max|limit_in_bytes) 32 MiB of cgroup /job, with ([\d.]+) ([KM])iB"
        r" in use",
    )
    used_mib = float(used) / (1 if unit == "M" else 1024)
    assert float(left) + used_mib == pytest.approx(32, abs=0.2), done.out  # tenths, each rounded


# Runs the suite for 2 s. If a slow machine had no sample in that time, the suite is resumed once,
# which counts as a retry.
IN_2_S, AGAIN = (f"locus suite {ONCE} --resume --time-budget {seconds}s" for seconds in (2, 50))
SUITE = (
    f"{IN_2_S} && (grep -q type.:.samples record.jsonl ||"
    f" {{ echo retried: no sample in 2 s; {AGAIN}; }})"
)


@pytest.mark.guest(VERSIONS, OF_32_MIB)
def test_there_is_no_size_that_is_neither_refused_nor_had(done):
    out = (done.folder / "sizes").read_text(encoding="utf-8")
    statuses = [int(status) for status in re.findall(r"status (\d+)", out)]
    assert len(statuses) == len(DOWN.split()), (statuses, out)
    assert set(statuses) == {0, 3} and statuses[0] == 3, (statuses, out)
    assert "Killed" not in out + done.out + done.err, done


PAGES = "echo 16 >/proc/sys/vm/nr_hugepages; trap 'echo 0 >/proc/sys/vm/nr_hugepages' EXIT"
ON_2M = "locus numa --variant static --kernel sum --layout packed --pages 2M"


OF_4_MIB = limited(
    HUGE,
    f"{PAGES}; locus doctor; {ON_2M} --size 4M {ONCE.replace('record', 'fits')}; echo fits: $?;"
    f" {ON_2M} --size 8M {ONCE}",
)


@pytest.mark.guest(VERSIONS, OF_4_MIB)
def test_huge_pages_beyond_a_limit_are_refused_and_do_not_kill(done):
    assert done.status == 3, done
    said(done, r"hugetlb pages +2 MiB: 2 of 16 free")
    said(
        done,
        r"needs? 8 MiB more in huge pages, but only 4 MiB is available "
        r"because of hugetlb.2MB.(max|limit_in_bytes) 4 MiB of cgroup /job",
    )
    assert {trial["status"] for trial in trials(done, "static")} == {"impossible"}


@pytest.mark.guest(VERSIONS, OF_4_MIB)
def test_huge_pages_up_to_a_limit_can_be_had(done, read):
    (trial,) = trials(dataclasses.replace(done, record=read(done.folder / "fits.jsonl")), "static")
    assert "fits: 0\n" in done.out and trial["placement"]["after"]["huge_bytes"] == 4 * MIB, done


HALF_OF_A_CPU = limited(
    f"{ONE_CPU}; {QUOTA}",
    f"locus doctor; locus topology; {TOO_LARGE} 2M --threads 2 2>&1; echo two: $?;"
    f" locus numa --variant static --size 2M {ONCE}",
)


@pytest.mark.guest(VERSIONS, HALF_OF_A_CPU)
def test_one_cpu(done):
    assert done.status == 0, done
    said(done, r"\[--\] CPUs +1 of 4 CPUs may be used")
    said(done, r"1 core, 1 CPU ")
    assert {tuple(trial["cpus"]) for trial in trials(done, "static")} == {(3,)}
    assert {
        tuple(trial["placement"]["after"]["on_node"].items()) for trial in trials(done, "static")
    } == {(("1", 512),)}


@pytest.mark.guest(VERSIONS, HALF_OF_A_CPU)
def test_more_threads_than_a_cpuset_has(done):
    said(done, r"2 threads on node 1, which has 1 CPU")
    said(done, r"two: 3\n")


OF_ONE_NODE = limited(
    ONE_NODE,
    "locus doctor; locus numa --variant bind --to 0 --layout packed --size 2M"
    f" {ONCE.replace('record', 'not-ours')}; echo bind: $?;"
    f" locus numa --variant interleave --layout split --size 2M {ONCE}",
)


@pytest.mark.guest(VERSIONS, OF_ONE_NODE)
def test_the_memory_of_one_node(done):
    assert done.status == 0, done
    said(done, r"\[--\] NUMA nodes +the memory of 1 of 2 may be used")
    assert {
        tuple(trial["placement"]["after"]["on_node"].items())
        for trial in trials(done, "interleave")
    } == {(("1", 512),)}


@pytest.mark.guest(VERSIONS, OF_ONE_NODE)
def test_the_memory_of_a_node_that_is_not_ours(done, read):
    refused = dataclasses.replace(done, record=read(done.folder / "not-ours.jsonl"))
    (trial,) = trials(refused, "bind")
    assert (
        "bind: 3\n" in done.out
        and trial["status"] == "impossible"
        and "node 0, which has no memory that this process may use" in trial["reasons"][0]
    ), done


@pytest.mark.guest(VERSIONS, HALF_OF_A_CPU)
def test_a_quota(done):
    assert done.status == 0, done
    said(done, r"\[!!\] CPU quota +0\.5 CPUs")


# A user without root, with system calls forbidden and files hidden as by container runtimes.

USER = (
    "mkdir -p /etc; echo user:x:54321:54321::/nonexistent:/bin/sh >/etc/passwd; chmod 755 / /tmp;"
    " chmod 777 ."
)
FORBIDDEN = "get_mempolicy,mbind,migrate_pages,move_pages,perf_event_open,set_mempolicy"


def as_user(script, forbidden=None):
    return f"{USER}; su user -s /bin/sh -c '{f'forbid {forbidden} ' if forbidden else ''}{script}'"


@pytest.mark.guest(
    "2x2", as_user(f"locus numa --variant single,static --layout split --size 8M {ONCE}", FORBIDDEN)
)
def test_pages_are_counted_where_they_can_not_be_read(done):
    assert done.status == 0, done
    for variant, nodes in {"single": {"0": 2048}, "static": {"0": 1024, "1": 1024}}.items():
        (trial,) = trials(done, variant)
        placement = trial["placement"]["after"]
        assert trial["status"] in MEASURED and (
            placement["how"],
            placement["misplaced"],
            placement["on_node"],
        ) == (
            "counted",
            0,
            nodes,
        ), placement
        assert (
            "counted by node, not checked one by one: move_pages: Operation not permitted"
            in trial["notes"][0]
        )


@pytest.mark.guest(
    "2x2",
    {
        variant: as_user(
            f"locus numa --variant {variant} --layout split --size 8M {ONCE}", FORBIDDEN
        )
        for variant in ("bind", "interleave", "migrate")
    },
)
def test_what_can_not_be_placed_is_impossible(done):
    found = [trial for trial in done.record if trial["type"] == "trial"]
    assert done.status == 3 and {trial["status"] for trial in found} == {"impossible"}, done
    assert all(
        re.search("(refuses mbind|move).*Operation not permitted", trial["reasons"][0])
        for trial in found
    ), found


@pytest.mark.guest("2x2", as_user(SUITE, FORBIDDEN))
def test_a_suite_of_what_is_left(done):
    found = [trial for trial in done.record if trial["type"] == "trial"]
    assert done.status == 0 and {trial["status"] for trial in some(found)} <= {
        *MEASURED,
        "impossible",
        "interrupted",
    }, done
    assert {trial["placement"]["after"]["how"] for trial in found if trial["placement"]} == {
        "counted"
    }, done


HIDE = (
    "mount -t tmpfs -o ro hidden /sys/devices/system/node; trap 'umount /sys/devices/system/node'"
    " EXIT"
)


@pytest.mark.guest(
    "2x2",
    f"{HIDE}; locus doctor; locus topology; locus numa --variant single,static --layout packed"
    f" --size 8M --threads 4 {ONCE}",
)
def test_nodes_that_are_hidden(done):
    said(done, r"\[\?\?\] NUMA nodes +/sys/devices/system/node can't be seen")
    said(done, r"2 packages, 1 node, 4 cores, 4 CPUs")
    (single,), (static,) = trials(done, "single"), trials(done, "static")
    assert single["status"] in MEASURED and single["placement"]["after"]["on_node"] == {"0": 2048}
    assert static["placement"]["after"]["on_node"] == {
        "0": 1024,
        "1": 1024,
    }, "pages are still told from where they are"
    assert done.status == 1 and static["status"] == "misplaced"


# The tests above ran as root; here a user who can't change the limits is within two of them: the
# suite goes on without what does not fit.
@pytest.mark.guest(VERSIONS, limited(f"{MEMORY}; {ONE_CPU}", as_user(SUITE)))
def test_a_user_without_root_within_limits(done):
    assert done.status == 0, done
    assert done.record[0]["binding"]["affinity"] == [3], done.record[0]["binding"]
    found = {trial["status"] for trial in done.record if trial["type"] == "trial"}
    assert (
        "impossible" in found
        and found & set(MEASURED)
        and found <= {*MEASURED, "impossible", "interrupted"}
    )


PARANOID = "echo 4 >/proc/sys/kernel/perf_event_paranoid"


@pytest.mark.guest("2x2", f"{PARANOID}; {as_user('locus doctor')}")
def test_counters_that_are_forbidden(done):
    assert done.status in (0, 1)
    said(done, r"\[--\] perf_event_paranoid  4")
    said(
        done,
        r"\[--\] hardware counters +forbidden by perf_event_paranoid=4\n.*\n.*sysctl"
        r" kernel.perf_event_paranoid=2",
    )
    said(
        done,
        r"\[--\] software counters +forbidden by perf_event_paranoid=4\n.*\n.*\n.*sysctl"
        r" kernel.perf_event_paranoid=1",
    )


@pytest.mark.guest("one", f"locus doctor; locus topology; {SUITE}")
def test_a_machine_of_one_cpu_and_little_memory(done):
    assert done.status == 0, done
    said(done, r"1 core, 1 CPU ")
    found = {trial["status"] for trial in done.record if trial["type"] == "trial"}
    assert found & set(MEASURED) and found <= {*MEASURED, "impossible", "interrupted"}
