"""Bodies shrink as a space grows, are always read back as written, and a damaged one is named and can be repaired."""

import asyncio
import os

import pytest
import zstandard

from scrubjay.client import MemoryClient
from scrubjay.errors import BodyDamaged
from scrubjay.storage.codec import Dictionary, Encoding, decode, encode, generic_dictionary
from tests.scenarios.wiring import Wiring

MANY = 260
PHRASE = "the committee on harbour affairs met again and decided nothing of note"


async def test_a_dictionary_is_trained_as_a_space_grows_and_old_bodies_stay_readable(
    wiring: Wiring, memory: MemoryClient
) -> None:
    for number in range(MANY):
        await memory.remember(f"Minute {number}: {PHRASE}, item {number * 7}", name=f"minute-{number}")
        await asyncio.gather(*wiring.store.upkeep.training)
    used = {dictionary for dictionary, _ in bodies(wiring)}
    assert 0 in used
    assert len(used) == 2
    contents = [
        minute.content for minute in (await memory.read([f"minute-{number}" for number in range(MANY)])).memories
    ]
    assert contents == [f"Minute {number}: {PHRASE}, item {number * 7}" for number in range(MANY)]
    sizes = {which: [size for used_for, size in bodies(wiring) if used_for == which] for which in used}
    own = next(which for which in used if which)
    assert sum(sizes[own]) / len(sizes[own]) < sum(sizes[0]) / len(sizes[0])
    status = await memory.status()
    assert status.compression["saved"] > 0.4
    assert status.compression["flagged_bodies"] == 0
    assert (await memory.doctor(deep=True)).ok


async def test_one_spaces_dictionary_is_not_used_for_another(wiring: Wiring) -> None:
    mine, theirs = wiring.client(space="mine"), wiring.client(space="theirs")
    for number in range(MANY):
        await mine.remember(f"Minute {number}: {PHRASE}", name=f"minute-{number}")
    await asyncio.gather(*wiring.store.upkeep.training)
    await theirs.remember(f"Minute 1: {PHRASE} and so on and so forth for a while")
    assert bodies(wiring)[-1][0] == 0


async def test_small_and_incompressible_bodies_are_stored_raw(wiring: Wiring, memory: MemoryClient) -> None:
    assert encode({"a": "short"}, dictionary=generic_dictionary()).encoding is Encoding.RAW
    noise = encode({"a": os.urandom(400).decode("latin-1").encode().hex()}, dictionary=InflatingDictionary())
    assert noise.encoding is Encoding.RAW
    await memory.remember(PHRASE)
    assert (await memory.status()).compression["raw_bodies"] == 0


async def test_when_compression_fails_the_body_is_stored_raw_and_flagged(wiring: Wiring, memory: MemoryClient) -> None:
    body = encode({"content": PHRASE * 3}, dictionary=FailingDictionary())
    assert body.encoding is Encoding.FLAGGED
    assert decode(body, dictionary=generic_dictionary()) == {"content": PHRASE * 3}
    done = await memory.remember(PHRASE * 3)
    wiring.store._bodies._dictionaries[99] = FailingDictionary()
    wiring.store._connection.execute("INSERT INTO dictionaries VALUES(99, 1, x'00', 0, 1, 0)")
    await memory.revise(done.id, text=PHRASE * 4)
    assert (await memory.read(done.id)).memories[0].content == PHRASE * 4
    assert (await memory.status()).compression["flagged_bodies"] == 1
    (check,) = [check for check in (await memory.doctor()).checks if not check.ok]
    assert (check.name, "--repair" in check.fix) == ("compression", True)
    wiring.store._connection.execute("DELETE FROM dictionaries WHERE no = 99")
    assert (await memory.doctor(repair=True)).ok
    assert (await memory.status()).compression["flagged_bodies"] == 0
    assert (await memory.read(done.id)).memories[0].content == PHRASE * 4


