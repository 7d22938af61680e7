-- name: memories_by_state
SELECT state, memories FROM scrubjay.corpus_totals WHERE space_no = scrubjay.current_space() AND memories > 0;

-- name: versions
SELECT bodies FROM scrubjay.space_totals WHERE space_no = scrubjay.current_space();

-- name: relations
SELECT count(*) FROM scrubjay.relations WHERE space_no = scrubjay.current_space();

-- name: vectors_by_model
SELECT m.name, count(*) FROM scrubjay.vectors v JOIN scrubjay.models m ON m.no = v.model_no
  WHERE v.space_no = scrubjay.current_space() GROUP BY m.name;

-- name: facets
SELECT facet, memories FROM scrubjay.facets WHERE space_no = scrubjay.current_space() AND state = 0
  ORDER BY memories DESC LIMIT 1000;

-- name: store_totals
SELECT coalesce(sum(body_bytes), 0), coalesce(sum(stored_bytes), 0), coalesce(sum(raw_bodies), 0),
  coalesce(sum(flagged_bodies), 0) FROM scrubjay.space_totals;

-- name: database_bytes
SELECT pg_database_size(current_database());

-- name: server_details
SELECT pg_database_size(current_database()), current_setting('server_version'),
  (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
  (SELECT max(version) FROM scrubjay.schema_versions),
  (SELECT value::integer FROM scrubjay.meta WHERE key = 'partitions');

-- name: unprotected_tables
SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'space_no'
  WHERE c.relnamespace = 'scrubjay'::regnamespace AND c.relkind IN ('r', 'p')
    AND NOT (c.relrowsecurity AND c.relforcerowsecurity);

-- name: invalid_indexes
-- Vector indexes are built in the background, and the vector search repairs them itself.
SELECT c.oid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
  WHERE c.relnamespace = 'scrubjay'::regnamespace AND NOT i.indisvalid AND a.amname NOT IN ('hnsw', 'ivfflat');

-- name: login_inherits_keeper
SELECT pg_has_role(session_user, 'scrubjay_keeper', 'USAGE')
  AND NOT (SELECT rolsuper FROM pg_roles WHERE rolname = session_user);

-- name: memories_without_body
SELECT count(*) FROM scrubjay.memories m WHERE NOT EXISTS (SELECT 1 FROM scrubjay.versions v
  WHERE v.space_no = m.space_no AND v.memory_no = m.no AND v.number = m.version);

-- name: memories_with_wrong_passages
SELECT count(*) FROM scrubjay.memories m WHERE m.passages <> (SELECT count(*) FROM scrubjay.passages p
  WHERE p.space_no = m.space_no AND p.id >= m.no * 65536 AND p.id < (m.no + 1) * 65536);

-- name: bodies
SELECT v.memory_no, v.number, m.id, v.encoding, v.dictionary, v.sha256, v.size, v.body
  FROM scrubjay.versions v JOIN scrubjay.memories m ON m.space_no = v.space_no AND m.no = v.memory_no
  WHERE v.space_no = scrubjay.current_space() AND (v.memory_no, v.number) > (%s, %s)
  ORDER BY v.memory_no, v.number LIMIT %s;

-- name: bodies_of
SELECT v.memory_no, v.number, m.id, v.encoding, v.dictionary, v.sha256, v.size, v.body
  FROM scrubjay.versions v JOIN scrubjay.memories m ON m.space_no = v.space_no AND m.no = v.memory_no
  WHERE v.space_no = scrubjay.current_space() AND m.id = ANY(%s::uuid[])
  ORDER BY v.memory_no, v.number;
