"""What is asked most, as functions of the database: planned once in a connection. For changes see `deeds`."""

# The entries of all spaces in order, up to where nothing can come between any more; then, as an entry without a
# number, whether there are some that may not be told yet.
_CHANGES = """
CREATE FUNCTION scrubjay.changes_1(after bigint, most integer) RETURNS TABLE(seq bigint, place bigint, space text,
  memory_id uuid, memory_no bigint, action text, version integer, base integer, passages_before integer, at bigint,
  agent text, run text, relation text) LANGUAGE plpgsql VOLATILE SET enable_seqscan = off AS $$
-- Looked at before the rows are: what is settled by then is there by then.
DECLARE upto bigint := scrubjay.settled();
BEGIN
  RETURN QUERY SELECT c.seq, c.place, s.name, c.memory_id, c.memory_no, c.action, c.version, c.base,
      c.passages_before, c.at, r.agent, r.id, c.relation
    FROM scrubjay.changes c JOIN scrubjay.spaces s ON s.no = c.space_no
    JOIN scrubjay.runs r ON r.space_no = c.space_no AND r.no = c.run_no
    WHERE c.seq > after AND c.seq <= upto ORDER BY c.seq LIMIT most;
  IF EXISTS (SELECT 1 FROM scrubjay.changes c WHERE c.seq > greatest(after, upto)) THEN
    RETURN QUERY SELECT NULL::bigint, NULL::bigint, NULL, NULL::uuid, NULL::bigint, NULL, NULL::integer,
      NULL::integer, NULL::integer, NULL::bigint, NULL, NULL, NULL;
  END IF;
END $$;
"""

# Each row looks up the next: whatever the planner believes of the tables, nothing is read but what is asked for.
_POINTS = """
CREATE FUNCTION scrubjay.points_of_1(model text, numbers bigint[]) RETURNS TABLE(id bigint, date bigint, space text,
  facets text, state smallint, vector bytea) LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE wanted integer := (SELECT no FROM scrubjay.models WHERE name = model);
BEGIN
  RETURN QUERY SELECT p.id, p.date, s.name, m.facets, m.state, scrubjay.bytes_of(v.vector)
    FROM unnest(numbers) AS n(no)
    CROSS JOIN LATERAL (SELECT q.id, q.date, q.space_no, q.hash FROM scrubjay.passages q
      WHERE q.id >= n.no * 65536 AND q.id < (n.no + 1) * 65536 OFFSET 0) AS p
    CROSS JOIN LATERAL (SELECT q.facets, q.state FROM scrubjay.memories q
      WHERE q.space_no = p.space_no AND q.no = n.no LIMIT 1) AS m
    CROSS JOIN LATERAL (SELECT q.vector FROM scrubjay.vectors q
      WHERE q.space_no = p.space_no AND q.model_no = wanted AND q.hash = p.hash LIMIT 1) AS v
    JOIN scrubjay.spaces s ON s.no = p.space_no
    ORDER BY p.id;
END $$;
"""

# Who answers to a reference, at the first level that has an answer.
_FIND = """
CREATE FUNCTION scrubjay.find_1(given uuid, digest bytea, title bigint, bare bigint, wanted smallint, most integer)
  RETURNS TABLE(id uuid, name text, called text, state smallint) LANGUAGE plpgsql STABLE
  SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT m.id, m.name, m.title, m.state FROM scrubjay.memories m
    WHERE m.space_no = scrubjay.here() AND m.id = given AND m.state = coalesce(wanted, m.state);
  IF FOUND THEN RETURN; END IF;
  RETURN QUERY SELECT f.id, f.name, f.title, f.state FROM (
      SELECT * FROM scrubjay.memories m WHERE m.space_no = scrubjay.here() AND m.name_digest = digest AND m.state = 0
      UNION ALL
      SELECT * FROM scrubjay.memories m WHERE m.space_no = scrubjay.here() AND m.name_digest = digest AND m.state <> 0
    ) AS f WHERE f.state = coalesce(wanted, f.state) ORDER BY f.state, f.no LIMIT most;
  IF FOUND THEN RETURN; END IF;
  RETURN QUERY SELECT m.id, m.name, m.title, m.state FROM scrubjay.memories m
    WHERE m.space_no = scrubjay.here() AND m.title_key = find_1.title AND m.title_key <> 0
      AND m.state = coalesce(wanted, m.state) ORDER BY m.state, m.no LIMIT most;
  IF FOUND OR bare = 0 THEN RETURN; END IF;
  RETURN QUERY SELECT f.id, f.name, f.title, f.state FROM (
      SELECT * FROM scrubjay.memories m WHERE m.space_no = scrubjay.here() AND m.bare_key = bare AND m.bare_key <> 0
      UNION
      SELECT * FROM scrubjay.memories m WHERE m.space_no = scrubjay.here() AND m.name_key = bare
    ) AS f WHERE f.state = coalesce(wanted, f.state) ORDER BY f.state, f.no LIMIT most;
END $$;
"""

