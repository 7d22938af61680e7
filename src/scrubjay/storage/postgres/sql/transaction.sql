-- The beginning of every transaction, and the numbers of changes.

-- The number of the space that the transaction has entered; 0 is no space.
CREATE FUNCTION scrubjay.current_space() RETURNS integer LANGUAGE sql STABLE PARALLEL SAFE
  RETURN coalesce(nullif(current_setting('scrubjay.space_no', true), ''), '0')::integer;

-- Enter a space until the end of the transaction, and return its number.
CREATE FUNCTION scrubjay.enter(space_name text, make boolean DEFAULT false) RETURNS integer
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE number integer;
BEGIN
  SELECT no INTO number FROM scrubjay.spaces WHERE name = space_name;
  IF number IS NULL AND make THEN
    INSERT INTO scrubjay.spaces(name) VALUES (space_name) ON CONFLICT DO NOTHING;
    SELECT no INTO number FROM scrubjay.spaces WHERE name = space_name;
    INSERT INTO scrubjay.space_totals(space_no) VALUES (number) ON CONFLICT DO NOTHING;
  END IF;
  PERFORM set_config('scrubjay.space_no', coalesce(number, 0)::text, true);
  RETURN coalesce(number, 0);
END $$;

-- Set the role, the time limits and the space of a transaction. Statements are short: parallel workers, JIT and a new
-- plan for each call would cost more than they save.
CREATE FUNCTION scrubjay.begin_transaction(role_name text, milliseconds text, space_name text, make boolean)
  RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM set_config('role', role_name, true), set_config('statement_timeout', milliseconds, true),
    set_config('idle_in_transaction_session_timeout', '60000', true),
    set_config('max_parallel_workers_per_gather', '0', true), set_config('jit', 'off', true),
    set_config('plan_cache_mode', 'force_generic_plan', true);
  IF space_name IS NULL THEN RETURN 0; END IF;
  RETURN scrubjay.enter(space_name, make);
END $$;

-- Reserve numbers for changes. A lock that ends with the transaction first marks the lowest number that it may take, so
-- that settled_seq knows of numbers that are not committed yet.
CREATE FUNCTION scrubjay.reserve_changes(amount integer) RETURNS bigint[] LANGUAGE plpgsql VOLATILE AS $$
DECLARE lowest bigint;
BEGIN
  SELECT last_value + is_called::integer INTO lowest FROM scrubjay.change_numbers;
  PERFORM pg_advisory_xact_lock_shared(0x534A000000000000 + lowest);
  RETURN ARRAY(SELECT nextval('scrubjay.change_numbers') FROM generate_series(1, amount));
END $$;

-- The number up to which every change is committed or never will be. A transaction that took a number before the first
-- query had marked it before that, so the second query sees its mark, or it has ended.
CREATE FUNCTION scrubjay.settled_seq() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE last_reserved bigint; lowest_open bigint;
BEGIN
  SELECT last_value - 1 + is_called::integer INTO last_reserved FROM scrubjay.change_numbers;
  SELECT min((classid::bigint - 0x534A0000) << 32 | objid::bigint) INTO lowest_open FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND mode = 'ShareLock' AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND classid::bigint BETWEEN 0x534A0000 AND 0x534AFFFF;
  RETURN least(last_reserved, lowest_open - 1);
END $$;

-- The changes of all spaces in order, up to settled_seq; then, as a row without a number, whether there are later ones.
CREATE FUNCTION scrubjay.list_changes(after_seq bigint, row_limit integer) RETURNS TABLE(seq bigint, place bigint,
  space text, memory_id uuid, memory_no bigint, action text, version integer, base integer, passages_before integer,
  at bigint, agent text, run text, relation text) LANGUAGE plpgsql VOLATILE SET enable_seqscan = off AS $$
-- Read before the rows: every change that is settled now is visible to the next query.
DECLARE settled bigint := scrubjay.settled_seq();
BEGIN
  RETURN QUERY SELECT c.seq, c.place, s.name, c.memory_id, c.memory_no, c.action, c.version, c.base,
      c.passages_before, c.at, r.agent, r.id, c.relation
    FROM scrubjay.changes c JOIN scrubjay.spaces s ON s.no = c.space_no
    JOIN scrubjay.runs r ON r.space_no = c.space_no AND r.no = c.run_no
    WHERE c.seq > after_seq AND c.seq <= settled ORDER BY c.seq LIMIT row_limit;
  IF EXISTS (SELECT 1 FROM scrubjay.changes c WHERE c.seq > greatest(after_seq, settled)) THEN
    RETURN QUERY SELECT NULL::bigint, NULL::bigint, NULL, NULL::uuid, NULL::bigint, NULL, NULL::integer,
      NULL::integer, NULL::integer, NULL::bigint, NULL, NULL, NULL;
  END IF;
END $$;
