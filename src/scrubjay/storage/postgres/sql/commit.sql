-- A commit is two calls: prepare_commit reads all that the plan of a commit needs, write_commit writes its rows.
--
-- Both look rows up by key, one by one, whatever the planner's statistics say. Under row-level security only
-- comparisons of plain columns with plain values can use an index, not those of expressions.

-- Read what a commit needs, and reserve its numbers. Each part of the request asks for one part of the result.
CREATE FUNCTION scrubjay.prepare_commit(request jsonb) RETURNS jsonb LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  result jsonb;
  numbers bigint[];
  sharer_count integer;
  requested_ids uuid[] := ARRAY(SELECT jsonb_array_elements_text(request->'memory_ids')::uuid);
  revised_ids uuid[] := ARRAY(SELECT jsonb_array_elements_text(request->'revised_ids')::uuid);
  name_digests bytea[] := ARRAY(SELECT jsonb_array_elements_text(request->'name_digests')::bytea);
  run_keys bigint[] := ARRAY(SELECT jsonb_array_elements_text(request->'run_keys')::bigint);
  hashes bytea[] := ARRAY(SELECT jsonb_array_elements_text(request->'hashes')::bytea);
  requested_words bigint[] := ARRAY(SELECT jsonb_array_elements(request->'words')::bigint);
  model_number integer := (SELECT no FROM scrubjay.models WHERE name = request->>'model');
BEGIN
  SELECT jsonb_build_object('dictionary', jsonb_agg(jsonb_build_array(no, bodies))) INTO result FROM (
    SELECT no, bodies FROM scrubjay.dictionaries WHERE space_no = scrubjay.current_space() AND NOT tainted
    ORDER BY no DESC LIMIT 1) AS newest;
  result := result || jsonb_build_object('memories', (
    SELECT jsonb_agg(jsonb_build_array(no, id, version, state, passages, index_key, name_digest, facets))
    FROM scrubjay.memories WHERE space_no = scrubjay.current_space() AND id = ANY(requested_ids)));
  result := result || jsonb_build_object('runs', (
    SELECT jsonb_agg(jsonb_build_array(no, id, agent, undoes, undone, last_seq))
    FROM scrubjay.runs WHERE space_no = scrubjay.current_space() AND id_key = ANY(run_keys)));
  IF request ? 'name_digests' THEN
    result := result || jsonb_build_object('name_holders', (
      SELECT jsonb_agg(jsonb_build_array(name_digest, id)) FROM scrubjay.memories
      WHERE space_no = scrubjay.current_space() AND state = 0 AND name_digest = ANY(name_digests)));
  END IF;
  IF request ? 'revised_ids' THEN
    numbers := ARRAY(SELECT no FROM scrubjay.memories
      WHERE space_no = scrubjay.current_space() AND id = ANY(revised_ids));
    result := result || jsonb_build_object('terms', (
      SELECT jsonb_agg(jsonb_build_array(p.memory_id, p.terms))
      FROM unnest(ARRAY(SELECT 65536 * n FROM unnest(numbers) AS n),
          ARRAY(SELECT 65536 * (n + 1) FROM unnest(numbers) AS n)) AS r(low, high)
      JOIN scrubjay.passages p ON p.space_no = scrubjay.current_space() AND p.id >= r.low AND p.id < r.high));
  END IF;
  IF cardinality(requested_words) > 0 THEN
    result := result || jsonb_build_object('new_words', (
      SELECT jsonb_agg(jsonb_build_array(w.word)) FROM unnest(requested_words) AS w(word) WHERE NOT EXISTS (
        SELECT 1 FROM scrubjay.vocabulary v WHERE v.space_no = scrubjay.current_space() AND v.word = w.word)));
  END IF;
  -- The next version may turn these into deltas. Large bodies stay as they are, and are not sent.
  IF request ? 'last_versions' THEN
    result := result || jsonb_build_object('last_versions', (
      SELECT jsonb_agg(jsonb_build_array(m.no, m.id, v.number, v.encoding, v.dictionary, v.sha256, v.size,
        CASE WHEN length(v.body) <= 262144 THEN v.body END) ORDER BY v.number)
      FROM scrubjay.memories m
      CROSS JOIN LATERAL (SELECT * FROM scrubjay.versions q WHERE q.space_no = m.space_no AND q.memory_no = m.no
        ORDER BY q.number DESC LIMIT (request->>'last_versions')::integer) AS v
      WHERE m.space_no = scrubjay.current_space() AND m.id = ANY(revised_ids)));
  END IF;
  IF request ? 'idempotency_key' THEN
    result := result || jsonb_build_object('answer', (
      SELECT jsonb_agg(jsonb_build_array(request_digest, answer)) FROM scrubjay.idempotency_keys
      WHERE space_no = scrubjay.current_space() AND key_digest = (request->>'idempotency_key')::bytea));
  END IF;
  IF request ? 'relations' THEN
    result := result || jsonb_build_object('relations', (
      SELECT jsonb_agg(jsonb_build_array(a.id, r.type, b.id, r.text, r.strength, r.metadata, r.created_at))
      FROM jsonb_to_recordset(request->'relations') AS k(source uuid, type_digest bytea, target uuid)
      JOIN scrubjay.memories a ON a.space_no = scrubjay.current_space() AND a.id = k.source
      JOIN scrubjay.memories b ON b.space_no = scrubjay.current_space() AND b.id = k.target
      JOIN scrubjay.relations r ON r.space_no = scrubjay.current_space() AND r.source_no = a.no
        AND r.type_digest = k.type_digest AND r.target_no = b.no));
  END IF;
  -- The sharers are other memories with the same text, which get a vector by this commit too.
  IF request ? 'hashes' THEN
    result := result || jsonb_build_object('model', (
      SELECT jsonb_agg(jsonb_build_array(no, dimension)) FROM scrubjay.models WHERE no = model_number));
    result := result || jsonb_build_object('embedded', (
      SELECT jsonb_agg(jsonb_build_array(hash)) FROM scrubjay.vectors v
      WHERE v.space_no = scrubjay.current_space() AND v.model_no = model_number AND v.hash = ANY(hashes)));
    result := result || jsonb_build_object('sharers', (
      SELECT jsonb_agg(jsonb_build_array(m.no, m.id, m.version, m.state, m.passages, m.index_key, m.name_digest,
        m.facets) ORDER BY p.id)
      FROM scrubjay.passages p JOIN scrubjay.memories m ON m.space_no = p.space_no AND m.id = p.memory_id
      WHERE p.space_no = scrubjay.current_space() AND p.hash = ANY(hashes) AND NOT EXISTS (
        SELECT 1 FROM scrubjay.vectors v
        WHERE v.space_no = scrubjay.current_space() AND v.model_no = model_number AND v.hash = p.hash)));
  END IF;
  IF request ? 'reserve' THEN
    sharer_count :=
      CASE jsonb_typeof(result->'sharers') WHEN 'array' THEN jsonb_array_length(result->'sharers') ELSE 0 END;
    result := result || jsonb_build_object('reserved', (
      SELECT jsonb_build_array(jsonb_build_array(t.changes, t.bodies,
        scrubjay.reserve_changes((request->'reserve'->>'changes')::integer + sharer_count),
        ARRAY(SELECT nextval('scrubjay.memory_numbers')
          FROM generate_series(1, (request->'reserve'->>'memories')::integer)),
        ARRAY(SELECT nextval('scrubjay.run_numbers')
          FROM generate_series(1, (request->'reserve'->>'runs')::integer)),
        pg_current_xact_id()::text))
      FROM scrubjay.space_totals t WHERE t.space_no = scrubjay.current_space()));
  END IF;
  RETURN result;
