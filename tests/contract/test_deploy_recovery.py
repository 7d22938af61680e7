"""The guides to backups, with real databases: recovery to a point in time, and a dump into another database."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.contract.deployed import a_database, postgres_program, scrubjay
from tests.contract.deployment import DEPLOY
from tests.patience import PATIENCE
from tests.postgres import Server, private_server, shared_server


@pytest.mark.slow
def test_a_database_is_recovered_to_a_point_in_time(tmp_path: Path) -> None:
    with private_server() as server:
        archive = _enable_archive(server)
        with a_database(server, "memory") as database:
            url = server.url(database, user="memory_owner")
            scrubjay("remember", "Before the base backup", url=url, home=tmp_path / "home")
            recovered = _base_backup(server)
            scrubjay("remember", "After the base backup", url=url, home=tmp_path / "home")
            moment = _query(server, "SELECT clock_timestamp()::text")
            scrubjay("remember", "A mistake", url=url, home=tmp_path / "home")
            last = _query(server, "SELECT pg_walfile_name(pg_switch_wal())")
            _wait_until((archive / last).exists)
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


def test_a_dump_by_the_role_of_the_servers_is_restored_into_another_database(tmp_path: Path) -> None:
    server, file = shared_server(), tmp_path / "memory.dump"
    with a_database(server, "dumped") as dumped, a_database(server, "restored") as restored:
        owner, login = server.url(dumped, user="memory_owner"), server.url(dumped, user="memory")
        scrubjay("remember", "The jay hid an acorn", url=owner, home=tmp_path / "home")
        # Only the role scrubjay_keeper sees every space.
        options = ("--format=custom", "--enable-row-security", "--role=scrubjay_keeper", "--schema=scrubjay")
        postgres_program(server, "pg_dump", *options, "--file", str(file), "--dbname", login)
        postgres_program(server, "pg_restore", "--exit-on-error", "--dbname", server.url(restored), str(file))
        assert _texts(server, restored, folder=tmp_path) == ["The jay hid an acorn"]


def _enable_archive(server: Server) -> Path:
    """Make a server archive its write-ahead log with the deployed script, and return the folder."""
    archive = _make_folder(server, server.folder / "archive")
    program = Path(shutil.copy(DEPLOY / "postgres" / "archive-wal.sh", server.folder))
    for setting in ("archive_mode = on", f"archive_command = 'WAL_ARCHIVE={archive} sh {program} %p %f'"):
        _query(server, f"ALTER SYSTEM SET {setting}")
    server.restart()
    return archive


def _base_backup(server: Server) -> Server:
    """Return a copy of a running server, not started yet."""
    folder = _make_folder(server, server.folder / "recovered")
    _make_folder(server, folder / "data")
    options = ("--checkpoint=fast", "--wal-method=none", "--no-sync", "--pgdata", str(folder / "data"))
    postgres_program(server, "pg_basebackup", *options, "--dbname", server.url(), user=server._server.system_user)
    # The socket of the test server is in its data folder.
    (folder / "data" / ".s.PGSQL.5432.lock").unlink()
    return Server(folder)


def _recover(server: Server, *, archive: Path, moment: str) -> None:
    """Start a copy and recover it to a point in time."""
    data = server.folder / "data"
    with (data / "postgresql.auto.conf").open("a") as settings:
        settings.write(f"restore_command = 'cp {archive}/%f %p'\nrecovery_target_time = '{moment}'\n")
        settings.write("recovery_target_action = 'promote'\narchive_mode = off\n")
    (data / "recovery.signal").touch()
    server.start()
    _wait_until(lambda: _query(server, "SELECT pg_is_in_recovery()::text") == "false")


def _texts(server: Server, database: str, *, folder: Path) -> list[str]:
    """Return the texts that the role of the servers finds in a database."""
    url = server.url(database, user="memory")
    output = scrubjay("recall", "acorn base backup mistake", "--json", url=url, home=folder / "other")
    return sorted(line for line in _TEXTS if line in output)


_TEXTS = ("Before the base backup", "After the base backup", "A mistake", "The jay hid an acorn")


def _make_folder(server: Server, folder: Path) -> Path:
    """Create a folder that belongs to the user of the server."""
    folder.mkdir(mode=0o700)
    if server._server.system_user is not None:
        shutil.chown(folder, server._server.system_user)
    return folder


def _query(server: Server, statement: str) -> str:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return str(cursor.fetchall()[0][0]) if cursor.description else ""


def _wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
