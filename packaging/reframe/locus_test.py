# SPDX-License-Identifier: Apache-2.0
"""ReFrame runs locus on a node of each partition, and holds what it measured against references.

    locus export --format reframe good-nodes/ --output locus.yaml      # beside this file
    reframe -C site.py -c locus_test.py --performance-report -r
    reframe -C site.py -c locus_test.py --distribute=idle -r           # on each idle node

References are by partition, as SLURM named it when the records were made ("alps:cpu"): where
ReFrame's names differ, change them in locus.yaml. Without that file the test tells what it measured
and judges only whether all results are right.

Settings: -S LocusTest.command='latency --variant cycle' (what locus does; by default its quick
suite), -S LocusTest.references=FILE.
"""

import json
import os

import reframe as rfm
import reframe.utility.sanity as sn
import yaml

FAULTS = ("wrong", "misplaced", "failed")
RECORD = "locus.jsonl"


@rfm.simple_test
class LocusTest(rfm.RunOnlyRegressionTest):
    descr = "cost of data placement and sharing on a node"
    command = variable(str, value="suite --profile quick")
    references = variable(str, value="locus.yaml")
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "locus"
    exclusive_access = True
    num_tasks = 1
    time_limit = "10m"

    @run_after("init")
    def read_references(self):
        """Names the file from which ReFrame reads references, and reads the trial of each."""
        path = os.path.join(self.prefix, self.references)
        self.trials = {}
        if os.path.exists(path):
            self.reference = {"$ref": path}
            with open(path, encoding="utf-8") as file:
                self.trials = yaml.safe_load(file).get("trials", {})

    @run_before("run")
    def set_command(self):
        """Asks for all CPUs of the node: else SLURM may bind the task to one."""
        self.executable_opts = [*self.command.split(), "--quiet", "--output", RECORD]
        cpus = self.current_partition.processor.num_cpus
        if cpus:
            self.num_cpus_per_task = cpus

    @sanity_function
    def is_right(self):
        """A whole record, without results that are wrong."""
        lines = self.lines()
        end = lines[-1] if lines else {}
        bad = [t for t in lines if t["type"] == "trial" and t["status"] in FAULTS]
        told = "; ".join(f"{t['benchmark']}/{t['variant']}: {t['reasons'][0]}" for t in bad[:3])
        return sn.all(
            [
                sn.assert_true(end.get("type") == "end", f"{RECORD}: the run was cut off"),
                sn.assert_eq(end.get("signal"), None, "the run was ended by {0}"),
                sn.assert_false(bad, f"{len(bad)} results are wrong: {told}"),
            ]
        )

    @run_before("performance")
    def set_variables(self):
        """Results with a reference for this partition; without any, each variant's headline."""
        wanted = self.trials.get(self.current_partition.fullname) or self.trials.get("*")
        found = self.wanted(wanted) if wanted else self.headlines()
        self.perf_variables = {
            name: sn.make_performance_function(sn.defer(value), unit)
            for name, (value, unit) in found.items()
        }

    def lines(self):
        """The lines of the record, without one that was cut off."""
        path = os.path.join(self.stagedir, RECORD)
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]

    def results(self):
        """By trial and metric: value, unit, BENCHMARK/VARIANT, and the number of threads."""
        units = {}
        for line in self.lines():
            if line["type"] == "benchmark":
                units[line["name"]] = {m["name"]: m["unit"] for m in line["metrics"]}
            elif line["type"] == "trial":
                own = units[line["benchmark"]]
                name = f"{line['benchmark']}/{line['variant']}"
                for metric in own:  # in the order of the benchmark's line: the headline first
                    if metric in line.get("metrics", {}):
                        value = line["metrics"][metric]["value"]
                        yield (line["id"], metric), (value, own[metric], name, line["threads"])

    def wanted(self, trials):
        """A reference whose trial was not measured gets no value, and fails."""
        results = dict(self.results())
        return {
            name: results.get(tuple(key), (float("nan"), ""))[:2] for name, key in trials.items()
        }

    def headlines(self):
        """The headline of each variant, from its first trial with most threads."""
        best = {}
        for (trial, _), (value, unit, name, threads) in self.results():
            if name not in best or (threads > best[name][2] and trial != best[name][3]):
                best[name] = (value, unit, threads, trial)
        return {name: found[:2] for name, found in best.items()}
