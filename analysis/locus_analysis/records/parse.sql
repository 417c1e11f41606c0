-- SPDX-License-Identifier: Apache-2.0
-- From lines to the tables of parsed.sql. Variables: shard, the number of their part; lean, whether
-- what stands beside the values is left out.

CREATE TEMP TABLE heading AS
SELECT copy, json->'$' AS header, json->'$.machine' AS machine,
	from_json(json, '{"host": "VARCHAR", "started": "VARCHAR", "rank": "BIGINT",
		"ranks": "BIGINT", "profile": "VARCHAR", "altered": ["VARCHAR"],
		"command": ["VARCHAR"], "resumes": ["VARCHAR"], "series": {"id": "VARCHAR"},
		"machine": {"class": "VARCHAR", "id": "VARCHAR",
			"firmware": {"sys_vendor": "VARCHAR",
			"product_name": "VARCHAR", "board_name": "VARCHAR"}}}') AS h
FROM line WHERE type = 'header';

INSERT INTO parsed.machine
SELECT DISTINCT md5(machine) AS hash, machine FROM heading
WHERE hash NOT IN (SELECT hash FROM parsed.machine);

CREATE TEMP TABLE defined AS
SELECT copy, number, replace(json::VARCHAR, run, '') AS json, md5(replace(json::VARCHAR, run, ''))
	AS hash
FROM line JOIN copied USING (copy) WHERE type = 'benchmark';

INSERT INTO parsed.definition
SELECT hash, json->>'$.name', json->>'$.unit', json->>'$.protocol.text', json->'$.metrics',
	json->'$.counters', json
FROM (SELECT hash, any_value(json)::JSON AS json FROM defined
	WHERE hash NOT IN (SELECT hash FROM parsed.definition) GROUP BY hash);

INSERT INTO parsed.run
WITH ended AS (
	SELECT copy, arg_max(from_json(json, '{"status": "BIGINT", "signal": "VARCHAR",
		"skipped": "BIGINT", "elapsed": "DOUBLE"}'), number) AS e
	FROM line WHERE type = 'end' GROUP BY copy),
trials AS (SELECT copy, count(*) AS trials FROM line WHERE type = 'trial' GROUP BY copy),
own AS (SELECT copy, list(hash ORDER BY number) AS definitions FROM defined GROUP BY copy)
SELECT getvariable('shard'), run, copy, file, line, h.host, h.machine.class,
	nullif(concat_ws(' ', nullif(h.machine.firmware.sys_vendor, ''),
		nullif(h.machine.firmware.product_name, ''),
		nullif(h.machine.firmware.board_name, '')), ''),
	h.machine.id, h.started, h.rank, h.ranks, h.profile, h.altered, h.command, h.resumes,
	-- the runs of a series have the same; `repeats`: it says that it is one of several
	coalesce(h.series.id, concat_ws(' ', file, h.ranks::VARCHAR,
		array_to_string([word FOR word IN h.command
			IF word NOT IN ('--append', '--resume')], ' '))),
	h.series.id IS NOT NULL OR list_contains(h.command, '--append'),
	replace(header, '"machine":' || machine, '"machine":null'), md5(machine),
	coalesce(definitions, []), e IS NOT NULL, e.status, e.signal, e.skipped, e.elapsed, lines,
	coalesce(trials, 0), unfinished
FROM heading JOIN copied USING (copy) LEFT JOIN ended USING (copy) LEFT JOIN trials USING (copy)
	LEFT JOIN own USING (copy);

-- The copy of each run in this shard whose lines count.
CREATE TEMP TABLE counts AS
SELECT copy, run FROM parsed.run WHERE shard = getvariable('shard')
QUALIFY row_number() OVER (PARTITION BY run
	ORDER BY ended DESC, trials DESC, lines DESC, copy) = 1;
DELETE FROM line WHERE copy NOT IN (SELECT copy FROM counts);

CREATE TEMP TABLE of_trial AS
WITH one AS (
	SELECT copy, number AS line, from_json(json, '{"id": "VARCHAR", "benchmark": "VARCHAR",
			"variant": "VARCHAR",
			"parameters": "JSON", "threads": "BIGINT", "bind": "VARCHAR",
			"status": "VARCHAR", "reasons": ["VARCHAR"], "notes": ["VARCHAR"],
			"metrics": "MAP(VARCHAR, numbers)", "samples": "JSON",
			"placement": "JSON", "scale": "DOUBLE",
			"batches": {"allocations": ["BIGINT"],
				"metrics": "MAP(VARCHAR, DOUBLE[])"},
			"cycle": "DOUBLE", "ratios": "JSON", "pairs": "JSON",
			"counters": "JSON", "kernel": "JSON", "kernel_unknown": ["VARCHAR"],
			"counting": "JSON", "oversubscribed": "BOOLEAN", "cpus": ["BIGINT"],
			"region": "JSON",
			"noise": {"wall": "DOUBLE", "foreign": "DOUBLE"}}') AS t
	FROM line WHERE type = 'trial'),
with_samples AS (
	SELECT *, from_json(t.samples, '{"n": "BIGINT", "modes": [{"time": "DOUBLE",
		"share": "DOUBLE"}], "crowded": {"share": "DOUBLE", "aside": "BOOLEAN"}}') AS s
	FROM one)
SELECT run, copy, line, t, t.batches.metrics['time'] AS batch_times, t.metrics['time'] AS time,
	map_keys(t.batches.metrics) AS varied, coalesce(t.reasons, []) AS reasons,
	s.n IS NOT NULL AS sampled,
	[{'time': m.time * t.scale, 'share': m.share} FOR m IN s.modes] AS modes,
	CASE WHEN NOT s.crowded.aside THEN s.crowded.share END AS crowded
