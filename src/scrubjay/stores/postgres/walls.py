"""The walls between spaces, in the database itself: roles, row-level security, and the door into a space."""

from collections.abc import Sequence

from scrubjay.stores.postgres.tables import FIRST_TABLES, partitions_of

# Whoever works for one space is the server; it sees the space that it has entered, and without one nothing. The keeper
# sees all, for what is about the whole store. Nobody logs in as either: a login is a member of both, and inherits
# only the server's rights, so that the keeper is somebody one has to become.
ROLES = """
DO $$
DECLARE wanted text;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['scrubjay_server', 'scrubjay_keeper'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
      -- Another database of the same server is being set up at this moment.
      EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
      END;
    END IF;
    IF NOT pg_has_role(current_user, wanted, 'SET') THEN
      EXECUTE format('GRANT %I TO CURRENT_USER WITH INHERIT %s, SET TRUE', wanted,
        CASE wanted WHEN 'scrubjay_server' THEN 'TRUE' ELSE 'FALSE' END);
    END IF;
  END LOOP;
END $$;
"""

# 0 is no space.
FUNCTIONS = """
CREATE FUNCTION scrubjay.here() RETURNS integer LANGUAGE sql STABLE PARALLEL SAFE
  RETURN coalesce(nullif(current_setting('scrubjay.space_no', true), ''), '0')::integer;

CREATE FUNCTION scrubjay.enter(wanted text, make boolean DEFAULT false) RETURNS integer
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE found integer;
BEGIN
  SELECT no INTO found FROM scrubjay.spaces WHERE name = wanted;
  IF found IS NULL AND make THEN
    INSERT INTO scrubjay.spaces(name) VALUES (wanted) ON CONFLICT DO NOTHING;
    SELECT no INTO found FROM scrubjay.spaces WHERE name = wanted;
    INSERT INTO scrubjay.ledgers(space_no) VALUES (found) ON CONFLICT DO NOTHING;
  END IF;
  PERFORM set_config('scrubjay.space_no', coalesce(found, 0)::text, true);
  RETURN coalesce(found, 0);
END $$;

-- How every transaction begins: who speaks, how long, and for which space; none is 0. Questions are short, and help of
-- other processes, or machine code, takes longer to come than they do; and so does a plan, which is why they are kept.
CREATE FUNCTION scrubjay.begin_1(speaker text, milliseconds text, wanted text, make boolean) RETURNS integer
  LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM set_config('role', speaker, true), set_config('statement_timeout', milliseconds, true),
    set_config('idle_in_transaction_session_timeout', '60000', true),
    set_config('max_parallel_workers_per_gather', '0', true), set_config('jit', 'off', true),
    set_config('plan_cache_mode', 'force_generic_plan', true);
  IF wanted IS NULL THEN RETURN 0; END IF;
  RETURN scrubjay.enter(wanted, make);
END $$;

-- Numbers for so many changes. Before it takes them it marks, with a lock that ends with the transaction, the number
-- from which on some may still be missing.
CREATE FUNCTION scrubjay.reserve(many integer) RETURNS bigint[] LANGUAGE plpgsql VOLATILE AS $$
DECLARE least_possible bigint;
BEGIN
  SELECT last_value + is_called::integer INTO least_possible FROM scrubjay.change_numbers;
  PERFORM pg_advisory_xact_lock_shared(0x534A000000000000 + least_possible);
  RETURN ARRAY(SELECT nextval('scrubjay.change_numbers') FROM generate_series(1, many));
END $$;

-- The number up to which no change can come any more: all have been committed, or never will be. Whoever had taken a
-- number before the first look has marked it before, and is seen at the second, or has ended.
CREATE FUNCTION scrubjay.settled() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE last_taken bigint; least_open bigint;
BEGIN
  SELECT last_value - 1 + is_called::integer INTO last_taken FROM scrubjay.change_numbers;
  SELECT min((classid::bigint - 0x534A0000) << 32 | objid::bigint) INTO least_open FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND mode = 'ShareLock' AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND classid::bigint BETWEEN 0x534A0000 AND 0x534AFFFF;
  RETURN least(last_taken, least_open - 1);
END $$;

-- The schema of the extension is not everybody's: these find it once and for all.
CREATE FUNCTION scrubjay.vector_of(written text) RETURNS halfvec LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN written::halfvec;
CREATE FUNCTION scrubjay.bytes_of(kept halfvec) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN halfvec_send(kept);
"""

