-- name: all_versions
SELECT v.memory_no, v.number, v.encoding, v.dictionary, v.sha256, v.size, v.body FROM scrubjay.versions v
  WHERE v.space_no = scrubjay.current_space() AND v.memory_no = ANY(%s::bigint[])
  ORDER BY v.memory_no, v.number DESC;

-- name: erase
-- All that names the memories, in one statement. Imported memories are known by their versions: the log does not tell
-- of their earlier runs.
WITH doomed AS (SELECT %s::bigint[] AS numbers),
  answers AS (DELETE FROM scrubjay.idempotency_keys WHERE space_no = scrubjay.current_space() AND run_no IN (
      SELECT run_no FROM scrubjay.changes
        WHERE space_no = scrubjay.current_space() AND memory_no = ANY((SELECT numbers FROM doomed)::bigint[])
      UNION SELECT run_no FROM scrubjay.versions
        WHERE space_no = scrubjay.current_space() AND memory_no = ANY((SELECT numbers FROM doomed)::bigint[]))),
  log AS (UPDATE scrubjay.changes SET relation = NULL
    WHERE space_no = scrubjay.current_space() AND relation IS NOT NULL
      AND (memory_no = ANY((SELECT numbers FROM doomed)::bigint[])
        OR target_no = ANY((SELECT numbers FROM doomed)::bigint[]))),
  edges AS (DELETE FROM scrubjay.relations WHERE space_no = scrubjay.current_space()
    AND (source_no = ANY((SELECT numbers FROM doomed)::bigint[])
      OR target_no = ANY((SELECT numbers FROM doomed)::bigint[]))),
  past AS (DELETE FROM scrubjay.versions
    WHERE space_no = scrubjay.current_space() AND memory_no = ANY((SELECT numbers FROM doomed)::bigint[])),
  texts AS (DELETE FROM scrubjay.contents
    WHERE space_no = scrubjay.current_space() AND memory_no = ANY((SELECT numbers FROM doomed)::bigint[]))
  DELETE FROM scrubjay.memories
    WHERE space_no = scrubjay.current_space() AND no = ANY((SELECT numbers FROM doomed)::bigint[]);

-- name: delete_vectors
DELETE FROM scrubjay.vectors v WHERE v.space_no = scrubjay.current_space() AND v.hash = ANY(%s::bytea[])
  AND v.model_no IN (SELECT no FROM scrubjay.models)
  AND NOT EXISTS (SELECT 1 FROM scrubjay.passages p WHERE p.space_no = v.space_no AND p.hash = v.hash);

-- name: taint_dictionaries
UPDATE scrubjay.dictionaries SET tainted = true WHERE space_no = scrubjay.current_space();

-- name: count_purge
UPDATE scrubjay.space_totals SET purges = purges + 1 WHERE space_no = scrubjay.current_space();

-- name: mark_cleaned
UPDATE scrubjay.space_totals SET cleaned = greatest(cleaned, %s) WHERE space_no = scrubjay.current_space();

-- name: delete_tainted_dictionaries
DELETE FROM scrubjay.dictionaries d WHERE d.space_no = scrubjay.current_space() AND d.tainted AND NOT EXISTS (
    SELECT 1 FROM scrubjay.versions v WHERE v.space_no = d.space_no AND v.dictionary = d.no)
  RETURNING d.no;

-- name: versions_to_repack
-- Flagged bodies (encoding 2), and those that need a tainted dictionary.
SELECT v.memory_no, v.number, v.encoding, v.dictionary, v.sha256, v.size, v.body FROM scrubjay.versions v
  WHERE v.space_no = scrubjay.current_space() AND (v.memory_no, v.number) > (%s, %s) AND (v.encoding = 2
    OR v.dictionary IN (SELECT no FROM scrubjay.dictionaries WHERE space_no = scrubjay.current_space() AND tainted))
  ORDER BY v.memory_no, v.number LIMIT %s;

-- name: repack_versions
UPDATE scrubjay.versions q SET encoding = v.encoding, dictionary = v.dictionary, sha256 = v.sha256, size = v.size,
    body = v.body
  FROM unnest(%s::bigint[], %s::integer[], %s::smallint[], %s::integer[], %s::bytea[], %s::integer[], %s::bytea[])
    AS v(memory_no, number, encoding, dictionary, sha256, size, body)
  WHERE q.space_no = scrubjay.current_space() AND q.memory_no = v.memory_no AND q.number = v.number;

-- name: forget_dictionaries
UPDATE scrubjay.versions v SET dictionary = 0 FROM unnest(%s::bigint[], %s::integer[]) AS k(memory_no, number)
  WHERE v.space_no = scrubjay.current_space() AND v.memory_no = k.memory_no AND v.number = k.number;

-- name: spaces_to_clean
SELECT s.name, t.purges FROM scrubjay.space_totals t JOIN scrubjay.spaces s ON s.no = t.space_no
  WHERE t.purges <> t.cleaned;

-- name: spaces_to_repack
SELECT name FROM scrubjay.spaces WHERE no IN (
    SELECT space_no FROM scrubjay.dictionaries WHERE tainted
    UNION SELECT space_no FROM scrubjay.space_totals WHERE flagged_bodies > 0);
