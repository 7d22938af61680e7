-- Found by their id: an agent has as many runs as there are changes.
-- name: find_runs
SELECT r.no, r.id, a.name, r.undoes, r.undone, r.last_seq
FROM runs r INDEXED BY runs_id JOIN agents a ON a.no = r.agent_no
WHERE r.space_no = ? AND r.id = ?;

-- It gets its place among the others at once: moving it there later would write another page of their index.
-- name: insert_run
INSERT INTO runs(space_no, id, agent_no, undoes, last_seq)
VALUES(?1, ?2, ?3, ?4, iif(?5 > 0, (SELECT coalesce(max(seq), 0) + ?5 FROM changes), 0));

-- name: insert_change
INSERT INTO changes(
  space_no, space_seq, run_no, memory_no, action, version, base_version, passages_before, changed_at, relation, target_no
)
VALUES(?, (SELECT change_count FROM spaces WHERE no = ?) + ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
