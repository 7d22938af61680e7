"""What a commit asks and does, as functions of the database: planned once in a connection, called in one message.

They look rows up one by one, by their keys, whatever the planner believes of a table it has not looked at lately. Where
rows are guarded, only comparisons that can tell nothing may use an index: of plain columns and values, not of sums.
A change of one is a new function under a new name, made by a migration: servers of two versions may run side by side.
"""

# What a commit has to know before it can be planned. Commits of one space come one after the other, those of two do
# not wait for each other: whoever is here has the space for itself until the end of the transaction.
OPEN = """
CREATE FUNCTION scrubjay.open_1(ask jsonb) RETURNS jsonb LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  found jsonb;
  numbers bigint[];
  sharing integer;
  given_ids uuid[] := ARRAY(SELECT jsonb_array_elements_text(ask->'ids')::uuid);
  given_revised uuid[] := ARRAY(SELECT jsonb_array_elements_text(ask->'revised')::uuid);
  given_names bytea[] := ARRAY(SELECT jsonb_array_elements_text(ask->'names')::bytea);
  given_runs bigint[] := ARRAY(SELECT jsonb_array_elements_text(ask->'runs')::bigint);
  given_hashes bytea[] := ARRAY(SELECT jsonb_array_elements_text(ask->'hashes')::bytea);
  given_model integer := (SELECT no FROM scrubjay.models WHERE name = ask->>'model');
BEGIN
  SELECT jsonb_build_object('dictionary', jsonb_agg(jsonb_build_array(no, bodies))) INTO found FROM (
    SELECT no, bodies FROM scrubjay.dictionaries WHERE space_no = scrubjay.here() AND NOT tainted
    ORDER BY no DESC LIMIT 1) AS newest;
  found := found || jsonb_build_object('known', (
    SELECT jsonb_agg(jsonb_build_array(no, id, version, state, passages, index_key, name_digest, facets))
    FROM scrubjay.memories WHERE space_no = scrubjay.here() AND id = ANY(given_ids)));
  found := found || jsonb_build_object('runs', (
    SELECT jsonb_agg(jsonb_build_array(no, id, agent, undoes, undone, last_seq))
    FROM scrubjay.runs WHERE space_no = scrubjay.here() AND id_key = ANY(given_runs)));
  IF ask ? 'names' THEN
    found := found || jsonb_build_object('holders', (
      SELECT jsonb_agg(jsonb_build_array(name_digest, id))
      FROM scrubjay.memories WHERE space_no = scrubjay.here() AND state = 0 AND name_digest = ANY(given_names)));
  END IF;
  IF ask ? 'revised' THEN
    numbers := ARRAY(SELECT no FROM scrubjay.memories WHERE space_no = scrubjay.here() AND id = ANY(given_revised));
    found := found || jsonb_build_object('terms', (
      SELECT jsonb_agg(jsonb_build_array(p.memory_id, p.terms))
      FROM unnest(ARRAY(SELECT 65536 * n FROM unnest(numbers) AS n),
          ARRAY(SELECT 65536 * (n + 1) FROM unnest(numbers) AS n)) AS r(low, high)
      JOIN scrubjay.passages p ON p.space_no = scrubjay.here() AND p.id >= r.low AND p.id < r.high));
  END IF;
  IF ask ? 'once' THEN
    found := found || jsonb_build_object('once', (
      SELECT jsonb_agg(jsonb_build_array(digest, answer))
      FROM scrubjay.once WHERE space_no = scrubjay.here() AND key_digest = (ask->>'once')::bytea));
  END IF;
  IF ask ? 'relations' THEN
    found := found || jsonb_build_object('relations', (
      SELECT jsonb_agg(jsonb_build_array(a.id, r.type, b.id, r.text, r.strength, r.metadata, r.created_at))
      FROM jsonb_to_recordset(ask->'relations') AS k(source uuid, type_digest bytea, target uuid)
      JOIN scrubjay.memories a ON a.space_no = scrubjay.here() AND a.id = k.source
      JOIN scrubjay.memories b ON b.space_no = scrubjay.here() AND b.id = k.target
      JOIN scrubjay.relations r ON r.space_no = scrubjay.here() AND r.source_no = a.no
        AND r.type_digest = k.type_digest AND r.target_no = b.no));
  END IF;
  IF ask ? 'hashes' THEN
    found := found || jsonb_build_object('model', (
      SELECT jsonb_agg(jsonb_build_array(no, dimension)) FROM scrubjay.models WHERE no = given_model));
    found := found || jsonb_build_object('embedded', (
      SELECT jsonb_agg(jsonb_build_array(hash)) FROM scrubjay.vectors v
      WHERE v.space_no = scrubjay.here() AND v.model_no = given_model AND v.hash = ANY(given_hashes)));
    found := found || jsonb_build_object('sharers', (
      SELECT jsonb_agg(jsonb_build_array(m.no, m.id, m.version, m.state, m.passages, m.index_key, m.name_digest,
        m.facets) ORDER BY p.id)
      FROM scrubjay.passages p JOIN scrubjay.memories m ON m.space_no = p.space_no AND m.id = p.memory_id
      WHERE p.space_no = scrubjay.here() AND p.hash = ANY(given_hashes) AND NOT EXISTS (
        SELECT 1 FROM scrubjay.vectors v
        WHERE v.space_no = scrubjay.here() AND v.model_no = given_model AND v.hash = p.hash)));
  END IF;
  IF ask ? 'reserve' THEN
    sharing := CASE jsonb_typeof(found->'sharers') WHEN 'array' THEN jsonb_array_length(found->'sharers') ELSE 0 END;
    found := found || jsonb_build_object('reserved', (
      SELECT jsonb_build_array(jsonb_build_array(l.changes, l.bodies,
        scrubjay.reserve((ask->'reserve'->>'changes')::integer + sharing),
        ARRAY(SELECT nextval('scrubjay.memory_numbers')
          FROM generate_series(1, (ask->'reserve'->>'memories')::integer)),
        ARRAY(SELECT nextval('scrubjay.run_numbers') FROM generate_series(1, (ask->'reserve'->>'runs')::integer)),
        pg_current_xact_id()::text))
      FROM scrubjay.ledgers l WHERE l.space_no = scrubjay.here()));
  END IF;
  RETURN found;
END $$;
"""

