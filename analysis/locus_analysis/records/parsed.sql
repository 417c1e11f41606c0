-- SPDX-License-Identifier: Apache-2.0
-- What each line of a record tells by itself, whatever other runs there are: parse.sql fills these
-- tables from lines, and a store (doc/store.md) holds them. `shard`: the part of a store that a row
-- is from; `line`: the number of a row's line in the file of its run.
CREATE SCHEMA parsed;

-- A row for each header. `copy`: its number in the shard, since a run may be there several times:
-- other tables have rows of its most complete copy in the shard. `header` has null for the machine,
-- `machine` its hash. `lines` and `trials` are counts, also of samples; `unfinished`: trials with
-- samples that have no line of their own. `definitions`: hashes, in order.
CREATE TABLE parsed.run (shard BIGINT, run VARCHAR, copy BIGINT, file VARCHAR, line
	BIGINT, host VARCHAR, class VARCHAR, board VARCHAR, machine_id VARCHAR, started VARCHAR,
	rank BIGINT, ranks BIGINT, profile VARCHAR, altered VARCHAR[], command VARCHAR[],
	resumes VARCHAR[], series VARCHAR, repeats BOOLEAN, header VARCHAR, machine VARCHAR,
	definitions VARCHAR[], ended BOOLEAN, exit_status BIGINT, signal VARCHAR, skipped
	BIGINT, elapsed DOUBLE, lines BIGINT, trials BIGINT, unfinished BIGINT);

CREATE TABLE parsed.machine (hash VARCHAR, json VARCHAR);

-- Lines of benchmarks. Their run is left empty, so that they are the same in many runs.
CREATE TABLE parsed.definition (hash VARCHAR, benchmark VARCHAR, unit VARCHAR, protocol VARCHAR,
	metrics JSON, counters JSON, json JSON);

-- `time` is that of a unit of work, in s; `batch_times`, times `scale`, that of each batch. `cycle`
-- is one of a core, in s. `wall`, `foreign_time` and `steal` are times of the samples, and what of
-- them other processes and the host had, in s. `crowded`: the share of samples that count in which
-- another hardware thread worked on a core.
CREATE TABLE parsed.trial (shard BIGINT, run VARCHAR, line BIGINT, id VARCHAR, benchmark VARCHAR,
	variant VARCHAR, parameters JSON, threads BIGINT, bind VARCHAR, cpus BIGINT[],
	oversubscribed BOOLEAN, status VARCHAR, reasons VARCHAR[], notes VARCHAR[],
	time STRUCT("value" DOUBLE, ci DOUBLE[], with_noise DOUBLE,
		"range" STRUCT("of" BIGINT, low DOUBLE, high DOUBLE)),
	cycle DOUBLE, modes STRUCT("time" DOUBLE, share DOUBLE)[], spread_within DOUBLE,
	spread_between DOUBLE, batches BIGINT, batch_times DOUBLE[], scale DOUBLE,
	varied VARCHAR[], wall DOUBLE, foreign_time DOUBLE, steal DOUBLE, crowded DOUBLE,
	in_matrix BOOLEAN,
	laid_out BOOLEAN, samples JSON, placement JSON, ratios JSON, pairs JSON, counters JSON,
	kernel JSON, kernel_unknown VARCHAR[], counting JSON, region JSON);

-- Each metric that a trial's benchmark has; `place` is its place there, 1 that of the headline.
CREATE TABLE parsed.metric (shard BIGINT, run VARCHAR, line BIGINT, id VARCHAR, place BIGINT,
	name VARCHAR, unit VARCHAR, better VARCHAR, kind VARCHAR, value DOUBLE, low DOUBLE,
	high DOUBLE, range STRUCT("of" BIGINT, low DOUBLE, high DOUBLE), with_noise DOUBLE,
	modes STRUCT("value" DOUBLE, share DOUBLE)[], by_worker DOUBLE[], why VARCHAR);

-- Pairs of CPUs, as columns: a row for each trial.
CREATE TABLE parsed.pair (shard BIGINT, run VARCHAR, line BIGINT, id VARCHAR, a BIGINT[],
	b BIGINT[], level VARCHAR[], n BIGINT[], least DOUBLE[], lower DOUBLE[], median DOUBLE[],
	upper DOUBLE[], most DOUBLE[]);

CREATE TABLE parsed.distribution (shard BIGINT, run VARCHAR, line BIGINT, id VARCHAR,
	metric VARCHAR, n BIGINT, quantiles JSON, buckets JSON);

-- Lines as they are: `row` (pairs of ranks), `peer` (other libraries).
CREATE TABLE parsed.other (shard BIGINT, run VARCHAR, line BIGINT, type VARCHAR, json JSON);

-- Lines that were read, and not parsed yet. A run may be several times in a file: `copied` has a
-- row for each header, in the order of reading.
CREATE TABLE line (copy BIGINT, number BIGINT, type VARCHAR, json VARCHAR);
CREATE TABLE copied (copy BIGINT, run VARCHAR, file VARCHAR, line BIGINT, lines BIGINT,
	unfinished BIGINT);
CREATE TABLE host (run VARCHAR, host VARCHAR);

-- What a record leaves to its readers, since it follows from the estimates of the batches: how far
-- they lie apart, as (max - min) / median. `allocations` has the number of batches in each.
CREATE MACRO spread(l) AS CASE WHEN list_count(l) > 1
	THEN (list_max(l) - list_min(l)) / nullif(list_median(l), 0) END;
CREATE MACRO by_allocation(times, allocations) AS
	[times[list_sum(allocations[:i]) - n + 1:list_sum(allocations[:i])]
	FOR n, i IN allocations];

-- A metric of a trial line. Intervals that it leaves out follow from that of the time, end by end:
-- a rate is an amount over the time; any other such metric had its value in all batches.
CREATE TYPE numbers AS STRUCT("value" DOUBLE, ci DOUBLE[], with_noise DOUBLE,
	"range" STRUCT("of" BIGINT, low DOUBLE, high DOUBLE), by_worker DOUBLE[]);
CREATE MACRO follows(value, is_rate, time, bound) AS CASE WHEN is_rate THEN value * time / bound
	WHEN bound IS NOT NULL THEN value END;

-- The header of a run with its machine.
CREATE MACRO whole_header(header, machine) AS
	replace(header, '"machine":null', '"machine":' || machine);

CREATE MACRO beside(x) AS CASE WHEN NOT getvariable('lean') THEN x END;

-- An object of members, in their order.
CREATE MACRO object(members) AS ('{' || array_to_string(members, ',') || '}')::JSON;
