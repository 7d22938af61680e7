"""`status` and `doctor` tell the truth, and what to do about it."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.fakes import FakeEmbedder, FakeStore
from tests.unit.recalling.branches import make_branch
from tests.unit.write_world import SPACE, Workshop

from scrubjay.engine.diagnostics import Patient, doctor, status
from scrubjay.errors import StoreDamaged
from scrubjay.model.draft import Draft
from scrubjay.model.results import Check
from scrubjay.ports import StoreStatistics
from scrubjay.version import VERSION


class Usage(NamedTuple):
    """What shutil tells of a disk."""

    total: int
    used: int
    free: int


class Ill(FakeStore):
    """A store with problems of every kind."""

    def __init__(self, *problems: str, flagged: int = 0) -> None:
        super().__init__()
        self.problems = problems
        self.flagged = flagged

    async def check(self, *, deep: bool = False) -> list[str]:
        if deep:
            raise StoreDamaged("page 7 is gone")
        return list(self.problems)

    async def statistics(self, space: str) -> StoreStatistics:
        found = await super().statistics(space)
        return replace(found, flagged_bodies=self.flagged, body_bytes=400, stored_bytes=100)

    async def without_vectors(self, model: str, *, limit: int) -> Sequence[tuple[str, str]]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return [("default", "x")] * limit


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def shared(data: Path) -> Path:
    data.chmod(0o755)
    return data


def patient(data: Path, *, store: FakeStore | None = None, failing: bool = False, problem: str = "") -> Patient:
    return Patient(
        store=store or FakeStore(),
        embedder=FakeEmbedder(failing=failing),
        index={"kind": "scan", "points": 3, "problem": problem},
        data=data,
    )


async def checks(given: Patient, *, deep: bool = False) -> dict[str, Check]:
    return {check.name: check for check in (await doctor(given, space=SPACE, deep=deep)).checks}


async def test_status_counts_what_there_is(data: Path) -> None:
    given = patient(data)
    shop = Workshop(store=given.store)
    tea, jay = await shop.kept("tea"), await shop.kept(Draft(text="jay"))
    await shop.relate(tea.id, jay.id)
    await shop.forget(jay.id)
    told = await status(given, space=SPACE)
    assert (told.space, told.version, told.data) == (SPACE, VERSION, str(data))
    assert (told.memories, told.versions, told.relations) == ({"live": 1, "trashed": 1}, 3, 1)
    assert told.embedding == {"available": True, "model": "fake-64", "dimension": 64}
    assert told.index["points"] == 3
    assert told.degraded == ()


async def test_status_says_what_is_degraded(data: Path) -> None:
    told = await status(patient(data, failing=True, problem="the index is in pieces"), space=SPACE)
    assert told.embedding["available"] is False
    assert len(told.degraded) == 2
    assert "lexical search only" in told.degraded[0]
    assert told.degraded[1] == "the index is in pieces"


async def test_status_tells_how_well_bodies_are_packed(data: Path) -> None:
    empty = await status(patient(data), space=SPACE)
    assert empty.compression["saved"] == 0
    assert (await status(patient(data, store=Ill()), space=SPACE)).compression["saved"] == 0.75


async def test_a_healthy_patient_needs_nothing(data: Path) -> None:
    given = patient(data)
    found = await doctor(given, space=SPACE, deep=True)
    assert found.ok
    assert {check.name for check in found.checks} == {
        "backend", "store", "compression", "folder", "disk", "embedding", "vectors", "branches", "index",
    }  # fmt: skip
    assert all(not check.fix for check in found.checks)
    assert (await checks(given, deep=True))["store"].detail != (await checks(given))["store"].detail


async def test_every_illness_is_found_and_has_a_cure(data: Path) -> None:
    given = patient(data, store=Ill("2 memories have no body", flagged=3), problem="in pieces")
    found = await checks(given)
    assert {name for name, check in found.items() if not check.ok} == {"store", "compression", "vectors", "index"}
    assert found["store"].detail == "2 memories have no body"
    assert "backup restore" in found["store"].fix
    assert "3 bodies" in found["compression"].detail
    assert "1000+" in found["vectors"].detail
    assert "--repair" in found["vectors"].fix
    assert found["index"].detail.startswith("in pieces")


async def test_a_store_too_damaged_to_be_looked_at_is_ill_too(data: Path) -> None:
    found = await checks(patient(data, store=Ill()), deep=True)
    assert (found["store"].ok, found["store"].detail) == (False, "page 7 is gone")


async def test_without_a_model_vectors_are_not_missed(data: Path) -> None:
    found = await checks(patient(data, failing=True))
    assert (found["embedding"].ok, found["vectors"].ok) == (False, True)
    assert found["embedding"].fix


async def test_a_folder_that_others_can_read_is_told(shared: Path) -> None:
    check = (await checks(patient(shared)))["folder"]
    assert (check.ok, check.fix) == (False, f"chmod 700 {shared}")
    assert "755" in check.detail


async def test_little_room_is_told_in_time(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nearly_full(_: Path) -> Usage:
        return Usage(10**9, 10**9 - 5_000_000, 5_000_000)

    monkeypatch.setattr(shutil, "disk_usage", nearly_full)
    check = (await checks(patient(data)))["disk"]
    assert (check.ok, check.detail) == (False, "4 MB free")
    assert check.fix


async def test_a_branch_without_a_memory_is_found_and_can_be_done_away_with(data: Path) -> None:
    store = FakeStore()
    shop = Workshop(store=store)
    tea, milk = await shop.kept(Draft(text="tea", name="tea")), await shop.kept(Draft(text="milk", name="milk"))
    lost, _ = [await make_branch(shop, one, "draft", "what if") for one in (tea, milk)]
    given = patient(data, store=store)
    assert (await checks(given))["branches"].ok
    await store.purge(SPACE, [tea.id], origin=shop.origin())
    check = (await checks(given))["branches"]
    assert (check.ok, check.detail) == (False, f"1 belong to no memory: {lost.id}")
    assert lost.id in check.fix
    await shop.forget(lost.id)
    await shop.purge(lost.id)
    assert (await checks(given))["branches"].ok


async def test_many_branches_without_memories_are_all_found_and_a_few_named(data: Path) -> None:
    store = FakeStore()
    shop = Workshop(store=store)
    memories = [await shop.kept(f"tea number {number}") for number in range(103)]
    lost = [(await make_branch(shop, memory, "draft", "what if")).id for memory in memories]
    await store.purge(SPACE, [memory.id for memory in memories[1:]], origin=shop.origin())
    check = (await checks(patient(data, store=store)))["branches"]
    assert check.detail.startswith("102 belong to no memory: ")
    assert check.detail.endswith(" and 97 more")
    assert lost[0] not in check.detail


async def test_a_branch_is_not_lost_while_its_memory_lies_in_the_trash(data: Path) -> None:
    store = FakeStore()
    shop = Workshop(store=store)
    tea = await shop.kept(Draft(text="tea", name="tea"))
    await make_branch(shop, tea, "draft", "what if")
    await shop.forget("tea")
    assert (await checks(patient(data, store=store)))["branches"].ok
