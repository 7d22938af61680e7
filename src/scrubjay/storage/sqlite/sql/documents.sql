-- As the first version, or as the one after the stored version.
-- name: write
INSERT INTO documents(space_no, collection, key, value, version, updated_at, due_at, memory_id, other_memory_id)
VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE
SET value = excluded.value, version = documents.version + 1, updated_at = excluded.updated_at,
  due_at = excluded.due_at, memory_id = excluded.memory_id, other_memory_id = excluded.other_memory_id
RETURNING version;

-- name: copy
INSERT INTO documents(space_no, collection, key, value, version, updated_at, due_at, memory_id, other_memory_id)
VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING;

-- name: copy_over
INSERT INTO documents(space_no, collection, key, value, version, updated_at, due_at, memory_id, other_memory_id)
VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE
SET value = excluded.value, version = excluded.version, updated_at = excluded.updated_at,
  due_at = excluded.due_at, memory_id = excluded.memory_id, other_memory_id = excluded.other_memory_id
WHERE (value, version, updated_at, due_at)
  IS NOT (excluded.value, excluded.version, excluded.updated_at, excluded.due_at);