WRITE = """
CREATE FUNCTION scrubjay.write_1(doc jsonb) RETURNS void LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE number bigint; dropped bigint[];
BEGIN
  IF doc ? 'ledger' THEN
    UPDATE scrubjay.ledgers l SET changes = l.changes + v.changes, bodies = l.bodies + v.bodies,
        body_bytes = l.body_bytes + v.body_bytes, stored_bytes = l.stored_bytes + v.stored_bytes,
        raw_bodies = l.raw_bodies + v.raw_bodies, flagged_bodies = l.flagged_bodies + v.flagged_bodies
      FROM jsonb_to_recordset(doc->'ledger') AS v(changes bigint, bodies bigint, body_bytes bigint,
        stored_bytes bigint, raw_bodies bigint, flagged_bodies bigint) WHERE l.space_no = scrubjay.here();
  END IF;
  IF doc ? 'revised' THEN
    -- Names may change hands: first everybody lets go, unseen, since each has its own state at the end.
    UPDATE scrubjay.memories m SET state = 3 FROM jsonb_to_recordset(doc->'revised') AS v(no bigint, name_digest bytea)
      WHERE m.space_no = scrubjay.here() AND m.no = v.no AND m.state = 0 AND m.name_digest <> v.name_digest;
    UPDATE scrubjay.memories m SET name = v.name, name_digest = v.name_digest, title = v.title,
        title_key = v.title_key, bare_key = v.bare_key, name_key = v.name_key, content_key = v.content_key,
        group_key = v.group_key, index_key = v.index_key, facets = v.facets, state = v.state, pinned = v.pinned,
        version = v.version, passages = v.passages, date = v.date, updated_at = v.updated_at
      FROM jsonb_to_recordset(doc->'revised') AS v(no bigint, name text, name_digest bytea, title text,
        title_key bigint, bare_key bigint, name_key bigint, content_key bigint, group_key bigint, index_key bytea,
        facets text, state smallint, pinned boolean, version integer, passages integer, date bigint, updated_at bigint)
      WHERE m.space_no = scrubjay.here() AND m.no = v.no;
  END IF;
  IF doc ? 'unindexed' THEN
    FOR number IN SELECT jsonb_array_elements(doc->'unindexed')::bigint LOOP
      DELETE FROM scrubjay.passages
        WHERE space_no = scrubjay.here() AND id >= number * 65536 AND id < (number + 1) * 65536;
    END LOOP;
  END IF;
  INSERT INTO scrubjay.memories(space_no, no, id, name, name_digest, title, title_key, bare_key, name_key, content_key,
      group_key, index_key, facets, state, pinned, version, passages, date, created_at, updated_at, last_accessed,
      access_count)
    SELECT scrubjay.here(), v.* FROM jsonb_to_recordset(doc->'memories') AS v(no bigint, id uuid, name text,
      name_digest bytea, title text, title_key bigint, bare_key bigint, name_key bigint, content_key bigint,
      group_key bigint, index_key bytea, facets text, state smallint, pinned boolean, version integer,
      passages integer, date bigint, created_at bigint, updated_at bigint, last_accessed bigint, access_count bigint);
  INSERT INTO scrubjay.versions(space_no, memory_no, number, parent, action, created_at, run_no, message, encoding,
      dictionary, sha256, size, body)
    SELECT scrubjay.here(), v.* FROM jsonb_to_recordset(doc->'versions') AS v(memory_no bigint, number integer,
      parent integer, action text, created_at bigint, run_no bigint, message text, encoding smallint,
      dictionary integer, sha256 bytea, size integer, body bytea);
  INSERT INTO scrubjay.contents AS c (space_no, memory_no, content, metadata)
    SELECT scrubjay.here(), v.* FROM jsonb_to_recordset(doc->'contents')
      AS v(memory_no bigint, content text, metadata jsonb)
    ON CONFLICT (space_no, memory_no) DO UPDATE SET content = excluded.content, metadata = excluded.metadata;
  INSERT INTO scrubjay.passages(space_no, id, state, memory_id, hash, date, observation, start, stop, terms, words)
    SELECT scrubjay.here(), v.* FROM jsonb_to_recordset(doc->'passages') AS v(id bigint, state smallint,
      memory_id uuid, hash bytea, date bigint, observation integer, start integer, stop integer, terms text,
      words bigint[]);
  INSERT INTO scrubjay.runs(space_no, no, id, id_key, agent, agent_key, undoes, undone, last_seq)
    SELECT scrubjay.here(), v.* FROM jsonb_to_recordset(doc->'runs') AS v(no bigint, id text, id_key bigint,
      agent text, agent_key bigint, undoes bigint, undone boolean, last_seq bigint);
  INSERT INTO scrubjay.changes(space_no, place, seq, run_no, memory_no, memory_id, at, version, base, passages_before,
      target_no, action, relation)
    SELECT scrubjay.here(), v.* FROM jsonb_to_recordset(doc->'changes') AS v(place bigint, seq bigint, run_no bigint,
      memory_no bigint, memory_id uuid, at bigint, version integer, base integer, passages_before integer,
      target_no bigint, action text, relation text);
  INSERT INTO scrubjay.vectors(space_no, model_no, hash, vector)
    SELECT scrubjay.here(), v.model_no, v.hash, scrubjay.vector_of(v.vector)
      FROM jsonb_to_recordset(doc->'vectors') AS v(model_no integer, hash bytea, vector text)
    ON CONFLICT DO NOTHING;
  INSERT INTO scrubjay.terms AS t (space_no, word, passages)
    SELECT scrubjay.here(), v.* FROM jsonb_to_recordset(doc->'terms') AS v(word bigint, passages bigint)
    ON CONFLICT (space_no, word) DO UPDATE SET passages = t.passages + excluded.passages;
  INSERT INTO scrubjay.facets AS t (space_no, state, digest, facet, memories)
    SELECT scrubjay.here(), v.* FROM jsonb_to_recordset(doc->'facets')
      AS v(state smallint, digest bytea, facet text, memories bigint)
    ON CONFLICT (space_no, state, digest) DO UPDATE SET memories = t.memories + excluded.memories;
  INSERT INTO scrubjay.lexicons AS t (space_no, state, memories, passages, length)
    SELECT scrubjay.here(), v.* FROM jsonb_to_recordset(doc->'lexicons')
      AS v(state smallint, memories bigint, passages bigint, length bigint)
    ON CONFLICT (space_no, state) DO UPDATE SET memories = t.memories + excluded.memories,
      passages = t.passages + excluded.passages, length = t.length + excluded.length;
  IF doc ? 'once' THEN
    INSERT INTO scrubjay.once(space_no, key_digest, digest, answer, run_no, at)
      SELECT scrubjay.here(), v.* FROM jsonb_to_recordset(doc->'once')
        AS v(key_digest bytea, digest bytea, answer text, run_no bigint, at bigint);
  END IF;
  IF doc ? 'relations' THEN
    INSERT INTO scrubjay.relations(space_no, source_no, target_no, type_digest, type, text, strength, metadata,
        created_at)
      SELECT scrubjay.here(), v.* FROM jsonb_to_recordset(doc->'relations') AS v(source_no bigint, target_no bigint,
        type_digest bytea, type text, text text, strength double precision, metadata text, created_at bigint)
      ON CONFLICT (space_no, source_no, type_digest, target_no) DO UPDATE SET text = excluded.text,
        strength = excluded.strength, metadata = excluded.metadata, created_at = excluded.created_at;
  END IF;
  IF doc ? 'unrelated' THEN
    DELETE FROM scrubjay.relations r USING jsonb_to_recordset(doc->'unrelated')
        AS v(source_no bigint, target_no bigint, type_digest bytea)
      WHERE r.space_no = scrubjay.here() AND r.source_no = v.source_no AND r.type_digest = v.type_digest
        AND r.target_no = v.target_no;
  END IF;
  IF doc ? 'continued' THEN
    UPDATE scrubjay.runs r SET last_seq = v.last_seq, undone = r.undone OR v.undone
      FROM jsonb_to_recordset(doc->'continued') AS v(no bigint, last_seq bigint, undone boolean)
      WHERE r.space_no = scrubjay.here() AND r.no = v.no;
  END IF;
  IF doc ? 'dropped_words' THEN
    dropped := ARRAY(SELECT jsonb_array_elements(doc->'dropped_words')::bigint);
    DELETE FROM scrubjay.terms WHERE space_no = scrubjay.here() AND word = ANY(dropped) AND passages <= 0;
  END IF;
  IF doc ? 'dropped_facets' THEN
    DELETE FROM scrubjay.facets t USING jsonb_to_recordset(doc->'dropped_facets') AS v(state smallint, digest bytea)
      WHERE t.space_no = scrubjay.here() AND t.state = v.state AND t.digest = v.digest AND t.memories <= 0;
  END IF;
END $$;
"""

