"""A disk that is full, or that may not be written to: a clear error, and nothing lost."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scrubjay.client import MemoryClient
from scrubjay.errors import DiskFull
from tests.anomaly.nursery import Nursery
from tests.scenarios.house import ROOT, House, environment, open_house

SOMEBODY_ELSE = 65534
SMALL_DISK = 'mount -t tmpfs -o size=8m none "$1" && shift && exec "$@"'


def own_mounts() -> list[str] | None:
    """The command that gives a process mounts of its own, if this machine allows it."""
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
    deed = (
        "import asyncio; from pathlib import Path; from tests.anomaly import deeds; "
        f"asyncio.run(deeds.fill_disk(Path({str(disk / 'data')!r}), answer={str(answer)!r}))"
    )
    done = subprocess.run(
        [*OWN_MOUNTS, "sh", "-c", SMALL_DISK, "sh", str(disk), sys.executable, "-c", deed],
        env=environment(disk / "data"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(answer.read_text(encoding="utf-8"))
    assert told["class"] == "DiskFull"
    assert "Free some space" in told["hint"]
    assert "too little room" in told["index"]
    assert told["found when full"]
    assert (told["there when full"], told["there"], told["problems"]) == (True, True, [])


async def test_a_full_database_refuses_the_write_and_takes_the_next_that_fits(
    house: House, memory: MemoryClient
) -> None:
    """SQLite's own limit, for machines that allow no small disk."""
    kept = [(await memory.remember(f"bird number {number}")).id for number in range(20)]
    connection = house.store._connection
    connection.pragma("max_page_count", connection.pragma("page_count") + 3)
    with pytest.raises(DiskFull) as caught:
        await memory.remember("x" * 100 + os.urandom(50_000).hex())
    assert caught.value.hint
    assert (await memory.status()).memories == {"live": 20}
    connection.pragma("max_page_count", 1_000_000)
    kept.append((await memory.remember("there is room again")).id)
    assert len((await memory.read(kept)).memories) == 21
    assert (await memory.doctor(deep=True)).ok


async def test_the_others_of_a_commit_hear_of_a_full_disk_too(house: House, memory: MemoryClient) -> None:
    import asyncio

    await memory.remember("there before")
    connection = house.store._connection
    connection.pragma("max_page_count", connection.pragma("page_count") + 3)
    calls = [memory.remember(f"bird {number} {os.urandom(4_000).hex()}") for number in range(30)]
    done = await asyncio.gather(*calls, return_exceptions=True)
    connection.pragma("max_page_count", 1_000_000)
    refused = [one for one in done if isinstance(one, BaseException)]
    kept = [one.id for one in done if not isinstance(one, BaseException)]
    assert refused
    assert all(isinstance(one, DiskFull) for one in refused)
    assert (await memory.status()).memories == {"live": 1 + len(kept)}
    assert not kept or len((await memory.read(kept)).memories) == len(kept)
    assert (await memory.doctor(deep=True)).ok


@pytest.mark.parametrize("what", ["folder", "files", "database"])
async def test_a_folder_that_may_not_be_written_to(home: Path, nursery: Nursery, what: str) -> None:
    async with open_house(home) as house:
        await house.client().remember("written by its owner")
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
    uid = SOMEBODY_ELSE if os.geteuid() == 0 else 0
    assert nursery.run("write_once", home, uid=uid, answer=str(answer)) == 0
    told = json.loads(answer.read_text(encoding="utf-8"))
    assert told["class"] == "StoreReadOnly"
    assert "SCRUBJAY_HOME" in told["hint"]
    assert str(home) in told["message"]
    assert (home / "memory.db").read_bytes() == before
    home.chmod(0o700)
    for file in home.iterdir():
        if file.is_file():
            file.chmod(0o600)
    async with open_house(home) as house:
        assert (await house.client().read("written-by-its-owner")).memories
        await house.client().remember("and again")


async def test_a_new_folder_where_none_may_be_made(home: Path, nursery: Nursery) -> None:
    answer = home.parent / "answer"
    answer.touch()
    answer.chmod(0o666)
    home.parent.chmod(0o555)
    uid = SOMEBODY_ELSE if os.geteuid() == 0 else 0
    assert nursery.run("write_once", home, uid=uid, answer=str(answer)) == 0
    home.parent.chmod(0o700)
    told = json.loads(answer.read_text(encoding="utf-8"))
    assert told["class"] == "StoreReadOnly"
    assert not home.exists()
