-- SPDX-License-Identifier: Apache-2.0
-- What the report shows, from trials (trials.sql). database.py makes two more tables:
-- words_of(name, value, unit, label) has each parameter in words; each combination of those in
-- panel_parameter(benchmark, name) gets a panel of its own, and the others tell its rows apart.

CREATE TABLE label AS
WITH named AS (
	SELECT parameter.*, label,
		count(DISTINCT value) OVER (PARTITION BY benchmark, in_matrix, name) > 1 AS varies,
		CASE WHEN in_matrix AND name IN ('from', 'to') THEN 'axis'
			WHEN in_matrix OR (benchmark, name) IN
				(SELECT (benchmark, name) FROM panel_parameter) THEN 'panel'
			ELSE 'point' END AS role
	FROM parameter JOIN words_of USING (name, value, unit))
SELECT alike,
	coalesce(string_agg(label, ', ' ORDER BY place)
		FILTER (varies AND role = 'panel'), '') AS panel,
	coalesce(string_agg(label, ', ' ORDER BY place)
		FILTER (varies AND role = 'point'), '') AS point,
	coalesce(string_agg(label, ', ' ORDER BY place)
		FILTER (varies AND role <> 'axis'), '') AS setting,
	coalesce(string_agg(label, ', ' ORDER BY place), '') AS everything
FROM setting LEFT JOIN named USING (alike)
GROUP BY alike;

-- The order of everything that is shown; `flag` is the number under which a trial that is not ok
-- stands in the table of flaws, and in every picture. The order is found from few columns: a window
-- would copy all of them. A trial has a headline if its benchmark has a metric.
-- Many hosts are described from this table alone: joining their trials takes longer.
CREATE TABLE shown AS
WITH named AS MATERIALIZED (
	SELECT whole, id, position, t.benchmark, in_matrix, variant, status, alike, panel, ordinal
	FROM trial t JOIN label USING (alike) JOIN run w ON w.run = whole
		SEMI JOIN (FROM benchmark WHERE json_array_length(metrics) > 0) b
			ON b.run = t.part AND b.benchmark = t.benchmark),
benchmarks AS (SELECT benchmark, min(position) AS benchmark_place FROM named GROUP BY ALL),
panels AS (SELECT ordinal, benchmark, in_matrix, panel, min(position) AS panel_place
	FROM named GROUP BY ALL),
variants AS (SELECT ordinal, benchmark, in_matrix, variant, min(position) AS variant_place
	FROM named GROUP BY ALL),
ordered AS (
	FROM named JOIN benchmarks USING (benchmark)
		JOIN panels USING (ordinal, benchmark, in_matrix, panel)
		JOIN variants USING (ordinal, benchmark, in_matrix, variant)),
placed AS (
	SELECT whole, id, position, benchmark, variant, status, alike, row_number() OVER (
		ORDER BY benchmark_place, ordinal, in_matrix, panel_place, variant_place, position)
		AS place
	FROM ordered)
SELECT whole, id, position, place, benchmark, variant, status, alike, CASE WHEN status <> 'ok'
	THEN row_number() OVER (PARTITION BY status <> 'ok' ORDER BY place) END AS flag
FROM placed;

-- What pictures and tables show of a trial: its headline, the first metric.
CREATE VIEW headline AS
WITH own AS (SELECT * EXCLUDE (benchmark, place), modes AS two FROM metric WHERE place = 1)
SELECT whole, part, id, place, t.benchmark, t.variant, t.status, reasons, notes, in_matrix,
	parameters, threads, panel, point, setting, everything, host,
	name AS metric, unit, better, value, low, high, range, with_noise, why, two AS modes, flag,
	(samples->>'$.n')::BIGINT AS n, batches,
	(samples->>'$.noisy')::BIGINT AS noisy, (samples->>'$.crowded.share')::DOUBLE AS crowded,
	spread_within, spread_between,
	CASE WHEN json_type(placement) = 'OBJECT'
		THEN coalesce(placement->>'$.how', 'verified') END AS how,
	(placement->>'$.local_share')::DOUBLE AS local_share
FROM shown JOIN trial t USING (whole, id) JOIN label ON label.alike = shown.alike
	JOIN own USING (whole, id)
	JOIN (SELECT run AS whole, host FROM run) USING (whole);

-- Nodes of the machines. A layout ("8+0") has a number for each node with CPUs: `place` counts
-- those, `places` is how many there are.
CREATE TABLE node AS
WITH n AS (SELECT run, unnest(from_json(header->'$.machine.topology.nodes',
	'[{"node": "BIGINT", "cpus": ["BIGINT"], "memory_only": "BOOLEAN"}]')) AS n FROM run),
named AS (SELECT run, n.node, n.memory_only, NOT n.memory_only AND len(n.cpus) > 0 AS has_cpus
	FROM n)
