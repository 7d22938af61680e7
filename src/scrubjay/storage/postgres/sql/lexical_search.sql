-- Search by terms and facets. Terms are given by their hashes, which depend on the space.

-- The totals of a space and state, as a row without a word; then the counts of terms.
CREATE FUNCTION scrubjay.term_statistics(state_filter smallint, requested_words bigint[])
  RETURNS TABLE(word bigint, passages bigint, length bigint) LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT NULL::bigint, c.passages, c.length FROM scrubjay.corpus_totals c
    WHERE c.space_no = scrubjay.current_space() AND c.state = state_filter;
  RETURN QUERY SELECT t.word, t.passages, 0::bigint FROM scrubjay.terms t
    WHERE t.space_no = scrubjay.current_space() AND t.word = ANY(requested_words);
END $$;

-- The passages with the highest sum of weights, newest first among equals. The first `rare` words find passages; the
-- others, which are common, only add to the weight of those. PostgreSQL uses no GIN index under row-level security, so
-- the caller must be scrubjay_keeper. A condition beside a word goes into the same index lookup.
CREATE FUNCTION scrubjay.lexical_candidates(query_words bigint[], weights float8[], rare integer, all_of bigint[],
  any_of bigint[], since bigint, until bigint, row_limit integer) RETURNS TABLE(id bigint, total float8)
  LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  IF cardinality(any_of) = 0 THEN
    RETURN QUERY SELECT f.id, sum(f.weight) AS total FROM (
        SELECT p.id, p.space_no, t.weight FROM unnest(query_words[:rare], weights[:rare]) AS t(word, weight)
          CROSS JOIN LATERAL (SELECT q.id, q.space_no FROM scrubjay.passages q
            WHERE q.words @> (t.word || all_of) AND q.date >= since AND q.date < until OFFSET 0) AS p
        UNION ALL
        SELECT p.id, p.space_no, t.weight FROM unnest(query_words[rare + 1:], weights[rare + 1:]) AS t(word, weight)
          CROSS JOIN LATERAL (SELECT q.id, q.space_no FROM scrubjay.passages q WHERE q.words @> (t.word || all_of)
            AND q.words && query_words[:rare] AND q.date >= since AND q.date < until OFFSET 0) AS p
      ) AS f WHERE f.space_no = scrubjay.current_space() GROUP BY f.id ORDER BY 2 DESC, 1 DESC LIMIT row_limit;
  ELSE
    RETURN QUERY SELECT f.id, sum(f.weight) AS total FROM (
        SELECT p.id, p.space_no, t.weight FROM unnest(query_words[:rare], weights[:rare]) AS t(word, weight)
          CROSS JOIN LATERAL (SELECT q.id, q.space_no FROM scrubjay.passages q WHERE q.words @> (t.word || all_of)
            AND q.words && any_of AND q.date >= since AND q.date < until OFFSET 0) AS p
        UNION ALL
        SELECT p.id, p.space_no, t.weight FROM unnest(query_words[rare + 1:], weights[rare + 1:]) AS t(word, weight)
          CROSS JOIN LATERAL (SELECT q.id, q.space_no FROM scrubjay.passages q WHERE q.words @> (t.word || all_of)
            AND q.words && any_of AND q.words && query_words[:rare] AND q.date >= since AND q.date < until
            OFFSET 0) AS p
      ) AS f WHERE f.space_no = scrubjay.current_space() GROUP BY f.id ORDER BY 2 DESC, 1 DESC LIMIT row_limit;
  END IF;
END $$;

-- The terms that share the most trigrams with one. The caller must be scrubjay_keeper, as for lexical_candidates. Of
-- each trigram at most `per_gram` terms are read; the best `compared` of all are compared exactly.
CREATE FUNCTION scrubjay.similar_terms(query_grams bigint[], per_gram integer, compared integer, row_limit integer)
  RETURNS TABLE(term text, passages bigint) LANGUAGE plpgsql STABLE
  SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
DECLARE
  gram_count integer := cardinality(query_grams);
  likely bigint[] := ARRAY(SELECT f.word FROM (
      SELECT v.word, v.size, count(*) AS common FROM unnest(query_grams) AS g(gram)
        CROSS JOIN LATERAL (SELECT q.space_no, q.word, cardinality(q.grams) AS size FROM scrubjay.vocabulary q
          WHERE q.grams @> ARRAY[g.gram] LIMIT per_gram) AS v
        WHERE v.space_no = scrubjay.current_space() GROUP BY v.word, v.size) AS f
    ORDER BY f.common::float8 / (gram_count + f.size - f.common) DESC LIMIT compared);
BEGIN
  RETURN QUERY SELECT v.term, t.passages
    FROM (SELECT * FROM scrubjay.vocabulary q
      WHERE q.space_no = scrubjay.current_space() AND q.word = ANY(likely)) AS v
    JOIN (SELECT * FROM scrubjay.terms q WHERE q.space_no = scrubjay.current_space() AND q.word = ANY(likely)) AS t
      ON t.word = v.word
    CROSS JOIN LATERAL (SELECT count(*) AS common FROM unnest(v.grams) AS g(gram) WHERE g.gram = ANY(query_grams)) AS c
    ORDER BY c.common::float8 / (gram_count + cardinality(v.grams) - c.common) DESC, t.passages DESC, v.term
    LIMIT row_limit;
END $$;

-- Those facets that exist, and how many memories have each.
CREATE FUNCTION scrubjay.count_facets(state_filter smallint, digests bytea[])
  RETURNS TABLE(facet text, memories bigint) LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT f.facet, f.memories FROM scrubjay.facets f
    WHERE f.space_no = scrubjay.current_space() AND f.state = state_filter AND f.digest = ANY(digests);
END $$;
