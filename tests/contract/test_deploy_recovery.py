"""What the guides to backups say, done for real: recovery to a moment, and a dump that another database takes."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.contract.deployed import LONGEST, a_database, postgres_program, scrubjay
from tests.contract.deployment import DEPLOY
from tests.postgres import Server, private_server, shared_server


@pytest.mark.slow
def test_a_database_is_recovered_as_it_was_at_a_moment(tmp_path: Path) -> None:
    with private_server() as server:
        archive = _archiving(server)
        with a_database(server, "memory") as database:
            url = server.url(database, user="memory_owner")
            scrubjay("remember", "Before the base backup", url=url, home=tmp_path / "home")
            recovered = _base_backup(server)
            scrubjay("remember", "After the base backup", url=url, home=tmp_path / "home")
            moment = _ask(server, "SELECT clock_timestamp()::text")
            scrubjay("remember", "A mistake", url=url, home=tmp_path / "home")
            last = _ask(server, "SELECT pg_walfile_name(pg_switch_wal())")
            _until((archive / last).exists)
            server.halt("immediate")
            _recover(recovered, archive=archive, moment=moment)
            try:
                assert _texts(recovered, database, folder=tmp_path) == [
                    "After the base backup",
                    "Before the base backup",
                ]
            finally:
                recovered.stop()
            server.start()


def test_a_dump_by_the_servers_login_is_taken_by_another_database(tmp_path: Path) -> None:
    server, file = shared_server(), tmp_path / "memory.dump"
    with a_database(server, "dumped") as dumped, a_database(server, "restored") as restored:
        owner, login = server.url(dumped, user="memory_owner"), server.url(dumped, user="memory")
        scrubjay("remember", "The jay hid an acorn", url=owner, home=tmp_path / "home")
        # It sees every space only where it becomes the keeper.
        how = ("--format=custom", "--enable-row-security", "--role=scrubjay_keeper", "--schema=scrubjay")
        postgres_program(server, "pg_dump", *how, "--file", str(file), "--dbname", login)
        postgres_program(server, "pg_restore", "--exit-on-error", "--dbname", server.url(restored), str(file))
        assert _texts(server, restored, folder=tmp_path) == ["The jay hid an acorn"]


def _archiving(server: Server) -> Path:
    """Let a server keep its write-ahead log, by the program that is deployed; returns where."""
    archive = _given_to(server, server.folder / "archive")
    program = Path(shutil.copy(DEPLOY / "postgres" / "archive-wal.sh", server.folder))
    for setting in ("archive_mode = on", f"archive_command = 'WAL_ARCHIVE={archive} sh {program} %p %f'"):
        _ask(server, f"ALTER SYSTEM SET {setting}")
    server.restart()
    return archive


def _base_backup(server: Server) -> Server:
    """A copy of a server while it works, not started yet."""
    folder = _given_to(server, server.folder / "recovered")
    _given_to(server, folder / "data")
    how = ("--checkpoint=fast", "--wal-method=none", "--no-sync", "--pgdata", str(folder / "data"))
    postgres_program(server, "pg_basebackup", *how, "--dbname", server.url(), user=server._server.system_user)
    # The test server's socket lies among its data.
    (folder / "data" / ".s.PGSQL.5432.lock").unlink()
    return Server(folder)


def _recover(server: Server, *, archive: Path, moment: str) -> None:
    """Start a copy and let it go as far as a moment."""
    data = server.folder / "data"
    with (data / "postgresql.auto.conf").open("a") as settings:
        settings.write(f"restore_command = 'cp {archive}/%f %p'\nrecovery_target_time = '{moment}'\n")
        settings.write("recovery_target_action = 'promote'\narchive_mode = off\n")
    (data / "recovery.signal").touch()
    server.start()
    _until(lambda: _ask(server, "SELECT pg_is_in_recovery()::text") == "false")


def _texts(server: Server, database: str, *, folder: Path) -> list[str]:
    """What the servers' login finds in a database."""
    url = server.url(database, user="memory")
    results = scrubjay("recall", "acorn base backup mistake", "--json", url=url, home=folder / "other")
    return sorted(line for line in _KNOWN if line in results)


_KNOWN = ("Before the base backup", "After the base backup", "A mistake", "The jay hid an acorn")


def _given_to(server: Server, folder: Path) -> Path:
    """A folder of the user that the server runs as."""
    folder.mkdir(mode=0o700)
    if server._server.system_user is not None:
        shutil.chown(folder, server._server.system_user)
    return folder


def _ask(server: Server, statement: str) -> str:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return str(cursor.fetchall()[0][0]) if cursor.description else ""


def _until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)
