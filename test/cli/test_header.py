# SPDX-License-Identifier: Apache-2.0
"""The header of a record: where, how and in which job it was measured."""

import re
from pathlib import Path

import pytest


def test_header_tells_who_bound_us(locus, tmp_path, read, cpus):
    file = tmp_path / "bound.jsonl"
    locus(
        "dummy --variant steady --repeats 1 --output", file, prefix=["taskset", "-c", str(cpus[-1])]
    )
    header = read(file)[0]
    assert header["binding"]["affinity"] == [cpus[-1]]
    if len(cpus) > 1:
        assert header["binding"]["bound_by"] in ("taskset or cpuset", "SLURM")
    trial = next(line for line in read(file) if line["type"] == "trial")
    assert trial["cpus"] == [cpus[-1]]


def test_a_map_of_openmp_is_kept(locus, tmp_path, read, cpus):
    if len(cpus) < 2:
        pytest.skip("one CPU")
    file = tmp_path / "places.jsonl"
    places = ",".join(f"{{{cpu}}}" for cpu in reversed(cpus[:2]))
    map_of_openmp = {"OMP_PLACES": places, "OMP_PROC_BIND": "true", "OMP_NUM_THREADS": "2"}
    locus("dummy --variant steady --threads 2 --repeats 1 --output", file, env=map_of_openmp)
    header, *rest = read(file)
    assert (
        header["binding"]["bound_by"] == "OMP_PROC_BIND"
        and header["binding"]["inherited"] == cpus[1::-1]
    )
    trial = next(line for line in rest if line["type"] == "trial")
    assert trial["bind"] == "inherited" and trial["cpus"] == cpus[1::-1]


def test_oversubscription_is_recorded(locus, tmp_path, trials, cpus):
    file = tmp_path / "over.jsonl"
    n = len(cpus) + 1
    done = locus(
        "dummy --variant steady --threads", n, "--oversubscribe", "--repeats", "2", "--output", file
    )
    assert done.status == 0
    trial = trials(file)["steady"]
    assert (
        trial["oversubscribed"] and trial["threads"] == n and "oversubscribed" in trial["identity"]
    )


def test_job_of_slurm(locus, tmp_path, read):
    file = tmp_path / "job.jsonl"
    job = {
        "SLURM_JOB_ID": "77",
        "SLURM_ARRAY_TASK_ID": "3",
        "SLURM_JOB_NUM_NODES": "2",
        "SLURM_RESTART_COUNT": "1",
        "SLURM_CLUSTER_NAME": "alps",
        "SLURM_JOB_PARTITION": "cpu",
    }
    locus("dummy --variant steady --repeats 1 --output", file, env=job)
    job = read(file)[0]["job"]
    assert job["system"] == "slurm" and job["id"] == "77" and job["array_task"] == "3"
    assert (job["cluster"], job["partition"]) == ("alps", "cpu")


def test_tags_are_in_the_header(locus, tmp_path, read):
    file = tmp_path / "tags.jsonl"
    command = "dummy --variant steady --repeats 1 --output"
    tags = {"campaign": "may 2027", "Rack_7.b-2": "a=b", "empty": "", "byte": "\udcff"}
    words = [word for key, value in tags.items() for word in ("--tag", f"{key}={value}")]
    assert locus(command, file, *words).status == 0
    assert read(file)[0]["tags"] == {**tags, "byte": r"\xff"}
    assert locus(command, file, "--append").status == 0
    assert [line["tags"] for line in read(file) if line["type"] == "header"][1] == {}


def test_the_machine_has_a_class_and_the_program_a_checksum(locus, tmp_path, read):
    """Both are the same in each run."""
    headers = []
    for i in range(2):
        file = tmp_path / f"{i}.jsonl"
        words = "dummy --variant steady --repeats 1 --output"
        assert locus(words, file, *(["--bind", "0"] if i else [])).status == 0
        headers.append(read(file)[0])
    one, other = headers
    assert one["machine"]["class"] == other["machine"]["class"]
    assert one["program"]["checksum"] == other["program"]["checksum"]
    assert re.fullmatch("[0-9a-f]{16}", one["machine"]["class"])


def test_the_machines_id_is_no_id_of_the_system(locus, tmp_path, read):
    file = tmp_path / "one.jsonl"
    assert locus("dummy --variant steady --repeats 1 --output", file).status == 0
    machine = read(file)[0]["machine"]
    if machine["id"] is None:
        assert "/etc/machine-id" in machine["id_why"]
    else:
        assert re.fullmatch("fnv1a64:[0-9a-f]{16}", machine["id"])
    for source in (Path("/etc/machine-id"), Path("/sys/class/dmi/id/product_uuid")):
        if source.exists() and (text := source.read_text().strip()):
            assert text not in file.read_text()
