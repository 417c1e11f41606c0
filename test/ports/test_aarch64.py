# SPDX-License-Identifier: Apache-2.0
"""64-bit Arm: a cross build, run without and with single-instruction atomics (LSE), and with
pages of 16 KiB."""

import os
import pathlib
import re
import subprocess

import pytest
from emulated import ABOUT_INSTRUCTIONS, ABOUT_THE_KERNEL, UNITS
from kinds import ARM64
from test_units import all_is_well, commands

HERE = pathlib.Path(__file__).parent
SWAP = re.compile(r"atomic_(fetch|compare|exchange)")
PAGES = re.compile(r'"pages"')


def about_atomics():
    """The unit tests of sources with atomic instructions that depend on LSE: tests that include
    a header of such a source, or of its benchmark."""
    sources = HERE.parents[1] / "src"
    swaps = [file for file in sources.rglob("*.[ch]") if SWAP.search(file.read_text("utf-8"))]
    subjects = [
        f"{folder}/" if folder.startswith(("bench/", "solve/")) else f'{folder}/{file.stem}.h"'
        for file in swaps
        for folder in [str(file.parent.relative_to(sources))]
    ]
    texts = {unit: (HERE.parent / f"unit/{unit}.c").read_text("utf-8") for unit in UNITS}
    return [u for u in UNITS if any(f'#include "{name}' in texts[u] for name in subjects)]


ATOMICS = about_atomics()
ABOUT_PAGES = [
    "test_chain",
    "test_hugepages",
    "test_limits",
    "test_membind",
    "test_numa_claims",
    "test_region",
    "test_region_huge",
    "test_topology",
]
KIB, MIB = 1 << 10, 1 << 20

# {guest: (processor, LSE, bytes of a page, bytes of a transparent huge page)}
ARM = {
    "cortex-a57": ("Cortex-A57", False, 4 * KIB, 2 * MIB),
    "neoverse-n1": ("Neoverse N1", True, 4 * KIB, 2 * MIB),
    "16k": ("Neoverse N1", True, 16 * KIB, 32 * MIB),
}
ATOMIC = ["cortex-a57", "neoverse-n1"]
# A sample of each is enough; the budget is large enough that none is left out on a slow machine.
ONCE = "--repeats 1 --duration 1ms --time-budget 50s --output record.jsonl"
CHAINS = "cycle,page-cycle,page-random,page-stride,line-stride,parallel,loaded,matrix"
PLACEMENTS = "single,random,static,interleave,bind,migrate,matrix"
QUICK = {
    "numa": f"locus numa --profile quick --variant {PLACEMENTS} --size 2M {ONCE}",
    "latency": (
        f"locus latency --profile quick --variant {CHAINS} --size 64K --load-size 1M"
        f" --mix read,1r1w --rate 0 {ONCE}"
    ),
    "search": f"locus search --profile quick --size 64K --threads 2 {ONCE}",
    "hashmap": (
        "locus hashmap --profile quick --variant striped,striped-waitfree,best --range 1000"
        f" --threads 2 {ONCE}"
    ),
    "actors": f"locus actors --profile quick --actors 50 --state 64 --threads 2 {ONCE}",
    "kmeans": f"locus kmeans --profile quick --points 200 --clusters 9 --threads 2 {ONCE}",
    "sharing": f"locus sharing --profile quick --threads 2 {ONCE}",
    "core-to-core": f"locus core-to-core --profile quick --lines 2 --threads 2 {ONCE}",
    "coherence": f"locus coherence --lines 64 --threads 2 {ONCE}",
    "atomics": f"locus atomics --profile quick --size 1,8 --threads 2 {ONCE}",
    "prefetch": f"locus prefetch --profile quick --lines 256 --stride 8,64,4K {ONCE}",
    "checkpoint": f"locus checkpoint --profile quick --body loop,reverse --threads 2 {ONCE}",
    "locks": f"locus locks --profile quick --section 0 --threads 2 {ONCE}",
}


def quick_of(subject):
    """Commands of the benchmarks whose sources match; the others run the same instructions as
    on the first processor."""
    bench = HERE.parents[1] / "src/bench"
    return {
        name: words
        for name, words in QUICK.items()
        if any(subject.search(file.read_text("utf-8")) for file in (bench / name).rglob("*.[ch]"))
    }


