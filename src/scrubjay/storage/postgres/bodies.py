"""The bodies of versions: compressed on the way in, verified on the way out, with a dictionary for each space."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from scrubjay.errors import BodyDamaged
from scrubjay.model.memory import Memory
from scrubjay.model.snapshot import to_body
from scrubjay.storage.body_cache import SAMPLES, BodyCache, StoredVersion, damaged_memory, is_training_due
from scrubjay.storage.codec import Dictionary, Encoded, Encoding, encode, generic_dictionary, pack
from scrubjay.storage.postgres.database import Database, Row, SqlQuery, Transaction
from scrubjay.storage.sql_files import read_statements

_SQL = read_statements("postgres/queries/bodies")
NEWEST_DICTIONARY = SqlQuery(_SQL["newest_dictionary"])
# Work up to this size takes less time than to start a thread.
_FEW, _SMALL = 16, 64 * 1024
# At least this many dictionaries stay in memory; beyond that, those that were used within the last seconds.
_MAX_DICTIONARIES = 100
_IDLE_SECONDS = 60.0


class Body(NamedTuple):
    """A stored body, the memory it belongs to, and the newer versions that its decompression needs."""

    encoded: Encoded
    memory_id: str
    version: int
    memory_no: int = 0
    accessed: int | None = None
    access_count: int = 0
    newer: tuple[StoredVersion, ...] = ()

    @property
    def stored_version(self) -> StoredVersion:
        """The version alone."""
        return StoredVersion(self.version, self.encoded)

    @property
    def is_complete(self) -> bool:
        """Whether it, or the last of the newer versions, is stored whole."""
        last = self.newer[-1].encoded if self.newer else self.encoded
        return last.encoding is not Encoding.DELTA


class PostgresBodies:
    """Reads and writes bodies; caches dictionaries, and the small bodies that it decompressed last."""

    def __init__(self, database: Database, *, max_dictionaries: int = _MAX_DICTIONARIES) -> None:
        self._database = database
        self._max_dictionaries = max_dictionaries
        self._dictionaries: dict[int, Dictionary] = {0: generic_dictionary()}
        self._used_at: dict[int, float] = {}
        self._cache = BodyCache()

    async def pack(
        self, transaction: Transaction, memories: Sequence[Memory], *, newest: Sequence[Row]
    ) -> list[Encoded]:
        """Compress memories with the newest untainted dictionary of their space."""
        dictionary = await self._newest(transaction, newest)

        def pack() -> list[Encoded]:
            return [encode(to_body(memory), dictionary=dictionary) for memory in memories]

        size = sum(len(memory.content) for memory in memories)
        return pack() if len(memories) <= _FEW and size <= _SMALL else await asyncio.to_thread(pack)

    async def repack(self, transaction: Transaction, plain: Sequence[bytes], *, newest: Sequence[Row]) -> list[Encoded]:
        """Compress exactly these bytes: older versions may be stored as deltas of them."""
        dictionary = await self._newest(transaction, newest)
        return [pack(text, dictionary=dictionary) for text in plain]

    async def read(self, space: str, select: Callable[[], Awaitable[list[Body]]]) -> list[Memory]:
        """Return the memories of the selected bodies; raises BodyDamaged with the last good version."""
        bodies = await self.select(space, select)

        def unpack() -> list[Memory | tuple[Body, BodyDamaged]]:
            return [self._unpack_or_error(body, space) for body in bodies]

        size = sum(body.encoded.size for body in bodies)
        results = unpack() if len(bodies) <= _FEW and size <= _SMALL else await asyncio.to_thread(unpack)
        for result in results:
            if isinstance(result, tuple):
                body, error = result
                last_good = await self._last_good_version(space, body)
                raise damaged_memory(
                    error, memory_id=body.memory_id, space=space, version=body.version, last_good=last_good
                ) from error
        return [result for result in results if isinstance(result, Memory)]

    async def select(self, space: str, select: Callable[[], Awaitable[list[Body]]]) -> list[Body]:
        """Return bodies with all that decompression needs; selects again if a purge came between two queries."""
        bodies = await self.load(space, await select())
        is_ready = all(body.is_complete for body in bodies) and not self._missing(bodies)
        return bodies if is_ready else await self.load(space, await select())

    def unpack(self, body: Body, *, space: str) -> Memory:
        """Return the memory of a loaded body; raises BodyDamaged."""
        return self._cache.read_memory(
            body.stored_version, dictionaries=self._dictionary, newer=body.newer, memory_id=body.memory_id, space=space,
            accessed=body.accessed, count=body.access_count,
        )  # fmt: skip

    def plain(self, body: Body) -> bytes | None:
        """Return the decompressed bytes, None for a damaged body."""
        with suppress(BodyDamaged):
            return self._cache.decompress(body.stored_version, dictionaries=self._dictionary, newer=body.newer)
        return None

    async def load(self, space: str, bodies: Sequence[Body]) -> list[Body]:
        """Return bodies with the newer versions that their deltas need, and cache their dictionaries."""
        complete = add_newer_versions(bodies)
        memories, low, high = _missing_versions(complete)
        if memories:
            rows = await self._database.rows(_SQL["later_versions"], memories, low, high, space=space)
            newer = [(int(no), StoredVersion(number, encoded_of(packed))) for no, number, *packed in rows]
            complete = add_newer_versions(complete, newer)
        missing = self._missing(complete)
        if missing:
            self._cache_dictionaries(await self._database.rows(_SQL["dictionaries"], missing, space=space))
        return complete

    async def load_dictionaries(self, transaction: Transaction, bodies: Sequence[Body]) -> None:
        """Cache the dictionaries of bodies, within a transaction."""
        missing = self._missing(bodies)
        if missing:
            self._cache_dictionaries(await transaction.rows(_SQL["dictionaries"], missing))

    def forget(self, numbers: Sequence[int] = ()) -> None:
        """Drop the cached bodies and some dictionaries after a purge."""
        self._cache.clear()
        for number in numbers:
            self._dictionaries.pop(number, None)

    async def samples(self, space: str) -> tuple[list[bytes], int]:
        """Return decompressed bodies from the whole space to train on, and the number of purges before them."""
        totals, rows = await self._database.read(
            SqlQuery("SELECT purges FROM scrubjay.space_totals WHERE space_no = scrubjay.current_space()"),
            SqlQuery(_SQL["samples"], (SAMPLES,)),
            space=space,
        )
        bodies = [body for row in rows if (body := Body(encoded_of(row), "", 0)).is_complete]
        await self.load(space, bodies)

        def plain() -> list[bytes]:
            # A damaged body must not prevent the training.
            return [text for body in bodies if (text := self.plain(body)) is not None]

        return await asyncio.to_thread(plain), int(totals[0][0]) if totals else 0

    async def has_dictionary(self, space: str) -> bool:
        """Return whether a space ever had a dictionary, tainted or not."""
        rows = await self._database.rows(
            "SELECT EXISTS (SELECT 1 FROM scrubjay.dictionaries WHERE space_no = scrubjay.current_space())",
            space=space,
        )
        return bool(rows[0][0])

    async def store_dictionary(self, space: str, data: bytes, *, purges_before: int, only_if_due: bool) -> None:
        """Store a trained dictionary as the newest of the space, unless a purge followed the reading of its samples.

        It may no longer be due: another training, of this server or another one, may have ended since it was.
        """

        async def job(transaction: Transaction) -> None:
            if only_if_due:
                totals = await transaction.rows(_SQL["count_bodies"])
                newest = await transaction.rows(_SQL["newest_dictionary"])
                if not totals or not training_is_due(int(totals[0][0]), newest):
                    return
            await transaction.execute(_SQL["insert_dictionary"], data, time.time_ns() // 1000, purges_before)

        await self._database.write(job, space=space)

    async def _newest(self, transaction: Transaction, newest: Sequence[Row]) -> Dictionary:
        number = int(newest[0][0]) if newest else 0
        if number not in self._dictionaries:
            self._cache_dictionaries(await transaction.rows(_SQL["dictionaries"], [number]))
        self._used_at[number] = time.monotonic()
        return self._dictionaries[number]

    def _unpack_or_error(self, body: Body, space: str) -> Memory | tuple[Body, BodyDamaged]:
        try:
            return self.unpack(body, space=space)
        except BodyDamaged as error:
            return body, error

    def _dictionary(self, number: int) -> Dictionary:
        dictionary = self._dictionaries.get(number)
        if dictionary is None:
            raise BodyDamaged(f"dictionary {number} is missing")
        return dictionary

    async def _last_good_version(self, space: str, body: Body) -> int | None:
        rows = await self._database.rows(_SQL["earlier_versions"], body.memory_no, body.version, space=space)
        earlier = [Body(encoded_of(packed), body.memory_id, number, body.memory_no) for number, *packed in rows]
        earlier = await self.load(space, earlier)
        return next((body.version for body in earlier if isinstance(self._unpack_or_error(body, space), Memory)), None)

    def _missing(self, bodies: Sequence[Body]) -> list[int]:
        """Return the dictionaries of bodies that are not cached."""
        needed = {version.encoded.dictionary for body in bodies for version in (body.stored_version, *body.newer)}
        self._used_at |= dict.fromkeys(needed & self._dictionaries.keys(), time.monotonic())
        return sorted(needed - self._dictionaries.keys())

    def _cache_dictionaries(self, rows: Sequence[Row]) -> None:
        now = time.monotonic()
        for number, data in rows:
            self._dictionaries[int(number)] = Dictionary(int(number), bytes(data))
            self._used_at[int(number)] = now
        if len(self._dictionaries) > self._max_dictionaries:
            # Each takes most of a megabyte. A read in progress may still need one that was loaded a moment ago.
            idle = [
                number
                for number in self._dictionaries
                if number and now - self._used_at.get(number, 0.0) > _IDLE_SECONDS
            ]
            for number in idle:
                del self._dictionaries[number]
                self._used_at.pop(number, None)


def training_is_due(bodies: int, newest: Sequence[Row]) -> bool:
    """Return whether a space with so many bodies has outgrown its newest dictionary."""
    return is_training_due(bodies, int(newest[0][1]) if newest else None)


def add_newer_versions(bodies: Sequence[Body], others: Sequence[tuple[int, StoredVersion]] = ()) -> list[Body]:
    """Return bodies with the newer versions that they need, taken from themselves and from others by memory number."""
    if all(body.is_complete for body in bodies):
        return list(bodies)
    versions: dict[int, dict[int, StoredVersion]] = {}
    for memory_no, version in (*others, *((body.memory_no, body.stored_version) for body in bodies)):
        versions.setdefault(memory_no, {})[version.number] = version
    in_order = {memory_no: sorted(by_number.values()) for memory_no, by_number in versions.items()}
    return [
        body if body.is_complete else body._replace(newer=_newer(body, in_order[body.memory_no])) for body in bodies
    ]


def memory_body(row: Row) -> Body:
    """Return the body of a row of `get_memories`."""
    number, memory_id, version, accessed, count, *packed = row
    return Body(encoded_of(packed), str(memory_id), version, number, accessed, count)


def encoded_of(packed: Sequence[object]) -> Encoded:
    """Return a body from its columns: encoding, dictionary, sha256, size, body."""
    encoding, dictionary, sha256, size, data = packed
    assert isinstance(sha256, bytes)
    assert isinstance(data, bytes)
    return Encoded(data, Encoding(encoding), int(str(dictionary)), sha256, int(str(size)))


def _missing_versions(bodies: Sequence[Body]) -> tuple[list[int], list[int], list[int]]:
    """Return the memories of incomplete bodies, with the lowest and highest incomplete version of each."""
    incomplete: dict[int, list[int]] = {}
    for body in bodies:
        if not body.is_complete:
            incomplete.setdefault(body.memory_no, []).append(body.version)
    lows, highs = ([choose(numbers) for numbers in incomplete.values()] for choose in (min, max))
    return list(incomplete), lows, highs


def _newer(body: Body, versions: Sequence[StoredVersion]) -> tuple[StoredVersion, ...]:
    newer: list[StoredVersion] = []
    for version in versions:
        if version.number > body.version:
            newer.append(version)
            if version.encoded.encoding is not Encoding.DELTA:
                break
    return tuple(newer)