SELECT run, node, memory_only, count(*) FILTER (has_cpus) OVER (PARTITION BY run) AS places,
	CASE WHEN has_cpus
		THEN count(*) FILTER (has_cpus) OVER (PARTITION BY run ORDER BY node) END AS place
FROM named;

-- The node x node matrix: threads on the one node that `from` fills, memory on node `to`.
CREATE VIEW cell AS
WITH named AS (
	SELECT h.*, parameters->>'$.from' AS "from", parameters->>'$.to' AS "to",
		[try_cast(x AS BIGINT) FOR x IN string_split(parameters->>'$.from', '+')] AS filled
	FROM headline h WHERE in_matrix)
SELECT c.*, coalesce(t.node::VARCHAR, "from") AS threads_node, t.node AS threads_order,
	try_cast("to" AS BIGINT) AS memory_order,
	"to" || CASE WHEN m.memory_only THEN ' (memory only)' ELSE '' END AS memory_node,
	max(value) OVER same AS greatest, min(value) OVER same AS least
FROM named c
LEFT JOIN node t ON t.run = c.whole AND t.places = len(filled)
	AND len([x FOR x IN filled IF x <> 0]) = 1
		AND t.place = list_position([x <> 0 FOR x IN filled], true)
LEFT JOIN node m ON m.run = c.whole AND m.node::VARCHAR = "to"
WINDOW same AS (PARTITION BY c.whole, benchmark, variant, panel);

-- Trials with all that they measured and are compared with, for sections that draw more than the
-- headline. `huge`: the share of the bytes that lay on huge pages.
CREATE VIEW told AS
WITH measured AS (
	SELECT whole, id, benchmark, object(list(to_json(name) || ':' || to_json({'value': value,
		'low': low, 'high': high, 'range': range, 'with_noise': with_noise, 'modes': modes,
		'unit': unit, 'kind': kind, 'why': why}) ORDER BY place)) AS metrics
	FROM metric GROUP BY whole, id, benchmark),
compared AS (
	SELECT whole, id, benchmark, to_json(list({'name': name, 'parameter': parameter,
		'metric': metric, 'of': "of", 'to': "to", 'trial': trial, 'value': value,
		'low': low, 'high': high} ORDER BY place)) AS ratios
	FROM ratio GROUP BY whole, id, benchmark),
w AS MATERIALIZED (SELECT run, rank, ranks, header->>'$.machine.cpu.model' AS cpu FROM run)
SELECT h.* EXCLUDE (parameters), t.bind, t.oversubscribed, t.parameters, t.pairs,
	t.cycles, t.modes AS time_modes, CASE WHEN NOT json_exists(placement, '$.huge_bytes_why')
		THEN coalesce((placement->>'$.huge_bytes')::DOUBLE, 0)
			/ nullif((placement->>'$.pages')::DOUBLE
				* (placement->>'$.page')::DOUBLE, 0) END AS huge,
	measured.metrics, coalesce(compared.ratios, '[]') AS ratios,
	rank, ranks, cpu
FROM headline h JOIN measured USING (whole, id, benchmark)
	LEFT JOIN compared USING (whole, id, benchmark) JOIN trial t USING (whole, id)
	JOIN w ON w.run = h.whole;

-- What other libraries took for the same work.
CREATE TABLE peer AS
SELECT run, row_number() OVER (ORDER BY ordinal, other.line) AS place,
	json->>'$.benchmark' AS benchmark, json->>'$.case' AS work,
	json->'$.parameters' AS parameters, (json->>'$.threads')::BIGINT AS threads,
	json->>'$.peer' AS peer, json->>'$.version' AS version, (json->>'$.pairs')::BIGINT AS pairs,
	(json->>'$.ours')::DOUBLE AS ours, (json->>'$.theirs')::DOUBLE AS theirs,
	(json->>'$.ratio')::DOUBLE AS value,
	(json->>'$.ci[0]')::DOUBLE AS low, (json->>'$.ci[1]')::DOUBLE AS high,
	(json->>'$.goal')::DOUBLE AS goal,
	json->>'$.agreement' AS agreement
FROM parsed.other JOIN kept USING (shard, run) WHERE type = 'peer';

-- What became of each run.
CREATE TABLE outcome AS
SELECT run.*, exit_status, signal, skipped, elapsed, ended, trials, unfinished,
	coalesce(comparisons, 0) AS comparisons, resumed_by
FROM run JOIN (SELECT run, exit_status, signal, skipped, elapsed, ended, trials, unfinished
	FROM kept) USING (run)
	LEFT JOIN (SELECT run, count(*) AS comparisons FROM peer GROUP BY run) USING (run)
	LEFT JOIN (SELECT part AS run, max(whole) AS resumed_by FROM part WHERE part <> whole
		GROUP BY part) USING (run);
