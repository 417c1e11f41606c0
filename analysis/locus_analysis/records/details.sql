-- SPDX-License-Identifier: Apache-2.0
-- What else trials (trials.sql) tell: distributions, ratios, values of parameters.

CREATE VIEW distribution AS
SELECT whole, d.id, metric, n, quantiles, buckets
FROM parsed.distribution d JOIN kept USING (shard, run) JOIN part ON part.part = run
WHERE (whole, run, id) IN (SELECT (whole, run, id) FROM placed);

CREATE MACRO above_zero(x) AS CASE WHEN x > 0 THEN x END;

-- Ratios of trials, which are above zero, each with what its benchmark's line says of it. In a
-- trial line `to` is the other trial's threads.
CREATE VIEW ratio AS
WITH declared AS (
	SELECT run, benchmark, unnest(from_json(json->'$.ratios', '[{"name": "VARCHAR",
			"parameter": "VARCHAR", "of": "VARCHAR", "to": "VARCHAR",
			"metric": "VARCHAR"}]')) AS d,
		generate_subscripts(from_json(json->'$.ratios', '["JSON"]'), 1) AS which
	FROM benchmark),
each_one AS (
	SELECT whole, id, position, threads, part, benchmark,
		generate_subscripts(from_json(ratios, '["JSON"]'), 1) AS place,
		unnest(from_json(ratios, '[{"ratio": "BIGINT", "to": "VARCHAR", "trial": "VARCHAR",
			"value": "DOUBLE", "ci": ["DOUBLE"]}]')) AS r
	FROM trial WHERE json_type(ratios) = 'ARRAY')
SELECT whole, id, e.benchmark, position, place, d.name, d.parameter, d.metric,
	CASE WHEN r.to IS NULL THEN d.of ELSE threads::VARCHAR END AS "of",
	coalesce(r.to, d.to) AS "to", r.trial, above_zero(r.value) AS value,
	above_zero(r.ci[1]) AS low, above_zero(r.ci[2]) AS high
FROM each_one e JOIN declared ON run = part AND declared.benchmark = e.benchmark
	AND which = r.ratio + 1;

-- Trials that differ in no parameter, as one of them.
CREATE TABLE setting AS
SELECT alike, any_value(benchmark) AS benchmark, any_value(in_matrix) AS in_matrix,
	any_value(laid_out) AS laid_out, any_value(parameters) AS parameters,
	any_value(threads) AS threads, any_value(bind) AS bind
FROM trial GROUP BY alike;

-- Values of parameters, each once. Threads and their binding vary like parameters, but a layout
-- ("8+0") already tells the threads.
CREATE TABLE parameter AS
WITH name AS (SELECT *, unnest(json_keys(parameters)) AS name,
	generate_subscripts(json_keys(parameters), 1) AS place FROM setting),
units AS (
	SELECT benchmark, d.name, any_value(d.unit) AS unit
	FROM (SELECT benchmark, unnest(from_json(any_value(json)->'$.parameters',
		'[{"name": "VARCHAR", "unit": "VARCHAR"}]')) AS d
		FROM benchmark GROUP BY benchmark, hash)
	GROUP BY benchmark, d.name),
named AS (
	SELECT alike, benchmark, in_matrix, name,
		json_extract_string(parameters, '$."' || name || '"') AS value, place FROM name
	UNION ALL SELECT alike, benchmark, in_matrix, 'threads', threads::VARCHAR, 100
		FROM setting WHERE NOT laid_out
	UNION ALL SELECT alike, benchmark, in_matrix, 'bind', bind, 101
		FROM setting WHERE bind <> 'layout')
SELECT named.*, coalesce(unit, '') AS unit FROM named LEFT JOIN units USING (benchmark, name)
WHERE value IS NOT NULL;
