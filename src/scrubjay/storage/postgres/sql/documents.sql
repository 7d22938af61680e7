-- Pages of documents. The settings keep them on an index, whatever the planner's statistics say.

-- The documents of a collection in all spaces that are due, longest first. The caller must be scrubjay_keeper.
CREATE FUNCTION scrubjay.due_documents(collection_name text, until bigint, row_limit integer) RETURNS TABLE(space text,
  collection text, key text, value text, version integer, updated_at bigint, due_at bigint) LANGUAGE plpgsql STABLE
  SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
BEGIN
  RETURN QUERY SELECT s.name, d.collection, d.key, d.value, d.version, d.updated_at, d.due_at
    FROM (SELECT * FROM scrubjay.documents q WHERE q.collection = collection_name AND q.due_at <= until
      ORDER BY q.due_at LIMIT row_limit) AS d
    CROSS JOIN LATERAL (SELECT q.name FROM scrubjay.spaces q WHERE q.no = d.space_no LIMIT 1) AS s
    ORDER BY d.due_at, s.name, d.key;
END $$;

-- The documents of all collections of the space, by collection and key.
CREATE FUNCTION scrubjay.all_documents(after_collection text, after_key text, row_limit integer) RETURNS TABLE(
  collection text, key text, value text, version integer, updated_at bigint, due_at bigint) LANGUAGE plpgsql STABLE
  SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
BEGIN
  RETURN QUERY SELECT d.collection, d.key, d.value, d.version, d.updated_at, d.due_at FROM scrubjay.documents d
    WHERE d.space_no = scrubjay.current_space() AND (d.collection, d.key) > (after_collection, after_key)
    ORDER BY d.collection, d.key LIMIT row_limit;
END $$;

-- The documents of a collection, latest first.
CREATE FUNCTION scrubjay.latest_documents(collection_name text, before_time bigint, before_key text, row_limit integer)
  RETURNS TABLE(collection text, key text, value text, version integer, updated_at bigint, due_at bigint)
  LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
BEGIN
  RETURN QUERY SELECT d.collection, d.key, d.value, d.version, d.updated_at, d.due_at FROM scrubjay.documents d
    WHERE d.space_no = scrubjay.current_space() AND d.collection = collection_name
      AND (d.updated_at, d.key) < (before_time, before_key)
    ORDER BY d.updated_at DESC, d.key DESC LIMIT row_limit;
END $$;

-- The documents of a collection about memories, latest first.
CREATE FUNCTION scrubjay.documents_about(collection_name text, ids uuid[], row_limit integer)
  RETURNS TABLE(collection text, key text, value text, version integer, updated_at bigint, due_at bigint)
  LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY WITH matches AS MATERIALIZED (
      SELECT d.* FROM scrubjay.documents d WHERE d.space_no = scrubjay.current_space() AND d.memory_id = ANY(ids)
      UNION
      SELECT d.* FROM scrubjay.documents d
        WHERE d.space_no = scrubjay.current_space() AND d.other_memory_id = ANY(ids))
    SELECT m.collection, m.key, m.value, m.version, m.updated_at, m.due_at FROM matches m
    WHERE m.collection = collection_name ORDER BY m.updated_at DESC, m.key DESC LIMIT row_limit;
END $$;