# The shape that applications with a memory table of their own know; one row a live memory, of the space entered.
MEMORY_ITEMS = """
CREATE VIEW scrubjay.memory_items WITH (security_invoker = true) AS
  SELECT m.id::text AS id, to_timestamp(m.created_at / 1000000.0) AS created_at, s.name AS user_id,
    (SELECT v.vector::vector FROM scrubjay.passages p
       JOIN scrubjay.vectors v ON v.space_no = p.space_no AND v.hash = p.hash
       WHERE p.space_no = m.space_no AND p.id = m.no * 65536
         AND v.model_no IN (SELECT no FROM scrubjay.models) ORDER BY v.model_no DESC LIMIT 1) AS embedding,
    c.content AS text, c.metadata
  FROM scrubjay.memories m
  JOIN scrubjay.spaces s ON s.no = m.space_no
  JOIN scrubjay.contents c ON c.space_no = m.space_no AND c.memory_no = m.no
  WHERE m.state = 0 AND m.space_no = scrubjay.here();
"""

_GRANTS = """
REVOKE ALL ON SCHEMA scrubjay FROM PUBLIC;
GRANT USAGE ON SCHEMA scrubjay TO scrubjay_server, scrubjay_keeper;
GRANT SELECT ON scrubjay.meta, scrubjay.migrations, scrubjay.spaces, scrubjay.memory_items TO scrubjay_server;
GRANT SELECT, INSERT ON scrubjay.models TO scrubjay_server;
GRANT SELECT ON scrubjay.migrations TO scrubjay_keeper;
GRANT SELECT, INSERT, UPDATE, DELETE ON scrubjay.meta, scrubjay.spaces, scrubjay.models, scrubjay.tokens
  TO scrubjay_keeper;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA scrubjay TO scrubjay_server, scrubjay_keeper;
GRANT SELECT ON scrubjay.memory_items TO scrubjay_keeper;
REVOKE ALL ON FUNCTION scrubjay.enter FROM PUBLIC;
GRANT EXECUTE ON FUNCTION scrubjay.enter TO scrubjay_server, scrubjay_keeper;
"""

# The door must see who has which number, and so it is the keeper's.
_DOOR = """
GRANT CREATE ON SCHEMA scrubjay TO scrubjay_keeper;
ALTER FUNCTION scrubjay.enter OWNER TO scrubjay_keeper;
REVOKE CREATE ON SCHEMA scrubjay FROM scrubjay_keeper;
"""


def walls(*, partitions: int) -> str:
    """The statements that put the first walls up, and open the doors in them."""
    guarded = space_walls(FIRST_TABLES, partitions=partitions)
    return "\n".join((_GRANTS, guarded, wall("spaces", key="no", grant=False), _DOOR))


def space_walls(tables: Sequence[str], *, partitions: int) -> str:
    """Those of tables of spaces; who asks a partition itself is not held to the walls of the whole."""
    parts = [part for table in tables for part in partitions_of(table, partitions=partitions)]
    guarded = [wall(table, key="space_no") for table in tables]
    return "\n".join((*guarded, *(wall(part, key="space_no", grant=False) for part in parts)))


def wall(table: str, *, key: str, grant: bool = True) -> str:
    """The statements that guard one table: also its owner is held to them."""
    given = f"GRANT SELECT, INSERT, UPDATE, DELETE ON scrubjay.{table} TO scrubjay_server, scrubjay_keeper;"
    return f"""
{given if grant else ""}
ALTER TABLE scrubjay.{table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY one_space ON scrubjay.{table} USING ({key} = scrubjay.here()) WITH CHECK ({key} = scrubjay.here());
CREATE POLICY every_space ON scrubjay.{table} TO scrubjay_keeper USING (true) WITH CHECK (true);
"""
