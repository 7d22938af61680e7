"""What came with branches, and with versions that are told by newer ones, as functions of the database."""

# As the first, but branches have their memories' names: they are meant by who asks for them, or by their ids.
_FIND = """
CREATE FUNCTION scrubjay.find_2(given uuid, digest bytea, title bigint, bare bigint, wanted smallint, most integer)
  RETURNS TABLE(id uuid, name text, called text, state smallint) LANGUAGE plpgsql STABLE
  SET enable_seqscan = off AS $$
DECLARE hidden smallint := CASE WHEN wanted IS NULL THEN 5 ELSE -1 END;
BEGIN
  RETURN QUERY SELECT m.id, m.name, m.title, m.state FROM scrubjay.memories m
    WHERE m.space_no = scrubjay.here() AND m.id = given AND m.state = coalesce(wanted, m.state);
  IF FOUND THEN RETURN; END IF;
  RETURN QUERY SELECT f.id, f.name, f.title, f.state FROM (
      SELECT * FROM scrubjay.memories m WHERE m.space_no = scrubjay.here() AND m.name_digest = digest AND m.state = 0
      UNION ALL
      SELECT * FROM scrubjay.memories m WHERE m.space_no = scrubjay.here() AND m.name_digest = digest AND m.state <> 0
    ) AS f WHERE f.state = coalesce(wanted, f.state) AND f.state <> hidden ORDER BY f.state, f.no LIMIT most;
  IF FOUND THEN RETURN; END IF;
  RETURN QUERY SELECT m.id, m.name, m.title, m.state FROM scrubjay.memories m
    WHERE m.space_no = scrubjay.here() AND m.title_key = find_2.title AND m.title_key <> 0
      AND m.state = coalesce(wanted, m.state) AND m.state <> hidden ORDER BY m.state, m.no LIMIT most;
  IF FOUND OR bare = 0 THEN RETURN; END IF;
  RETURN QUERY SELECT f.id, f.name, f.title, f.state FROM (
      SELECT * FROM scrubjay.memories m WHERE m.space_no = scrubjay.here() AND m.bare_key = bare AND m.bare_key <> 0
      UNION
      SELECT * FROM scrubjay.memories m WHERE m.space_no = scrubjay.here() AND m.name_key = bare
    ) AS f WHERE f.state = coalesce(wanted, f.state) AND f.state <> hidden ORDER BY f.state, f.no LIMIT most;
END $$;
"""

# The second, and the last versions of what is revised, as they are stored: the older of them is told by what it differs
# in from the newer when another follows. Bodies that are large stay as they are, rather than be sent to and fro.
_OPEN = """
CREATE FUNCTION scrubjay.open_3(ask jsonb) RETURNS jsonb LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  found jsonb := scrubjay.open_2(ask);
  given uuid[] := ARRAY(SELECT jsonb_array_elements_text(ask->'revised')::uuid);
BEGIN
  IF ask ? 'line' THEN
    found := found || jsonb_build_object('line', (
      SELECT jsonb_agg(jsonb_build_array(m.no, m.id, v.number, v.encoding, v.dictionary, v.sha256, v.size,
        CASE WHEN length(v.body) <= 262144 THEN v.body END) ORDER BY v.number)
      FROM scrubjay.memories m
      CROSS JOIN LATERAL (SELECT * FROM scrubjay.versions q WHERE q.space_no = m.space_no AND q.memory_no = m.no
        ORDER BY q.number DESC LIMIT (ask->>'line')::integer) AS v
      WHERE m.space_no = scrubjay.here() AND m.id = ANY(given)));
  END IF;
  RETURN found;
END $$;
"""

# The second, and versions that are packed in another way.
_WRITE = """
CREATE FUNCTION scrubjay.write_3(doc jsonb) RETURNS void LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  IF doc ? 'folded' THEN
    UPDATE scrubjay.versions q SET encoding = v.encoding, dictionary = v.dictionary, body = v.body
      FROM jsonb_to_recordset(doc->'folded')
        AS v(memory_no bigint, number integer, encoding smallint, dictionary integer, body bytea)
      WHERE q.space_no = scrubjay.here() AND q.memory_no = v.memory_no AND q.number = v.number;
  END IF;
  PERFORM scrubjay.write_2(doc - 'folded');
END $$;
"""

LINES = f"{_FIND}{_OPEN}{_WRITE}"
