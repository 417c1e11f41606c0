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

-- Where the pages lay after the timed part.
CREATE VIEW pages AS
WITH node AS (SELECT whole, id, placement, unnest(json_keys(placement, '$.on_node')) AS node
	FROM trial WHERE json_type(placement) = 'OBJECT')
SELECT whole, id, node::BIGINT AS node,
	(placement->>('$.on_node."' || node || '"'))::BIGINT AS pages,
	pages / nullif((placement->>'$.pages')::BIGINT, 0) AS share
FROM node;

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

-- Which picture shows a cell: that of the first of the benchmarks that have one matrix of its host;
-- if a benchmark has several, each for itself.
CREATE VIEW matrix_cell AS
WITH single AS (
	SELECT host, benchmark, any_value(whole) AS whole
	FROM cell GROUP BY host, benchmark HAVING count(DISTINCT whole) = 1),
shared AS (
	SELECT host, min(benchmark) AS shown_by, arg_min(whole, benchmark) AS shown_with
	FROM single GROUP BY host)
SELECT cell.*, coalesce(shown_by, cell.benchmark) AS shown_by,
	coalesce(shown_with, cell.whole) AS shown_with
FROM cell LEFT JOIN single USING (host, benchmark)
	LEFT JOIN shared ON shared.host = single.host;

-- What the `samples` lines hold, by batch: several may share a line. `begun` is its start.
CREATE VIEW batch AS
WITH told AS (
	SELECT part.whole, part.part, file, other.line AS number, json->>'$.trial' AS id,
		CASE WHEN json_type(json, '$.at') = 'ARRAY'
			THEN from_json(json->'$.at', '["DOUBLE"]')
			ELSE [(json->>'$.at')::DOUBLE] END AS starts,
		(json->>'$.units')::DOUBLE AS units,
		from_json(json->'$.times', '["DOUBLE"]') AS times,
		coalesce(from_json(json->'$.noisy', '["BIGINT"]'), []) AS noisy,
		coalesce(from_json(json->'$.crowded', '["BIGINT"]'), []) AS crowded,
		coalesce(from_json(json->'$.n', '["BIGINT"]'), [len(times)]) AS n,
		json->'$.sketch' AS sketch
	FROM parsed.other JOIN kept USING (shard, run) JOIN part ON part.part = run
	WHERE type = 'samples'),
each_one AS (
	SELECT *, unnest(starts) AS begun, generate_subscripts(starts, 1) AS turn,
		coalesce(list_sum(n[:turn - 1]), 0)::BIGINT AS before
	FROM told)
SELECT whole, part, file, number, turn, id, begun, units,
	times[before + 1:before + n[turn]] AS times,
	[x - before FOR x IN noisy IF x >= before AND x < before + n[turn]] AS noisy,
	[x - before FOR x IN crowded IF x >= before AND x < before + n[turn]] AS crowded, sketch
FROM each_one;

-- Every sample that was kept, with its end, and as a ratio to the median of its trial. The end is
-- in whole ns: the last bits of a sum depend on which other rows DuckDB adds beside it.
CREATE VIEW sample AS
WITH each_one AS (SELECT * EXCLUDE (times, noisy, crowded), unnest(times) AS time,
	generate_subscripts(times, 1) AS place FROM batch),
disturbed AS (SELECT file, number, turn, unnest(noisy) + 1 AS place FROM batch),
shared AS (SELECT file, number, turn, unnest(crowded) + 1 AS place FROM batch)
SELECT whole, part, id,
	round(begun + coalesce(
		sum(time * units) OVER (PARTITION BY file, number, turn ORDER BY place), 0), 9)
		AS moment,
	time, time / nullif(median(time) OVER (PARTITION BY whole, part, id), 0) AS ratio,
	disturbed.place IS NOT NULL AS noisy, shared.place IS NOT NULL AS crowded
FROM each_one LEFT JOIN disturbed USING (file, number, turn, place)
	LEFT JOIN shared USING (file, number, turn, place);

-- Batches of which only quantiles were kept: they are no samples.
CREATE VIEW sketch AS
SELECT whole, part, id, begun AS moment, (sketch->>'$.n')::BIGINT AS n,
	(sketch->>'$.quantiles[0]')::DOUBLE AS least,
	(sketch->>'$.quantiles[5]')::DOUBLE AS median,
	(sketch->>'$.quantiles[10]')::DOUBLE AS greatest
FROM batch WHERE (sketch->>'$.n')::BIGINT > 0;

-- Both thinned out to some 400 marks a run, but 2 a trial; each stands for neighbouring samples of
-- one trial. Ratios are to the median of the trial: of its samples, or else of its sketches.
CREATE VIEW drift AS
WITH one AS MATERIALIZED (
	SELECT whole, part, id, moment, time AS least, time AS median, time AS greatest, 1 AS n,
		noisy::BIGINT AS noisy, true AS kept FROM sample
	UNION ALL SELECT whole, part, id, moment, least, median, greatest, n, 0, false FROM sketch),
usual AS (SELECT whole, part, id, nullif(coalesce(median(median) FILTER (kept), median(median)), 0)
	AS time FROM one GROUP BY whole, part, id),
