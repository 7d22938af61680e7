"""Bodies in the file: dictionaries are trained and replaced, and damage to one memory affects no other."""

from datetime import datetime, timedelta, timezone
from pathlib import Path

import apsw
import pytest
from tests.fakes.build import MODEL, a_commit, a_memory, a_rewrite, an_origin, revised, vectors_for
from tests.unit.storage.sqlite.damage import scribble, spoil_body

from scrubjay.errors import BodyDamaged
from scrubjay.model.memory import Memory, Observation, Source, State
from scrubjay.storage.codec import Encoding
from scrubjay.storage.sqlite import SqliteStore

PROSE = "The deployment of the billing service to region {} went well and took {} minutes, said Sarah of Acme. "
SENTENCE = "The deployment of the billing service to region {} took {} minutes, and went well, said Sarah of Acme. "


async def fill(store: SqliteStore, count: int) -> list[Memory]:
    memories = [a_memory(PROSE.format(number % 9, number)) for number in range(count)]
    for start in range(0, count, 50):
        await store.commit(a_commit(*memories[start : start + 50]))
    while store.upkeep.training:
        await next(iter(store.upkeep.training))
    return memories


def rows(path: Path, query: str) -> list[tuple[int, ...]]:
    connection = apsw.Connection(str(path))
    try:
        return [tuple(int(value) for value in row) for row in connection.execute(query)]
    finally:
        connection.close()


async def test_a_memory_that_was_just_written_is_read_as_from_its_body(store: SqliteStore, path: Path) -> None:
    offset = timezone(timedelta(hours=2))
    first = a_memory("Lisbon", tags=("a", "b"), source=Source(at=datetime(2026, 5, 1, tzinfo=offset)), pinned=True)
    second = a_memory("Oslo", metadata={"n": [1]}, observations=(Observation(text="x", recorded_at=first.created_at),))
    await store.commit(a_commit(first, second))
    await store.commit(a_commit(a_rewrite(revised(first, content="Porto", relevance=0.5))))
    ids = [first.id, second.id]
    written = await store.get("default", ids)
    other = await SqliteStore.open(path)
    try:
        assert written == await other.get("default", ids)
    finally:
        await other.close()
    spoil_body(path, first.id, 2)
    with pytest.raises(BodyDamaged, match=first.id):
        await store.get("default", [first.id])


async def test_a_damaged_newest_version_names_the_last_good_one(store: SqliteStore, path: Path) -> None:
    first = a_memory("first " * 30)
    second = revised(first, content="second " * 30)
    third = revised(second, content="third " * 30)
    await store.commit(a_commit(first))
    await store.commit(a_commit(a_rewrite(second)))
    await store.commit(a_commit(a_rewrite(third)))
    spoil_body(path, first.id, 3)
    with pytest.raises(BodyDamaged, match=first.id) as caught:
        await store.get("default", [first.id])
    assert caught.value.fields == {
        "memory_id": first.id, "space": "default", "version": 3, "last_good_version": 2,
    }  # fmt: skip
    assert f"revert {first.id} --to 2" in caught.value.hint
    spoil_body(path, first.id, 2)
    with pytest.raises(BodyDamaged) as caught:
        await store.get("default", [first.id])
    assert caught.value.fields["last_good_version"] == 1
    assert await store.check() == []
    assert first.id in (await store.check(deep=True))[0]


async def test_with_no_good_version_a_backup_is_the_way(store: SqliteStore, path: Path) -> None:
    memory = a_memory("only " * 30)
    await store.commit(a_commit(memory))
    spoil_body(path, memory.id, 1)
    with pytest.raises(BodyDamaged, match="backup") as caught:
        await store.get("default", [memory.id])
    assert caught.value.fields["last_good_version"] is None


async def test_a_damaged_memory_can_be_written_over_and_purged(store: SqliteStore, path: Path) -> None:
    memory = a_memory("before " * 30, tags=("red",))
    await store.commit(a_commit(memory))
    spoil_body(path, memory.id, 1)
    rewritten = revised(memory, content="after " * 30, tags=("blue",))
    await store.commit(a_commit(a_rewrite(rewritten)))
    assert (await store.get("default", [memory.id]))[memory.id].content == rewritten.content
    spoil_body(path, memory.id, 2)
    assert await store.purge("default", [memory.id], origin=an_origin()) == 1
    assert await store.get("default", [memory.id]) == {}


