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
