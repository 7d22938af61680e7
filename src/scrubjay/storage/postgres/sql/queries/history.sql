-- name: versions
-- {condition} chooses among the versions.
SELECT m.no, v.number, v.parent, v.action, v.created_at, r.agent, r.id, v.message, v.encoding, v.dictionary, v.sha256,
    v.size, v.body
  FROM scrubjay.memories m JOIN scrubjay.versions v ON v.space_no = m.space_no AND v.memory_no = m.no
  JOIN scrubjay.runs r ON r.space_no = v.space_no AND r.no = v.run_no
  WHERE m.space_no = scrubjay.current_space() AND m.id = %s::uuid AND {condition} ORDER BY v.number DESC LIMIT %s;

-- name: versions_at
SELECT m.no, m.id::text, v.number, v.parent, v.action, v.created_at, r.agent, r.id, v.message, v.encoding,
    v.dictionary, v.sha256, v.size, v.body
  FROM scrubjay.memories m CROSS JOIN LATERAL (SELECT * FROM scrubjay.versions w
    WHERE w.space_no = m.space_no AND w.memory_no = m.no AND w.created_at <= %s ORDER BY w.number DESC LIMIT 1) AS v
  JOIN scrubjay.runs r ON r.space_no = v.space_no AND r.no = v.run_no
  WHERE m.space_no = scrubjay.current_space() AND m.id = ANY(%s::uuid[]);

-- name: relation_changes
WITH ends AS (
    SELECT m.no FROM scrubjay.memories m WHERE m.space_no = scrubjay.current_space() AND m.id = ANY(%s::uuid[])),
  touching AS (
    SELECT c.seq, c.action, c.at, c.relation FROM ends e
      JOIN scrubjay.changes c ON c.space_no = scrubjay.current_space() AND c.memory_no = e.no
    UNION
    SELECT c.seq, c.action, c.at, c.relation FROM ends e
      JOIN scrubjay.changes c ON c.space_no = scrubjay.current_space() AND c.target_no = e.no)
  SELECT action, at, relation FROM touching
  WHERE relation IS NOT NULL AND action IN ('related', 'unrelated') ORDER BY seq;

-- name: history_sizes
SELECT f.id, (SELECT sum(q.size) FROM scrubjay.versions q WHERE q.space_no = f.space_no AND q.memory_no = f.no)
  FROM (SELECT m.space_no, m.no, m.id FROM scrubjay.memories m
    WHERE m.space_no = scrubjay.current_space() AND m.id = ANY(%s::uuid[]) OFFSET 0) AS f;

-- name: histories
-- Each row looks up the next, so that a page reads only its own rows, whatever the planner's statistics say.
SELECT f.no, f.id, f.version, f.last_accessed, f.access_count, v.number, v.parent, v.action, v.created_at, r.agent,
    r.id, v.message, v.encoding, v.dictionary, v.sha256, v.size, v.body
  FROM (SELECT m.* FROM scrubjay.memories m
    WHERE m.space_no = scrubjay.current_space() AND m.id = ANY(%s::uuid[]) OFFSET 0) AS f
  CROSS JOIN LATERAL (SELECT * FROM scrubjay.versions q WHERE q.space_no = f.space_no AND q.memory_no = f.no
    ORDER BY q.number OFFSET 0) AS v
  CROSS JOIN LATERAL (
    SELECT q.id, q.agent FROM scrubjay.runs q WHERE q.space_no = v.space_no AND q.no = v.run_no LIMIT 1) AS r
  ORDER BY f.id, v.number DESC;
