# SPDX-License-Identifier: Apache-2.0
"""Whether Apache Spark gives DuckDB's numbers on a store: median, median absolute deviation and
deviation of every host x trial x metric. Run by `make check-spark`, with PYTHON, which has the
report's packages; pyspark is installed from PyPI into spark/ of the build folder, and needs a JRE
(Debian: default-jre-headless). The records are made up: 40 hosts of two classes, 3 runs of each, in
two months.
"""

from __future__ import annotations

import json
import math
import pathlib
import shutil
import subprocess
import sys
from dataclasses import replace
from typing import Any

import duckdb
from locus_analysis import __main__ as program
from make_records import ONE, TWO, latency, numa, record, run_id, write

Rows = list[list[Any]]

FOLDER = pathlib.Path("spark").resolve()
HOSTS, RUNS = 20, 3
# One query for both: only the name of the median function and the place of the table differ.
QUERY = """
WITH own AS (
	SELECT class, host, id, name, {median}(value{half}) AS v FROM {metric}
	WHERE value IS NOT NULL GROUP BY class, host, id, name),
usual AS (
	SELECT class, id, name, {median}(v{half}) AS middle FROM own GROUP BY class, id, name),
apart AS (
	SELECT own.*, middle, abs(v - middle) AS off
	FROM own JOIN usual USING (class, id, name)),
spread AS (
	SELECT class, id, name, {median}(off{half}) AS mad FROM apart GROUP BY class, id, name)
SELECT host, id, name, v, mad, (v - middle) / nullif(1.4826 * mad, 0) AS deviation
FROM apart JOIN spread USING (class, id, name) ORDER BY host, id, name
"""
ON_SPARK = """
import json, sys
from pyspark.sql import SparkSession
store, query = sys.argv[1:]
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false") \\
    .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1") \\
    .config("spark.ui.showConsoleProgress", "false").getOrCreate()
spark.read.parquet(f"{store}/metric").createOrReplaceTempView("metric")
rows = [list(row) for row in spark.sql(query).collect()]
json.dump({"version": spark.version, "rows": rows}, open("rows.json", "w"))
"""


def store() -> pathlib.Path:
    """A store, as locus aggregate makes it."""
    records, made = FOLDER / "records", FOLDER / "store"
    for folder in (records, made):
        shutil.rmtree(folder, ignore_errors=True)
    records.mkdir(parents=True)
    for kind in (ONE, TWO):
        for i in range(HOSTS):
            machine = replace(kind, host=f"{kind.host}-{i:02d}")
            for run in range(RUNS):
                points = latency(kind)[::8] + numa(kind, kernels=("sum",))[:8]
                seed = RUNS * i + run
                name = f"{machine.host}/{run}"
                started = f"2025-0{1 + run % 2}-1{run}T12:00:00.000Z"
                lines = record(machine, points, run_id(name), seed=seed, started=started)
                write(records / f"{machine.host}-{run}.jsonl", lines)
    status = program.main(["aggregate", str(records), "--into", str(made)])
    if status:
        sys.exit(f"spark: locus aggregate ended with status {status}")
    return made


def of_duckdb(made: pathlib.Path) -> Rows:
    metric = f"read_parquet('{made}/metric/*/*.parquet', hive_partitioning = true)"
    query = QUERY.format(median="median", half="", metric=metric)
    return [list(row) for row in duckdb.connect().execute(query).fetchall()]


def of_spark(made: pathlib.Path) -> tuple[str, Rows]:
    """Spark's rows, computed in an environment of its own."""
    python = FOLDER / "venv/bin/python"
    if not python.with_name("ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", FOLDER / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "pyspark"], check=True)
        python.with_name("ready").touch()
    query = QUERY.format(median="percentile", half=", 0.5", metric="metric")
    subprocess.run([python, "-c", ON_SPARK, made, query], check=True, cwd=FOLDER)
    told = json.loads((FOLDER / "rows.json").read_text())
    return told["version"], told["rows"]


def are_equal(a: object, b: object) -> bool:
    """Compares texts exactly, and numbers up to the order of additions."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-12)
    return a == b


def main() -> None:
    if not shutil.which("java"):
        sys.exit("spark: java is missing (Debian: default-jre-headless)")
    FOLDER.mkdir(exist_ok=True)
    made = store()
    ours = of_duckdb(made)
    version, theirs = of_spark(made)
    wrong = [(a, b) for a, b in zip(ours, theirs) if not all(are_equal(x, y) for x, y in zip(a, b))]
    for a, b in wrong[:3]:
        print(f"DuckDB: {a}\nSpark:  {b}")
    if wrong or len(ours) != len(theirs) or not ours:
        sys.exit(f"spark: {len(wrong)} of {len(ours)} rows differ; Spark has {len(theirs)} rows")
    unknown = sum(row[-1] is None for row in ours)
    print(f"Spark {version}: {len(ours)} rows as DuckDB's, {unknown} of them without a deviation")


if __name__ == "__main__":
    main()
