-- Search by vector.

-- Functions with a SQL body resolve the types and operators of the extension once, in whichever schema it is installed;
-- to set the search path at each call would take longer than most of the calls.
CREATE FUNCTION scrubjay.parse_vector(written text) RETURNS halfvec LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN written::halfvec;
CREATE FUNCTION scrubjay.vector_bytes(stored halfvec) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN halfvec_send(stored);
CREATE FUNCTION scrubjay.to_half(query vector) RETURNS halfvec LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN query::halfvec;
CREATE FUNCTION scrubjay.is_zero(query vector) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN vector_norm(query) = 0;
CREATE FUNCTION scrubjay.cosine_distance(stored halfvec, query halfvec) RETURNS double precision
  LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN stored <=> query;
-- Stored vectors have half precision, the query has full. A vector of zeros is similar to none.
CREATE FUNCTION scrubjay.cosine_similarity(stored halfvec, query vector) RETURNS double precision
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN coalesce(greatest(-1, least(1, nullif(1 - (stored::vector <=> query), 'NaN'))), 0);

-- The passages that pass a filter, by the hashes of its facets. PostgreSQL uses no GIN index under row-level security,
-- so this runs as scrubjay_keeper, and shows only rows of the space that the caller has entered.
CREATE FUNCTION scrubjay.filter_passages(state_filter smallint, all_of bigint[], any_of bigint[], since bigint,
  until bigint) RETURNS TABLE(id bigint, hash bytea) LANGUAGE plpgsql STABLE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
  IF cardinality(all_of) > 0 THEN
    RETURN QUERY SELECT f.id, f.hash FROM (SELECT p.id, p.hash, p.space_no FROM scrubjay.passages p
        WHERE p.words @> all_of AND p.date >= since AND p.date < until
          AND (cardinality(any_of) = 0 OR p.words && any_of) OFFSET 0) AS f
      WHERE f.space_no = scrubjay.current_space();
  ELSIF cardinality(any_of) > 0 THEN
    RETURN QUERY SELECT f.id, f.hash FROM (SELECT p.id, p.hash, p.space_no FROM scrubjay.passages p
        WHERE p.words && any_of AND p.date >= since AND p.date < until OFFSET 0) AS f
      WHERE f.space_no = scrubjay.current_space();
  ELSE
    RETURN QUERY SELECT p.id, p.hash FROM scrubjay.passages p WHERE p.space_no = scrubjay.current_space()
      AND p.state = state_filter AND p.date >= since AND p.date < until;
  END IF;
END $$;

-- An upper bound of the passages that pass a filter, from the counts of facets; dates are not counted.
CREATE FUNCTION scrubjay.count_passing(filters jsonb) RETURNS bigint LANGUAGE plpgsql STABLE
  SET enable_seqscan = off AS $$
DECLARE
  all_of bytea[] := ARRAY(SELECT jsonb_array_elements_text(filters->'all_facets')::bytea);
  any_of bytea[] := ARRAY(SELECT jsonb_array_elements_text(filters->'any_facets')::bytea);
  all_memories bigint; all_passages bigint; facet_count bigint; fewest bigint; passing bigint;
BEGIN
  SELECT c.memories, c.passages INTO all_memories, all_passages FROM scrubjay.corpus_totals c
    WHERE c.space_no = scrubjay.current_space() AND c.state = (filters->>'state')::smallint;
  IF coalesce(all_memories, 0) <= 0 THEN RETURN 0; END IF;
  passing := all_memories;
  IF cardinality(all_of) > 0 THEN
    SELECT count(*), min(f.memories) INTO facet_count, fewest FROM scrubjay.facets f
      WHERE f.space_no = scrubjay.current_space() AND f.state = (filters->>'state')::smallint
        AND f.digest = ANY(all_of);
    IF facet_count < cardinality(all_of) THEN RETURN 0; END IF;
    passing := least(passing, fewest);
  END IF;
  IF cardinality(any_of) > 0 THEN
    SELECT coalesce(sum(f.memories), 0) INTO fewest FROM scrubjay.facets f
      WHERE f.space_no = scrubjay.current_space() AND f.state = (filters->>'state')::smallint
        AND f.digest = ANY(any_of);
    passing := least(passing, fewest);
  END IF;
  RETURN CASE WHEN passing <= 0 THEN 0 ELSE ceil(passing * (all_passages::float8 / all_memories)) END;
END $$;

-- Compare all vectors of the space, read in physical order, which is many times faster than by key.
CREATE FUNCTION scrubjay.scan_space(model_number integer, query halfvec, row_limit integer)
  RETURNS TABLE(hash bytea, vector halfvec) LANGUAGE plpgsql STABLE
  SET enable_seqscan = off SET enable_indexscan = off AS $$
BEGIN
  RETURN QUERY SELECT v.hash, v.vector FROM scrubjay.vectors v
    WHERE v.space_no = scrubjay.current_space() AND v.model_no = model_number
    ORDER BY scrubjay.cosine_distance(v.vector, query) LIMIT row_limit;
END $$;

