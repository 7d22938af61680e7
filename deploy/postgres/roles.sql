-- Run once by a superuser, in an empty database: who owns the tables, who serves, and what both become.
-- The passwords come from the environment of psql. It is safe to run it again; passwords are set anew.
\set ON_ERROR_STOP on
\getenv owner_password OWNER_PASSWORD
\getenv server_password SERVER_PASSWORD

SELECT format('CREATE ROLE %I NOLOGIN', name) FROM unnest(ARRAY['scrubjay_server', 'scrubjay_keeper']) AS name
  WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec
SELECT format('CREATE ROLE %I LOGIN', name) FROM unnest(ARRAY['memory_owner', 'memory']) AS name
  WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec

ALTER ROLE memory_owner PASSWORD :'owner_password';
ALTER ROLE memory PASSWORD :'server_password';

-- Without INHERIT FALSE a login would see every space without having to become the keeper.
GRANT scrubjay_server TO memory_owner, memory WITH INHERIT TRUE, SET TRUE;
GRANT scrubjay_keeper TO memory_owner, memory WITH INHERIT FALSE, SET TRUE;

CREATE EXTENSION IF NOT EXISTS vector;
-- Nobody else gets in. Who has become one of the two roles must still see how large the database is, and restore.
SELECT format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database()) \gexec
SELECT format('GRANT CONNECT, TEMPORARY ON DATABASE %I TO memory_owner, memory, scrubjay_server, scrubjay_keeper',
  current_database()) \gexec
SELECT format('GRANT CREATE ON DATABASE %I TO memory_owner', current_database()) \gexec
