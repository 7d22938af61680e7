-- Frequent reads of memories, planned once a connection. The settings keep them on indexes while the planner's
-- statistics are missing or out of date.

-- The memories that match a reference, at the first level with a match: id, name, title, slug. Branches (state 5) share
-- the name of their memory: only their id, or a search for their state, finds them.
CREATE FUNCTION scrubjay.find_memories(reference_id uuid, digest bytea, title_hash bigint, slug_hash bigint,
  state_filter smallint, row_limit integer) RETURNS TABLE(id uuid, name text, title text, state smallint)
  LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE hidden smallint := CASE WHEN state_filter IS NULL THEN 5 ELSE -1 END;
BEGIN
  RETURN QUERY SELECT m.id, m.name, m.title, m.state FROM scrubjay.memories m
    WHERE m.space_no = scrubjay.current_space() AND m.id = reference_id AND m.state = coalesce(state_filter, m.state);
  IF FOUND THEN RETURN; END IF;
  RETURN QUERY SELECT f.id, f.name, f.title, f.state FROM (
      SELECT * FROM scrubjay.memories m
        WHERE m.space_no = scrubjay.current_space() AND m.name_digest = digest AND m.state = 0
      UNION ALL
      SELECT * FROM scrubjay.memories m
        WHERE m.space_no = scrubjay.current_space() AND m.name_digest = digest AND m.state <> 0
    ) AS f WHERE f.state = coalesce(state_filter, f.state) AND f.state <> hidden
    ORDER BY f.state, f.no LIMIT row_limit;
  IF FOUND THEN RETURN; END IF;
  RETURN QUERY SELECT m.id, m.name, m.title, m.state FROM scrubjay.memories m
    WHERE m.space_no = scrubjay.current_space() AND m.title_key = title_hash AND m.title_key <> 0
      AND m.state = coalesce(state_filter, m.state) AND m.state <> hidden
    ORDER BY m.state, m.no LIMIT row_limit;
  IF FOUND OR slug_hash = 0 THEN RETURN; END IF;
  RETURN QUERY SELECT f.id, f.name, f.title, f.state FROM (
      SELECT * FROM scrubjay.memories m
        WHERE m.space_no = scrubjay.current_space() AND m.title_slug_key = slug_hash AND m.title_slug_key <> 0
      UNION
      SELECT * FROM scrubjay.memories m
        WHERE m.space_no = scrubjay.current_space() AND m.name_slug_key = slug_hash
    ) AS f WHERE f.state = coalesce(state_filter, f.state) AND f.state <> hidden
    ORDER BY f.state, f.no LIMIT row_limit;
END $$;

-- Memories with the bodies of their current versions.
CREATE FUNCTION scrubjay.get_memories(ids uuid[]) RETURNS TABLE(no bigint, id uuid, version integer,
  last_accessed bigint, access_count bigint, encoding smallint, dictionary integer, sha256 bytea, size integer,
  body bytea) LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT m.no, m.id, m.version, m.last_accessed, m.access_count, v.encoding, v.dictionary, v.sha256,
      v.size, v.body
    FROM scrubjay.memories m
    CROSS JOIN LATERAL (SELECT * FROM scrubjay.versions q WHERE q.space_no = m.space_no AND q.memory_no = m.no
      AND q.number = m.version LIMIT 1) AS v
    WHERE m.space_no = scrubjay.current_space() AND m.id = ANY(ids);
END $$;

CREATE FUNCTION scrubjay.pinned_memories() RETURNS SETOF uuid LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT m.id FROM scrubjay.memories m
    WHERE m.space_no = scrubjay.current_space() AND m.pinned AND m.state = 0 ORDER BY m.created_at, m.id;
END $$;

CREATE FUNCTION scrubjay.memories_with_content(content_hash bigint, row_limit integer) RETURNS SETOF uuid
  LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT m.id FROM scrubjay.memories m WHERE m.space_no = scrubjay.current_space()
    AND m.content_key = content_hash AND m.content_key <> 0 AND m.state = 0 LIMIT row_limit;
END $$;

-- The vectors of texts, by the hash of the text.
CREATE FUNCTION scrubjay.get_vectors(model text, hashes bytea[]) RETURNS TABLE(hash bytea, vector bytea)
  LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE model_number integer := (SELECT no FROM scrubjay.models WHERE name = model);
BEGIN
  RETURN QUERY SELECT v.hash, scrubjay.vector_bytes(v.vector) FROM scrubjay.vectors v
    WHERE v.space_no = scrubjay.current_space() AND v.model_no = model_number AND v.hash = ANY(hashes);
END $$;

-- The hashes of those texts that have a vector.
CREATE FUNCTION scrubjay.embedded_hashes(model text, hashes bytea[]) RETURNS SETOF bytea
  LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE model_number integer := (SELECT no FROM scrubjay.models WHERE name = model);
BEGIN
  RETURN QUERY SELECT v.hash FROM scrubjay.vectors v
    WHERE v.space_no = scrubjay.current_space() AND v.model_no = model_number AND v.hash = ANY(hashes);
END $$;

-- The embedded passages of memories of all spaces, for an index outside the database.
CREATE FUNCTION scrubjay.points_of_memories(model text, numbers bigint[]) RETURNS TABLE(id bigint, date bigint,
  space text, facets text, state smallint, vector bytea) LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE model_number integer := (SELECT no FROM scrubjay.models WHERE name = model);
BEGIN
  RETURN QUERY SELECT p.id, p.date, s.name, m.facets, m.state, scrubjay.vector_bytes(v.vector)
    FROM unnest(numbers) AS n(no)
    CROSS JOIN LATERAL (SELECT q.id, q.date, q.space_no, q.hash FROM scrubjay.passages q
      WHERE q.id >= n.no * 65536 AND q.id < (n.no + 1) * 65536 OFFSET 0) AS p
    CROSS JOIN LATERAL (SELECT q.facets, q.state FROM scrubjay.memories q
      WHERE q.space_no = p.space_no AND q.no = n.no LIMIT 1) AS m
    CROSS JOIN LATERAL (SELECT q.vector FROM scrubjay.vectors q
      WHERE q.space_no = p.space_no AND q.model_no = model_number AND q.hash = p.hash LIMIT 1) AS v
    JOIN scrubjay.spaces s ON s.no = p.space_no
    ORDER BY p.id;
END $$;

-- Refresh the planner's statistics. Autovacuum does so within a minute; until then a growing store is planned blindly.
CREATE FUNCTION scrubjay.analyze_tables() RETURNS void LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  ANALYZE scrubjay.spaces, scrubjay.models, scrubjay.memories, scrubjay.versions, scrubjay.contents,
    scrubjay.dictionaries, scrubjay.relations, scrubjay.passages, scrubjay.corpus_totals, scrubjay.terms,
    scrubjay.vocabulary, scrubjay.facets, scrubjay.vectors, scrubjay.runs, scrubjay.changes,
    scrubjay.idempotency_keys, scrubjay.space_totals;
END $$;
