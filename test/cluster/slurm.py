# SPDX-License-Identifier: Apache-2.0
"""A job, as its user sees it, with functions that wait until it is in an expected state."""

import os
import pathlib
import re
import shlex
import subprocess
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = sorted((SOURCE / "jobs").glob("*.slurm"))
BUILD = pathlib.Path(os.environ.get("BUILD", "."))  # with the programs
DEADLINE = int(
    os.environ.get("PATIENCE", "300")
)  # s, for waits that take seconds on an idle machine
CPUS = os.sysconf("SC_NPROCESSORS_ONLN")
# Options of dummy, for jobs that leave the CPUs to other tests: one that waits for its end, and one
# of 20 trials in a second. A test that needs it to be at work keeps it so with a Gate.
STUCK = [
    *("--profile", "quick", "--variant", "stuck", "--where", "collect"),
    *("--time-budget", "600s", "--duration", "100us"),
]
ENDLESS = [*STUCK, "--delay", "2e5", "--repeats", "1000000"]
TRIALS = 20
STEP = 4096  # bytes by which the trials of MANY differ
MANY = [*STUCK, "--delay", "1e3", "--repeats", "50", "--size", "4K..80K+4K"]
# Options of numa. The last word of ONE_TRIAL is its repeats: [*ONE_TRIAL[:-1], "9"] changes them.
ONE = ["--profile", "quick", "--variant", "single", "--layout", "1"]
ONE_TRIAL = [*ONE[:-1], "packed", "--size", "256K", "--repeats", "3"]
# Open MPI 4.1 with PMIx, seen in 1 of 40 launches, then in none of 121: a rank that is still in
# MPI_Init gets another's first message, and calls a function that is not set up yet, so that its
# stack has no frame of the program (open-mpi/ompi#12495 is similar).
IN_MPI_INIT = re.compile(
    r"Failing at address: \(nil\)\n.*\[ 0\] .*libc\.so.*\n.*\*\*\* End of error message"
)
FINAL = ("BOOT_FAIL", "CANCELLED", "COMPLETED", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT")


def ask(*command, **more):
    """Runs a command that must succeed; returns its output."""
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
        **more,
    )
    assert done.returncode == 0, f"{command}: {done.stderr or done.stdout}"
    return done.stdout


def script_of(name):
    """A job's script in the source tree, and the arguments that name a benchmark without one."""
    own = f"jobs/{name}.slurm"
    return (own,) if (SOURCE / own).exists() else ("jobs/locus.slurm", name)


def minicluster(*arguments):
    """Runs a command of test/cluster/minicluster, as in minicluster("kill", "n2")."""
    return ask(SOURCE / "test/cluster/minicluster", *arguments)


def names(folder):
    """The sorted names of the files in a folder."""
    return sorted(path.name for path in folder.iterdir())


def wait_for(condition, what):
    """Waits until the condition is true; returns its value. `what` is printed if that takes more
    than DEADLINE. To ask SLURM takes CPU time: so the longer it lasts, the more rarely it asks."""
    begin = time.monotonic()
    while not (value := condition()):
        waited = time.monotonic() - begin
        assert waited < DEADLINE, f"not within {DEADLINE} s: {what}"
        time.sleep(min(0.1 + waited / 10, 0.5))
    return value


def wait_until_idle():
    """Waits until all nodes are idle, and so have cleaned up after ended jobs."""
    wait_for(
        lambda: set(ask("sinfo", "--noheader", "--Node", "--format=%T").split()) == {"idle"},
        "all nodes idle",
    )


def check_complete(job, read, record="n1", runs=None, trials=TRIALS):
    """Checks that the record has `trials` complete trials (0: at least one), each measured once,
    in `runs` runs (None: any number), of which the last ended well."""
    lines = read(job.record(record))
    assert lines[-1]["type"] == "end" and lines[-1]["status"] == 0
    assert runs in (None, sum(line["type"] == "header" for line in lines))
    complete = [
        line["id"] for line in lines if line["type"] == "trial" and line["status"] != "interrupted"
    ]
    assert len(complete) == len(set(complete)) == (trials or max(1, len(complete)))


