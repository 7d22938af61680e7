-- name: later_versions
-- From after `low` up to the first version after `high` that is stored whole (encoding 3 is a delta).
SELECT k.no, v.number, v.encoding, v.dictionary, v.sha256, v.size, v.body
  FROM unnest(%s::bigint[], %s::integer[], %s::integer[]) AS k(no, low, high)
  CROSS JOIN LATERAL (SELECT * FROM scrubjay.versions q
    WHERE q.space_no = scrubjay.current_space() AND q.memory_no = k.no AND q.number > k.low AND q.number <= (
      SELECT min(w.number) FROM scrubjay.versions w
      WHERE w.space_no = scrubjay.current_space() AND w.memory_no = k.no AND w.number > k.high AND w.encoding <> 3)
  ) AS v;

-- name: earlier_versions
SELECT v.number, v.encoding, v.dictionary, v.sha256, v.size, v.body FROM scrubjay.versions v
  WHERE v.space_no = scrubjay.current_space() AND v.memory_no = %s AND v.number < %s ORDER BY v.number DESC;

-- name: newest_dictionary
SELECT no, bodies FROM scrubjay.dictionaries
  WHERE space_no = scrubjay.current_space() AND NOT tainted ORDER BY no DESC LIMIT 1;

-- name: dictionaries
SELECT no, data FROM scrubjay.dictionaries WHERE space_no = scrubjay.current_space() AND no = ANY(%s::integer[]);

-- name: samples
-- The multiplication spreads the samples over the whole space.
SELECT v.encoding, v.dictionary, v.sha256, v.size, v.body
  FROM scrubjay.memories m JOIN scrubjay.versions v
    ON v.space_no = m.space_no AND v.memory_no = m.no AND v.number = m.version
  WHERE m.space_no = scrubjay.current_space() AND m.no IN (
    SELECT no FROM scrubjay.memories WHERE space_no = scrubjay.current_space() ORDER BY (no * 7919) %% 10007 LIMIT %s);

-- name: count_bodies
SELECT bodies FROM scrubjay.space_totals WHERE space_no = scrubjay.current_space();

-- name: insert_dictionary
INSERT INTO scrubjay.dictionaries(space_no, no, data, created_at, bodies)
  SELECT space_no, nextval('scrubjay.dictionary_numbers'), %s, %s, bodies FROM scrubjay.space_totals
  WHERE space_no = scrubjay.current_space() AND purges = %s;
