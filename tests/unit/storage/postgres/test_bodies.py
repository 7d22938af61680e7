"""Bodies in the database: dictionaries are trained and replaced, and damage to one memory affects no other."""

import random

import pytest
from tests.fakes.build import MODEL, a_commit, a_memory, a_rewrite, an_origin, revised, vectors_for
from tests.postgres import address_of
from tests.unit.storage.postgres.conftest import Raw

from scrubjay.errors import BodyDamaged
from scrubjay.model.memory import Memory
from scrubjay.storage.codec import generic_dictionary
from scrubjay.storage.postgres import PostgresStore

PROSE = "The deployment of the billing service to region {} went well and took {} minutes, said Sarah of Acme. "
SENTENCE = "The deployment of the billing service to region {} took {} minutes, and went well, said Sarah of Acme. "
_SPOIL = """UPDATE scrubjay.versions v
    SET body = set_byte(body, length(body) - 1, 255 - get_byte(body, length(body) - 1))
    FROM scrubjay.memories m WHERE m.no = v.memory_no AND m.id = %s::uuid AND v.number = %s"""


async def fill(store: PostgresStore, count: int) -> list[Memory]:
    memories = [a_memory(PROSE.format(number % 9, number)) for number in range(count)]
    for start in range(0, count, 50):
        await store.commit(a_commit(*memories[start : start + 50]))
    await store._upkeep.wait()
    return memories


async def test_a_damaged_newest_version_names_the_last_good_one(store: PostgresStore, raw: Raw) -> None:
    first = a_memory("first " * 30)
    second = revised(first, content="second " * 30)
    third = revised(second, content="third " * 30)
    await store.commit(a_commit(first))
    await store.commit(a_commit(a_rewrite(second)))
    await store.commit(a_commit(a_rewrite(third)))
    await raw(_SPOIL, first.id, 3)
    with pytest.raises(BodyDamaged, match=first.id) as caught:
        await store.get("default", [first.id])
    assert caught.value.fields == {
        "memory_id": first.id, "space": "default", "version": 3, "last_good_version": 2,
    }  # fmt: skip
    assert f"revert {first.id} --to 2" in caught.value.hint
    with pytest.raises(BodyDamaged, match="read --version"):
        await store.versions("default", first.id, limit=9)
    for number in (1, 2):
        await raw(_SPOIL, first.id, number)
    with pytest.raises(BodyDamaged, match="backup") as caught:
        await store.get("default", [first.id])
    assert caught.value.fields["last_good_version"] is None
    assert await store.check() == []
    problems = await store.check(deep=True)
    assert len(problems) == 3
    assert first.id in problems[0]


async def test_a_damaged_memory_can_be_written_over_and_purged(store: PostgresStore, raw: Raw) -> None:
    memory = a_memory("before " * 30, tags=("red",))
    await store.commit(a_commit(memory))
    await raw(_SPOIL, memory.id, 1)
    rewritten = revised(memory, content="after " * 30, tags=("blue",))
    await store.commit(a_commit(a_rewrite(rewritten)))
    assert (await store.get("default", [memory.id]))[memory.id].content == rewritten.content
    await raw(_SPOIL, memory.id, 2)
    assert await store.purge("default", [memory.id], origin=an_origin()) == 1
    assert await store.get("default", [memory.id]) == {}


async def test_an_index_is_built_beside_a_damaged_body(store: PostgresStore, raw: Raw) -> None:
    sound, damaged = a_memory("sound " * 30), a_memory("damaged " * 30)
    await store.commit(a_commit(sound, damaged, embedded=vectors_for([sound, damaged])))
    await raw(_SPOIL, damaged.id, 1)
    assert len(await store.points(MODEL, after=0, limit=10)) == 2
    assert await store.get("default", [sound.id]) == {sound.id: sound}


async def test_a_space_gets_a_dictionary_of_its_own_as_it_grows(store: PostgresStore, raw: Raw) -> None:
    await fill(store, 150)
    assert await raw("SELECT count(*) FROM scrubjay.dictionaries") == [(0,)]
    # One commit: what a second one would be packed with depends on when the training ends.
    memories = await fill(store, 50)
    assert await raw("SELECT count(*) FROM scrubjay.dictionaries") == [(1,)]
    before = (await store.statistics("default")).stored_bytes
    later = a_memory(PROSE.format(4, 77_777))
    await store.commit(a_commit(later))
    assert await raw("SELECT count(*) FROM scrubjay.versions WHERE dictionary = 1") == [(1,)]
    assert (await store.statistics("default")).stored_bytes - before < 120
    results = await store.get("default", [memories[0].id, later.id])
    assert [memory.content for memory in results.values()] == [memories[0].content, later.content]


async def test_a_training_that_another_has_overtaken_stores_nothing(store: PostgresStore, raw: Raw) -> None:
    await fill(store, 200)
    # Due when its commit was made: the training of the commit before has ended since.
    store._upkeep.train_soon("default", due=True)
    await store._upkeep.wait()
    assert await raw("SELECT count(*) FROM scrubjay.dictionaries") == [(1,)]


