-- name: reserve
UPDATE scrubjay.space_totals SET changes = changes + %s, bodies = bodies + %s, body_bytes = body_bytes + %s,
    stored_bytes = stored_bytes + %s, raw_bodies = raw_bodies + %s, flagged_bodies = flagged_bodies + %s
  WHERE space_no = scrubjay.current_space()
  RETURNING changes, bodies, scrubjay.reserve_changes(%s),
    ARRAY(SELECT nextval('scrubjay.memory_numbers') FROM generate_series(1, %s)),
    ARRAY(SELECT nextval('scrubjay.run_numbers') FROM generate_series(1, %s)), pg_current_xact_id()::text;
