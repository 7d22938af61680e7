"""Checks report damage, and backups are complete."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fakes.build import a_commit, a_memory
from tests.unit.storage.sqlite.damage import scribble, spoil_body, spoil_index, spoil_pages

from scrubjay.errors import StoreDamaged, StoreReadOnly
from scrubjay.storage.sqlite import SqliteStore, new_store_id, verify_backup


def names(folder: Path, pattern: str) -> list[str]:
    return sorted(file.name for file in folder.glob(pattern))


async def test_an_intact_store_has_no_problems(store: SqliteStore) -> None:
    await store.commit(a_commit(a_memory("tea " * 50)))
    assert await store.check() == []
    assert await store.check(deep=True) == []


async def test_a_memory_without_a_body_is_a_problem(store: SqliteStore, path: Path) -> None:
    await store.commit(a_commit(a_memory("tea"), a_memory("coffee")))
    scribble(path, "DELETE FROM versions")
    assert await store.check() == ["2 memories have no body"]


async def test_an_index_at_odds_with_its_table_is_found_by_a_deep_check(store: SqliteStore, path: Path) -> None:
    await store.commit(a_commit(a_memory("tea")))
    await store.close()
    spoil_index(path)
    again = await SqliteStore.open(path, readers=1)
    assert any("memories_recent" in problem for problem in await again.check(deep=True))
    await again.close()


async def test_damaged_bodies_are_named_up_to_a_number(store: SqliteStore, path: Path) -> None:
    memories = [a_memory(f"tea {number} " * 20) for number in range(60)]
    await store.commit(a_commit(*memories))
    scribble(path, "UPDATE versions SET body = zeroblob(40)")
    problems = await store.check(deep=True)
    assert len(problems) == 50
    assert all(any(memory.id in problem for memory in memories) for problem in problems)


async def test_a_backup_reports_its_progress_and_can_be_opened(store: SqliteStore, tmp_path: Path) -> None:
    memory = a_memory("tea " * 50)
    await store.commit(a_commit(memory))
    reported: list[tuple[int, int]] = []
    target = tmp_path / "copy.db"
    await store.backup(target, progress=lambda done, total: reported.append((done, total)))
    assert reported[-1][0] == reported[-1][1] > 0
    assert names(tmp_path, "copy*") == ["copy.db"]
    assert verify_backup(target, key="") == 1
    copy = await SqliteStore.open(target, readers=1)
    assert (await copy.get("default", [memory.id]))[memory.id] == memory
    await copy.close()


async def test_a_backup_to_nowhere_fails_and_leaves_nothing(store: SqliteStore, tmp_path: Path) -> None:
    with pytest.raises(StoreReadOnly):
        await store.backup(tmp_path / "missing" / "copy.db")
    assert names(tmp_path, "missing*") == []


@pytest.mark.parametrize("spoil", [spoil_pages, spoil_index])
async def test_a_damaged_store_makes_no_backup(
    store: SqliteStore, path: Path, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    await store.commit(a_commit(*(a_memory(f"tea {number} " * 40) for number in range(80))))
    await store.close()
    spoil(path)
    again = await SqliteStore.open(path, readers=1)
    with pytest.raises(StoreDamaged):
        await again.backup(tmp_path / "copy.db")
    assert names(tmp_path, "copy*") == []
    await again.close()


async def test_a_damaged_backup_is_refused(store: SqliteStore, tmp_path: Path) -> None:
    memory = a_memory("tea " * 50)
    await store.commit(a_commit(memory))
    target = tmp_path / "copy.db"
    await store.backup(target)
    spoil_body(target, memory.id, 1)
    with pytest.raises(StoreDamaged, match="backup is damaged") as caught:
        verify_backup(target, key="")
    assert caught.value.fields["path"] == str(target)


async def test_a_copy_gets_an_identity_of_its_own(store: SqliteStore, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    await store.backup(target)
    new_store_id(target, key="")
    copy = await SqliteStore.open(target, readers=1)
    assert copy.store_id != store.store_id
    await copy.close()


async def test_statistics_describe_the_file(store: SqliteStore, path: Path) -> None:
    await store.commit(a_commit(a_memory("tea", tags=("drink",))))
    statistics = await store.statistics("default")
    assert statistics.facets["tag=drink"] == 1
    assert statistics.details["file"] == str(path)
    assert statistics.details["encrypted"] is False
    assert int(statistics.details["bytes"]) > 0
