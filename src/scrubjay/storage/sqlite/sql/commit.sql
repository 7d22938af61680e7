-- name: count_access
UPDATE memories
SET access_count = access_count + 1, last_accessed = max(?, coalesce(last_accessed, 0))
WHERE space_no = ? AND id IN (SELECT unhex(value) FROM json_each(?)) RETURNING no;

-- name: label_version
UPDATE versions SET message = ?
WHERE memory_no = (
  SELECT m.no FROM memories m JOIN spaces s ON s.no = m.space_no WHERE m.id = ? AND s.name = ?
) AND number = ? AND message = ?;

-- name: find_relation
SELECT text, strength, metadata, created_at FROM relations
WHERE source_no = ? AND type = ? AND target_no = ?;

-- name: find_result
SELECT request_digest, result FROM idempotency_keys
WHERE space_no = (SELECT no FROM spaces WHERE name = ?) AND key IN (?, ?);

-- name: copy_result
INSERT OR IGNORE INTO idempotency_keys
SELECT ?1, ?2, ?3, ?4, ?5, ?6
WHERE NOT EXISTS (SELECT 1 FROM idempotency_keys WHERE space_no = ?1 AND key = ?7);

-- The results of all requests that wrote a version of a memory, or changed one of its relations.
-- name: delete_results
DELETE FROM idempotency_keys
WHERE run_no IN (
  SELECT run_no FROM versions WHERE memory_no = ?1
  UNION SELECT run_no FROM changes WHERE memory_no = ?1 AND relation IS NOT NULL
  UNION SELECT run_no FROM changes WHERE target_no = ?1 AND relation IS NOT NULL
);
