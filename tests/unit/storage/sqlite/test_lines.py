"""Older versions in the file are told by newer ones: how far, and what damage does to them."""

from pathlib import Path

import apsw
import pytest
from tests.fakes.build import a_commit, a_memory, a_rewrite, an_origin, revised
from tests.unit.storage.sqlite.scribbling import scribble, spoil_body

from scrubjay.errors import BodyDamaged
from scrubjay.model.memory import Memory
from scrubjay.storage.codec import Encoding
from scrubjay.storage.sqlite import SqliteStore

PROSE = "The deployment of the billing service to region {} took {} minutes, and went well, said Sarah of Acme. "


async def a_line(store: SqliteStore, count: int) -> list[Memory]:
    line = [a_memory(PROSE.format(1, 2) * 3)]
    await store.commit(a_commit(line[0]))
    for number in range(2, count + 1):
        line.append(revised(line[-1], content=line[-1].content + PROSE.format(number, number % 7)))
        await store.commit(a_commit(a_rewrite(line[-1])))
    return line


def told_by_newer(path: Path) -> list[int]:
    connection = apsw.Connection(str(path))
    try:
        rows = connection.execute("SELECT number FROM versions WHERE encoding = ? ORDER BY number", (Encoding.DELTA,))
        return [int(row[0]) for row in rows]
    finally:
        connection.close()


async def test_the_last_two_and_every_sixteenth_are_whole(store: SqliteStore, path: Path) -> None:
    line = await a_line(store, 36)
    assert told_by_newer(path) == [number for number in range(1, 35) if number not in (16, 32)]
    found = await store.statistics("default")
    assert found.versions == len(line)
    assert found.stored_bytes < found.body_bytes / 10


async def test_one_that_is_damaged_is_named_by_those_that_are_told_by_it(store: SqliteStore, path: Path) -> None:
    (first, *_, last) = await a_line(store, 20)
    spoil_body(path, first.id, 5)
    for number in (1, 4):
        with pytest.raises(BodyDamaged, match="version 5, and of that") as caught:
            await store.version("default", first.id, number)
        assert caught.value.fields["version"] == number
    # What is newer, and what is beyond the next whole one, is none the worse.
    for number in (6, 15, 16, 17, 20):
        assert await store.version("default", first.id, number) is not None
    problems = await store.check(deep=True)
    assert len(problems) == 5
    assert await store.get("default", [first.id]) == {first.id: last}


async def test_the_version_before_a_damaged_newest_is_sound(store: SqliteStore, path: Path) -> None:
    line = await a_line(store, 9)
    spoil_body(path, line[0].id, 9)
    with pytest.raises(BodyDamaged) as caught:
        await store.get("default", [line[0].id])
    assert caught.value.fields["last_good_version"] == 8
    assert [version.memory for version in await store.versions("default", line[0].id, limit=99, before=9)] == line[
        7::-1
    ]


async def test_nothing_is_told_by_a_version_that_is_damaged(store: SqliteStore, path: Path) -> None:
    line = await a_line(store, 3)
    assert told_by_newer(path) == [1]
    spoil_body(path, line[0].id, 3)
    for _ in range(3):
        line.append(revised(line[-1], content=line[-1].content + "More. "))
        await store.commit(a_commit(a_rewrite(line[-1])))
    # The second would have been told by the third.
    assert told_by_newer(path) == [1, 4]
    assert [(await store.version("default", line[0].id, number)) is not None for number in (1, 2, 4, 5, 6)] == [
        True
    ] * 5


async def test_older_versions_outlive_the_dictionary_of_what_they_are_told_by(store: SqliteStore, path: Path) -> None:
    others = [a_memory(PROSE.format(number % 9, number)) for number in range(210)]
    await store.commit(a_commit(*others))
    while store._training:
        await next(iter(store._training))
    line = await a_line(store, 6)
    # Whatever is left out, or spelled in another way, when a body is made today.
    await store.purge("default", [others[0].id], origin=an_origin())
    assert [version.memory for version in await store.versions("default", line[0].id, limit=9)] == line[::-1]
    assert await store.check(deep=True) == []


async def test_a_version_that_is_gone_is_told_as_damage(store: SqliteStore, path: Path) -> None:
    line = await a_line(store, 4)
    scribble(path, "DELETE FROM versions WHERE number = 2")
    with pytest.raises(BodyDamaged):
        await store.version("default", line[0].id, 1)
