-- name: terms_with_prefix
-- The first limit bounds the terms that are read: a single letter begins a tenth of them all.
SELECT f.term, t.passages FROM (
    SELECT v.word, v.term FROM scrubjay.vocabulary v WHERE v.space_no = scrubjay.current_space() AND v.state = %s
      AND v.term >= %s AND v.term < %s ORDER BY v.term LIMIT %s) AS f
  JOIN scrubjay.terms t ON t.space_no = scrubjay.current_space() AND t.word = f.word
  ORDER BY t.passages DESC, f.term LIMIT %s;

-- name: memories_with_groups
-- {lookups} finds (id, space_no, place, weight) for each group of terms. A group counts once a memory, however many
-- passages of the memory contain one of its terms.
WITH matches AS MATERIALIZED (
    SELECT f.id, f.id / 65536 AS no, f.place, f.weight FROM ({lookups}) AS f
    WHERE f.space_no = scrubjay.current_space()),
  best AS MATERIALIZED (SELECT d.no, count(*) AS groups, round(sum(d.weight)::numeric, 9)::float8 AS weight
    FROM (SELECT DISTINCT no, place, weight FROM matches) AS d
    GROUP BY d.no ORDER BY 2 DESC, 3 DESC, 1 DESC LIMIT %s),
  shown AS (SELECT DISTINCT ON (s.no) s.no, s.id FROM (
      SELECT no, id, round(sum(weight)::numeric, 9) AS weight FROM matches GROUP BY no, id) AS s
    ORDER BY s.no, s.weight DESC, s.id)
  SELECT shown.id, best.groups, best.weight FROM best JOIN shown ON shown.no = best.no
  ORDER BY best.groups DESC, best.weight DESC, best.no DESC;
