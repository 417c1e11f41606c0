# SPDX-License-Identifier: Apache-2.0
"""packaging/slurm/locus-health as SLURM's HealthCheckProgram: what it drains, and what it resumes.
Planted are facts, and bounds that no machine meets: nothing here depends on a speed."""

import json
import os
import pathlib
import subprocess

import pytest
from slurm import BUILD, SOURCE, ask, minicluster, wait_for
from waits import killed_at_end

HEALTH = SOURCE / "packaging/slurm/locus-health"
THP = "/sys/kernel/mm/transparent_hugepage/enabled"


def node(name):
    return ask("scontrol", "--oneliner", "show", "node", name)


def reason(name):
    return ask("sinfo", "--noheader", "--list-reasons", f"--nodes={name}", "--format=%E").strip()


def is_drained(name):
    return "DRAIN" in node(name).split(" State=")[1].split()[0]


@pytest.fixture(scope="module")
def good(tmp_path_factory, read):
    """What is expected of this machine's class: its facts, and the time of a trial."""
    file = tmp_path_factory.mktemp("good") / "record.jsonl"
    ask(
        BUILD / "locus",
        "dummy",
        "--variant",
        "steady",
        "--repeats",
        "1",
        "--quiet",
        "--output",
        file,
    )
    lines = read(file)
    machine = lines[0]["machine"]
    own = {"trial": next(x["id"] for x in lines if x["type"] == "trial"), "metric": "time"}
    bounds = {"name": "dummy/steady/time", "unit": "s/turn", "better": "lower"}
    return {
        "class": machine["class"],
        "cpu": machine["cpu"]["model"],
        "facts": {"memory.thp.enabled": machine["memory"]["thp"]["enabled"]},
        "metrics": [{**own, **bounds, "low": 1e-9, "high": 100}],
        "health": [{**own, "component": "clock"}],
    }


class Check:
    """The check as a site has it: a program, and the file of expected values."""

    def __init__(self, folder, good):
        self.file, self.program, self.good = folder / "expected.json", folder / "check", good
        self.runs = folder / "runs"
        self.expect()
        self.options("--foreign 1000 --time-budget 5s")

    def expect(self, **changed):
        new = self.file.with_suffix(".new")
        classes = [{**self.good, **changed}]
        new.write_text(json.dumps({"schema": "locus-expected-1.1", "classes": classes}))
        new.rename(self.file)

    def options(self, options, scontrol=""):
        """From now on; `scontrol`: what stands for it."""
        tools = self.program.parent / "bin"
        tools.mkdir(exist_ok=True)
        (tools / "scontrol").unlink(missing_ok=True)
        if scontrol:
            (tools / "scontrol").write_text(f"#!/bin/sh\n{scontrol}\n")
            (tools / "scontrol").chmod(0o755)
        new = self.program.with_suffix(".new")
        new.write_text(
            "#!/bin/sh\n"
            f"export SLURM_CONF={os.environ['SLURM_CONF']}\n"
            f"export PATH={tools}:{BUILD.resolve()}:$PATH:{os.environ['PATH']}\n"
            f"export LOCUS_EXPECT={self.file} LOCUS_HEALTH='{options}'\n"
            f"{HEALTH}; echo $SLURMD_NODENAME >>{self.runs}\n"
        )
        new.chmod(0o755)
        new.rename(self.program)

    def ran(self, name):
        """How often it has come to its end on a node."""
        return self.runs.read_text().split().count(name) if self.runs.exists() else 0

    def runs_again(self, name):
        """Waits until it has begun and ended once more."""
        before = self.ran(name)
        wait_for(lambda: self.ran(name) >= before + 2, f"two more checks on {name}")


@pytest.fixture
def check(nodes, tmp_path, good):
    """SLURM is told of the check, which runs every second."""
    yield from configured(Check(tmp_path, good), 1)


def resumed(name):
    """Whether it is, after it was asked for. A check that ends now may come first: then SLURM
    refuses."""
    if is_drained(name):
        resume = ["scontrol", "update", f"nodename={name}", "state=resume"]
        subprocess.run(resume, capture_output=True, check=False)
    return not is_drained(name)


