"""A database that cannot be used: one line that says what to do, an exit code, and never the password."""

import asyncio
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from tests.postgres import Server, a_database, private_server, shared_server
from tests.surfaces.fork_server import run_forked
from tests.surfaces.shell import run

PASSWORD = "open-sesame"


@pytest.fixture(scope="module")
def password_server() -> Iterator[Server]:
    """A server with a role that needs a password."""
    with private_server() as server:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE ROLE keyed LOGIN SUPERUSER PASSWORD {}").format(sql.Literal(PASSWORD)))
            (results,) = connection.execute("SHOW hba_file").fetchall()
            rules = Path(str(results[0]))
            rules.write_text(f"local all keyed scram-sha-256\n{rules.read_text(encoding='utf-8')}", encoding="utf-8")
            connection.execute("SELECT pg_reload_conf()")
        yield server


@contextmanager
def database(server: Server | None = None, *, empty: bool = False) -> Generator[str]:
    with asyncio.Runner() as runner:
        made = a_database(server, empty=empty)
        yield runner.run(made.__aenter__())
        runner.run(made.__aexit__(None, None, None))


def run_refused(monkeypatch: pytest.MonkeyPatch, url: str, *, code: int, **environment: str) -> str:
    """Return the error of a command that cannot open its store."""
    monkeypatch.setenv("SCRUBJAY_DATABASE_URL", url)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    reported = run("status")
    assert reported.code == code, reported
    assert reported.out == ""
    assert reported.err.startswith("error: ")
    assert reported.err.count("\n") == 1
    assert "Traceback" not in reported.err
    assert PASSWORD not in reported.err + run("status", "--json").err
    return reported.err


@pytest.mark.parametrize(
    ("url", "code", "message"),
    [
        (f"mysql://me:{PASSWORD}@127.0.0.1/memory", 2, "begins with postgresql://"),
        (f"postgresql://me:{PASSWORD}@[::1/memory", 2, "malformed"),
        (f"postgresql://me:{PASSWORD}@127.0.0.1:many/memory", 2, "malformed"),
        (f"postgresql://me:{PASSWORD}@127.0.0.1:1/memory", 75, "Check that PostgreSQL is running"),
        (f"postgresql://me:{PASSWORD}@/memory?host=/nowhere", 75, "Check that PostgreSQL is running"),
    ],
)
def test_an_unusable_address(home: Path, monkeypatch: pytest.MonkeyPatch, url: str, code: int, message: str) -> None:
    assert message in run_refused(monkeypatch, url, code=code)


def test_a_missing_database_and_a_missing_role(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = shared_server().url("no_such_database")
    assert "has this role and database" in run_refused(monkeypatch, url, code=75)
    url = shared_server().url("postgres", user="no_such_role")
    assert "has this role and database" in run_refused(monkeypatch, url, code=75)


def test_a_wrong_password_and_no_password(home: Path, monkeypatch: pytest.MonkeyPatch, password_server: Server) -> None:
    url = password_server.url(user="keyed")
    assert "Check the role, its password" in run_refused(monkeypatch, url, code=5)
    wrong = url.replace("keyed@", f"keyed:{PASSWORD}-no@")
    assert "Check the role, its password" in run_refused(monkeypatch, wrong, code=5)
    right = wrong.replace("-no@", "@").replace("/postgres?", "/no_such_database?")
    assert "the name of the database" in run_refused(monkeypatch, right, code=5)


def test_a_role_without_the_right_to_create_the_schema(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with psycopg.connect(shared_server().url(), autocommit=True) as connection:
        connection.execute(
            """DO $$ BEGIN CREATE ROLE scrubjay_test_visitor LOGIN;
            EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"""
        )
    with database(empty=True) as name:
        url = shared_server().url(name, user="scrubjay_test_visitor")
        assert f"psql -d {name} -c 'CREATE EXTENSION vector'" in run_refused(monkeypatch, url, code=5)
        with psycopg.connect(shared_server().url(name), autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
        assert "SCRUBJAY_DATABASE_OWNER_URL" in run_refused(monkeypatch, url, code=5)
    with database() as name:
        url = shared_server().url(name, user="scrubjay_test_visitor")
        assert "GRANT scrubjay_server" in run_refused(monkeypatch, url, code=5)


def test_a_database_of_a_newer_version(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with database() as name:
        with psycopg.connect(shared_server().url(name), autocommit=True) as connection:
            connection.execute("INSERT INTO scrubjay.schema_versions VALUES (99, 'from the future', 0)")
        assert "Update Scrubjay; the database was not changed" in run_refused(
            monkeypatch, shared_server().url(name), code=5
        )


def test_an_encryption_key_is_for_files(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reported = run_refused(monkeypatch, "postgresql://me@127.0.0.1:1/memory", code=2, SCRUBJAY_KEY=PASSWORD)
    assert "unset SCRUBJAY_KEY" in reported


def test_a_daemon_exits_with_the_same_message(tmp_path: Path) -> None:
    code, output = run_forked(
        "serve", "--data", str(tmp_path / "data"), "--http", "127.0.0.1:0", log=tmp_path / "served.log",
        SCRUBJAY_DATABASE_URL=f"postgresql://me:{PASSWORD}@127.0.0.1:1/memory", SCRUBJAY_EMBEDDER="none",
    )  # fmt: skip
    assert code == 75
    assert "error: postgresql://me@127.0.0.1:1/memory cannot be reached" in output
    assert "Traceback" not in output
    assert PASSWORD not in output
