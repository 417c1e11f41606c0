-- SPDX-License-Identifier: Apache-2.0
-- From lines to trials, and what each measured. database.py fills `line`, and `host`: the machine
-- of each run by a name that no other has.

-- What a record leaves to its readers, since it follows from the estimates of the batches: how far
-- they lie apart, as (max - min) / median. `allocations` has the number of batches in each.
CREATE MACRO known(l) AS [x FOR x IN l IF x IS NOT NULL];
CREATE MACRO spread(l) AS CASE WHEN len(l) > 1
	THEN (list_max(l) - list_min(l)) / nullif(list_median(l), 0) END;
CREATE MACRO by_allocation(times, allocations) AS
	[known(times[list_sum(allocations[:i]) - allocations[i] + 1:list_sum(allocations[:i])])
	FOR i IN range(1, len(allocations) + 1)];

-- A metric of a trial line. Intervals that it leaves out follow from that of the time, end by end:
-- a rate is an amount over the time; any other such metric had its value in all batches.
CREATE MACRO numbers(m) AS from_json(m, '{"value": "DOUBLE", "ci": ["DOUBLE"],
	"with_noise": "DOUBLE", "range": {"of": "BIGINT", "low": "DOUBLE", "high": "DOUBLE"}}');
CREATE MACRO follows(value, is_rate, time, bound) AS CASE WHEN is_rate THEN value * time / bound
	WHEN bound IS NOT NULL THEN value END;

CREATE TABLE run AS
SELECT run, file, host, (json->>'$.rank')::BIGINT AS rank,
	(json->>'$.ranks')::BIGINT AS ranks,
	json->>'$.started' AS started, json->>'$.profile' AS profile,
	from_json(json->'$.altered', '["VARCHAR"]') AS altered,
	from_json(json->'$.command', '["VARCHAR"]') AS command,
	from_json(json->'$.resumes', '["VARCHAR"]') AS resumes, json AS header,
	-- the runs of a series have the same; `repeats`: it says that it is one of several
	coalesce(json->>'$.series.id', concat_ws(' ', file, json->>'$.ranks',
		array_to_string([word FOR word IN from_json(json->'$.command', '["VARCHAR"]')
			IF word NOT IN ('--append', '--resume')], ' '))) AS series,
	json->>'$.series.id' IS NOT NULL
		OR list_contains(from_json(json->'$.command', '["VARCHAR"]'), '--append')
			AS repeats,
	row_number() OVER (ORDER BY json->>'$.started', run) AS ordinal
FROM line JOIN host USING (run) WHERE type = 'header';

-- What --resume went on with is one whole: named by the last run, which nobody resumed. A run of
-- another host is none of it.
CREATE TABLE part AS
WITH named AS (SELECT run, host, unnest(resumes) AS part FROM run),
resumed AS (SELECT named.run, part FROM named JOIN run ON run.run = part AND run.host = named.host)
SELECT run AS whole, run AS part FROM run WHERE run NOT IN (SELECT part FROM resumed)
UNION
SELECT run, part FROM resumed WHERE run NOT IN (SELECT part FROM resumed);

-- What each run says of its benchmarks.
CREATE TABLE benchmark AS
SELECT run, json->>'$.name' AS benchmark, json->>'$.unit' AS unit,
	json->>'$.protocol.text' AS protocol, json->'$.metrics' AS metrics,
	json->'$.counters' AS counters, json
FROM line WHERE type = 'benchmark';

-- Of a trial that a whole has several times, the last counts: that of the run which resumed most,
-- for clocks may be set back.
CREATE TABLE trial AS
WITH named AS (
	SELECT part.whole, part.part, json->>'$.id' AS id, len(run.resumes) AS resumed, run.ordinal,
		line.rowid AS line, number
	FROM line JOIN part ON line.run = part.part JOIN run ON line.run = run.run
	WHERE type = 'trial'),
last AS (SELECT * FROM named
	QUALIFY row_number() OVER (PARTITION BY whole, id ORDER BY resumed DESC, number DESC) = 1),
placed AS (SELECT *, row_number() OVER (ORDER BY ordinal, number) AS position FROM last),
-- Each line is parsed once, and no window holds its text.
told AS (
	SELECT whole, part, id, file, line.number, position,
		from_json(json, '{"benchmark": "VARCHAR", "variant": "VARCHAR",
			"parameters": "JSON", "threads": "BIGINT", "bind": "VARCHAR",
			"status": "VARCHAR", "reasons": ["VARCHAR"], "notes": ["VARCHAR"],
			"metrics": "JSON", "samples": "JSON", "placement": "JSON",
			"scale": "DOUBLE",
			"batches": {"allocations": ["BIGINT"], "metrics": "JSON"},
			"cycle": "DOUBLE", "ratios": "JSON", "pairs": "JSON",
			"counters": "JSON", "kernel": "JSON", "kernel_unknown": ["VARCHAR"],
			"counting": "JSON", "oversubscribed": "BOOLEAN", "cpus": ["BIGINT"]}') AS t
	FROM line JOIN placed ON placed.line = line.rowid),
