-- name: dictionary_age
SELECT s.body_count, (
  SELECT max(d.no) FROM dictionaries d WHERE d.space_no = s.no AND d.tainted = 0
), (
  SELECT d.body_count FROM dictionaries d WHERE d.space_no = s.no AND d.tainted = 0 ORDER BY d.no DESC LIMIT 1
)
FROM spaces s
WHERE s.no = ?;

-- The order spreads the sample over the whole space.
-- name: sample
SELECT v.encoding, v.dictionary_no, v.checksum, v.size, v.body
FROM memories m JOIN versions v ON v.memory_no = m.no AND v.number = m.version
WHERE m.space_no = (SELECT no FROM spaces WHERE name = ?)
ORDER BY (m.no * 7919) % 10007
LIMIT ?;

-- name: insert_dictionary
INSERT INTO dictionaries(space_no, data, created_at, body_count)
SELECT no, ?, ?, body_count FROM spaces WHERE name = ?;

-- name: bodies_to_repack
SELECT m.space_no, v.memory_no, v.number, v.encoding, v.dictionary_no, v.checksum, v.size, v.body
FROM versions v JOIN memories m ON m.no = v.memory_no
WHERE (v.memory_no, v.number) > (?, ?)
  AND (v.encoding = ? OR v.dictionary_no IN (SELECT no FROM dictionaries WHERE tainted = 1))
ORDER BY v.memory_no, v.number
LIMIT ?;

-- name: delete_unused_tainted
DELETE FROM dictionaries
WHERE tainted = 1 AND no NOT IN (SELECT DISTINCT dictionary_no FROM versions)
RETURNING no;

-- name: has_bodies_to_repack
SELECT EXISTS (SELECT 1 FROM dictionaries WHERE tainted = 1) OR EXISTS (SELECT 1 FROM versions WHERE encoding = ?);

-- name: newest_sizes
SELECT coalesce(sum(size), 0), coalesce(sum(length(body)), 0)
FROM (SELECT size, body FROM versions ORDER BY memory_no DESC, number DESC LIMIT ?);

-- name: sizes
SELECT coalesce(sum(size), 0), coalesce(sum(length(body)), 0),
  count(*) FILTER (WHERE encoding = ?), count(*) FILTER (WHERE encoding = ?)
FROM versions;
