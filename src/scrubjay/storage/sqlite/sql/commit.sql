-- name: insert_memory
INSERT INTO memories(
  id, space_no, created_at, last_accessed, access_count, name, title, title_hash, title_slug_hash, name_slug_hash,
  content_hash, state, pinned, group_name, version, date, updated_at, tier, relevance, last_confirmed,
  index_digest, passage_count, facets
)
VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, x'', 0, '[]');

-- name: update_memory
UPDATE memories
SET name = ?, title = ?, title_hash = ?, title_slug_hash = ?, name_slug_hash = ?, content_hash = ?, state = ?,
  pinned = ?, group_name = ?, version = ?, date = ?, updated_at = ?, tier = ?, relevance = ?, last_confirmed = ?
WHERE no = ?;

-- name: count_access
UPDATE memories
SET access_count = access_count + 1, last_accessed = max(?, coalesce(last_accessed, 0))
WHERE id = ? AND space_no = ?;

-- name: delete_relation
DELETE FROM relations
WHERE source_no = ? AND type = ? AND target_no = ?
RETURNING text, strength, metadata, created_at;

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
