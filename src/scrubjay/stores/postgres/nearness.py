"""The nearest vectors, as functions of the database: to search by meaning is one question."""

# What passes a filter, by the words of its labels. Such an index is not used for guarded rows, so this is a door as
# `enter` is one: it is the keeper who looks, and it shows what is in the space that was entered and nothing else.
_PASSING = """
CREATE FUNCTION scrubjay.passing_1(wanted smallint, all_of bigint[], any_of bigint[], since bigint, until bigint)
  RETURNS TABLE(id bigint, hash bytea) LANGUAGE plpgsql STABLE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
  IF cardinality(all_of) > 0 THEN
    RETURN QUERY SELECT f.id, f.hash FROM (SELECT p.id, p.hash, p.space_no FROM scrubjay.passages p
        WHERE p.words @> all_of AND p.date >= since AND p.date < until
          AND (cardinality(any_of) = 0 OR p.words && any_of) OFFSET 0) AS f
      WHERE f.space_no = scrubjay.here();
  ELSIF cardinality(any_of) > 0 THEN
    RETURN QUERY SELECT f.id, f.hash FROM (SELECT p.id, p.hash, p.space_no FROM scrubjay.passages p
        WHERE p.words && any_of AND p.date >= since AND p.date < until OFFSET 0) AS f
      WHERE f.space_no = scrubjay.here();
  ELSE
    RETURN QUERY SELECT p.id, p.hash FROM scrubjay.passages p WHERE p.space_no = scrubjay.here()
      AND p.state = wanted AND p.date >= since AND p.date < until;
  END IF;
END $$;
"""

# How many passages pass at most: the counts of labels tell, dates are not counted.
_SELECTED = """
CREATE FUNCTION scrubjay.selected_1(ask jsonb) RETURNS bigint LANGUAGE plpgsql STABLE
  SET enable_seqscan = off AS $$
DECLARE
  all_of bytea[] := ARRAY(SELECT jsonb_array_elements_text(ask->'all_labels')::bytea);
  any_of bytea[] := ARRAY(SELECT jsonb_array_elements_text(ask->'any_labels')::bytea);
  all_memories bigint; all_passages bigint; kinds bigint; fewest bigint; most bigint;
BEGIN
  SELECT l.memories, l.passages INTO all_memories, all_passages FROM scrubjay.lexicons l
    WHERE l.space_no = scrubjay.here() AND l.state = (ask->>'state')::smallint;
  IF coalesce(all_memories, 0) <= 0 THEN RETURN 0; END IF;
  most := all_memories;
  IF cardinality(all_of) > 0 THEN
    SELECT count(*), min(f.memories) INTO kinds, fewest FROM scrubjay.facets f
      WHERE f.space_no = scrubjay.here() AND f.state = (ask->>'state')::smallint AND f.digest = ANY(all_of);
    IF kinds < cardinality(all_of) THEN RETURN 0; END IF;
    most := least(most, fewest);
  END IF;
  IF cardinality(any_of) > 0 THEN
    SELECT coalesce(sum(f.memories), 0) INTO fewest FROM scrubjay.facets f
      WHERE f.space_no = scrubjay.here() AND f.state = (ask->>'state')::smallint AND f.digest = ANY(any_of);
    most := least(most, fewest);
  END IF;
  RETURN CASE WHEN most <= 0 THEN 0 ELSE ceil(most * (all_passages::float8 / all_memories)) END;
END $$;
"""

# Stored vectors are halves; what is asked is not. A vector of zeros is near nothing. Functions of this form know the
# schema of the extension once and for all; to set it for each call would take longer than most of them do.
_COSINE = """
CREATE FUNCTION scrubjay.cosine_1(kept halfvec, asked vector) RETURNS double precision
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN coalesce(greatest(-1, least(1, nullif(1 - (kept::vector <=> asked), 'NaN'))), 0);
CREATE FUNCTION scrubjay.distance_1(kept halfvec, asked halfvec) RETURNS double precision
  LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN kept <=> asked;
CREATE FUNCTION scrubjay.half_1(asked vector) RETURNS halfvec LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN asked::halfvec;
CREATE FUNCTION scrubjay.is_zero_1(asked vector) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN vector_norm(asked) = 0;
"""

# A whole space is read in the order in which it lies there, which is many times quicker than by its key.
_EXACT = """
CREATE FUNCTION scrubjay.exact_1(given_model integer, asked halfvec, most integer)
  RETURNS TABLE(hash bytea, vector halfvec) LANGUAGE plpgsql STABLE
  SET enable_seqscan = off SET enable_indexscan = off AS $$
BEGIN
  RETURN QUERY SELECT v.hash, v.vector FROM scrubjay.vectors v
    WHERE v.space_no = scrubjay.here() AND v.model_no = given_model
    ORDER BY scrubjay.distance_1(v.vector, asked) LIMIT most;
END $$;
"""

