"""What stands beside what, and which words look alike, as functions of the database: each is one question."""

# Passages with what ranking asks of their memories, then who stands before and after each that was asked for, nearest
# first. All come as one row, a column as one value: a thousand rows would take several times as long to read.
#
# To check them one by one would take longer than to find them, so this is a door as `enter` is one: it is the keeper
# who looks, and it shows what is in the space that was entered and nothing else. Both tables are read once, by keys
# that are known by then, and put together by hashing.
_PASSAGES = """
CREATE FUNCTION scrubjay.passages_2(ids bigint[], around integer) RETURNS TABLE(id bigint[], memory_id text,
  observation integer[], start integer[], stop integer[], hash text, terms text, date bigint[], who text,
  asks smallint[], tier smallint[], relevance double precision[], confirmed bigint[], accesses bigint[],
  named bigint[], before text, after text) LANGUAGE plpgsql STABLE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET enable_nestloop = off
  SET enable_mergejoin = off AS $$
DECLARE
  place integer := scrubjay.here();
  asked bigint[]; befores text; afters text;
  everyone bigint[] := ids;
  numbers bigint[];
BEGIN
  IF around > 0 THEN
    WITH near AS MATERIALIZED (SELECT p.id,
        ARRAY(SELECT q.id FROM scrubjay.passages q
          WHERE q.space_no = place AND q.thread = p.thread AND (q.date, q.id) < (p.date, p.id)
          ORDER BY q.date DESC, q.id DESC LIMIT around) AS before,
        ARRAY(SELECT q.id FROM scrubjay.passages q
          WHERE q.space_no = place AND q.thread = p.thread AND (q.date, q.id) > (p.date, p.id)
          ORDER BY q.date, q.id LIMIT around) AS after
      FROM scrubjay.passages p WHERE p.space_no = place AND p.id = ANY(ids))
    SELECT array_agg(n.id), string_agg(array_to_string(n.before, ','), ';'),
        string_agg(array_to_string(n.after, ','), ';'),
        ids || ARRAY(SELECT unnest(e.before || e.after) FROM near e)
      INTO asked, befores, afters, everyone FROM near n;
  END IF;
  numbers := ARRAY(SELECT e / 65536 FROM unnest(everyone) AS e);
  RETURN QUERY SELECT array_agg(p.id), string_agg(p.memory_id::text, ','), array_agg(p.observation),
      array_agg(p.start), array_agg(p.stop), string_agg(encode(p.hash, 'hex'), ','), string_agg(p.terms, E'\\n'),
      array_agg(p.date), string_agg(p.who, E'\\n'), array_agg(p.asks), array_agg(m.tier), array_agg(m.relevance),
      array_agg(m.confirmed), array_agg(m.access_count), asked, befores, afters
    FROM scrubjay.passages p JOIN scrubjay.memories m ON m.id = p.memory_id
    WHERE p.space_no = place AND p.id = ANY(everyone) AND m.space_no = place AND m.no = ANY(numbers);
END $$;
REVOKE ALL ON FUNCTION scrubjay.passages_2 FROM PUBLIC;
GRANT EXECUTE ON FUNCTION scrubjay.passages_2 TO scrubjay_server, scrubjay_keeper;
GRANT CREATE ON SCHEMA scrubjay TO scrubjay_keeper;
ALTER FUNCTION scrubjay.passages_2 OWNER TO scrubjay_keeper;
REVOKE CREATE ON SCHEMA scrubjay FROM scrubjay_keeper;
"""

_NUMBERS = """
CREATE FUNCTION scrubjay.passage_numbers_1(ids uuid[]) RETURNS SETOF bigint LANGUAGE plpgsql STABLE
  SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT m.no * 65536 + g.ordinal FROM scrubjay.memories m
    CROSS JOIN LATERAL generate_series(0, m.passages - 1) AS g(ordinal)
    WHERE m.space_no = scrubjay.here() AND m.id = ANY(ids) ORDER BY 1;
END $$;
"""