def check_good(job, read, *nodes):
    """Checks that the job completed in one run, without complaint or advice."""
    assert job.until("COMPLETED") == 0
    for node in nodes:
        check_complete(job, read, node, runs=1)
    assert "not completed" not in job.out() and "to continue" not in job.out()


class Gate:
    """Holds up the trials of a job of MANY: four pass, the others once it is opened, however busy
    the machine is. `shell` is for the job's submission (see src/bench/dummy/dummy.c)."""

    def __init__(self, file):
        self.file = file
        self.shell = {"LOCUS_DUMMY_GATE": str(file)}
        file.touch()
        self.open(4)

    def open(self, trials=TRIALS):
        os.truncate(self.file, trials * STEP)


class Job:
    def __init__(self, number, name, folder, results=None):
        self.id, self.name, self.folder = (
            number,
            name,
            folder,
        )  # the id as SLURM writes it: 7, or 7_2 in an array
        self.given = results
        self.results = folder / (results or f"results/{name}-{number}")

    def __getitem__(self, key):
        """What SLURM knows of it: job["JobState"]."""
        found = re.search(rf"\b{key}=(\S*)", self.shown())
        assert found, f"job {self.id} has no {key}"
        return found[1]

    def __str__(self):
        return f"{self.shown()}\n{self.said()}"

    def shown(self):
        return ask("scontrol", "show", "--oneliner", "job", self.id)

    def said(self):
        """All that it printed."""
        return "".join(
            file.read_text()
            for file in [self.folder / f"slurm-{self.id}.out", *self.results.glob("*.txt")]
            if file.exists()
        )

    def died_in_mpi_init(self):
        return IN_MPI_INIT.search(self.said())

    def out(self):
        """The job's own output, without the tables of its nodes."""
        file = self.folder / f"slurm-{self.id}.out"
        return file.read_text() if file.exists() else ""

    def until(self, *states):
        """Waits for one of the states, and returns the exit status. Any other final state is an
        error at once."""
        state = wait_for(lambda: self["JobState"] in (*states, *FINAL) and self["JobState"], self)
        assert state in states, f"not {states}: {self}"
        return int(self["ExitCode"].split(":")[0])

    def record(self, node="n1"):
        return self.results / f"{node}.jsonl"

    def has(self, text, node="n1", times=1):
        """Waits until its record contains the text; fails if the job ends before."""
        record = self.record(node)

        def holds():
            return record.exists() and record.read_text().count(text) >= times

        wait_for(lambda: holds() or self["JobState"] in FINAL, f"{text} in {record}: {self}")
        assert holds(), f"{text} is not in {record}: {self}"

    def writes(self, text, node="n1", times=1):
        """Waits until its record contains the text, without asking SLURM."""
        record = self.record(node)
        wait_for(
            lambda: record.exists() and record.read_text().count(text) >= times,
            f"{text} in {record}",
        )

    def tasks(self, count):
        return [
            Job(f"{self.id}_{task}", self.name, self.folder, self.given and f"{self.given}_{task}")
            for task in range(1, count + 1)
        ]

    def go_on(self, submit, instead=None, **more):
        """Submits the command that the job advised, or that with another script."""
        found = re.search(
            r"to continue: LOCUS_RESULTS=(\S+) sbatch (--.*?) (\S+\.slurm)(.*)\n", self.said()
        )
        assert found, self
        results, sbatch, script, arguments = found.groups()
        return submit(
            instead or self.folder / script,
            *shlex.split(arguments),
            sbatch=shlex.split(sbatch),
            results=results,
            folder=self.folder,
            **more,
        )

    def cancel(self):
        subprocess.run(["scancel", self.id], check=False)
        wait_for(lambda: self["JobState"] in FINAL, self)

    def start_again(self):
        """Starts a requeued job without SLURM's delay of two minutes. In that time the job would
        end on all nodes, also on a lost one; else its next step might find that node missing, or
        busy for ever. So this waits for that end. It starts 2 s from now, since a node refuses
        credentials that were signed before it saw the job's last end.
        """
        self.until("PENDING")
        wait_until_idle()
        wait_for(
            lambda: not ask("squeue", "--noheader", "--steps", "--jobs", self.id).strip(), self
        )
        ask("scontrol", "update", f"JobId={self.id}", "StartTime=now+2")
