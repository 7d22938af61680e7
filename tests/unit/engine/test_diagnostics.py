"""`status` and `doctor` report the state of a memory, its problems and their fixes."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.fakes import FakeClock, FakeEmbedder
from tests.new_files import NewStores
from tests.unit.harness import SPACE, Harness
from tests.unit.recalling.branches import make_branch

from scrubjay.engine.diagnostics import Subject, doctor, status
from scrubjay.errors import StoreDamaged
from scrubjay.model.draft import Draft
from scrubjay.model.results import Check
from scrubjay.ports import StoreStatistics
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.version import VERSION


class Usage(NamedTuple):
    """The result of shutil.disk_usage."""

    total: int
    used: int
    free: int


class DamagedStore(SqliteStore):
    """A store with problems of every kind."""

    problems: tuple[str, ...] = ()
    flagged = 0

    async def check(self, *, deep: bool = False) -> list[str]:
        if deep:
            raise StoreDamaged("page 7 is gone")
        return list(self.problems)

    async def statistics(self, space: str) -> StoreStatistics:
        statistics = await super().statistics(space)
        return replace(statistics, flagged_bodies=self.flagged, body_bytes=400, stored_bytes=100)

    async def without_vectors(self, model: str, *, limit: int, space: str = "") -> list[tuple[str, str]]:
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


def make_subject(data: Path, store: SqliteStore, *, failing: bool = False, problem: str = "") -> Subject:
    return Subject(
        store=store,
        embedder=FakeEmbedder(failing=failing),
        index={"kind": "scan", "points": 3, "problem": problem},
        data=data,
        clock=FakeClock(),
    )


async def checks(subject: Subject, *, deep: bool = False) -> dict[str, Check]:
    return {check.name: check for check in (await doctor(subject, space=SPACE, deep=deep)).checks}


async def test_status_counts_memories_and_relations(data: Path, store: SqliteStore) -> None:
    subject = make_subject(data, store)
    harness = Harness(store=subject.store)
    tea, jay = await harness.store_draft("tea"), await harness.store_draft(Draft(text="jay"))
    await harness.relate(tea.id, jay.id)
    await harness.forget(jay.id)
    result = await status(subject, space=SPACE)
    assert (result.space, result.version, result.data) == (SPACE, VERSION, str(data))
    assert (result.memories, result.versions, result.relations) == ({"live": 1, "trashed": 1}, 3, 1)
    assert result.embedding == {
        "available": True, "model": "fake-64", "dimension": 64, "pair_model": "off", "reader": "off"
    }  # fmt: skip
    assert result.index["points"] == 3
    assert result.degraded == ()


async def test_status_reports_degraded_parts(data: Path, store: SqliteStore) -> None:
    result = await status(make_subject(data, store, failing=True, problem="the index is in pieces"), space=SPACE)
    assert result.embedding["available"] is False
    assert len(result.degraded) == 2
    assert "lexical search only" in result.degraded[0]
    standing_in = replace(make_subject(data, store, failing=True), stands_in_for="bundled")
    assert "until the vectors of bundled are made" in (await status(standing_in, space=SPACE)).degraded[0]
    assert result.degraded[1] == "the index is in pieces"


async def test_status_says_by_counters_that_most_memories_lack_a_vector(data: Path, new_store: NewStores) -> None:
    # Its survey of all passages, which `doctor` asks for, always finds some.
    store = new_store(DamagedStore)
    subject, former = make_subject(data, store), Harness(store=store, embedder=FakeEmbedder(model="former"))
    for text in ("tea", "jay", "oak"):
        await former.store_draft(text)
    await Harness(store=store).store_draft("acorn")
    (problem,) = (await status(subject, space=SPACE)).degraded
    assert problem.startswith("most memories have no vector of fake-64 yet")
    for text in ("rain", "snow"):
        await Harness(store=store).store_draft(text)
    assert (await status(subject, space=SPACE)).degraded == ()


async def test_status_reports_the_compression(data: Path, new_store: NewStores, store: SqliteStore) -> None:
    empty = await status(make_subject(data, store), space=SPACE)
    assert empty.compression["saved"] == 0
    assert (await status(make_subject(data, new_store(DamagedStore)), space=SPACE)).compression["saved"] == 0.75


async def test_a_healthy_memory_needs_no_fix(data: Path, store: SqliteStore) -> None:
    subject = make_subject(data, store)
    report = await doctor(subject, space=SPACE, deep=True)
    assert report.ok
    assert {check.name for check in report.checks} == {
        "backend", "store", "bodies", "compression", "folder", "disk", "embedding", "vectors", "branches", "index",
    }  # fmt: skip
    assert all(not check.fix for check in report.checks)
    assert (await checks(subject, deep=True))["store"].detail != (await checks(subject))["store"].detail


async def test_every_problem_is_found_and_has_a_fix(data: Path, new_store: NewStores) -> None:
    store = new_store(DamagedStore)
    store.problems, store.flagged = ("2 memories have no body",), 3
    subject = make_subject(data, store, problem="in pieces")
    report = await checks(subject)
    assert {name for name, check in report.items() if not check.ok} == {"store", "compression", "vectors", "index"}
    assert report["store"].detail == "2 memories have no body"
    assert "backup restore" in report["store"].fix
    assert "3 bodies" in report["compression"].detail
    assert "1000+" in report["vectors"].detail
    assert "--repair" in report["vectors"].fix
    assert report["index"].detail.startswith("in pieces")


async def test_a_store_too_damaged_to_be_checked_fails_the_check(data: Path, new_store: NewStores) -> None:
    report = await checks(make_subject(data, new_store(DamagedStore)), deep=True)
    assert (report["store"].ok, report["store"].detail) == (False, "page 7 is gone")


async def test_without_a_model_no_vectors_are_missing(data: Path, store: SqliteStore) -> None:
    report = await checks(make_subject(data, store, failing=True))
    assert (report["embedding"].ok, report["vectors"].ok) == (False, True)
    assert report["embedding"].fix


async def test_a_folder_that_others_can_read_fails_the_check(shared: Path, store: SqliteStore) -> None:
    check = (await checks(make_subject(shared, store)))["folder"]
    assert (check.ok, check.fix) == (False, f"chmod 700 {shared}")
    assert "755" in check.detail


async def test_low_disk_space_fails_the_check(data: Path, monkeypatch: pytest.MonkeyPatch, store: SqliteStore) -> None:
    def nearly_full(_: Path) -> Usage:
        return Usage(10**9, 10**9 - 5_000_000, 5_000_000)

    monkeypatch.setattr(shutil, "disk_usage", nearly_full)
    check = (await checks(make_subject(data, store)))["disk"]
    assert (check.ok, check.detail) == (False, "4 MB free")
    assert check.fix


async def test_a_branch_without_a_memory_is_found_and_can_be_purged(data: Path, store: SqliteStore) -> None:
    harness = Harness(store=store)
    tea, milk = (
        await harness.store_draft(Draft(text="tea", name="tea")),
        await harness.store_draft(Draft(text="milk", name="milk")),
    )
    lost, _ = [await make_branch(harness, memory, "draft", "what if") for memory in (tea, milk)]
    subject = make_subject(data, store)
    assert (await checks(subject))["branches"].ok
    await store.purge(SPACE, [tea.id], origin=harness.origin())
    check = (await checks(subject))["branches"]
    assert (check.ok, check.detail) == (False, f"1 have no memory: {lost.id}")
    assert lost.id in check.fix
    await harness.forget(lost.id)
    await harness.purge(lost.id)
    assert (await checks(subject))["branches"].ok


async def test_many_branches_without_memories_are_all_found_and_a_few_named(data: Path, store: SqliteStore) -> None:
    harness = Harness(store=store)
    memories = [await harness.store_draft(f"tea number {number}") for number in range(103)]
    lost = [(await make_branch(harness, memory, "draft", "what if")).id for memory in memories]
    await store.purge(SPACE, [memory.id for memory in memories[1:]], origin=harness.origin())
    check = (await checks(make_subject(data, store)))["branches"]
    assert check.detail.startswith("102 have no memory: ")
    assert check.detail.endswith(" and 97 more")
    assert lost[0] not in check.detail


async def test_a_branch_is_not_lost_while_its_memory_is_in_the_trash(data: Path, store: SqliteStore) -> None:
    harness = Harness(store=store)
    tea = await harness.store_draft(Draft(text="tea", name="tea"))
    await make_branch(harness, tea, "draft", "what if")
    await harness.forget("tea")
    assert (await checks(make_subject(data, store)))["branches"].ok
