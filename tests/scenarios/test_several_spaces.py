"""A caller of several spaces finds the memories of all of them, and writes into one."""

from pathlib import Path

import pytest

from scrubjay.app import open_engine
from scrubjay.client import MemoryClient
from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput, NotFound
from scrubjay.model.caller import Caller
from scrubjay.model.results import Hit
from scrubjay.settings import Settings

BOTH = Caller(space="work", also=("home",))


async def _fill(engine: Engine) -> None:
    for space in ("work", "home", "elsewhere"):
        memory = MemoryClient.over(engine, Caller(space=space))
        for number in range(6):
            await memory.remember(f"The jay hid acorn {number} under the {space} oak", name=f"acorn-{number}")
        await memory.remember(f"Everybody in {space} likes jays", name=f"likes-{space}", pinned=True)


async def test_recall_merges_their_hits_and_every_hit_names_its_space(tmp_path: Path) -> None:
    async with open_engine(Settings.load(home=str(tmp_path))) as engine:
        await _fill(engine)
        memory = MemoryClient.over(engine, BOTH)
        recalled = await memory.recall("where did the jay hide its acorn?", limit=20, max_tokens=9_000)
        assert {hit.space for hit in recalled.hits} == {"work", "home"}
        assert len(recalled.hits) == 12
        # Of those that differ in one number the newer comes first, in each space.
        for space in ("work", "home"):
            names = [hit.name for hit in recalled.hits if hit.space == space]
            assert names == [f"acorn-{number}" for number in (5, 4, 3, 2, 1, 0)]
        assert {hit.name for hit in recalled.pinned} == {"likes-work", "likes-home"}
        assert (await memory.recall("home oak", limit=1)).hits[0].space == "home"


async def test_pages_go_on_through_all_of_them(tmp_path: Path) -> None:
    async with open_engine(Settings.load(home=str(tmp_path))) as engine:
        await _fill(engine)
        memory = MemoryClient.over(engine, BOTH)
        for query in ("acorn under the oak", ""):
            whole = await memory.recall(query, limit=50, max_tokens=9_000)
            pages: list[Hit] = []
            cursor = ""
            while True:
                page = await memory.recall(query, limit=5, max_tokens=9_000, cursor=cursor)
                pages += page.hits
                cursor = page.cursor
                if not cursor:
                    break
            assert [(hit.space, hit.id) for hit in pages] == [(hit.space, hit.id) for hit in whole.hits]
        with pytest.raises(InvalidInput, match="cursor"):
            await MemoryClient.over(engine, Caller(space="work")).recall(
                "acorn under the oak", cursor=(await memory.recall("acorn under the oak", limit=2)).cursor
            )


async def test_a_name_is_looked_up_in_the_first_space_and_then_in_the_others(tmp_path: Path) -> None:
    async with open_engine(Settings.load(home=str(tmp_path))) as engine:
        await _fill(engine)
        memory = MemoryClient.over(engine, BOTH)
        read = await memory.read(["acorn-1", "likes-home", "likes-elsewhere"])
        assert [(memory.space, memory.name) for memory in read.memories] == [
            ("work", "acorn-1"),
            ("home", "likes-home"),
        ]
        assert [reference.ref for reference in read.missing] == ["likes-elsewhere"]
        assert "elsewhere" not in str(read.missing[0].suggestions)
        assert (await memory.history("likes-home")).versions[0].number == 1
        with pytest.raises(NotFound):
            await memory.history("likes-elsewhere")


async def test_writes_go_to_the_own_space_only(tmp_path: Path) -> None:
    async with open_engine(Settings.load(home=str(tmp_path))) as engine:
        await _fill(engine)
        memory = MemoryClient.over(engine, BOTH)
        done = await memory.remember("a new acorn")
        assert (await memory.read(done.id)).memories[0].space == "work"
        with pytest.raises(NotFound):
            await memory.revise("likes-home", title="changed")
        assert (await memory.forget(["likes-home"])).missing[0].ref == "likes-home"


async def test_reads_are_counted_in_the_space_of_the_memory(tmp_path: Path) -> None:
    async with open_engine(Settings.load(home=str(tmp_path))) as engine:
        await _fill(engine)
        await MemoryClient.over(engine, BOTH).read(["likes-home"])
        await engine.access_log.flush()
        home = await MemoryClient.over(engine, Caller(space="home")).read("likes-home")
        assert home.memories[0].access_count == 1
