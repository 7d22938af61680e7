"""A full or read-only disk: a clear error, and no lost data."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scrubjay.client import MemoryClient
from scrubjay.errors import DiskFull
from tests.anomaly.process_pool import ProcessPool
from tests.scenarios.wiring import ROOT, Wiring, environment, open_wiring

OTHER_USER = 65534
SMALL_DISK = 'mount -t tmpfs -o size=8m none "$1" && shift && exec "$@"'


def own_mounts() -> list[str] | None:
    """Return the command that gives a process its own mounts, if this machine allows it."""
    command = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    if shutil.which("unshare") is None or shutil.which("mount") is None:
        return None
    tried = subprocess.run([*command, "sh", "-c", "mount -t tmpfs none /mnt"], capture_output=True, check=False)
    return command if tried.returncode == 0 else None


OWN_MOUNTS = own_mounts()


@pytest.mark.skipif(OWN_MOUNTS is None, reason="a small disk needs `unshare` and the right to mount")
def test_a_full_disk_refuses_the_write_and_loses_nothing(home: Path) -> None:
    assert OWN_MOUNTS is not None
    disk, answer = home.parent / "disk", home.parent / "answer"
    disk.mkdir()
    task = (
        "import asyncio; from pathlib import Path; from tests.anomaly import child_tasks; "
        f"asyncio.run(child_tasks.fill_disk(Path({str(disk / 'data')!r}), answer={str(answer)!r}))"
    )
    done = subprocess.run(
        [*OWN_MOUNTS, "sh", "-c", SMALL_DISK, "sh", str(disk), sys.executable, "-c", task],
        env=environment(disk / "data"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    outcome = json.loads(answer.read_text(encoding="utf-8"))
    assert outcome["class"] == "DiskFull"
    assert "Free some space" in outcome["hint"]
    assert "too little space" in outcome["index"]
    assert outcome["found when full"]
    assert (outcome["there when full"], outcome["there"], outcome["problems"]) == (True, True, [])


async def test_a_full_database_refuses_the_write_and_takes_the_next_that_fits(
    wiring: Wiring, memory: MemoryClient
) -> None:
    """Use SQLite's own limit, for machines that allow no small disk."""
    stored = [(await memory.remember(f"bird number {number}")).id for number in range(20)]
    connection = wiring.store._connection
    connection.pragma("max_page_count", connection.pragma("page_count") + 3)
    with pytest.raises(DiskFull) as caught:
        await memory.remember("x" * 100 + os.urandom(50_000).hex())
    assert caught.value.hint
    assert (await memory.status()).memories == {"live": 20}
    connection.pragma("max_page_count", 1_000_000)
    stored.append((await memory.remember("there is room again")).id)
    assert len((await memory.read(stored)).memories) == 21
    assert (await memory.doctor(deep=True)).ok


async def test_every_write_of_a_shared_commit_gets_the_error_of_a_full_disk(
    wiring: Wiring, memory: MemoryClient
) -> None:
    import asyncio

    await memory.remember("there before")
    connection = wiring.store._connection
    connection.pragma("max_page_count", connection.pragma("page_count") + 3)
    calls = [memory.remember(f"bird {number} {os.urandom(4_000).hex()}") for number in range(30)]
    done = await asyncio.gather(*calls, return_exceptions=True)
    connection.pragma("max_page_count", 1_000_000)
    refused = [outcome for outcome in done if isinstance(outcome, BaseException)]
    stored = [outcome.id for outcome in done if not isinstance(outcome, BaseException)]
    assert refused
    assert all(isinstance(outcome, DiskFull) for outcome in refused)
    assert (await memory.status()).memories == {"live": 1 + len(stored)}
    assert not stored or len((await memory.read(stored)).memories) == len(stored)
    assert (await memory.doctor(deep=True)).ok


@pytest.mark.parametrize("what", ["folder", "files", "database"])
async def test_a_read_only_folder(home: Path, process_pool: ProcessPool, what: str) -> None:
    async with open_wiring(home) as wiring:
        await wiring.client().remember("written by its owner")
    answer = home.parent / "answer"
    answer.touch(mode=0o666)
    answer.chmod(0o666)
    for place in home.parents[:1]:
        place.chmod(0o755)
    home.chmod(0o555 if what == "folder" else 0o777)
    for file in home.iterdir():
        if file.is_file():
            file.chmod(0o444 if what == "files" or file.name == "memory.db" else 0o666)
    before = (home / "memory.db").read_bytes()
    uid = OTHER_USER if os.geteuid() == 0 else 0
    assert process_pool.run("write_once", home, uid=uid, answer=str(answer)) == 0
    outcome = json.loads(answer.read_text(encoding="utf-8"))
    assert outcome["class"] == "StoreReadOnly"
    assert "SCRUBJAY_HOME" in outcome["hint"]
    assert str(home) in outcome["message"]
    assert (home / "memory.db").read_bytes() == before
    home.chmod(0o700)
    for file in home.iterdir():
        if file.is_file():
            file.chmod(0o600)
    async with open_wiring(home) as wiring:
        assert (await wiring.client().read("written")).memories
        await wiring.client().remember("and again")


async def test_a_new_folder_where_none_may_be_made(home: Path, process_pool: ProcessPool) -> None:
    answer = home.parent / "answer"
    answer.touch()
    answer.chmod(0o666)
    home.parent.chmod(0o555)
    uid = OTHER_USER if os.geteuid() == 0 else 0
    assert process_pool.run("write_once", home, uid=uid, answer=str(answer)) == 0
    home.parent.chmod(0o700)
    outcome = json.loads(answer.read_text(encoding="utf-8"))
    assert outcome["class"] == "StoreReadOnly"
    assert not home.exists()