def test_it_builds(cross):
    assert cross.status == 0, cross.out[-4000:]


def test_one_program_for_both_kinds_of_atomics(cross_built):
    assert b"__aarch64_have_lse_atomics" in (ARM64.build / "locus").read_bytes()


@pytest.mark.guest("cortex-a57", commands(ABOUT_THE_KERNEL))
def test_units_about_the_kernel(done):
    all_is_well(done)


@pytest.mark.guest("neoverse-n1", commands(unit for unit in ATOMICS if unit in ABOUT_THE_KERNEL))
def test_units_about_the_kernel_and_atomics(done):
    all_is_well(done)


@pytest.mark.parametrize("program", ABOUT_INSTRUCTIONS)
def test_units(emulate, program):
    all_is_well(emulate("cortex-a57", program))


@pytest.mark.parametrize("program", [unit for unit in ATOMICS if unit in ABOUT_INSTRUCTIONS])
def test_units_about_atomics(emulate, program):
    all_is_well(emulate("neoverse-n1", program))


@pytest.mark.guest("16k", commands(ABOUT_PAGES))
def test_units_about_pages(done):
    all_is_well(done)


def test_machine_code_was_looked_at(emulate):
    done = emulate("cortex-a57", "test_numa_kernels")
    assert done.out.count("_loops_as_meant") >= 4, done.out


def is_right(done):
    model, lse, page, huge = ARM[done.guest]
    assert done.status == 0, done.err
    header, *_, end = done.record
    assert header["machine"]["cpu"]["model"] == model
    assert ("atomics" in header["machine"]["cpu"]["flags"]) == lse
    assert [header["machine"]["memory"][size] for size in ("page", "huge_page")] == [page, huge]
    trials = [line for line in done.record if line["type"] == "trial"]
    assert trials and len(trials) == sum(end["trials"].values()) and not end["skipped"], end
    for trial in trials:
        assert trial["status"] in ("ok", "unconverged", "bimodal", "noisy"), trial
        for placement in trial["placement"].values():
            assert (
                placement["how"] == "verified"
                and placement["misplaced"] == placement["unmapped"] == 0
            ), trial
            assert placement["page"] == page, trial
            # without the parameter, a variant's tables may or may not be on huge pages
            pages = trial["parameters"].get("pages", "any")
            expected = {huge} if pages == "thp" else {None, huge} if pages == "any" else {None}
            assert placement["huge_page"] in expected, trial


@pytest.mark.guest("cortex-a57", QUICK)
def test_quick_profiles(done):
    is_right(done)


@pytest.mark.guest("neoverse-n1", quick_of(SWAP))
def test_quick_profiles_with_atomics(done):
    is_right(done)


@pytest.mark.guest("16k", quick_of(PAGES))
def test_quick_profiles_with_large_pages(done):
    is_right(done)


@pytest.mark.guest(list(ARM), "locus topology")
def test_topology(done):
    pages = (
        f"pages: {ARM[done.guest][2] // KIB} KiB; transparent huge: {ARM[done.guest][3] // MIB}"
        " MiB;"
    )
    assert (
        done.status == 0
        and "2 packages, 2 nodes, 2 cores, 2 CPUs (1 a core)\n" in done.out
        and pages in done.out
    ), done


@pytest.mark.guest(list(ARM), "locus doctor")
def test_doctor(done):
    assert done.status == 1 and "[!!] virtual machine      a guest of qemu\n" in done.out, done
    sizes = re.findall(r"([\d.]+ [KMG]iB): \d+ of \d+ free", done.out)
    assert "2 MiB" in sizes and not {"64 KiB", "32 MiB"} & {*sizes}, done.out
    remedy = r"\$ spack install likwid\n +it counts by perf_event; Debian"
    assert re.search(remedy, done.out), done.out


@pytest.mark.guest(ATOMIC, "locus list")
def test_list(done):
    here = subprocess.run([os.environ["LOCUS"], "list"], capture_output=True, text=True, check=True)
    assert (done.status, done.out) == (0, here.stdout)
