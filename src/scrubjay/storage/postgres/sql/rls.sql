-- Roles, grants and row-level security.
--
-- A transaction runs as scrubjay_server, which sees the rows of the space that it has entered and without one no rows,
-- or as scrubjay_keeper, which sees all spaces. Neither can log in. A login is a member of both and inherits only the
-- rights of scrubjay_server, so that a transaction must explicitly become scrubjay_keeper.

-- name: create_roles
DO $$
DECLARE role_name text;
BEGIN
  FOREACH role_name IN ARRAY ARRAY['scrubjay_server', 'scrubjay_keeper'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role_name) THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
      -- Another database of the same server is being set up at this moment.
      EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
      END;
    END IF;
    IF NOT pg_has_role(current_user, role_name, 'SET') THEN
      EXECUTE format('GRANT %I TO CURRENT_USER WITH INHERIT %s, SET TRUE', role_name,
        CASE role_name WHEN 'scrubjay_server' THEN 'TRUE' ELSE 'FALSE' END);
    END IF;
  END LOOP;
END $$;

-- name: grant_rights
REVOKE ALL ON SCHEMA scrubjay FROM PUBLIC;
GRANT USAGE ON SCHEMA scrubjay TO scrubjay_server, scrubjay_keeper;
GRANT SELECT ON scrubjay.schema_versions, scrubjay.memory_items TO scrubjay_server, scrubjay_keeper;
GRANT SELECT ON scrubjay.meta, scrubjay.spaces TO scrubjay_server;
GRANT SELECT, INSERT ON scrubjay.models TO scrubjay_server;
GRANT SELECT, INSERT, UPDATE, DELETE
  ON scrubjay.meta, scrubjay.spaces, scrubjay.models, scrubjay.tokens, scrubjay.rate_limits TO scrubjay_keeper;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA scrubjay TO scrubjay_server, scrubjay_keeper;

-- name: protect_table
-- FORCE holds the owner of the table to the policies too.
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY one_space ON {table}
  USING ({column} = scrubjay.current_space()) WITH CHECK ({column} = scrubjay.current_space());
CREATE POLICY every_space ON {table} TO scrubjay_keeper USING (true) WITH CHECK (true);

-- name: grant_table
GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO scrubjay_server, scrubjay_keeper;

-- name: give_functions_to_keeper
-- These run with the rights of their owner, and need rows that the caller may not see. Ownership comes last: after it
-- the role that sets the database up may no longer grant.
REVOKE ALL ON FUNCTION scrubjay.enter, scrubjay.filter_passages, scrubjay.stored_passages FROM PUBLIC;
GRANT EXECUTE ON FUNCTION scrubjay.enter, scrubjay.filter_passages, scrubjay.stored_passages
  TO scrubjay_server, scrubjay_keeper;
REVOKE ALL ON FUNCTION scrubjay.analyze_tables FROM PUBLIC;
GRANT EXECUTE ON FUNCTION scrubjay.analyze_tables TO scrubjay_keeper;
GRANT CREATE ON SCHEMA scrubjay TO scrubjay_keeper;
ALTER FUNCTION scrubjay.enter OWNER TO scrubjay_keeper;
ALTER FUNCTION scrubjay.filter_passages OWNER TO scrubjay_keeper;
ALTER FUNCTION scrubjay.stored_passages OWNER TO scrubjay_keeper;
REVOKE CREATE ON SCHEMA scrubjay FROM scrubjay_keeper;
