-- name: relations
WITH ends AS (
    SELECT m.no FROM scrubjay.memories m WHERE m.space_no = scrubjay.current_space() AND m.id = ANY(%s::uuid[])),
  touching AS (
    SELECT r.* FROM ends e JOIN scrubjay.relations r ON r.space_no = scrubjay.current_space() AND r.source_no = e.no
    UNION
    SELECT r.* FROM ends e JOIN scrubjay.relations r ON r.space_no = scrubjay.current_space() AND r.target_no = e.no)
  SELECT a.id, r.type, b.id, r.text, r.strength, r.metadata, r.created_at FROM touching r
  JOIN scrubjay.memories a ON a.space_no = r.space_no AND a.no = r.source_no
  JOIN scrubjay.memories b ON b.space_no = r.space_no AND b.no = r.target_no;

-- name: sizes
SELECT m.id, v.size, length(v.body) FROM scrubjay.memories m JOIN scrubjay.versions v
    ON v.space_no = m.space_no AND v.memory_no = m.no AND v.number = m.version
  WHERE m.space_no = scrubjay.current_space() AND m.id = ANY(%s::uuid[]);

-- name: names_with_prefix
-- The index holds the first 64 characters, and only scrubjay_keeper may use it.
SELECT m.name FROM scrubjay.memories m WHERE m.space_no = scrubjay.current_space() AND m.state = 0
  AND substr(m.name, 1, 64) >= %s AND substr(m.name, 1, 64) < %s AND starts_with(m.name, %s)
  ORDER BY substr(m.name, 1, 64), m.name LIMIT %s;

-- name: facets_with_prefix
SELECT f.facet FROM scrubjay.facets f WHERE f.space_no = scrubjay.current_space() AND f.state = 0
  AND substr(f.facet, 1, 64) >= %s AND substr(f.facet, 1, 64) < %s AND starts_with(f.facet, %s)
  ORDER BY substr(f.facet, 1, 64), f.facet LIMIT %s;

-- name: facet_values
SELECT f.facet, f.memories FROM scrubjay.facets f WHERE f.space_no = scrubjay.current_space() AND f.state = %s
  AND substr(f.facet, 1, 64) >= %s AND substr(f.facet, 1, 64) < %s AND starts_with(f.facet, %s)
  ORDER BY f.memories DESC, f.facet LIMIT %s;
