-- Run once as a superuser in an empty database: creates the owner of the tables, the login of the servers, and their roles.
-- The passwords come from the environment of psql. You can run it again; it then sets the passwords again.
\set ON_ERROR_STOP on
\getenv owner_password OWNER_PASSWORD
\getenv server_password SERVER_PASSWORD

SELECT format('CREATE ROLE %I NOLOGIN', name) FROM unnest(ARRAY['scrubjay_server', 'scrubjay_keeper']) AS name
  WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec
SELECT format('CREATE ROLE %I LOGIN', name) FROM unnest(ARRAY['memory_owner', 'memory']) AS name
  WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec

ALTER ROLE memory_owner PASSWORD :'owner_password';
ALTER ROLE memory PASSWORD :'server_password';

-- Without INHERIT FALSE a login would see every space without switching to scrubjay_keeper.
GRANT scrubjay_server TO memory_owner, memory WITH INHERIT TRUE, SET TRUE;
GRANT scrubjay_keeper TO memory_owner, memory WITH INHERIT FALSE, SET TRUE;

CREATE EXTENSION IF NOT EXISTS vector;
-- No other role may connect. The two roles must still be able to read the size of the database and to restore.
SELECT format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database()) \gexec
SELECT format('GRANT CONNECT, TEMPORARY ON DATABASE %I TO memory_owner, memory, scrubjay_server, scrubjay_keeper',
  current_database()) \gexec
SELECT format('GRANT CREATE ON DATABASE %I TO memory_owner', current_database()) \gexec