# What passes a filter is looked up one by one.
_SIFTED = """
CREATE FUNCTION scrubjay.sifted_1(given_model integer, asked halfvec, most integer, wanted smallint, all_of bigint[],
  any_of bigint[], since bigint, until bigint) RETURNS TABLE(id bigint, vector halfvec) LANGUAGE plpgsql STABLE
  SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT p.id, v.vector FROM scrubjay.passing_1(wanted, all_of, any_of, since, until) AS p
    CROSS JOIN LATERAL (SELECT q.vector FROM scrubjay.vectors q
      WHERE q.space_no = scrubjay.here() AND q.model_no = given_model AND q.hash = p.hash LIMIT 1) AS v
    ORDER BY scrubjay.distance_1(v.vector, asked), p.id LIMIT most;
END $$;
"""

# A walk through the index, nearest first, past what does not pass; planned anew each time, as only so is the index of
# one model chosen.
_WALKED = """
CREATE FUNCTION scrubjay.walked_1(given_model integer, asked vector, most integer, wanted smallint, all_of bigint[],
  any_of bigint[], since bigint, until bigint, way jsonb) RETURNS TABLE(id bigint, vector halfvec) LANGUAGE plpgsql
  VOLATILE SET enable_seqscan = off SET enable_sort = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN QUERY EXECUTE format('SELECT p.id, v.vector FROM scrubjay.vectors v CROSS JOIN LATERAL (
        SELECT q.id FROM scrubjay.passages q WHERE q.space_no = $2 AND q.hash = v.hash AND q.state = $3
          AND q.date >= $4 AND q.date < $5 AND (cardinality($6) = 0 OR q.words @> $6)
          AND (cardinality($7) = 0 OR q.words && $7) OFFSET 0) AS p
      WHERE v.space_no = $2 AND v.model_no = %1$s AND v.placed
      ORDER BY v.vector::%2$s OPERATOR(%3$s.<=>) $1::%2$s LIMIT $8', given_model, way->>'type', way->>'schema')
    USING asked, scrubjay.here(), wanted, since, until, all_of, any_of, most;
END $$;
"""

# What the index does not know yet is looked through.
_WAITING = """
CREATE FUNCTION scrubjay.waiting_1(given_model integer, asked halfvec, most integer, wanted smallint, all_of bigint[],
  any_of bigint[], since bigint, until bigint) RETURNS TABLE(id bigint, vector halfvec) LANGUAGE plpgsql STABLE
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN QUERY SELECT p.id, v.vector FROM scrubjay.vectors v CROSS JOIN LATERAL (
        SELECT q.id FROM scrubjay.passages q WHERE q.space_no = scrubjay.here() AND q.hash = v.hash AND q.state = wanted
          AND q.date >= since AND q.date < until AND (cardinality(all_of) = 0 OR q.words @> all_of)
          AND (cardinality(any_of) = 0 OR q.words && any_of) OFFSET 0) AS p
      WHERE v.space_no = scrubjay.here() AND v.model_no = given_model AND NOT v.placed
      ORDER BY scrubjay.distance_1(v.vector, asked), p.id LIMIT most;
END $$;
"""

# Puts some of those that wait into the index, wherever they are; how many there were. Others may do the same meanwhile.
_PLACE = """
CREATE FUNCTION scrubjay.place_1(given_model integer, most integer) RETURNS bigint LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off AS $$
DECLARE many bigint;
BEGIN
  WITH few AS (SELECT v.space_no, v.hash FROM scrubjay.vectors v WHERE v.model_no = given_model AND NOT v.placed
      LIMIT most FOR UPDATE SKIP LOCKED)
    UPDATE scrubjay.vectors v SET placed = true FROM few
      WHERE v.space_no = few.space_no AND v.model_no = given_model AND v.hash = few.hash;
  GET DIAGNOSTICS many = ROW_COUNT;
  RETURN many;
END $$;
"""