# The first of them, and which of some words are new to the vocabulary.
OPEN_2 = """
CREATE FUNCTION scrubjay.open_2(ask jsonb) RETURNS jsonb LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  found jsonb := scrubjay.open_1(ask);
  given bigint[] := ARRAY(SELECT jsonb_array_elements(ask->'words')::bigint);
BEGIN
  IF cardinality(given) > 0 THEN
    found := found || jsonb_build_object('new_words', (
      SELECT jsonb_agg(jsonb_build_array(g.word)) FROM unnest(given) AS g(word) WHERE NOT EXISTS (
        SELECT 1 FROM scrubjay.vocabulary v WHERE v.space_no = scrubjay.here() AND v.word = g.word)));
  END IF;
  RETURN found;
END $$;
"""

# What has got more columns since, and the vocabulary; the rest is as it was. Where passages stay as they are, so does
# what they were made by. A word that is counted no more is spelled no more, whoever has let go of it.
WRITE_2 = """
CREATE FUNCTION scrubjay.write_2(doc jsonb) RETURNS void LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE number bigint;
BEGIN
  IF doc ? 'revised' THEN
    -- Names may change hands: first everybody lets go, unseen, since each has its own state at the end.
    UPDATE scrubjay.memories m SET state = 3 FROM jsonb_to_recordset(doc->'revised') AS v(no bigint, name_digest bytea)
      WHERE m.space_no = scrubjay.here() AND m.no = v.no AND m.state = 0 AND m.name_digest <> v.name_digest;
    UPDATE scrubjay.memories m SET name = v.name, name_digest = v.name_digest, title = v.title,
        title_key = v.title_key, bare_key = v.bare_key, name_key = v.name_key, content_key = v.content_key,
        group_key = v.group_key, index_key = v.index_key, facets = v.facets, state = v.state, pinned = v.pinned,
        version = v.version, passages = v.passages, date = v.date, updated_at = v.updated_at, tier = v.tier,
        relevance = v.relevance, confirmed = v.confirmed, shape = coalesce(v.shape, m.shape)
      FROM jsonb_to_recordset(doc->'revised') AS v(no bigint, name text, name_digest bytea, title text,
        title_key bigint, bare_key bigint, name_key bigint, content_key bigint, group_key bigint, index_key bytea,
        facets text, state smallint, pinned boolean, version integer, passages integer, date bigint, updated_at bigint,
        tier smallint, relevance double precision, confirmed bigint, shape smallint)
      WHERE m.space_no = scrubjay.here() AND m.no = v.no;
  END IF;
  IF doc ? 'unindexed' THEN
    FOR number IN SELECT jsonb_array_elements(doc->'unindexed')::bigint LOOP
      DELETE FROM scrubjay.passages
        WHERE space_no = scrubjay.here() AND id >= number * 65536 AND id < (number + 1) * 65536;
    END LOOP;
  END IF;
  INSERT INTO scrubjay.memories(space_no, no, id, name, name_digest, title, title_key, bare_key, name_key, content_key,
      group_key, index_key, facets, state, pinned, version, passages, date, created_at, updated_at, last_accessed,
      access_count, tier, relevance, confirmed, shape)
    SELECT scrubjay.here(), v.* FROM jsonb_to_recordset(doc->'memories') AS v(no bigint, id uuid, name text,
      name_digest bytea, title text, title_key bigint, bare_key bigint, name_key bigint, content_key bigint,
      group_key bigint, index_key bytea, facets text, state smallint, pinned boolean, version integer,
      passages integer, date bigint, created_at bigint, updated_at bigint, last_accessed bigint, access_count bigint,
      tier smallint, relevance double precision, confirmed bigint, shape smallint);
  INSERT INTO scrubjay.passages(space_no, id, state, memory_id, hash, date, observation, start, stop, terms, words,
      thread, who, asks)
    SELECT scrubjay.here(), v.* FROM jsonb_to_recordset(doc->'passages') AS v(id bigint, state smallint,
      memory_id uuid, hash bytea, date bigint, observation integer, start integer, stop integer, terms text,
      words bigint[], thread bigint, who text, asks smallint);
  INSERT INTO scrubjay.vocabulary(space_no, state, word, term, grams)
    SELECT scrubjay.here(), v.* FROM jsonb_to_recordset(doc->'vocabulary') AS v(state smallint, word bigint, term text,
      grams bigint[])
    ON CONFLICT DO NOTHING;
  PERFORM scrubjay.write_1(doc - ARRAY['revised', 'unindexed', 'memories', 'passages', 'vocabulary']);
END $$;

CREATE FUNCTION scrubjay.forget_words_1() RETURNS trigger LANGUAGE plpgsql
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  DELETE FROM scrubjay.vocabulary v USING gone g WHERE v.space_no = g.space_no AND v.word = g.word;
  RETURN NULL;
END $$;
CREATE TRIGGER forget_words AFTER DELETE ON scrubjay.terms REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION scrubjay.forget_words_1();
"""