END $$;

-- Write the rows of a commit, given by table; a missing table has no rows.
CREATE FUNCTION scrubjay.write_commit(tables jsonb) RETURNS void LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE number bigint; unused bigint[];
BEGIN
  IF tables ? 'space_totals' THEN
    UPDATE scrubjay.space_totals t SET changes = t.changes + v.changes, bodies = t.bodies + v.bodies,
        body_bytes = t.body_bytes + v.body_bytes, stored_bytes = t.stored_bytes + v.stored_bytes,
        raw_bodies = t.raw_bodies + v.raw_bodies, flagged_bodies = t.flagged_bodies + v.flagged_bodies
      FROM jsonb_to_recordset(tables->'space_totals') AS v(changes bigint, bodies bigint, body_bytes bigint,
        stored_bytes bigint, raw_bodies bigint, flagged_bodies bigint)
      WHERE t.space_no = scrubjay.current_space();
  END IF;
  IF tables ? 'revised_memories' THEN
    -- A name may pass from one memory to another, and live names are unique: first every memory gives its name up.
    UPDATE scrubjay.memories m SET state = 3
      FROM jsonb_to_recordset(tables->'revised_memories') AS v(no bigint, name_digest bytea)
      WHERE m.space_no = scrubjay.current_space() AND m.no = v.no AND m.state = 0 AND m.name_digest <> v.name_digest;
    -- Without new passages the passage format stays.
    UPDATE scrubjay.memories m SET name = v.name, name_digest = v.name_digest, title = v.title,
        title_key = v.title_key, title_slug_key = v.title_slug_key, name_slug_key = v.name_slug_key,
        content_key = v.content_key, group_key = v.group_key, index_key = v.index_key, facets = v.facets,
        state = v.state, pinned = v.pinned, version = v.version, passages = v.passages,
        passage_format = coalesce(v.passage_format, m.passage_format), date = v.date, updated_at = v.updated_at,
        tier = v.tier, relevance = v.relevance, confirmed = v.confirmed
      FROM jsonb_to_recordset(tables->'revised_memories') AS v(no bigint, name text, name_digest bytea, title text,
        title_key bigint, title_slug_key bigint, name_slug_key bigint, content_key bigint, group_key bigint,
        index_key bytea, facets text, state smallint, pinned boolean, version integer, passages integer,
        passage_format smallint, date bigint, updated_at bigint, tier smallint, relevance double precision,
        confirmed bigint)
      WHERE m.space_no = scrubjay.current_space() AND m.no = v.no;
  END IF;
  IF tables ? 'unindexed_memories' THEN
    FOR number IN SELECT jsonb_array_elements(tables->'unindexed_memories')::bigint LOOP
      DELETE FROM scrubjay.passages
        WHERE space_no = scrubjay.current_space() AND id >= number * 65536 AND id < (number + 1) * 65536;
    END LOOP;
  END IF;
  INSERT INTO scrubjay.memories(space_no, no, id, name, name_digest, title, title_key, title_slug_key, name_slug_key,
      content_key, group_key, index_key, facets, state, pinned, version, passages, passage_format, date, created_at,
      updated_at, last_accessed, access_count, tier, relevance, confirmed)
    SELECT scrubjay.current_space(), v.* FROM jsonb_to_recordset(tables->'memories') AS v(no bigint, id uuid,
      name text, name_digest bytea, title text, title_key bigint, title_slug_key bigint, name_slug_key bigint,
      content_key bigint, group_key bigint, index_key bytea, facets text, state smallint, pinned boolean,
      version integer, passages integer, passage_format smallint, date bigint, created_at bigint, updated_at bigint,
      last_accessed bigint, access_count bigint, tier smallint, relevance double precision, confirmed bigint);
  IF tables ? 'repacked_versions' THEN
    UPDATE scrubjay.versions q SET encoding = v.encoding, dictionary = v.dictionary, body = v.body
      FROM jsonb_to_recordset(tables->'repacked_versions')
        AS v(memory_no bigint, number integer, encoding smallint, dictionary integer, body bytea)
      WHERE q.space_no = scrubjay.current_space() AND q.memory_no = v.memory_no AND q.number = v.number;
  END IF;
  INSERT INTO scrubjay.versions(space_no, memory_no, number, parent, action, created_at, run_no, message, encoding,
      dictionary, sha256, size, body)
    SELECT scrubjay.current_space(), v.* FROM jsonb_to_recordset(tables->'versions') AS v(memory_no bigint,
      number integer, parent integer, action text, created_at bigint, run_no bigint, message text, encoding smallint,
      dictionary integer, sha256 bytea, size integer, body bytea);
  INSERT INTO scrubjay.contents AS c (space_no, memory_no, content, metadata)
    SELECT scrubjay.current_space(), v.* FROM jsonb_to_recordset(tables->'contents')
      AS v(memory_no bigint, content text, metadata jsonb)
    ON CONFLICT (space_no, memory_no) DO UPDATE SET content = excluded.content, metadata = excluded.metadata;
  INSERT INTO scrubjay.passages(space_no, id, state, memory_id, hash, date, observation, start, stop, terms, words,
      thread, who, asks)
    SELECT scrubjay.current_space(), v.* FROM jsonb_to_recordset(tables->'passages') AS v(id bigint, state smallint,
      memory_id uuid, hash bytea, date bigint, observation integer, start integer, stop integer, terms text,
      words bigint[], thread bigint, who text, asks smallint);
  INSERT INTO scrubjay.vocabulary(space_no, state, word, term, grams)
    SELECT scrubjay.current_space(), v.* FROM jsonb_to_recordset(tables->'vocabulary')
      AS v(state smallint, word bigint, term text, grams bigint[])
    ON CONFLICT DO NOTHING;
  INSERT INTO scrubjay.runs(space_no, no, id, id_key, agent, agent_key, undoes, undone, last_seq)
    SELECT scrubjay.current_space(), v.* FROM jsonb_to_recordset(tables->'runs') AS v(no bigint, id text,
      id_key bigint, agent text, agent_key bigint, undoes bigint, undone boolean, last_seq bigint);
  INSERT INTO scrubjay.changes(space_no, place, seq, run_no, memory_no, memory_id, at, version, base, passages_before,
      target_no, action, relation)
    SELECT scrubjay.current_space(), v.* FROM jsonb_to_recordset(tables->'changes') AS v(place bigint, seq bigint,
      run_no bigint, memory_no bigint, memory_id uuid, at bigint, version integer, base integer,
      passages_before integer, target_no bigint, action text, relation text);
  INSERT INTO scrubjay.vectors(space_no, model_no, hash, vector)
    SELECT scrubjay.current_space(), v.model_no, v.hash, scrubjay.parse_vector(v.vector)
      FROM jsonb_to_recordset(tables->'vectors') AS v(model_no integer, hash bytea, vector text)
    ON CONFLICT DO NOTHING;
  INSERT INTO scrubjay.terms AS t (space_no, word, passages)
    SELECT scrubjay.current_space(), v.* FROM jsonb_to_recordset(tables->'terms') AS v(word bigint, passages bigint)
    ON CONFLICT (space_no, word) DO UPDATE SET passages = t.passages + excluded.passages;
  INSERT INTO scrubjay.facets AS t (space_no, state, digest, facet, memories)
    SELECT scrubjay.current_space(), v.* FROM jsonb_to_recordset(tables->'facets')
      AS v(state smallint, digest bytea, facet text, memories bigint)
    ON CONFLICT (space_no, state, digest) DO UPDATE SET memories = t.memories + excluded.memories;
  INSERT INTO scrubjay.corpus_totals AS t (space_no, state, memories, passages, length)
    SELECT scrubjay.current_space(), v.* FROM jsonb_to_recordset(tables->'corpus_totals')
      AS v(state smallint, memories bigint, passages bigint, length bigint)
    ON CONFLICT (space_no, state) DO UPDATE SET memories = t.memories + excluded.memories,
      passages = t.passages + excluded.passages, length = t.length + excluded.length;
  IF tables ? 'idempotency_keys' THEN
    INSERT INTO scrubjay.idempotency_keys(space_no, key_digest, request_digest, answer, run_no, at)
      SELECT scrubjay.current_space(), v.* FROM jsonb_to_recordset(tables->'idempotency_keys')
        AS v(key_digest bytea, request_digest bytea, answer text, run_no bigint, at bigint);
  END IF;
  IF tables ? 'relations' THEN
    INSERT INTO scrubjay.relations(space_no, source_no, target_no, type_digest, type, text, strength, metadata,
        created_at)
      SELECT scrubjay.current_space(), v.* FROM jsonb_to_recordset(tables->'relations') AS v(source_no bigint,
        target_no bigint, type_digest bytea, type text, text text, strength double precision, metadata text,
        created_at bigint)
      ON CONFLICT (space_no, source_no, type_digest, target_no) DO UPDATE SET text = excluded.text,
        strength = excluded.strength, metadata = excluded.metadata, created_at = excluded.created_at;
  END IF;
  IF tables ? 'deleted_relations' THEN
    DELETE FROM scrubjay.relations r USING jsonb_to_recordset(tables->'deleted_relations')
        AS v(source_no bigint, target_no bigint, type_digest bytea)
      WHERE r.space_no = scrubjay.current_space() AND r.source_no = v.source_no AND r.type_digest = v.type_digest
        AND r.target_no = v.target_no;
  END IF;
  IF tables ? 'updated_runs' THEN
    UPDATE scrubjay.runs r SET last_seq = v.last_seq, undone = r.undone OR v.undone
      FROM jsonb_to_recordset(tables->'updated_runs') AS v(no bigint, last_seq bigint, undone boolean)
      WHERE r.space_no = scrubjay.current_space() AND r.no = v.no;
  END IF;
  IF tables ? 'unused_words' THEN
    unused := ARRAY(SELECT jsonb_array_elements(tables->'unused_words')::bigint);
    DELETE FROM scrubjay.terms WHERE space_no = scrubjay.current_space() AND word = ANY(unused) AND passages <= 0;
  END IF;
  IF tables ? 'unused_facets' THEN
    DELETE FROM scrubjay.facets t USING jsonb_to_recordset(tables->'unused_facets') AS v(state smallint, digest bytea)
      WHERE t.space_no = scrubjay.current_space() AND t.state = v.state AND t.digest = v.digest AND t.memories <= 0;
  END IF;
END $$;

-- Delete the spelling of each term whose count is deleted.
CREATE FUNCTION scrubjay.delete_spellings() RETURNS trigger LANGUAGE plpgsql
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  DELETE FROM scrubjay.vocabulary v USING deleted d WHERE v.space_no = d.space_no AND v.word = d.word;
  RETURN NULL;
END $$;
CREATE TRIGGER delete_spellings AFTER DELETE ON scrubjay.terms REFERENCING OLD TABLE AS deleted
  FOR EACH STATEMENT EXECUTE FUNCTION scrubjay.delete_spellings();
