# SPDX-License-Identifier: Apache-2.0
"""packaging/ci: the templates are YAML, their scripts are read by bash, and a job ends as
`locus compare` does, except that it only warns where that cannot tell. locus and git stand in.
And the repository's own jobs: one for each lane."""

import pathlib
import re
import shutil
import subprocess

import pytest

yaml = pytest.importorskip("yaml", reason="pyyaml: analysis/requirements-dev.txt")
ROOT = pathlib.Path(__file__).parents[2]
CI = ROOT / "packaging/ci"


def stand_ins(folder, status):
    """Programs that write down their arguments; locus ends with `status`."""
    (folder / "bin").mkdir()
    for name, ends in (("locus", status), ("git", 0), ("build.sh", 0)):
        program = folder / "bin" / name
        program.write_text(
            f'#!/bin/bash\nprintf "%s\\n" {name} "$@" >>"$ARGUMENTS"\n'
            f'echo "| {name} |"\nexit {ends}\n'
        )
        program.chmod(0o755)


def run(folder, script, variables, status):
    stand_ins(folder, status)
    for name in ("work", "base"):
        (folder / name).mkdir()
    bash = shutil.which("bash") or "bash"
    paths = {"ARGUMENTS": "arguments", "GITHUB_STEP_SUMMARY": "summary", "GITHUB_OUTPUT": "output"}
    given = {name: str(folder / file) for name, file in paths.items()}
    return subprocess.run(
        [bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        env={**variables, **given, "PATH": f"{folder}/bin:/usr/bin:/bin"},
        cwd=folder / "work",
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
    )


def action():
    return yaml.safe_load((CI / "github/action.yml").read_text())


def step(**changes):
    """The script of the action, and its variables with the inputs' defaults."""
    told = action()
    inputs = {name: of.get("default") for name, of in told["inputs"].items()} | changes
    (only,) = told["runs"]["steps"]
    variables = {}
    for name, value in only["env"].items():
        assert value.startswith("${{ inputs.")
        variables[name] = inputs[value.split()[1].removeprefix("inputs.")]
    return only["run"], variables


COMMANDS = {"base": "../base/locus latency", "new": "bin/locus latency"}


@pytest.mark.parametrize(
    ("status", "untold", "ends"),
    [(0, "warn", 0), (1, "warn", 1), (2, "warn", 2), (4, "warn", 0), (4, "fail", 4)],
)
def test_the_action_ends_as_compare_does(tmp_path, status, untold, ends):
    script, variables = step(**COMMANDS, untold=untold)
    ended = run(tmp_path, script, variables, status)
    assert ended.returncode == ends
    assert ("::warning" in ended.stdout) == (status == 4 and untold == "warn")
    assert (tmp_path / "summary").read_text() == "| locus |\n"
    assert (tmp_path / "output").read_text() == f"status={status}\n"


@pytest.mark.parametrize(("require", "more"), [("", ""), ("*", "--require *")])
def test_the_action_measures_in_turn(tmp_path, require, more):
    script, variables = step(**COMMANDS, require=require)
    assert run(tmp_path, script, variables, 0).returncode == 0
    words = "locus compare --measure 8 --keep records --threshold 3% --format md"
    commands = "-- ../base/locus latency -- bin/locus latency"
    told = (tmp_path / "arguments").read_text().split()
    assert told == f"{words} {more} {commands}".split()


@pytest.mark.parametrize(("status", "ends"), [(0, 0), (1, 1), (4, 4)])
def test_the_template_of_gitlab(tmp_path, status, ends):
    """A status of 4 is a warning by allow_failure."""
    job = yaml.safe_load((CI / "gitlab.yml").read_text())[".locus-compare"]
    assert job["allow_failure"] == {"exit_codes": 4} and job["artifacts"]["when"] == "always"
    variables = {**job["variables"], "BUILD": "build.sh", "COMMAND": "bin/locus latency"}
    variables |= {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "REQUIRE": "*"}
    ended = run(tmp_path, "\n".join(job["script"]), variables, status)
    assert ended.returncode == ends
    told = (tmp_path / "arguments").read_text().split("locus\ncompare\n")
    before = "git fetch origin main git worktree add --force ../base FETCH_HEAD build.sh build.sh"
    assert " ".join(told[0].split()) == before
    words = "--measure 8 --keep records --threshold 3% --require *"
    commands = "-- ../base/bin/locus latency -- ./bin/locus latency"
    assert told[1].split() == f"{words} {commands}".split()


def test_each_lane_has_a_job_on_both_hosts():
    files = [ROOT / name for name in (".github/workflows/check.yml", ".gitlab-ci.yml")]
    if not all(file.exists() for file in files):
        pytest.skip("no clone")
    github, gitlab = (yaml.safe_load(file.read_text()) for file in files)
    own = re.search(r"^lanes = (.*)", (ROOT / "test/lanes.am").read_text(), re.MULTILINE)
    assert own
    lanes = {"user", *own[1].split()}
    job = github["jobs"]["lane"]
    assert set(job["strategy"]["matrix"]["lane"]) == lanes
    assert job["steps"][-1]["run"] == "./.ci/run ${{ matrix.lane }}"
    (matrix,) = gitlab["lane"]["parallel"]["matrix"]
    assert set(matrix["LANE"]) == lanes
    assert gitlab["lane"]["script"][-1] == "./.ci/run $LANE"
