"""Older versions in the database are told by newer ones, and the ledger knows what they take."""

import random

import pytest
from tests.fakes.build import a_commit, a_memory, a_rewrite, revised
from tests.unit.storage.postgres.conftest import Raw

from scrubjay.errors import BodyDamaged
from scrubjay.model.memory import Memory
from scrubjay.storage.postgres import PostgresStore

PROSE = "The deployment of the billing service to region {} took {} minutes, and went well, said Sarah of Acme. "


async def a_line(store: PostgresStore, count: int) -> list[Memory]:
    line = [a_memory(PROSE.format(1, 2) * 3)]
    await store.commit(a_commit(line[0]))
    for number in range(2, count + 1):
        line.append(revised(line[-1], content=line[-1].content + PROSE.format(number, number % 7)))
        await store.commit(a_commit(a_rewrite(line[-1])))
    return line


async def test_the_last_two_and_every_sixteenth_are_whole(store: PostgresStore, raw: Raw) -> None:
    await a_line(store, 19)
    rows = await raw("SELECT number FROM scrubjay.versions WHERE encoding = 3 ORDER BY number")
    assert [row[0] for row in rows] == [number for number in range(1, 18) if number != 16]
    ((size, stored),) = await raw("SELECT sum(size), sum(length(body)) FROM scrubjay.versions")
    found = await store.statistics("default")
    assert (found.body_bytes, found.stored_bytes) == (size, stored)


async def test_one_that_is_damaged_is_named_by_those_that_are_told_by_it(store: PostgresStore, raw: Raw) -> None:
    line = await a_line(store, 6)
    await raw("UPDATE scrubjay.versions SET body = decode('00', 'hex') WHERE number = 3")
    with pytest.raises(BodyDamaged, match="version 3, and of that") as caught:
        await store.version("default", line[0].id, 1)
    assert caught.value.fields["version"] == 1
    assert await store.version("default", line[0].id, 4) is not None
    assert len(await store.check(deep=True)) == 3
    await raw("UPDATE scrubjay.versions SET body = decode('00', 'hex') WHERE number = 6")
    with pytest.raises(BodyDamaged) as caught:
        await store.get("default", [line[0].id])
    assert caught.value.fields["last_good_version"] == 5
    # It is written over, and nothing is told by what cannot be read.
    for _ in range(2):
        line.append(revised(line[-1], content="Mended. " * 20))
        await store.commit(a_commit(a_rewrite(line[-1])))
    assert await raw("SELECT encoding FROM scrubjay.versions WHERE number = 5") == [(1,)]
    assert await store.get("default", [line[0].id]) == {line[0].id: line[-1]}


async def test_what_is_large_stays_whole(store: PostgresStore, raw: Raw) -> None:
    line = [a_memory(metadata={"noise": random.Random(7).randbytes(300_000).hex()})]
    await store.commit(a_commit(line[0]))
    for _ in range(2):
        line.append(revised(line[-1], tags=(f"t{len(line)}",)))
        await store.commit(a_commit(a_rewrite(line[-1])))
    assert await raw("SELECT count(*) FROM scrubjay.versions WHERE encoding = 3") == [(0,)]
    assert [version.memory.tags for version in await store.versions("default", line[0].id, limit=9)] == [
        ("t2",),
        ("t1",),
        (),
    ]