async def test_memories_too_alike_to_learn_from_do_without(store: PostgresStore) -> None:
    small = [a_memory("tea", name=str(number)) for number in range(210)]
    await store.commit(a_commit(*small))
    await store._upkeep.wait()
    assert len(await store.get("default", [memory.id for memory in small])) == 210


async def test_a_purge_replaces_the_dictionary_and_repacks_every_body(store: PostgresStore, raw: Raw) -> None:
    memories = await fill(store, 210)
    late = [a_memory(PROSE.format(1, 5000 + number)) for number in range(10)]
    await store.commit(a_commit(*late))
    dictionaries = "SELECT DISTINCT dictionary FROM scrubjay.versions ORDER BY 1"
    assert await raw(dictionaries) == [(0,), (1,)]
    await store.purge("default", [memories[0].id], origin=an_origin())
    assert await raw("SELECT no, tainted FROM scrubjay.dictionaries") == [(2, False)]
    assert await raw(dictionaries) == [(0,), (2,)]
    results = await store.get("default", [memory.id for memory in (*memories, *late)])
    assert [memory.content for memory in results.values()] == [memory.content for memory in (*memories[1:], *late)]
    assert await store.tidy() == []
    await _require_exact_sizes(store, raw)


async def test_another_server_reads_bodies_that_a_purge_has_repacked(store: PostgresStore, name: str) -> None:
    """It has the old dictionary in its cache, and bodies need another one."""
    other = await PostgresStore.open(address_of(name))
    memories = await fill(store, 210)
    late = a_memory(PROSE.format(1, 5000))
    await store.commit(a_commit(late))
    assert (await other.get("default", [late.id]))[late.id] == late
    await store.purge("default", [memories[0].id], origin=an_origin())
    assert (await other.get("default", [late.id]))[late.id] == late
    newer = a_memory(PROSE.format(1, 5001))
    await other.commit(a_commit(newer))
    assert (await store.get("default", [newer.id]))[newer.id] == newer
    await other.close()


async def test_a_purge_succeeds_beside_damaged_bodies(store: PostgresStore, raw: Raw) -> None:
    await fill(store, 210)
    late = [a_memory(PROSE.format(1, 5000 + number)) for number in range(10)]
    await store.commit(a_commit(*late))
    await raw(_SPOIL, late[0].id, 1)
    assert await store.purge("default", [late[1].id], origin=an_origin()) == 1
    memories = await store.get("default", [late[2].id])
    assert memories[late[2].id].content == late[2].content
    with pytest.raises(BodyDamaged):
        await store.get("default", [late[0].id])
    # A dictionary with purged words is deleted although the damaged body used it. The next one has any later number.
    [(number, tainted)] = await raw("SELECT no, tainted FROM scrubjay.dictionaries")
    assert (number > 1, tainted) == (True, False)


async def test_no_table_knows_a_purged_word(store: PostgresStore, raw: Raw) -> None:
    secret = a_memory("zanzibar " * 5, name="zanzibar", title="zanzibar", tags=("zanzibar",), group="zanzibar")
    stored = a_memory("kept")
    await store.commit(a_commit(secret, stored, embedded=vectors_for([secret])))
    await store.commit(a_commit(a_rewrite(revised(secret, metadata={"zanzibar": "zanzibar"}))))
    await store.purge("default", [secret.id], origin=an_origin())
    tables = await raw("SELECT relname FROM pg_class WHERE relnamespace = 'scrubjay'::regnamespace AND relkind = 'r'")
    assert len(tables) > 15
    for (table,) in tables:
        rows = await raw(f"SELECT coalesce(string_agg(t::text, ' '), '') FROM scrubjay.{table} t")
        assert "zanzibar" not in rows[0][0].lower(), table


async def test_an_interrupted_purge_is_completed(store: PostgresStore, raw: Raw) -> None:
    memories = await fill(store, 210)
    await raw("UPDATE scrubjay.dictionaries SET tainted = true")
    await raw("UPDATE scrubjay.space_totals SET purges = purges + 1")
    done = await store.tidy()
    assert "interrupted purge" in done[0]
    assert await raw("SELECT no, tainted FROM scrubjay.dictionaries") == [(2, False)]
    assert await raw("SELECT purges, cleaned FROM scrubjay.space_totals") == [(1, 1)]
    assert len(await store.get("default", [memory.id for memory in memories])) == 210
    assert await store.tidy() == []


async def test_a_missing_dictionary_is_reported_as_damage(store: PostgresStore, name: str, raw: Raw) -> None:
    await fill(store, 210)
    late = a_memory(PROSE.format(1, 5000))
    await store.commit(a_commit(late))
    await raw("DELETE FROM scrubjay.dictionaries")
    again = await PostgresStore.open(address_of(name))
    with pytest.raises(BodyDamaged, match="dictionary 1 is missing"):
        await again.get("default", [late.id])
    await again.close()