@pytest.mark.parametrize("at", [0, 4, 5, 9, 20, -1])
async def test_a_damaged_body_is_named_with_its_last_good_version_and_reverting_repairs_it(
    wiring: Wiring, memory: MemoryClient, at: int
) -> None:
    done = await memory.remember(f"First: {PHRASE} and so on", name="minutes")
    await memory.revise("minutes", text=f"Second: {PHRASE} and so on")
    await memory.revise("minutes", text=f"Third: {PHRASE} and so on")
    await memory.remember(f"Another: {PHRASE} and so on", name="sound")
    damage(wiring, 3, at)
    with pytest.raises(BodyDamaged) as caught:
        await memory.read("minutes")
    assert caught.value.fields["memory_id"] == done.id
    assert caught.value.fields["last_good_version"] == 2
    assert f"revert {done.id} --to 2" in caught.value.hint
    assert not (await memory.doctor(deep=True)).ok
    recalled = await memory.recall("committee on harbour affairs")
    assert [hit.name for hit in recalled.hits] == ["sound"]
    assert done.id in recalled.degraded[0]
    assert (await memory.revert(done.id, to=2)).version == 4
    assert (await memory.read("minutes")).memories[0].content == f"Second: {PHRASE} and so on"
    assert {hit.name for hit in (await memory.recall("committee on harbour affairs")).hits} == {"sound", "minutes"}


async def test_a_damaged_old_version_is_found_by_a_deep_check_and_named(wiring: Wiring, memory: MemoryClient) -> None:
    done = await memory.remember(f"First: {PHRASE} and so on", name="minutes")
    await memory.revise("minutes", text=f"Second: {PHRASE} and so on")
    damage(wiring, 1, 20)
    assert (await memory.read("minutes")).memories[0].content.startswith("Second")
    (check,) = [check for check in (await memory.doctor(deep=True)).checks if not check.ok]
    assert f"{done.id} (version 1)" in check.detail
    for verb, options in ((memory.history, {}), (memory.revert, {"to": 1}), (memory.read, {"version": 1})):
        with pytest.raises(BodyDamaged) as caught:
            await verb("minutes", **options)  # type: ignore[operator]
        assert caught.value.fields["memory_id"] == done.id
        assert caught.value.fields["version"] == 1
        assert caught.value.hint


async def test_a_damaged_memory_can_still_be_purged_and_the_rest_exported(wiring: Wiring, memory: MemoryClient) -> None:
    done = await memory.remember(f"First: {PHRASE} and so on", name="minutes")
    await memory.remember(f"Another: {PHRASE} and so on", name="sound")
    await memory.forget("minutes")
    damage(wiring, 2, 20)
    with pytest.raises(BodyDamaged):
        await memory.read(done.id)
    assert await wiring.store.purge("default", [done.id], origin=wiring.engine._origin(memory._who)) == 1
    assert (await memory.doctor(deep=True)).ok
    assert len([line async for line in memory.export()]) == 2


class FailingDictionary(Dictionary):
    """A dictionary with which compression fails."""

    def __init__(self) -> None:
        super().__init__(99, generic_dictionary().data)

    def compress(self, plain: bytes) -> bytes:
        raise zstandard.ZstdError(f"cannot compress {len(plain)} bytes")


class InflatingDictionary(Dictionary):
    """A dictionary that makes every text longer."""

    def __init__(self) -> None:
        super().__init__(98, generic_dictionary().data)

    def compress(self, plain: bytes) -> bytes:
        return plain + b"!"


def bodies(wiring: Wiring) -> list[tuple[int, int]]:
    connection = wiring.store._connection
    rows = connection.execute("SELECT dictionary_no, length(body) FROM versions ORDER BY memory_no, number")
    return [(int(dictionary), int(size)) for dictionary, size in rows]


def damage(wiring: Wiring, version: int, at: int) -> None:
    """Flip a byte of the body of the first version, as a bad disk would."""
    connection = wiring.store._connection
    (row,) = connection.execute("SELECT body FROM versions WHERE memory_no = 1 AND number = ?", (version,)).fetchall()
    body = bytearray(row[0])
    body[at] ^= 0xFF
    connection.execute("UPDATE versions SET body = ? WHERE memory_no = 1 AND number = ?", (bytes(body), version))
