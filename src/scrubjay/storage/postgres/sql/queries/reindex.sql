-- name: count_outdated
SELECT count(*) FROM (SELECT 1 FROM scrubjay.memories WHERE passage_format < %s LIMIT %s) AS few;

-- name: outdated_spaces
SELECT s.name FROM scrubjay.spaces s
  WHERE EXISTS (SELECT 1 FROM scrubjay.memories m WHERE m.space_no = s.no AND m.passage_format < %s) ORDER BY s.no;

-- name: outdated_memories
SELECT m.no, m.id, m.version, m.last_accessed, m.access_count, v.encoding, v.dictionary, v.sha256, v.size, v.body
  FROM scrubjay.memories m JOIN scrubjay.versions v
    ON v.space_no = m.space_no AND v.memory_no = m.no AND v.number = m.version
  WHERE m.space_no = scrubjay.current_space() AND m.no = ANY(ARRAY(
    SELECT no FROM scrubjay.memories WHERE space_no = scrubjay.current_space() AND passage_format < %s AND no > %s
    ORDER BY no LIMIT %s)) ORDER BY m.no;

-- name: passage_hashes
SELECT p.id, p.hash FROM unnest(%s::bigint[], %s::bigint[]) AS r(low, high)
  JOIN scrubjay.passages p ON p.space_no = scrubjay.current_space() AND p.id >= r.low AND p.id < r.high;