_GET = """
CREATE FUNCTION scrubjay.get_1(ids uuid[]) RETURNS TABLE(no bigint, id uuid, version integer, last_accessed bigint,
  access_count bigint, encoding smallint, dictionary integer, sha256 bytea, size integer, body bytea)
  LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT m.no, m.id, m.version, m.last_accessed, m.access_count, v.encoding, v.dictionary, v.sha256,
      v.size, v.body
    FROM scrubjay.memories m
    CROSS JOIN LATERAL (SELECT * FROM scrubjay.versions q WHERE q.space_no = m.space_no AND q.memory_no = m.no
      AND q.number = m.version LIMIT 1) AS v
    WHERE m.space_no = scrubjay.here() AND m.id = ANY(ids);
END $$;
"""

_FEW = """
CREATE FUNCTION scrubjay.pinned_1() RETURNS SETOF uuid LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT m.id FROM scrubjay.memories m WHERE m.space_no = scrubjay.here() AND m.pinned AND m.state = 0
    ORDER BY m.created_at, m.id;
END $$;

CREATE FUNCTION scrubjay.same_content_1(key bigint, most integer) RETURNS SETOF uuid LANGUAGE plpgsql STABLE
  SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT m.id FROM scrubjay.memories m WHERE m.space_no = scrubjay.here() AND m.content_key = key
    AND m.content_key <> 0 AND m.state = 0 LIMIT most;
END $$;

CREATE FUNCTION scrubjay.passages_1(ids bigint[]) RETURNS TABLE(id bigint, memory_id uuid, observation integer,
  start integer, stop integer, hash bytea, terms text) LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT p.id, p.memory_id, p.observation, p.start, p.stop, p.hash, p.terms FROM scrubjay.passages p
    WHERE p.space_no = scrubjay.here() AND p.id = ANY(ids);
END $$;

CREATE FUNCTION scrubjay.vectors_1(model text, hashes bytea[]) RETURNS TABLE(hash bytea, vector bytea)
  LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE wanted integer := (SELECT no FROM scrubjay.models WHERE name = model);
BEGIN
  RETURN QUERY SELECT v.hash, scrubjay.bytes_of(v.vector) FROM scrubjay.vectors v
    WHERE v.space_no = scrubjay.here() AND v.model_no = wanted AND v.hash = ANY(hashes);
END $$;

CREATE FUNCTION scrubjay.embedded_1(model text, hashes bytea[]) RETURNS SETOF bytea
  LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE wanted integer := (SELECT no FROM scrubjay.models WHERE name = model);
BEGIN
  RETURN QUERY SELECT v.hash FROM scrubjay.vectors v
    WHERE v.space_no = scrubjay.here() AND v.model_no = wanted AND v.hash = ANY(hashes);
END $$;
"""

