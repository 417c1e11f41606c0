# SPDX-License-Identifier: Apache-2.0
"""Values of a trial's parts: of each CPU (`cores`), and of each pair of ranks (`fabric`)."""

# A row for each CPU and metric.
CPUS = """
SELECT b.whole AS run, b.id AS trial, cpu, b.metric, m.unit, m.better, b.value
FROM by_cpu b JOIN metric m ON (m.whole, m.id, m.name) = (b.whole, b.id, b.metric)
ORDER BY position, m.place, worker
"""
# A row for each pair of ranks and metric. A node is named by the lowest of its ranks, as by MPI.
PAIRS = """
WITH told AS (SELECT whole, json->>'$.trial' AS id, (json->>'$.rank')::BIGINT AS rank,
	json->>'$.host' AS host, (json->>'$.node')::BIGINT AS node, json
	FROM parsed.other JOIN kept USING (shard, run) JOIN part ON part.part = run
	WHERE type = 'row'),
listed AS (SELECT whole, id, rank, unnest(from_json(json->'$.with', '["BIGINT"]')) AS other,
	generate_subscripts(from_json(json->'$.with', '["BIGINT"]'), 1) AS place, json FROM told),
named AS (SELECT listed.*, m.name, m.unit, m.better, m.place AS metric_place,
	from_json(json->('$."' || m.name || '"'), '["DOUBLE"]')[listed.place] AS value
	FROM listed JOIN metric m USING (whole, id))
SELECT n.whole AS run, n.id AS trial, n.rank, a.host AS rank_host, a.node AS rank_node,
	n.other AS with_rank, b.host AS with_host, b.node AS with_node, n.name AS metric, n.unit,
	n.better, n.value
FROM named n JOIN trial t USING (whole, id) JOIN told a USING (whole, id, rank)
	LEFT JOIN told b ON (b.whole, b.id, b.rank) = (n.whole, n.id, n.other)
WHERE n.value IS NOT NULL ORDER BY t.position, n.metric_place, n.rank, n.place
"""
