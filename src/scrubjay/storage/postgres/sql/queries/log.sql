-- name: changes_in_space
SELECT c.seq, c.place, s.name, c.memory_id, c.memory_no, c.action, c.version, c.base, c.passages_before, c.at,
    r.agent, r.id, c.relation
  FROM scrubjay.changes c JOIN scrubjay.spaces s ON s.no = c.space_no
  JOIN scrubjay.runs r ON r.space_no = c.space_no AND r.no = c.run_no
  WHERE c.space_no = scrubjay.current_space() AND c.place > %s ORDER BY c.place LIMIT %s;

-- name: last_run
-- The newest run of an agent that undo can still take back; these three actions cannot be undone.
SELECT no, id, agent, undone FROM scrubjay.runs WHERE space_no = scrubjay.current_space() AND agent_key = %s
  AND undoes IS NULL AND NOT undone AND EXISTS (SELECT 1 FROM scrubjay.changes c
    WHERE c.space_no = scrubjay.current_space() AND c.run_no = runs.no
      AND c.action NOT IN ('embedded', 'purged', 'imported'))
  ORDER BY last_seq DESC LIMIT 1;

-- name: run_by_id
SELECT no, id, agent, undone FROM scrubjay.runs WHERE space_no = scrubjay.current_space() AND id_key = %s
  ORDER BY undone, no DESC LIMIT 1;

-- name: changes_of_run
-- {run} is one of the two queries above.
WITH run AS ({run})
  SELECT c.seq, c.place, s.name, c.memory_id, c.memory_no, c.action, c.version, c.base, c.passages_before, c.at,
    r.agent, r.id, c.relation
  FROM scrubjay.changes c JOIN scrubjay.spaces s ON s.no = c.space_no
  JOIN scrubjay.runs r ON r.space_no = c.space_no AND r.no = c.run_no
  WHERE c.space_no = scrubjay.current_space() AND c.run_no = (SELECT no FROM run) ORDER BY c.seq;
