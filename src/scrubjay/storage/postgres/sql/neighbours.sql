-- Passages with their neighbours: the passages before and after them in the same session.

-- Passages with the columns of their memories that ranking needs, and with up to `around` neighbours on each side,
-- nearest first. The result is one row with a value for each column: a thousand rows take several times as long to read.
--
-- To check rows one by one would take longer than to find them, so this runs as scrubjay_keeper, and shows only rows of
-- the space that the caller has entered. Both tables are read once, by known keys, and joined by hash.
CREATE FUNCTION scrubjay.stored_passages(ids bigint[], around integer) RETURNS TABLE(id bigint[], memory_id text,
  observation integer[], start integer[], stop integer[], hash text, terms text, date bigint[], who text,
  asks smallint[], tier smallint[], relevance double precision[], confirmed bigint[], accesses bigint[],
  requested bigint[], before text, after text) LANGUAGE plpgsql STABLE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET enable_nestloop = off
  SET enable_mergejoin = off AS $$
DECLARE
  space integer := scrubjay.current_space();
  requested_ids bigint[]; befores text; afters text;
  all_ids bigint[] := ids;
  numbers bigint[];
BEGIN
  IF around > 0 THEN
    WITH near AS MATERIALIZED (SELECT p.id,
        ARRAY(SELECT q.id FROM scrubjay.passages q
          WHERE q.space_no = space AND q.thread = p.thread AND (q.date, q.id) < (p.date, p.id)
          ORDER BY q.date DESC, q.id DESC LIMIT around) AS before,
        ARRAY(SELECT q.id FROM scrubjay.passages q
          WHERE q.space_no = space AND q.thread = p.thread AND (q.date, q.id) > (p.date, p.id)
          ORDER BY q.date, q.id LIMIT around) AS after
      FROM scrubjay.passages p WHERE p.space_no = space AND p.id = ANY(ids))
    SELECT array_agg(n.id), string_agg(array_to_string(n.before, ','), ';'),
        string_agg(array_to_string(n.after, ','), ';'),
        ids || ARRAY(SELECT unnest(e.before || e.after) FROM near e)
      INTO requested_ids, befores, afters, all_ids FROM near n;
  END IF;
  numbers := ARRAY(SELECT e / 65536 FROM unnest(all_ids) AS e);
  RETURN QUERY SELECT array_agg(p.id), string_agg(p.memory_id::text, ','), array_agg(p.observation),
      array_agg(p.start), array_agg(p.stop), string_agg(encode(p.hash, 'hex'), ','), string_agg(p.terms, E'\n'),
      array_agg(p.date), string_agg(p.who, E'\n'), array_agg(p.asks), array_agg(m.tier), array_agg(m.relevance),
      array_agg(m.confirmed), array_agg(m.access_count), requested_ids, befores, afters
    FROM scrubjay.passages p JOIN scrubjay.memories m ON m.id = p.memory_id
    WHERE p.space_no = space AND p.id = ANY(all_ids) AND m.space_no = space AND m.no = ANY(numbers);
END $$;

-- The ids of all passages of memories.
CREATE FUNCTION scrubjay.passage_numbers(ids uuid[]) RETURNS SETOF bigint LANGUAGE plpgsql STABLE
  SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT m.no * 65536 + g.ordinal FROM scrubjay.memories m
    CROSS JOIN LATERAL generate_series(0, m.passages - 1) AS g(ordinal)
    WHERE m.space_no = scrubjay.current_space() AND m.id = ANY(ids) ORDER BY 1;
END $$;

-- The memories before and after each memory, by the positions of their first passages.
CREATE FUNCTION scrubjay.neighbouring_memories(ids uuid[], each_side integer)
  RETURNS TABLE(id uuid, before uuid[], after uuid[]) LANGUAGE plpgsql STABLE
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $$
DECLARE
  firsts bigint[] := ARRAY(SELECT m.no * 65536 FROM scrubjay.memories m
    WHERE m.space_no = scrubjay.current_space() AND m.id = ANY(neighbouring_memories.ids));
BEGIN
  RETURN QUERY SELECT p.memory_id, b.ids, a.ids FROM scrubjay.passages p
    CROSS JOIN LATERAL (SELECT ARRAY(SELECT q.memory_id FROM scrubjay.passages q
      WHERE q.space_no = scrubjay.current_space() AND q.thread = p.thread AND (q.date, q.id) < (p.date, p.id)
        AND q.id % 65536 = 0 ORDER BY q.date DESC, q.id DESC LIMIT each_side) AS ids) AS b
    CROSS JOIN LATERAL (SELECT ARRAY(SELECT q.memory_id FROM scrubjay.passages q
      WHERE q.space_no = scrubjay.current_space() AND q.thread = p.thread AND (q.date, q.id) > (p.date, p.id)
        AND q.id % 65536 = 0 ORDER BY q.date, q.id LIMIT each_side) AS ids) AS a
    WHERE p.space_no = scrubjay.current_space() AND p.id = ANY(firsts);
END $$;