FROM with_samples JOIN counts USING (copy);

INSERT INTO parsed.trial
-- In the line's `scale`, which no spread depends on.
WITH estimated AS (SELECT *, by_allocation(batch_times, t.batches.allocations) AS estimates
	FROM of_trial)
SELECT getvariable('shard'), run, line, t.id, t.benchmark, t.variant, coalesce(t.parameters, '{}'),
	t.threads, t.bind, coalesce(t.cpus, []), coalesce(t.oversubscribed, false), t.status,
	reasons, coalesce(beside(t.notes), []),
	CASE WHEN time IS NOT NULL THEN {'value': time.value, 'ci': time.ci,
		'with_noise': time.with_noise, 'range': time.range} END,
	t.cycle, modes,
	list_median([spread(one) FOR one IN estimates]),
	spread([list_median(one) FOR one IN estimates]),
	list_sum(t.batches.allocations)::BIGINT, beside(batch_times), t.scale,
	varied,
	t.noise.wall, t.noise.foreign, (t.kernel->>'$.steal')::DOUBLE,
	crowded, t.variant = 'matrix' AND json_exists(t.parameters, '$.from')
		AND json_exists(t.parameters, '$.to'),
	regexp_full_match(coalesce(t.parameters->>'$.from', t.parameters->>'$.layout', ''),
		'[0-9]+([+][0-9]+)*'),
	beside(t.samples), beside(coalesce(t.placement->'$.after', t.placement)), beside(t.ratios),
	beside(t.pairs), beside(t.counters), beside(t.kernel), coalesce(t.kernel_unknown, []),
	beside(t.counting), beside(t.region)
FROM estimated;

-- One that has no value was not reported, or there was no sample. `modes`: both, of a trial's time
-- and of what follows from it, where there is no single value.
INSERT INTO parsed.metric
WITH described AS (
	SELECT hash, benchmark, unnest(from_json(metrics, '[{"name": "VARCHAR", "unit": "VARCHAR",
			"better": "VARCHAR", "kind": "VARCHAR"}]')) AS d,
		generate_subscripts(from_json(metrics, '["JSON"]'), 1) AS place
	FROM parsed.definition WHERE hash IN (SELECT hash FROM defined)),
of_run AS (SELECT copy, described.* FROM described JOIN defined USING (hash)),
found AS (
	SELECT run, line, t.id, place, d, sampled, reasons, d.kind = 'rate' AS is_rate,
		t.metrics[d.name] AS m, time, modes, list_contains(varied, d.name) AS varies
	FROM of_trial o JOIN of_run ON of_run.copy = o.copy AND of_run.benchmark = t.benchmark),
-- `t`: the time, where what is left out follows from it.
timed AS (SELECT *, CASE WHEN m.value IS NOT NULL AND NOT varies THEN time END AS t
	FROM found)
SELECT getvariable('shard'), run, line, id, place, d.name, d.unit, d.better, d.kind, m.value,
	coalesce(m.ci[1], follows(m.value, is_rate, t.value, t.ci[2])),
	coalesce(m.ci[2], follows(m.value, is_rate, t.value, t.ci[1])),
	coalesce(m.range, CASE WHEN t.range.of IS NOT NULL THEN {'of': t.range.of,
		'low': follows(m.value, is_rate, t.value, t.range.high),
		'high': follows(m.value, is_rate, t.value, t.range.low)} END),
	coalesce(m.with_noise, follows(m.value, is_rate, t.value, t.with_noise), m.value),
	CASE WHEN is_rate OR d.name = 'time' THEN
		[{'value': CASE WHEN is_rate THEN m.value * time.value / x.time ELSE x.time END,
		'share': x.share} FOR x IN modes] END,
	m.by_worker,
	CASE WHEN m.value IS NULL AND sampled
		THEN 'not reported for this trial'
		WHEN m.value IS NULL THEN coalesce(reasons[1], 'not measured') END
FROM timed;

INSERT INTO parsed.pair
SELECT getvariable('shard'), run, number, m.trial, m.a, m.b, m.level, m.n, m."0", m."0.25", m."0.5",
	m."0.75", m."0.99"
FROM (SELECT copy, number, from_json(json, '{"trial": "VARCHAR", "a": ["BIGINT"],
		"b": ["BIGINT"], "level": ["VARCHAR"], "n": ["BIGINT"], "0": ["DOUBLE"],
		"0.25": ["DOUBLE"], "0.5": ["DOUBLE"], "0.75": ["DOUBLE"],
		"0.99": ["DOUBLE"]}') AS m
	FROM line WHERE type = 'matrix') JOIN counts USING (copy);

-- All values of a metric, as counts: bucket b begins at 2^(b div 64 - 64) * (1 + (b mod 64) / 64).
INSERT INTO parsed.distribution
SELECT getvariable('shard'), run, number, d.trial, d.metric, d.n, d.quantiles, d.buckets
FROM (SELECT copy, number, from_json(json, '{"trial": "VARCHAR", "metric": "VARCHAR",
		"n": "BIGINT", "quantiles": "JSON", "buckets": "JSON"}') AS d
	FROM line WHERE type = 'distribution') JOIN counts USING (copy);

INSERT INTO parsed.other
SELECT getvariable('shard'), run, number, type, json
FROM line JOIN counts USING (copy)
WHERE type IN ('row', 'peer', 'samples', 'soak', 'soak-verdict', 'health');

DELETE FROM copied;
DROP TABLE heading;
DROP TABLE defined;
DROP TABLE counts;
DROP TABLE of_trial;