-- Look up, one by one, the vectors of the passages that pass the filter.
CREATE FUNCTION scrubjay.scan_filtered(model_number integer, query halfvec, row_limit integer, state_filter smallint,
  all_of bigint[], any_of bigint[], since bigint, until bigint) RETURNS TABLE(id bigint, vector halfvec)
  LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT p.id, v.vector FROM scrubjay.filter_passages(state_filter, all_of, any_of, since, until) AS p
    CROSS JOIN LATERAL (SELECT q.vector FROM scrubjay.vectors q
      WHERE q.space_no = scrubjay.current_space() AND q.model_no = model_number AND q.hash = p.hash LIMIT 1) AS v
    ORDER BY scrubjay.cosine_distance(v.vector, query), p.id LIMIT row_limit;
END $$;

-- Limit how far an index scan may go, for the rest of the transaction. Sets the limits of both kinds of index, since a
-- model may have one of each.
CREATE FUNCTION scrubjay.limit_index_scan(row_limit integer, affordable float8, search_plan jsonb) RETURNS void
  LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('hnsw.ef_search', least(1000, greatest((search_plan->>'min_visited')::integer, row_limit))::text, true),
    set_config('hnsw.max_scan_tuples', greatest(1, least(1000000, affordable))::integer::text, true),
    set_config('ivfflat.iterative_scan', 'relaxed_order', true),
    set_config('ivfflat.probes', search_plan->>'probes', true),
    set_config('ivfflat.max_probes', search_plan->>'lists', true);
END $$;

-- Scan the index, nearest first, and skip what the filter excludes. Planned at each call: only then does the planner
-- choose the partial index of the model.
CREATE FUNCTION scrubjay.scan_index(model_number integer, query vector, row_limit integer, state_filter smallint,
  all_of bigint[], any_of bigint[], since bigint, until bigint, search_plan jsonb)
  RETURNS TABLE(id bigint, vector halfvec) LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off SET enable_sort = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN QUERY EXECUTE format('SELECT p.id, v.vector FROM scrubjay.vectors v CROSS JOIN LATERAL (
        SELECT q.id FROM scrubjay.passages q WHERE q.space_no = $2 AND q.hash = v.hash AND q.state = $3
          AND q.date >= $4 AND q.date < $5 AND (cardinality($6) = 0 OR q.words @> $6)
          AND (cardinality($7) = 0 OR q.words && $7) OFFSET 0) AS p
      WHERE v.space_no = $2 AND v.model_no = %1$s AND v.indexed
      ORDER BY v.vector::%2$s OPERATOR(%3$s.<=>) $1::%2$s LIMIT $8',
      model_number, search_plan->>'type', search_plan->>'schema')
    USING query, scrubjay.current_space(), state_filter, since, until, all_of, any_of, row_limit;
END $$;

-- Compare the vectors that the index does not contain yet.
CREATE FUNCTION scrubjay.scan_unindexed(model_number integer, query halfvec, row_limit integer, state_filter smallint,
  all_of bigint[], any_of bigint[], since bigint, until bigint) RETURNS TABLE(id bigint, vector halfvec)
  LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN QUERY SELECT p.id, v.vector FROM scrubjay.vectors v CROSS JOIN LATERAL (
        SELECT q.id FROM scrubjay.passages q WHERE q.space_no = scrubjay.current_space() AND q.hash = v.hash
          AND q.state = state_filter AND q.date >= since AND q.date < until
          AND (cardinality(all_of) = 0 OR q.words @> all_of)
          AND (cardinality(any_of) = 0 OR q.words && any_of) OFFSET 0) AS p
      WHERE v.space_no = scrubjay.current_space() AND v.model_no = model_number AND NOT v.indexed
      ORDER BY scrubjay.cosine_distance(v.vector, query), p.id LIMIT row_limit;
END $$;

-- Add some vectors of any space to the index, and return how many. Several servers may do so at once.
CREATE FUNCTION scrubjay.index_vectors(model_number integer, row_limit integer) RETURNS bigint
  LANGUAGE plpgsql VOLATILE SET enable_seqscan = off AS $$
DECLARE row_total bigint;
BEGIN
  WITH batch AS (SELECT v.space_no, v.hash FROM scrubjay.vectors v WHERE v.model_no = model_number AND NOT v.indexed
      LIMIT row_limit FOR UPDATE SKIP LOCKED)
    UPDATE scrubjay.vectors v SET indexed = true FROM batch
      WHERE v.space_no = batch.space_no AND v.model_no = model_number AND v.hash = batch.hash;
  GET DIAGNOSTICS row_total = ROW_COUNT;
  RETURN row_total;
END $$;

