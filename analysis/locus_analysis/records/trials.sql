-- SPDX-License-Identifier: Apache-2.0
-- From what each line tells (parsed.sql) to trials: runs that resumed each other are one whole, and
-- of a trial that it has several times the last counts. database.py fills `host`: the machine of
-- each run by a name that no other has; and `chosen`: the copy of each run that counts.

CREATE TABLE kept AS
SELECT r.* EXCLUDE (host), r.host AS name, h.host,
	row_number() OVER (ORDER BY started, run) AS ordinal
FROM parsed.run r JOIN chosen USING (shard, copy) JOIN host h USING (run);

CREATE TABLE run AS
SELECT run, file, host, rank, ranks, started, profile, altered, command, resumes,
	whole_header(header, m.json) AS header, series, repeats, ordinal
FROM kept JOIN (SELECT hash, any_value(json) AS json FROM parsed.machine GROUP BY hash) m
	ON m.hash = machine;

-- What --resume went on with is one whole: named by the last run, which nobody resumed. A run of
-- another host is none of it.
CREATE TABLE part AS
WITH named AS (SELECT run, host, unnest(resumes) AS part FROM run),
resumed AS (SELECT named.run, part FROM named JOIN run ON run.run = part AND run.host = named.host)
SELECT run AS whole, run AS part FROM run WHERE run NOT IN (SELECT part FROM resumed)
UNION
SELECT run, part FROM resumed WHERE run NOT IN (SELECT part FROM resumed);

-- What each run says of its benchmarks. `place`: in the order of their lines.
CREATE VIEW benchmark AS
WITH own AS (SELECT run, unnest(definitions) AS hash,
	generate_subscripts(definitions, 1) AS place FROM kept),
defined AS (FROM parsed.definition QUALIFY row_number() OVER (PARTITION BY hash) = 1)
SELECT run, hash, benchmark, unit, protocol, metrics, counters, json, place FROM own
	JOIN defined USING (hash);

-- Of a trial that a whole has several times, the last counts: that of the run which resumed most,
-- for clocks may be set back. `position`: their order, by run and line.
CREATE TABLE placed AS
WITH last AS (
	SELECT whole, kept.shard, t.run, t.line, t.id, t.benchmark, ordinal
	FROM parsed.trial t JOIN kept ON kept.run = t.run AND kept.shard = t.shard
		JOIN part ON part.part = t.run
	QUALIFY row_number() OVER (PARTITION BY whole, id
		ORDER BY len(resumes) DESC, t.line DESC) = 1)
SELECT *, (ordinal << 32) + line AS position FROM last;

CREATE VIEW cells AS
SELECT shard, run, id, any_value(json_object('type', 'matrix', 'run', run, 'trial', id, 'a', a,
	'b', b, 'level', level, 'n', n, '0', least, '0.25', lower, '0.5', median, '0.75', upper,
	'0.99', most)) AS cells
FROM parsed.pair GROUP BY ALL;

-- `alike`: the same for trials, of many hosts, that differ in no parameter.
CREATE VIEW trial AS
SELECT whole, run AS part, id, file, line AS number, position, t.benchmark, variant, parameters,
	threads, bind, protocol, status, reasons, notes, samples, placement, spread_within,
	spread_between, time, time.value / cycle AS cycles, ratios,
	CASE WHEN cells IS NULL THEN pairs
		ELSE json_merge_patch(pairs, json_object('cells', cells)) END AS pairs,
	modes, batches, batch_times, scale, varied, t.counters, kernel, kernel_unknown, counting,
	region, oversubscribed, cpus, in_matrix, laid_out,
	hash(t.benchmark, in_matrix, laid_out, parameters, threads, bind) AS alike
FROM parsed.trial t JOIN placed USING (shard, run, line, id, benchmark)
	JOIN (SELECT run, file FROM kept) USING (run)
	LEFT JOIN (SELECT run, benchmark, protocol FROM benchmark) b USING (run, benchmark)
	LEFT JOIN cells USING (shard, run, id);

CREATE VIEW metric AS
SELECT whole, id, placed.benchmark, place, name, unit, better, kind, value, low, high, range,
	with_noise, modes, why
FROM parsed.metric JOIN placed USING (shard, run, line, id);

-- The values of metrics that were reported by worker, by the CPU of each.
CREATE VIEW by_cpu AS
WITH listed AS (
	SELECT whole, m.id, t.benchmark, position, cpus, name AS metric, by_worker AS own
	FROM parsed.metric m JOIN placed USING (shard, run, line, id)
		JOIN parsed.trial t USING (shard, run, line, id)
	WHERE by_worker IS NOT NULL),
each_one AS (SELECT *, unnest(own) AS value, generate_subscripts(own, 1) AS worker FROM listed)
SELECT whole, id, benchmark, position, metric, worker, cpus[worker] AS cpu, value
FROM each_one WHERE value IS NOT NULL AND len(cpus) = len(own);