# The nearest of those that pass: (number, cosine, whether an index led there).
#
# `way` tells of the index, if there is one, and what looking costs: `exact` for each vector of a whole space, `sifted`
# for each that passes a filter, `step` for each that a walk through the index visits. The walk is taken where it is the
# cheaper, and given up when it has cost as much as the other: so whoever passes is found, be they few or far away.
_NEAREST = """
CREATE FUNCTION scrubjay.nearest_1(given_model integer, asked vector, most integer, ask jsonb, way jsonb)
  RETURNS TABLE(id bigint, cosine double precision, by_index boolean) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  wanted smallint := (ask->>'state')::smallint;
  all_of bigint[] := ARRAY(SELECT jsonb_array_elements(ask->'all_of')::bigint);
  any_of bigint[] := ARRAY(SELECT jsonb_array_elements(ask->'any_of')::bigint);
  since bigint := coalesce((ask->>'since')::bigint, -9223372036854775808);
  until bigint := coalesce((ask->>'until')::bigint, 9223372036854775807);
  passing bigint := scrubjay.selected_1(ask);
  points bigint := scrubjay.selected_1(jsonb_build_object('state', wanted));
  deep bigint;
  expected float8;
  affordable float8;
  ids bigint[];
  cosines float8[];
BEGIN
  IF passing = 0 OR most < 1 THEN RETURN; END IF;
  expected := greatest((way->>'least')::float8, most * greatest(1, (way->>'points')::float8 / passing));
  affordable := least(points * (way->>'exact')::float8, passing * (way->>'sifted')::float8) / (way->>'step')::float8;
  IF way ? 'type' AND expected < affordable AND NOT scrubjay.is_zero_1(asked) THEN
    PERFORM scrubjay.walk_1(most, affordable, way);
    -- One may be placed between the two looks, and be seen by both.
    SELECT array_agg(f.id), array_agg(f.cosine) INTO ids, cosines FROM (SELECT DISTINCT ON (b.id) b.id,
      scrubjay.cosine_1(b.vector, asked) AS cosine FROM (
      SELECT * FROM scrubjay.walked_1(given_model, asked, most, wanted, all_of, any_of, since, until, way)
      UNION ALL SELECT * FROM scrubjay.waiting_1(
        given_model, scrubjay.half_1(asked), most, wanted, all_of, any_of, since, until)) AS b) AS f;
    IF cardinality(ids) >= most THEN
      RETURN QUERY SELECT u.id, u.cosine, true FROM unnest(ids, cosines) AS u(id, cosine)
        ORDER BY u.cosine DESC, u.id LIMIT most;
      RETURN;
    END IF;
  END IF;
  -- Texts that do not pass, are shared or thrown away use some of the nearest up.
  deep := (2 * most + 32) * points / passing;
  IF passing > most AND points * (way->>'exact')::float8 + deep < passing * (way->>'sifted')::float8 THEN
    SELECT array_agg(p.id), array_agg(scrubjay.cosine_1(e.vector, asked)) INTO ids, cosines
      FROM scrubjay.exact_1(given_model, scrubjay.half_1(asked), deep::integer) AS e
      CROSS JOIN LATERAL (SELECT q.id FROM scrubjay.passages q
        WHERE q.space_no = scrubjay.here() AND q.hash = e.hash AND q.state = wanted AND q.date >= since
          AND q.date < until AND (cardinality(all_of) = 0 OR q.words @> all_of)
          AND (cardinality(any_of) = 0 OR q.words && any_of) OFFSET 0) AS p;
    IF cardinality(ids) >= most THEN
      RETURN QUERY SELECT u.id, u.cosine, false FROM unnest(ids, cosines) AS u(id, cosine)
        ORDER BY u.cosine DESC, u.id LIMIT most;
      RETURN;
    END IF;
  END IF;
  RETURN QUERY SELECT f.id, scrubjay.cosine_1(f.vector, asked), false
    FROM scrubjay.sifted_1(given_model, scrubjay.half_1(asked), most, wanted, all_of, any_of, since, until) AS f;
END $$;
"""

# How far a walk may go, for the rest of the transaction: for both kinds, since there may be one of each.
_WALK = """
CREATE FUNCTION scrubjay.walk_1(most integer, affordable float8, way jsonb) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('hnsw.ef_search', least(1000, greatest((way->>'least')::integer, most))::text, true),
    set_config('hnsw.max_scan_tuples', greatest(1, least(1000000, affordable))::integer::text, true),
    set_config('ivfflat.iterative_scan', 'relaxed_order', true),
    set_config('ivfflat.probes', way->>'probes', true),
    set_config('ivfflat.max_probes', way->>'lists', true);
END $$;
"""

# The door must be the keeper's, who sees what others may not.
_GRANTS = """
REVOKE ALL ON FUNCTION scrubjay.passing_1 FROM PUBLIC;
GRANT EXECUTE ON FUNCTION scrubjay.passing_1 TO scrubjay_server, scrubjay_keeper;
GRANT CREATE ON SCHEMA scrubjay TO scrubjay_keeper;
ALTER FUNCTION scrubjay.passing_1 OWNER TO scrubjay_keeper;
REVOKE CREATE ON SCHEMA scrubjay FROM scrubjay_keeper;
"""

NEARNESS = f"{_PASSING}{_SELECTED}{_COSINE}{_EXACT}{_SIFTED}{_WALK}{_WALKED}{_WAITING}{_PLACE}{_NEAREST}"
DOOR = _GRANTS