# The counts of a space and state, as an entry without a word, and of some words.
_STATISTICS = """
CREATE FUNCTION scrubjay.statistics_1(wanted smallint, given bigint[]) RETURNS TABLE(word bigint, passages bigint,
  length bigint) LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT NULL::bigint, l.passages, l.length FROM scrubjay.lexicons l
    WHERE l.space_no = scrubjay.here() AND l.state = wanted;
  RETURN QUERY SELECT t.word, t.passages, 0::bigint FROM scrubjay.terms t
    WHERE t.space_no = scrubjay.here() AND t.word = ANY(given);
END $$;
"""

# The passages whose words weigh most together, newest first among equals. Those that have nothing but common words
# are left out: so many of the words, the first ones, are rare. It is asked by the keeper, see `lexicon`. What must be
# there besides a word is looked up with it in one go.
_CANDIDATES = """
CREATE FUNCTION scrubjay.candidates_1(given bigint[], weights float8[], rare integer, all_of bigint[], any_of bigint[],
  since bigint, until bigint, most integer) RETURNS TABLE(id bigint, total float8) LANGUAGE plpgsql STABLE
  SET enable_seqscan = off AS $$
BEGIN
  IF cardinality(any_of) = 0 THEN
    RETURN QUERY SELECT f.id, sum(f.weight) AS total FROM (
        SELECT p.id, p.space_no, t.weight FROM unnest(given[:rare], weights[:rare]) AS t(word, weight)
          CROSS JOIN LATERAL (SELECT q.id, q.space_no FROM scrubjay.passages q
            WHERE q.words @> (t.word || all_of) AND q.date >= since AND q.date < until OFFSET 0) AS p
        UNION ALL
        SELECT p.id, p.space_no, t.weight FROM unnest(given[rare + 1:], weights[rare + 1:]) AS t(word, weight)
          CROSS JOIN LATERAL (SELECT q.id, q.space_no FROM scrubjay.passages q WHERE q.words @> (t.word || all_of)
            AND q.words && given[:rare] AND q.date >= since AND q.date < until OFFSET 0) AS p
      ) AS f WHERE f.space_no = scrubjay.here() GROUP BY f.id ORDER BY 2 DESC, 1 DESC LIMIT most;
  ELSE
    RETURN QUERY SELECT f.id, sum(f.weight) AS total FROM (
        SELECT p.id, p.space_no, t.weight FROM unnest(given[:rare], weights[:rare]) AS t(word, weight)
          CROSS JOIN LATERAL (SELECT q.id, q.space_no FROM scrubjay.passages q WHERE q.words @> (t.word || all_of)
            AND q.words && any_of AND q.date >= since AND q.date < until OFFSET 0) AS p
        UNION ALL
        SELECT p.id, p.space_no, t.weight FROM unnest(given[rare + 1:], weights[rare + 1:]) AS t(word, weight)
          CROSS JOIN LATERAL (SELECT q.id, q.space_no FROM scrubjay.passages q WHERE q.words @> (t.word || all_of)
            AND q.words && any_of AND q.words && given[:rare] AND q.date >= since AND q.date < until OFFSET 0) AS p
      ) AS f WHERE f.space_no = scrubjay.here() GROUP BY f.id ORDER BY 2 DESC, 1 DESC LIMIT most;
  END IF;
END $$;
"""

# Until the server has looked at its tables by itself it plans in the dark, and it takes a minute to do so.
_LOOK = """
CREATE FUNCTION scrubjay.look_1() RETURNS void LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  ANALYZE scrubjay.spaces, scrubjay.models, scrubjay.memories, scrubjay.versions, scrubjay.contents,
    scrubjay.dictionaries, scrubjay.relations, scrubjay.passages, scrubjay.lexicons, scrubjay.terms, scrubjay.facets,
    scrubjay.vectors, scrubjay.runs, scrubjay.changes, scrubjay.once, scrubjay.ledgers;
END $$;
REVOKE ALL ON FUNCTION scrubjay.look_1 FROM PUBLIC;
GRANT EXECUTE ON FUNCTION scrubjay.look_1 TO scrubjay_keeper;
"""

QUESTIONS = f"{_CHANGES}{_POINTS}{_FIND}{_GET}{_FEW}{_STATISTICS}{_CANDIDATES}{_LOOK}"