# The memories around each, by where their first passages stand. Such comparisons may use an index of guarded rows.
_BESIDE = """
CREATE FUNCTION scrubjay.beside_1(ids uuid[], each integer) RETURNS TABLE(id uuid, before uuid[], after uuid[])
  LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  SET enable_bitmapscan = off AS $$
DECLARE
  firsts bigint[] := ARRAY(SELECT m.no * 65536 FROM scrubjay.memories m
    WHERE m.space_no = scrubjay.here() AND m.id = ANY(beside_1.ids));
BEGIN
  RETURN QUERY SELECT p.memory_id, b.ids, a.ids FROM scrubjay.passages p
    CROSS JOIN LATERAL (SELECT ARRAY(SELECT q.memory_id FROM scrubjay.passages q
      WHERE q.space_no = scrubjay.here() AND q.thread = p.thread AND (q.date, q.id) < (p.date, p.id)
        AND q.id % 65536 = 0 ORDER BY q.date DESC, q.id DESC LIMIT each) AS ids) AS b
    CROSS JOIN LATERAL (SELECT ARRAY(SELECT q.memory_id FROM scrubjay.passages q
      WHERE q.space_no = scrubjay.here() AND q.thread = p.thread AND (q.date, q.id) > (p.date, p.id)
        AND q.id % 65536 = 0 ORDER BY q.date, q.id LIMIT each) AS ids) AS a
    WHERE p.space_no = scrubjay.here() AND p.id = ANY(firsts);
END $$;
"""

# The terms that share the most trigrams with one. It is asked by the keeper, as words are. Of each trigram so many
# terms are looked at, however many have it; of those with the most in common the share is then counted exactly.
_SIMILAR = """
CREATE FUNCTION scrubjay.similar_1(given bigint[], of_each integer, few integer, most integer)
  RETURNS TABLE(term text, passages bigint) LANGUAGE plpgsql STABLE
  SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
DECLARE
  many integer := cardinality(given);
  likely bigint[] := ARRAY(SELECT f.word FROM (
      SELECT v.word, v.size, count(*) AS common FROM unnest(given) AS g(gram)
        CROSS JOIN LATERAL (SELECT q.space_no, q.word, cardinality(q.grams) AS size FROM scrubjay.vocabulary q
          WHERE q.grams @> ARRAY[g.gram] LIMIT of_each) AS v
        WHERE v.space_no = scrubjay.here() GROUP BY v.word, v.size) AS f
    ORDER BY f.common::float8 / (many + f.size - f.common) DESC LIMIT few);
BEGIN
  RETURN QUERY SELECT v.term, t.passages
    FROM (SELECT * FROM scrubjay.vocabulary q WHERE q.space_no = scrubjay.here() AND q.word = ANY(likely)) AS v
    JOIN (SELECT * FROM scrubjay.terms q WHERE q.space_no = scrubjay.here() AND q.word = ANY(likely)) AS t
      ON t.word = v.word
    CROSS JOIN LATERAL (SELECT count(*) AS common FROM unnest(v.grams) AS g(gram) WHERE g.gram = ANY(given)) AS c
    ORDER BY c.common::float8 / (many + cardinality(v.grams) - c.common) DESC, t.passages DESC, v.term LIMIT most;
END $$;
"""

_FACETS = """
CREATE FUNCTION scrubjay.known_facets_1(wanted smallint, digests bytea[]) RETURNS TABLE(facet text, memories bigint)
  LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT f.facet, f.memories FROM scrubjay.facets f
    WHERE f.space_no = scrubjay.here() AND f.state = wanted AND f.digest = ANY(digests);
END $$;
"""

# Until the server has looked at its tables by itself it plans in the dark.
_LOOK = """
CREATE FUNCTION scrubjay.look_2() RETURNS void LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM scrubjay.look_1();
  ANALYZE scrubjay.vocabulary;
END $$;
REVOKE ALL ON FUNCTION scrubjay.look_2 FROM PUBLIC;
GRANT EXECUTE ON FUNCTION scrubjay.look_2 TO scrubjay_keeper;
"""

VICINITY = f"{_PASSAGES}{_NUMBERS}{_BESIDE}{_SIMILAR}{_FACETS}{_LOOK}"