share AS (SELECT whole, part, greatest(2, 400 // count(*)) AS marks FROM usual
	GROUP BY whole, part),
bucket AS (SELECT one.*,
		ntile(marks) OVER (PARTITION BY one.whole, one.part, one.id
			ORDER BY moment, median, one.noisy) AS bucket
	FROM one JOIN share USING (whole, part))
SELECT b.whole, b.part, b.id, bucket, median(moment) AS moment, median(median / time) AS ratio,
	min(least / time) AS least,
	max(greatest / time) AS greatest,
	sum(b.n)::BIGINT AS n, sum(b.noisy)::BIGINT AS noisy, any_value(h.benchmark) AS benchmark,
	any_value(h.variant) AS variant,
	any_value(h.setting) AS setting,
	any_value(h.flag) AS flag,
	coalesce(any_value(h.status), 'unfinished') AS status
FROM bucket b JOIN usual USING (whole, part, id)
LEFT JOIN headline h ON h.whole = b.whole AND h.id = b.id
GROUP BY b.whole, b.part, b.id, bucket;

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

-- What was counted while a trial was measured: what was asked for, then what the kernel counts
-- always, of all samples; no row where nothing was counted.
CREATE VIEW counter AS
WITH counted AS (
	SELECT whole, id, unnest(from_json(counters, '[{"name": "VARCHAR", "source": "VARCHAR",
			"unit": "VARCHAR", "scope": "VARCHAR", "per": "VARCHAR", "value": "DOUBLE",
			"ci": ["DOUBLE"], "per_thread": ["DOUBLE"], "total": "DOUBLE",
			"samples": "BIGINT", "trusted": "BOOLEAN", "why": "VARCHAR"}]')) AS c,
		generate_subscripts(from_json(counters, '["JSON"]'), 1) AS counter_place
	FROM trial WHERE json_type(counters) = 'ARRAY'),
always AS (
	SELECT run, benchmark, counters->>'$.per' AS per,
		unnest(from_json(counters->'$.kernel',
			'[{"name": "VARCHAR", "unit": "VARCHAR"}]')) AS k,
		generate_subscripts(from_json(counters->'$.kernel', '["JSON"]'), 1) AS place
	FROM benchmark),
kernel AS (
	SELECT whole, id, 1000 + place AS counter_place, k.name, k.unit, per,
		list_contains(kernel_unknown, k.name) AS unknown,
		coalesce((kernel->>('$."' || k.name || '"'))::DOUBLE, 0) AS total,
		(samples->>'$.parts')::DOUBLE AS parts, (samples->>'$.n')::BIGINT AS n
	FROM trial t JOIN always a ON a.run = t.part AND a.benchmark = t.benchmark
	WHERE json_type(samples) = 'OBJECT')
SELECT whole, id, counter_place, c.name, c.source, c.unit, c.scope, c.per, c.value, c.ci[1] AS low,
	c.ci[2] AS high, c.per_thread,
	c.total, c.samples, coalesce(c.trusted, true) AS trusted, c.why
FROM counted
UNION ALL
SELECT whole, id, counter_place, name, 'kernel', unit, 'thread', per,
	CASE WHEN NOT unknown THEN total / nullif(parts, 0) END, NULL, NULL, NULL,
	CASE WHEN NOT unknown THEN total END, n, true,
	CASE WHEN unknown THEN 'the kernel did not tell it'
		WHEN coalesce(parts, 0) = 0 THEN 'no unit of work was done' END
FROM kernel
WHERE (whole, id, name) NOT IN (SELECT (whole, id, c.name) FROM counted);

-- What counting cost: s per unit in batches with counters, and in those without, in turn.
CREATE VIEW counting AS
SELECT whole, id, (counting->>'$.with')::DOUBLE AS counted,
	(counting->>'$.with_ci[0]')::DOUBLE AS counted_low,
	(counting->>'$.with_ci[1]')::DOUBLE AS counted_high,
	(counting->>'$.without')::DOUBLE AS bare,
	(counting->>'$.without_ci[0]')::DOUBLE AS bare_low,
	(counting->>'$.without_ci[1]')::DOUBLE AS bare_high
FROM trial WHERE json_type(counting) = 'OBJECT';

-- What a whole was asked to count, and how: a row for each of its runs, since one is resumed with
-- other words, or measures nothing.
CREATE TABLE counters_asked AS
SELECT part.whole, part.part, run.ordinal,
	from_json(header->'$.counters.asked', '["VARCHAR"]') AS asked,
	(header->>'$.counters.multiplexed')::BOOLEAN AS multiplexed,
	(header->>'$.counters.passes')::BIGINT AS passes,
	header->>'$.counters.papi' AS papi, header->>'$.counters.papi_why' AS papi_why,
	header->'$.counters.events' AS events
FROM run JOIN part ON part.part = run.run WHERE json_type(header->'$.counters') = 'OBJECT';

-- The events of that.
CREATE TABLE event AS
WITH e AS (
	SELECT whole, part, ordinal, unnest(from_json(events, '[{"name": "VARCHAR",
			"source": "VARCHAR", "unit": "VARCHAR", "scope": "VARCHAR",
			"pass": "BIGINT", "proven": "BOOLEAN", "why": "VARCHAR"}]')) AS e,
		generate_subscripts(from_json(events, '["JSON"]'), 1) AS place
	FROM counters_asked)
SELECT whole, part, ordinal, place, e.name, e.source, e.unit, e.scope, e.pass, e.proven, e.why
FROM e;

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
	(SELECT count(*) FROM peer WHERE peer.run = run.run) AS comparisons,
	(SELECT max(whole) FROM part WHERE part = run.run AND whole <> run.run) AS resumed_by
FROM run JOIN (SELECT run, exit_status, signal, skipped, elapsed, ended, trials, unfinished
	FROM kept) USING (run);