async def test_an_index_is_built_beside_a_damaged_body(store: SqliteStore, path: Path) -> None:
    sound, damaged = a_memory("sound " * 30), a_memory("damaged " * 30)
    await store.commit(a_commit(sound, damaged, embedded=vectors_for([sound, damaged])))
    spoil_body(path, damaged.id, 1)
    assert len(await store.points(MODEL, after=0, limit=10)) == 2
    assert await store.get("default", [sound.id]) == {sound.id: sound}


async def test_a_space_gets_a_dictionary_of_its_own_as_it_grows(store: SqliteStore, path: Path) -> None:
    await fill(store, 150)
    assert rows(path, "SELECT count(*) FROM dictionaries") == [(0,)]
    memories = await fill(store, 60)
    assert rows(path, "SELECT count(*) FROM dictionaries") == [(1,)]
    before = (await store.statistics("default")).stored_bytes
    later = a_memory(PROSE.format(4, 77_777))
    await store.commit(a_commit(later))
    assert rows(path, "SELECT count(*) FROM versions WHERE dictionary_no = 1") == [(1,)]
    assert (await store.statistics("default")).stored_bytes - before < 120
    results = await store.get("default", [memories[0].id, later.id])
    assert [memory.content for memory in results.values()] == [memories[0].content, later.content]


async def test_memories_too_alike_to_learn_from_do_without(store: SqliteStore, path: Path) -> None:
    small = [a_memory("tea", name=str(number)) for number in range(210)]
    await store.commit(a_commit(*small))
    while store.upkeep.training:
        await next(iter(store.upkeep.training))
    assert len(await store.get("default", [memory.id for memory in small])) == 210


async def test_a_purge_replaces_the_dictionary_and_repacks_every_body(store: SqliteStore, path: Path) -> None:
    memories = await fill(store, 210)
    late = [a_memory(PROSE.format(1, 5000 + number)) for number in range(10)]
    await store.commit(a_commit(*late))
    assert rows(path, "SELECT DISTINCT dictionary_no FROM versions ORDER BY 1") == [(0,), (1,)]
    await store.purge("default", [memories[0].id], origin=an_origin())
    assert rows(path, "SELECT no, tainted FROM dictionaries") == [(2, 0)]
    assert rows(path, "SELECT DISTINCT dictionary_no FROM versions ORDER BY 1") == [(0,), (2,)]
    results = await store.get("default", [memory.id for memory in (*memories, *late)])
    assert [memory.content for memory in results.values()] == [memory.content for memory in (*memories[1:], *late)]
    assert await store.tidy() == []


async def test_a_purge_succeeds_beside_damaged_bodies(store: SqliteStore, path: Path) -> None:
    await fill(store, 210)
    late = [a_memory(PROSE.format(1, 5000 + number)) for number in range(10)]
    await store.commit(a_commit(*late))
    spoil_body(path, late[0].id, 1)
    assert await store.purge("default", [late[1].id], origin=an_origin()) == 1
    memories = await store.get("default", [late[2].id])
    assert memories[late[2].id].content == late[2].content
    with pytest.raises(BodyDamaged):
        await store.get("default", [late[0].id])
    # A dictionary with purged words is deleted although the damaged body used it.
    assert rows(path, "SELECT no, tainted FROM dictionaries") == [(2, 0)]


async def test_a_missing_dictionary_is_reported_as_damage(store: SqliteStore, path: Path) -> None:
    await fill(store, 210)
    late = a_memory(PROSE.format(1, 5000))
    await store.commit(a_commit(late))
    await store.close()
    scribble(path, "DELETE FROM dictionaries")
    again = await SqliteStore.open(path, readers=1)
    with pytest.raises(BodyDamaged, match="dictionary 1 is missing"):
        await again.get("default", [late.id])
    await again.close()


async def test_flagged_bodies_are_counted_and_repacked(store: SqliteStore, path: Path) -> None:
    memory = a_memory(PROSE.format(1, 2) * 4)
    await store.commit(a_commit(memory))
    plain = (await store.statistics("default")).body_bytes
    await store.close()
    _flag(path)
    again = await SqliteStore.open(path, readers=1)
    assert (await again.statistics("default")).flagged_bodies == 1
    assert (await again.get("default", [memory.id]))[memory.id].content == memory.content
    assert len(await again.tidy()) == 1
    statistics = await again.statistics("default")
    assert (statistics.flagged_bodies, statistics.body_bytes) == (0, plain)
    assert statistics.stored_bytes < plain
    assert await again.tidy() == []
    await again.close()


