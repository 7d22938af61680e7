"""The vector index can be deleted or damaged at any time: searches continue, and it is rebuilt."""

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrubjay.client import MemoryClient
from tests.scenarios.wiring import Wiring, filled_folder, open_wiring

MANY = 60


async def fill(wiring: Wiring) -> None:
    for number in range(MANY):
        await wiring.client().remember(f"bird number {number}", name=f"b{number}")
    await wiring.client().recall("bird")


@pytest.fixture(scope="module")
def birds() -> Iterator[Path]:
    with filled_folder(fill) as place:
        yield place


@pytest.fixture
def home(home: Path, birds: Path) -> Path:
    """Remember birds, and build the index."""
    shutil.copytree(birds, home)
    return home


async def everything_is_found(wiring: Wiring, *, many: int = MANY) -> None:
    memory = wiring.client()
    recalled = await memory.recall("bird", limit=200, max_tokens=100_000)
    assert len(recalled.hits) == many
    assert recalled.degraded == ()


async def healed(wiring: Wiring, *, many: int = MANY) -> None:
    await everything_is_found(wiring, many=many)
    await wiring.index.settle()
    index = (await wiring.client().status()).index
    assert (index["kind"], index["points"], index["problem"], index["lag"]) == ("edge", many, "", 0)


@pytest.mark.parametrize("seed", range(5))
async def test_damaged_index_files_are_noticed_or_harmless(home: Path, seed: int) -> None:
    """Overwrite, truncate or remove a third of the files, differently for each seed."""
    chance = random.Random(seed)
    for file in sorted(path for path in (home / "index").rglob("*") if path.is_file() and path.name != "lock"):
        if chance.random() < 0.35:
            spoil(file, chance)
    async with open_wiring(home) as wiring:
        await everything_is_found(wiring)
        done = await wiring.client().remember("one more bird")
        assert done.id in [hit.id for hit in (await wiring.client().recall("one more bird")).hits]
        assert (await wiring.client().doctor(repair=True)).ok
        await healed(wiring, many=MANY + 1)


@pytest.mark.parametrize("name", ["CURRENT", "scrubjay.json", "shard"])
@pytest.mark.parametrize("content", [None, b"garbage \xff", b"{}", b"../gen-9999\n"])
async def test_the_metadata_of_the_index_is_not_trusted(home: Path, name: str, content: bytes | None) -> None:
    for path in list((home / "index").rglob(name)):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        if content is not None:
            path.write_bytes(content)
    async with open_wiring(home) as wiring:
        await healed(wiring)


async def test_an_index_deleted_before_the_start_is_rebuilt(home: Path) -> None:
    shutil.rmtree(home / "index")
    async with open_wiring(home) as wiring:
        await healed(wiring)


@pytest.mark.parametrize("whole", [True, False])
async def test_an_index_deleted_under_a_running_memory(wiring: Wiring, memory: MemoryClient, whole: bool) -> None:
    await everything_is_found(wiring)
    index = wiring.home / "index"
    for path in [index] if whole else [path for path in index.iterdir() if path.is_dir()]:
        shutil.rmtree(path)
    await everything_is_found(wiring)
    done = await memory.remember("one more bird")
    assert done.id in [hit.id for hit in (await memory.recall("one more bird")).hits]
    await memory.revise("b7", text="a fish, not a bird")
    await memory.forget("b8")
    assert "b8" not in [hit.name for hit in (await memory.recall("bird", limit=200, max_tokens=100_000)).hits]
    await memory.restore("b8")
    await memory.forget("b9")
    assert (await memory.purge("b9")).done
    assert (await memory.status()).memories == {"live": MANY}
    assert (await memory.doctor(repair=True)).checks[0].ok
    await everything_is_found(wiring, many=MANY)


async def test_after_such_a_run_the_next_one_has_an_index_again(home: Path) -> None:
    async with open_wiring(home) as wiring:
        await everything_is_found(wiring)
        shutil.rmtree(home / "index")
        await wiring.client().remember("one more bird")
        await wiring.client().recall("bird")
    async with open_wiring(home) as wiring:
        await healed(wiring, many=MANY + 1)


async def test_a_file_in_place_of_the_index_folder(home: Path) -> None:
    shutil.rmtree(home / "index")
    (home / "index").write_text("not a folder", encoding="utf-8")
    async with open_wiring(home) as wiring:
        await everything_is_found(wiring)
        status = await wiring.client().status()
        assert status.index["kind"] == "scan"
    assert (home / "index").read_text(encoding="utf-8") == "not a folder"


async def test_the_index_of_another_store_is_not_used(home: Path) -> None:
    other = home.parent / "other"
    async with open_wiring(other) as wiring:
        for number in range(MANY):
            await wiring.client().remember(f"fish number {number}")
        await wiring.client().recall("fish")
    shutil.rmtree(home / "index")
    shutil.copytree(other / "index", home / "index")
    async with open_wiring(home) as wiring:
        await healed(wiring)


def spoil(file: Path, chance: random.Random) -> None:
    content = file.read_bytes()
    match chance.randrange(3):
        case 0:
            file.unlink()
        case 1:
            file.write_bytes(content[: chance.randrange(len(content) + 1)])
        case _:
            at = chance.randrange(max(1, len(content)))
            file.write_bytes(content[:at] + os.urandom(16) + content[at + 16 :])
