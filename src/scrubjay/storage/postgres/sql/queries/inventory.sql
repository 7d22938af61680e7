-- Each row looks up the next, so that a page reads only its own rows, whatever the planner's statistics say.

-- name: ids
SELECT id FROM scrubjay.memories WHERE space_no = scrubjay.current_space() AND id > %s::uuid ORDER BY id LIMIT %s;

-- name: sizes
SELECT f.id, (SELECT sum(q.size) FROM scrubjay.versions q WHERE q.space_no = f.space_no AND q.memory_no = f.no)
  FROM (SELECT m.space_no, m.no, m.id FROM scrubjay.memories m
    WHERE m.space_no = scrubjay.current_space() AND m.id = ANY(%s::uuid[]) OFFSET 0) AS f;

-- name: versions
SELECT f.no, f.id, f.version, f.last_accessed, f.access_count, v.number, v.parent, v.action, v.created_at, r.agent,
    r.id, v.message, v.encoding, v.dictionary, v.sha256, v.size, v.body
  FROM (SELECT m.* FROM scrubjay.memories m
    WHERE m.space_no = scrubjay.current_space() AND m.id = ANY(%s::uuid[]) OFFSET 0) AS f
  CROSS JOIN LATERAL (SELECT * FROM scrubjay.versions q WHERE q.space_no = f.space_no AND q.memory_no = f.no
    ORDER BY q.number OFFSET 0) AS v
  CROSS JOIN LATERAL (
    SELECT q.id, q.agent FROM scrubjay.runs q WHERE q.space_no = v.space_no AND q.no = v.run_no LIMIT 1) AS r
  ORDER BY f.id, v.number DESC;

-- name: answers
SELECT k.key_digest, k.request_digest, k.answer, r.id, r.agent, k.at
  FROM (SELECT * FROM scrubjay.idempotency_keys q
    WHERE q.space_no = scrubjay.current_space() AND q.key_digest > %s ORDER BY q.key_digest LIMIT %s) AS k
  CROSS JOIN LATERAL (
    SELECT q.id, q.agent FROM scrubjay.runs q WHERE q.space_no = k.space_no AND q.no = k.run_no LIMIT 1) AS r
  ORDER BY k.key_digest;

-- name: existing_answers
SELECT key_digest FROM scrubjay.idempotency_keys
  WHERE space_no = scrubjay.current_space() AND key_digest = ANY(%s::bytea[]);
