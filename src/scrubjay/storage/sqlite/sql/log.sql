-- Found by its id: an agent has as many runs as there are changes.
-- name: find_open_run
SELECT no FROM runs INDEXED BY runs_id
WHERE space_no = ? AND id = ? AND agent_no = ? AND undoes IS NULL AND undone = 0;

-- name: insert_change
INSERT INTO changes(
  space_no, space_seq, run_no, memory_no, action, version, base_version, passages_before, changed_at, relation, target_no
)
VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