async def test_counts_of_bodies_tell_raw_from_packed(store: SqliteStore) -> None:
    await store.commit(a_commit(a_memory(PROSE.format(1, 2) * 4), a_memory("x", state=State.TRASHED)))
    statistics = await store.statistics("default")
    assert statistics.memories == {"live": 1, "trashed": 1}
    assert (statistics.raw_bodies, statistics.flagged_bodies) == (1, 0)
    assert statistics.stored_bytes < statistics.body_bytes


def _flag(path: Path) -> None:
    """Store the only body as after a failed compression."""
    from scrubjay.storage.codec import generic_dictionary

    connection = apsw.Connection(str(path))
    (packed,) = connection.execute("SELECT body FROM versions").fetchall()[0]
    plain = generic_dictionary().decompress(bytes(packed))
    connection.execute("UPDATE versions SET encoding = ?, dictionary_no = 0, body = ?", (int(Encoding.FLAGGED), plain))
    connection.close()


async def a_chain(store: SqliteStore, count: int) -> list[Memory]:
    chain = [a_memory(SENTENCE.format(1, 2) * 3)]
    await store.commit(a_commit(chain[0]))
    for number in range(2, count + 1):
        chain.append(revised(chain[-1], content=chain[-1].content + SENTENCE.format(number, number % 7)))
        await store.commit(a_commit(a_rewrite(chain[-1])))
    return chain


def deltas(path: Path) -> list[int]:
    connection = apsw.Connection(str(path))
    try:
        rows = connection.execute("SELECT number FROM versions WHERE encoding = ? ORDER BY number", (Encoding.DELTA,))
        return [int(row[0]) for row in rows]
    finally:
        connection.close()


async def test_the_last_two_and_every_sixteenth_are_whole(store: SqliteStore, path: Path) -> None:
    chain = await a_chain(store, 36)
    assert deltas(path) == [number for number in range(1, 35) if number not in (16, 32)]
    statistics = await store.statistics("default")
    assert statistics.versions == len(chain)
    assert statistics.stored_bytes < statistics.body_bytes / 10


async def test_a_damaged_version_is_named_by_those_that_depend_on_it(store: SqliteStore, path: Path) -> None:
    (first, *_, last) = await a_chain(store, 20)
    spoil_body(path, first.id, 5)
    for number in (1, 4):
        with pytest.raises(BodyDamaged, match="version 5, of which") as caught:
            await store.version("default", first.id, number)
        assert caught.value.fields["version"] == number
    # Newer versions, and those that depend on another whole version, can be read.
    for number in (6, 15, 16, 17, 20):
        assert await store.version("default", first.id, number) is not None
    problems = await store.check(deep=True)
    assert len(problems) == 5
    assert await store.get("default", [first.id]) == {first.id: last}


async def test_the_version_before_a_damaged_newest_is_sound(store: SqliteStore, path: Path) -> None:
    chain = await a_chain(store, 9)
    spoil_body(path, chain[0].id, 9)
    with pytest.raises(BodyDamaged) as caught:
        await store.get("default", [chain[0].id])
    assert caught.value.fields["last_good_version"] == 8
    assert [version.memory for version in await store.versions("default", chain[0].id, limit=99, before=9)] == chain[
        7::-1
    ]


async def test_no_version_becomes_a_difference_from_a_damaged_one(store: SqliteStore, path: Path) -> None:
    chain = await a_chain(store, 3)
    assert deltas(path) == [1]
    spoil_body(path, chain[0].id, 3)
    for _ in range(3):
        chain.append(revised(chain[-1], content=chain[-1].content + "More. "))
        await store.commit(a_commit(a_rewrite(chain[-1])))
    # The second would have become a difference from the third.
    assert deltas(path) == [1, 4]
    assert [(await store.version("default", chain[0].id, number)) is not None for number in (1, 2, 4, 5, 6)] == [
        True
    ] * 5


async def test_older_versions_outlive_the_dictionary_of_newer_ones(store: SqliteStore, path: Path) -> None:
    others = [a_memory(SENTENCE.format(number % 9, number)) for number in range(210)]
    await store.commit(a_commit(*others))
    while store.upkeep.training:
        await next(iter(store.upkeep.training))
    chain = await a_chain(store, 6)
    # The purge repacks bodies with a new dictionary.
    await store.purge("default", [others[0].id], origin=an_origin())
    assert [version.memory for version in await store.versions("default", chain[0].id, limit=9)] == chain[::-1]
    assert await store.check(deep=True) == []


async def test_a_version_that_is_gone_is_reported_as_damage(store: SqliteStore, path: Path) -> None:
    chain = await a_chain(store, 4)
    scribble(path, "DELETE FROM versions WHERE number = 2")
    with pytest.raises(BodyDamaged):
        await store.version("default", chain[0].id, 1)
