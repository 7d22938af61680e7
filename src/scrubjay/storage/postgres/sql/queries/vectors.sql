-- name: page
SELECT v.hash, scrubjay.vector_bytes(v.vector) FROM scrubjay.vectors v
  WHERE v.space_no = scrubjay.current_space() AND v.hash > %s
    AND v.model_no = (SELECT no FROM scrubjay.models WHERE name = %s) ORDER BY v.hash LIMIT %s;

-- name: memories_without_vectors
SELECT DISTINCT s.name, p.memory_id FROM scrubjay.passages p JOIN scrubjay.spaces s ON s.no = p.space_no
  WHERE (%s = '' OR s.name = %s)
    AND NOT EXISTS (SELECT 1 FROM scrubjay.vectors v WHERE v.space_no = p.space_no AND v.hash = p.hash
      AND v.model_no = (SELECT no FROM scrubjay.models WHERE name = %s)) LIMIT %s;

-- name: points
SELECT p.id, p.date, s.name, m.facets, m.state, scrubjay.vector_bytes(v.vector) FROM scrubjay.passages p
  JOIN scrubjay.memories m ON m.space_no = p.space_no AND m.no = p.id / 65536
  JOIN scrubjay.spaces s ON s.no = p.space_no
  JOIN scrubjay.vectors v ON v.space_no = p.space_no AND v.hash = p.hash
    AND v.model_no = (SELECT no FROM scrubjay.models WHERE name = %s)
  WHERE p.id > %s ORDER BY p.id LIMIT %s;

-- name: count_points
SELECT count(*) FROM scrubjay.passages p
  JOIN scrubjay.memories m ON m.space_no = p.space_no AND m.no = p.id / 65536
  JOIN scrubjay.spaces s ON s.no = p.space_no
  JOIN scrubjay.vectors v ON v.space_no = p.space_no AND v.hash = p.hash
    AND v.model_no = (SELECT no FROM scrubjay.models WHERE name = %s);