async def test_flagged_bodies_are_counted_and_repacked(store: PostgresStore, raw: Raw) -> None:
    memory = a_memory(PROSE.format(1, 2) * 4)
    await store.commit(a_commit(memory))
    before = await store.statistics("default")
    await _flag(raw)
    flagged = await store.statistics("default")
    assert flagged.flagged_bodies == 1
    assert before.stored_bytes < flagged.stored_bytes < before.body_bytes
    assert (await store.get("default", [memory.id]))[memory.id].content == memory.content
    assert len(await store.tidy()) == 1
    after = await store.statistics("default")
    assert (after.flagged_bodies, after.body_bytes, after.stored_bytes) == (0, before.body_bytes, before.stored_bytes)
    assert await store.tidy() == []
    await _require_exact_sizes(store, raw)


async def _flag(raw: Raw) -> None:
    """Store the only body as after a failed compression."""
    ((packed,),) = await raw("SELECT body FROM scrubjay.versions")
    plain = generic_dictionary().decompress(bytes(packed))
    await raw("UPDATE scrubjay.versions SET body = %s, encoding = 2, dictionary = 0", plain)
    await raw("UPDATE scrubjay.space_totals SET flagged_bodies = 1, stored_bytes = %s", len(plain))


async def _require_exact_sizes(store: PostgresStore, raw: Raw) -> None:
    """Require that the totals match the stored rows."""
    counted = await raw(
        "SELECT bodies, body_bytes, stored_bytes, raw_bodies, flagged_bodies FROM scrubjay.space_totals"
    )
    actual = await raw(
        """SELECT count(*), sum(size), sum(length(body)), count(*) FILTER (WHERE encoding = 0),
             count(*) FILTER (WHERE encoding = 2) FROM scrubjay.versions"""
    )
    assert counted == actual


async def a_chain(store: PostgresStore, count: int) -> list[Memory]:
    chain = [a_memory(SENTENCE.format(1, 2) * 3)]
    await store.commit(a_commit(chain[0]))
    for number in range(2, count + 1):
        chain.append(revised(chain[-1], content=chain[-1].content + SENTENCE.format(number, number % 7)))
        await store.commit(a_commit(a_rewrite(chain[-1])))
    return chain


async def test_the_last_two_and_every_sixteenth_are_whole(store: PostgresStore, raw: Raw) -> None:
    await a_chain(store, 19)
    rows = await raw("SELECT number FROM scrubjay.versions WHERE encoding = 3 ORDER BY number")
    assert [row[0] for row in rows] == [number for number in range(1, 18) if number != 16]
    ((size, stored),) = await raw("SELECT sum(size), sum(length(body)) FROM scrubjay.versions")
    statistics = await store.statistics("default")
    assert (statistics.body_bytes, statistics.stored_bytes) == (size, stored)


async def test_a_damaged_version_is_named_by_those_that_depend_on_it(store: PostgresStore, raw: Raw) -> None:
    chain = await a_chain(store, 6)
    await raw("UPDATE scrubjay.versions SET body = decode('00', 'hex') WHERE number = 3")
    with pytest.raises(BodyDamaged, match="version 3, of which") as caught:
        await store.version("default", chain[0].id, 1)
    assert caught.value.fields["version"] == 1
    assert await store.version("default", chain[0].id, 4) is not None
    assert len(await store.check(deep=True)) == 3
    await raw("UPDATE scrubjay.versions SET body = decode('00', 'hex') WHERE number = 6")
    with pytest.raises(BodyDamaged) as caught:
        await store.get("default", [chain[0].id])
    assert caught.value.fields["last_good_version"] == 5
    # It can be overwritten, and no version becomes a difference from a damaged one.
    for _ in range(2):
        chain.append(revised(chain[-1], content="Repaired. " * 20))
        await store.commit(a_commit(a_rewrite(chain[-1])))
    assert await raw("SELECT encoding FROM scrubjay.versions WHERE number = 5") == [(1,)]
    assert await store.get("default", [chain[0].id]) == {chain[0].id: chain[-1]}


async def test_large_versions_stay_whole(store: PostgresStore, raw: Raw) -> None:
    chain = [a_memory(metadata={"noise": random.Random(7).randbytes(300_000).hex()})]
    await store.commit(a_commit(chain[0]))
    for _ in range(2):
        chain.append(revised(chain[-1], tags=(f"t{len(chain)}",)))
        await store.commit(a_commit(a_rewrite(chain[-1])))
    assert await raw("SELECT count(*) FROM scrubjay.versions WHERE encoding = 3") == [(0,)]
    assert [version.memory.tags for version in await store.versions("default", chain[0].id, limit=9)] == [
        ("t2",),
        ("t1",),
        (),
    ]