-- In the line's `scale`, which no spread depends on.
estimated AS (SELECT *, by_allocation(from_json(t.batches.metrics->'$.time', '["DOUBLE"]'),
		t.batches.allocations) AS estimates,
	numbers(t.metrics->'$.time') AS time FROM told),
-- Cells of pairs have a line of their own.
matrix AS (SELECT run, json->>'$.trial' AS trial, any_value(json) AS cells FROM line
	WHERE type = 'matrix' GROUP BY ALL)
SELECT whole, part, estimated.id, file, number, position, t.benchmark, t.variant,
	coalesce(t.parameters, '{}') AS parameters, t.threads, t.bind, b.protocol, t.status,
	coalesce(t.reasons, []) AS reasons, coalesce(t.notes, []) AS notes, t.metrics, t.samples,
	coalesce(t.placement->'$.after', t.placement) AS placement,
	list_median(known([spread(one) FOR one IN estimates])) AS spread_within,
	spread(known([list_median(one) FOR one IN estimates])) AS spread_between,
	time, time.value / t.cycle AS cycles, t.ratios,
	CASE WHEN cells IS NULL THEN t.pairs
		ELSE json_merge_patch(t.pairs, json_object('cells', cells)) END AS pairs,
	[{'time': m.time * t.scale, 'share': m.share} FOR m IN from_json(t.samples->'$.modes',
		'[{"time": "DOUBLE", "share": "DOUBLE"}]')] AS modes,
	list_sum(t.batches.allocations)::BIGINT AS batches,
	json_keys(t.batches.metrics) AS varied, t.counters, t.kernel,
	coalesce(t.kernel_unknown, []) AS kernel_unknown, t.counting,
	coalesce(t.oversubscribed, false) AS oversubscribed, coalesce(t.cpus, []) AS cpus,
	t.variant = 'matrix' AND json_exists(t.parameters, '$.from')
		AND json_exists(t.parameters, '$.to') AS in_matrix,
	regexp_full_match(coalesce(t.parameters->>'$.from', t.parameters->>'$.layout', ''),
		'[0-9]+([+][0-9]+)*') AS laid_out
FROM estimated LEFT JOIN benchmark b ON b.run = part AND b.benchmark = t.benchmark
	LEFT JOIN matrix ON matrix.run = part AND matrix.trial = estimated.id;

-- One that has no value was not reported, or there was no sample. `modes`: both, of a trial's time
-- and of what follows from it, where there is no single value.
CREATE TABLE metric AS
WITH described AS (
	SELECT run, benchmark, unnest(from_json(metrics, '[{"name": "VARCHAR", "unit": "VARCHAR",
			"better": "VARCHAR", "kind": "VARCHAR"}]')) AS d,
		generate_subscripts(from_json(metrics, '["JSON"]'), 1) AS place
	FROM benchmark),
found AS (
	SELECT whole, id, place, d, samples, reasons, d.kind = 'rate' AS is_rate,
		numbers(t.metrics->('$."' || d.name || '"')) AS m, time, modes,
		list_contains(varied, d.name) AS varies
	FROM trial t JOIN described ON run = part AND described.benchmark = t.benchmark),
-- `t`: the time, where what is left out follows from it.
timed AS (SELECT *, CASE WHEN m.value IS NOT NULL AND NOT varies THEN time END AS t FROM found)
SELECT whole, id, place, d.name, d.unit, d.better, d.kind, m.value,
	coalesce(m.ci[1], follows(m.value, is_rate, t.value, t.ci[2])) AS low,
	coalesce(m.ci[2], follows(m.value, is_rate, t.value, t.ci[1])) AS high,
	coalesce(m.range, CASE WHEN t.range.of IS NOT NULL THEN {'of': t.range.of,
		'low': follows(m.value, is_rate, t.value, t.range.high),
		'high': follows(m.value, is_rate, t.value, t.range.low)} END) AS range,
	coalesce(m.with_noise, follows(m.value, is_rate, t.value, t.with_noise), m.value)
		AS with_noise,
	CASE WHEN is_rate OR d.name = 'time' THEN
		[{'value': CASE WHEN is_rate THEN m.value * time.value / x.time ELSE x.time END,
		'share': x.share} FOR x IN modes] END AS modes,
	CASE WHEN m.value IS NULL AND json_type(samples) = 'OBJECT'
		THEN 'not reported for this trial'
		WHEN m.value IS NULL THEN coalesce(reasons[1], 'not measured') END AS why
FROM timed;

-- The values of metrics that were reported by worker, by the CPU of each.
CREATE VIEW by_cpu AS
WITH named AS (SELECT whole, id, benchmark, position, cpus, metrics,
	unnest(json_keys(metrics)) AS metric FROM trial),
listed AS (SELECT *, from_json(metrics->('$."' || metric || '".by_worker'), '["DOUBLE"]') AS own
	FROM named),
each_one AS (SELECT *, unnest(own) AS value, generate_subscripts(own, 1) AS worker FROM listed)
SELECT whole, id, benchmark, position, metric, worker, cpus[worker] AS cpu, value
FROM each_one WHERE value IS NOT NULL AND len(cpus) = len(own);
