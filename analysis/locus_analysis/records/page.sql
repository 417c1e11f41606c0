-- SPDX-License-Identifier: Apache-2.0
-- What the page alone shows of trials (tables.sql), and frames: pages of memory, counters, samples.

-- Where the pages lay after the timed part.
CREATE VIEW pages AS
WITH node AS (SELECT whole, id, placement, unnest(json_keys(placement, '$.on_node')) AS node
	FROM trial WHERE json_type(placement) = 'OBJECT')
SELECT whole, id, node::BIGINT AS node,
	(placement->>('$.on_node."' || node || '"'))::BIGINT AS pages,
	pages / nullif((placement->>'$.pages')::BIGINT, 0) AS share
FROM node;

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
