-- Each row looks up the next, so that a page reads only its own rows, whatever the planner's statistics say.

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