def configured(check, interval):
    conf = pathlib.Path(os.environ["SLURM_CONF"])
    before = conf.read_text()
    conf.write_text(f"{before}HealthCheckProgram={check.program}\nHealthCheckInterval={interval}\n")
    ask("scontrol", "reconfigure")
    yield check
    conf.write_text(before)
    ask("scontrol", "reconfigure")
    for name in ask("sinfo", "--noheader", "--Node", "--format=%N").split():
        wait_for(lambda name=name: resumed(name), f"{name} resumed")


def test_a_node_is_drained_and_comes_back(check, tmp_path):
    """One of four has another setting."""
    never = tmp_path / "never"
    never.write_text("always madvise [never]\n")
    check.expect(metrics=[], health=[])  # facts are all that it checks
    minicluster("on", "n2", "mount", "--bind", never, THP)
    wait_for(lambda: is_drained("n2"), "n2 drained")
    assert reason("n2").startswith("locus: n2 memory thp enabled never, ")
    check.runs_again("n1")
    assert not is_drained("n1")
    minicluster("on", "n2", "umount", THP)
    wait_for(lambda: not is_drained("n2"), "n2 resumed")


def test_a_trial_drains_and_facts_alone_do_not_resume(check):
    """The bound is one that no machine meets: 1 ns a turn."""
    (bounds,) = check.good["metrics"]
    check.expect(metrics=[{**bounds, "low": 1e-12, "high": 1e-9}])
    # Where other lanes have the CPUs, an earlier check may have found that the trial hung.
    wait_for(lambda: ", at most 0.001 expected" in reason("n1"), "n1 drained by the bound")
    assert " clock " in reason("n1") and is_drained("n1")
    with killed_at_end(["sh", "-c", "while :; do :; done"]):
        check.options("--foreign 0")  # other work runs
        check.runs_again("n1")  # a check with the options before would measure, and resume
        check.expect()
        check.runs_again("n1")
        assert is_drained("n1")
    check.options("--foreign 1000 --time-budget 5s")
    wait_for(lambda: not is_drained("n1"), "n1 resumed")


def test_the_reason_of_others_stays(check):
    ask("scontrol", "update", "nodename=n3", "state=drain", "reason=the fan is loud")
    check.runs_again("n3")
    assert is_drained("n3") and reason("n3") == "the fan is loud"
    check.expect(facts={"topology.cpus": 0})
    wait_for(lambda: is_drained("n1"), "n1 drained")
    check.runs_again("n3")
    assert reason("n3") == "the fan is loud"


def test_beside_a_job_facts_alone(submit, check, tmp_path):
    """A trial would drain the node; a fact still does, and the job goes on. The check ends before
    `submit`, which waits until all nodes are idle: on a busy machine a trial hangs now and then."""
    (bounds,) = check.good["metrics"]
    check.options("")
    script = tmp_path / "spin.slurm"
    script.write_text("#!/bin/sh\nwhile [ ! -e stop ]; do :; done\n")
    job = submit(script, sbatch=["--nodelist=n4", "--overcommit"], folder=tmp_path)
    job.until("RUNNING")
    check.expect(metrics=[{**bounds, "low": 1e-12, "high": 1e-9}])
    check.runs_again("n4")
    assert not is_drained("n4")
    check.expect(facts={"topology.cpus": 0})
    wait_for(lambda: is_drained("n4"), "n4 drained")
    assert job["JobState"] == "RUNNING"
    (tmp_path / "stop").touch()
    job.until("COMPLETED")
    check.expect()
    check.options("--foreign 1000 --time-budget 5s")
    wait_for(lambda: not is_drained("n4"), "n4 resumed")


def test_at_the_start_of_slurmd(nodes, tmp_path, good):
    """Before the node takes its first job: the next check would be in an hour."""
    check = Check(tmp_path, {**good, "facts": {"topology.cpus": 0}})
    for _ in configured(check, 3600):
        minicluster("kill", "n2")
        minicluster("boot", "n2")
        wait_for(lambda: is_drained("n2"), "n2 drained")
        assert reason("n2").startswith("locus: n2 topology cpus ")


def test_a_scontrol_that_does_not_answer(check):
    check.options("--foreign 1000", scontrol="sleep 1000")
    check.expect(facts={"topology.cpus": 0})
    check.runs_again("n1")
    assert not is_drained("n1")
    check.options("--foreign 1000")
    wait_for(lambda: is_drained("n1"), "n1 drained")
