-- name: get
SELECT collection, key, value, version, updated_at, due_at FROM scrubjay.documents
  WHERE space_no = scrubjay.current_space() AND collection = %s AND key = %s;

-- name: page
SELECT collection, key, value, version, updated_at, due_at FROM scrubjay.documents
  WHERE space_no = scrubjay.current_space() AND collection = %s AND key > %s ORDER BY key LIMIT %s;

-- name: count
SELECT count(*) FROM scrubjay.documents WHERE space_no = scrubjay.current_space() AND collection = %s;

-- name: version
SELECT version FROM scrubjay.documents WHERE space_no = scrubjay.current_space() AND collection = %s AND key = %s;

-- name: has_version
SELECT 1 FROM scrubjay.documents WHERE space_no = scrubjay.current_space() AND collection = %s AND key = %s
  AND version = %s AND updated_at = %s;

-- name: put
-- Writes the first version, or the one after the current.
INSERT INTO scrubjay.documents AS d
    (space_no, collection, key, value, version, updated_at, due_at, memory_id, other_memory_id)
  VALUES (scrubjay.current_space(), %s, %s, %s, %s, %s, %s, %s::uuid, %s::uuid)
  ON CONFLICT (space_no, collection, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at,
    due_at = excluded.due_at, memory_id = excluded.memory_id, other_memory_id = excluded.other_memory_id,
    version = d.version + 1
  RETURNING version;

-- name: copy_missing
INSERT INTO scrubjay.documents
    (space_no, collection, key, value, version, updated_at, due_at, memory_id, other_memory_id)
  SELECT scrubjay.current_space(), v.* FROM unnest(%s::text[], %s::text[], %s::text[], %s::integer[], %s::bigint[],
    %s::bigint[], %s::uuid[], %s::uuid[]) AS v
  ON CONFLICT (space_no, collection, key) DO NOTHING;

-- name: copy_changed
INSERT INTO scrubjay.documents AS d
    (space_no, collection, key, value, version, updated_at, due_at, memory_id, other_memory_id)
  SELECT scrubjay.current_space(), v.* FROM unnest(%s::text[], %s::text[], %s::text[], %s::integer[], %s::bigint[],
    %s::bigint[], %s::uuid[], %s::uuid[]) AS v
  ON CONFLICT (space_no, collection, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at,
    due_at = excluded.due_at, memory_id = excluded.memory_id, other_memory_id = excluded.other_memory_id,
    version = excluded.version
  WHERE (d.value, d.version, d.updated_at, d.due_at)
    IS DISTINCT FROM (excluded.value, excluded.version, excluded.updated_at, excluded.due_at);

-- name: delete
DELETE FROM scrubjay.documents WHERE space_no = scrubjay.current_space() AND collection = %s AND key = %s;

-- name: delete_about_memory
DELETE FROM scrubjay.documents WHERE space_no = scrubjay.current_space() AND memory_id = ANY(%s::uuid[]);

-- name: delete_about_other_memory
DELETE FROM scrubjay.documents WHERE space_no = scrubjay.current_space() AND other_memory_id = ANY(%s::uuid[]);