-- The nearest passages that pass the filter: (id, cosine, whether an index found it).
--
-- `search_plan` describes the index, if there is one, and the costs: `scan_cost` for each vector of a whole space,
-- `filtered_cost` for each that passes the filter, `step_cost` for each that an index scan visits. The cheapest way is
-- tried. An index scan stops when it has cost as much as the alternative, which then runs: so the result is complete,
-- also where few passages pass or all are far away.
CREATE FUNCTION scrubjay.nearest_passages(model_number integer, query vector, row_limit integer, filters jsonb,
  search_plan jsonb) RETURNS TABLE(id bigint, cosine double precision, by_index boolean)
  LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  state_filter smallint := (filters->>'state')::smallint;
  all_of bigint[] := ARRAY(SELECT jsonb_array_elements(filters->'all_words')::bigint);
  any_of bigint[] := ARRAY(SELECT jsonb_array_elements(filters->'any_words')::bigint);
  since bigint := coalesce((filters->>'since')::bigint, -9223372036854775808);
  until bigint := coalesce((filters->>'until')::bigint, 9223372036854775807);
  passing bigint := scrubjay.count_passing(filters);
  points bigint := scrubjay.count_passing(jsonb_build_object('state', state_filter));
  scan_limit bigint;
  expected float8;
  affordable float8;
  ids bigint[];
  cosines float8[];
BEGIN
  IF passing = 0 OR row_limit < 1 THEN RETURN; END IF;
  expected := greatest((search_plan->>'min_visited')::float8,
    row_limit * greatest(1, (search_plan->>'points')::float8 / passing));
  affordable := least(points * (search_plan->>'scan_cost')::float8, passing * (search_plan->>'filtered_cost')::float8)
    / (search_plan->>'step_cost')::float8;
  IF search_plan ? 'type' AND expected < affordable AND NOT scrubjay.is_zero(query) THEN
    PERFORM scrubjay.limit_index_scan(row_limit, affordable, search_plan);
    -- Another transaction may index a vector between the two scans, and then both return it.
    SELECT array_agg(f.id), array_agg(f.cosine) INTO ids, cosines FROM (SELECT DISTINCT ON (b.id) b.id,
      scrubjay.cosine_similarity(b.vector, query) AS cosine FROM (
      SELECT * FROM scrubjay.scan_index(
        model_number, query, row_limit, state_filter, all_of, any_of, since, until, search_plan)
      UNION ALL SELECT * FROM scrubjay.scan_unindexed(
        model_number, scrubjay.to_half(query), row_limit, state_filter, all_of, any_of, since, until)) AS b) AS f;
    IF cardinality(ids) >= row_limit THEN
      RETURN QUERY SELECT u.id, u.cosine, true FROM unnest(ids, cosines) AS u(id, cosine)
        ORDER BY u.cosine DESC, u.id LIMIT row_limit;
      RETURN;
    END IF;
  END IF;
  -- Some of the nearest vectors belong to texts that do not pass, or are shared, or were trashed: so read more.
  scan_limit := (2 * row_limit + 32) * points / passing;
  IF passing > row_limit AND points * (search_plan->>'scan_cost')::float8 + scan_limit
      < passing * (search_plan->>'filtered_cost')::float8 THEN
    SELECT array_agg(p.id), array_agg(scrubjay.cosine_similarity(e.vector, query)) INTO ids, cosines
      FROM scrubjay.scan_space(model_number, scrubjay.to_half(query), scan_limit::integer) AS e
      CROSS JOIN LATERAL (SELECT q.id FROM scrubjay.passages q
        WHERE q.space_no = scrubjay.current_space() AND q.hash = e.hash AND q.state = state_filter
          AND q.date >= since AND q.date < until AND (cardinality(all_of) = 0 OR q.words @> all_of)
          AND (cardinality(any_of) = 0 OR q.words && any_of) OFFSET 0) AS p;
    IF cardinality(ids) >= row_limit THEN
      RETURN QUERY SELECT u.id, u.cosine, false FROM unnest(ids, cosines) AS u(id, cosine)
        ORDER BY u.cosine DESC, u.id LIMIT row_limit;
      RETURN;
    END IF;
  END IF;
  RETURN QUERY SELECT f.id, scrubjay.cosine_similarity(f.vector, query), false
    FROM scrubjay.scan_filtered(
      model_number, scrubjay.to_half(query), row_limit, state_filter, all_of, any_of, since, until) AS f;
END $$;

-- The extension, the model and the vector indexes, as one row.
CREATE FUNCTION scrubjay.vector_index_state(model text) RETURNS TABLE(extension_version text, extension_schema text,
  model_no integer, dimension integer, points bigint, tables jsonb, indexes jsonb) LANGUAGE sql STABLE AS $$
  SELECT e.extversion, quote_ident(n.nspname), m.no, m.dimension,
      (SELECT coalesce(sum(c.passages), 0)::bigint FROM scrubjay.corpus_totals c),
      (SELECT jsonb_agg(relname) FROM pg_class WHERE relkind = 'r' AND (oid = 'scrubjay.vectors'::regclass
        OR oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'scrubjay.vectors'::regclass))),
      (SELECT jsonb_agg(jsonb_build_array(t.relname, c.relname, i.indisvalid,
          (SELECT option_value FROM pg_options_to_table(c.reloptions) WHERE option_name = 'lists')))
        FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
        JOIN pg_am a ON a.oid = c.relam
        WHERE a.amname IN ('hnsw', 'ivfflat') AND t.relnamespace = 'scrubjay'::regnamespace)
    FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
    LEFT JOIN scrubjay.models m ON m.name = model WHERE e.extname = 'vector'
$$;
