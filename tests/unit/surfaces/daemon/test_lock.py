"""The lock of a daemon, and the record in its file."""

import threading
from pathlib import Path

from tests.patience import PATIENCE

from scrubjay.paths import read_daemon_record
from scrubjay.surfaces.daemon.lock import hold_daemon_lock, record_daemon


async def test_a_record_is_never_half_written(tmp_path: Path) -> None:
    lock = await hold_daemon_lock(tmp_path)
    record_daemon(tmp_path, socket=tmp_path / "s", http="")
    ended = threading.Event()

    def write() -> None:
        for number in range(2_000):
            record_daemon(tmp_path, socket=tmp_path / "s", http=f"http://127.0.0.1:{number}" * (number % 3))
        ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not ended.is_set():
        assert "http" in read_daemon_record(tmp_path)
    writer.join(PATIENCE)
    lock.release()


async def test_a_shorter_record_leaves_nothing_of_a_longer_one(tmp_path: Path) -> None:
    lock = await hold_daemon_lock(tmp_path)
    for http in ("http://127.0.0.1:7272", ""):
        record_daemon(tmp_path, socket=tmp_path / "s", http=http, idle=1.0)
        record = read_daemon_record(tmp_path)
        assert (record["http"], record["idle"]) == (http, 1.0)
    lock.release()
