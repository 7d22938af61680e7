"""The bodies of versions: compressed on the way in, verified on the way out, with a dictionary for each space."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from scrubjay.errors import BodyDamaged
from scrubjay.model.memory import Memory
from scrubjay.model.snapshot import to_body
from scrubjay.storage.body_cache import SAMPLES, Kept, Unpacking, damaged_memory, is_training_due
from scrubjay.storage.codec import Dictionary, Encoded, encode, generic_dictionary, pack
from scrubjay.storage.postgres.database import Database
from scrubjay.storage.postgres.delta_chains import Body, encoded_of, linked, spans
from scrubjay.storage.postgres.query import Ask, Row, Work
from scrubjay.storage.postgres.sql_files import named_statements

_SQL = named_statements("queries/bodies")
NEWEST_DICTIONARY = Ask(_SQL["newest_dictionary"])
# Work up to this size is done before a thread would have started.
_FEW, _SMALL = 16, 64 * 1024
# At least this many dictionaries stay in memory; beyond that, those that were used within the last seconds.
_MOST_DICTIONARIES = 100
_IDLE = 60.0


class Bodies:
    """Reads and writes bodies; caches dictionaries, and the small bodies that it decompressed last."""

    def __init__(self, database: Database, *, most: int = _MOST_DICTIONARIES) -> None:
        self._database = database
        self._most = most
        self._dictionaries: dict[int, Dictionary] = {0: generic_dictionary()}
        self._used: dict[int, float] = {}
        self._unpacking = Unpacking()

    async def pack(self, work: Work, memories: Sequence[Memory], *, newest: Sequence[Row]) -> list[Encoded]:
        """Compress memories with the newest untainted dictionary of their space."""
        dictionary = await self._newest(work, newest)

        def pack() -> list[Encoded]:
            return [encode(to_body(memory), dictionary=dictionary) for memory in memories]

        size = sum(len(memory.content) for memory in memories)
        return pack() if len(memories) <= _FEW and size <= _SMALL else await asyncio.to_thread(pack)

    async def repack(self, work: Work, plain: Sequence[bytes], *, newest: Sequence[Row]) -> list[Encoded]:
        """Compress exactly these bytes: older versions may be stored as deltas of them."""
        dictionary = await self._newest(work, newest)
        return [pack(text, dictionary=dictionary) for text in plain]

    async def read(self, space: str, select: Callable[[], Awaitable[list[Body]]]) -> list[Memory]:
        """Return the memories of the selected bodies; raises BodyDamaged with the last good version."""
        bodies = await self.select(space, select)

        def unpack() -> list[Memory | tuple[Body, BodyDamaged]]:
            return [self._unpacked(body, space) for body in bodies]

        size = sum(body.encoded.size for body in bodies)
        results = unpack() if len(bodies) <= _FEW and size <= _SMALL else await asyncio.to_thread(unpack)
        for result in results:
            if isinstance(result, tuple):
                body, error = result
                last_good = await self._last_good(space, body)
                raise damaged_memory(
                    error, memory_id=body.memory_id, space=space, version=body.version, last_good=last_good
                ) from error
        return [result for result in results if isinstance(result, Memory)]

    async def select(self, space: str, select: Callable[[], Awaitable[list[Body]]]) -> list[Body]:
        """Return bodies with all that decompression needs; selects again if a purge came between two queries."""
        bodies = await self.load(space, await select())
        return bodies if self._is_ready(bodies) else await self.load(space, await select())

    def unpack(self, body: Body, *, space: str) -> Memory:
        """Return the memory of a loaded body; raises BodyDamaged."""
        return self._unpacking.memory(
            body.kept, dictionaries=self._dictionary, newer=body.newer, memory_id=body.memory_id, space=space,
            accessed=body.accessed, count=body.readings,
        )  # fmt: skip

    def plain(self, body: Body) -> bytes | None:
        """Return the decompressed bytes, None for a damaged body."""
        with suppress(BodyDamaged):
            return self._unpacking.plain(body.kept, dictionaries=self._dictionary, newer=body.newer)
        return None

    async def load(self, space: str, bodies: Sequence[Body]) -> list[Body]:
        """Return bodies with the newer versions that their deltas need, and cache their dictionaries."""
        complete = linked(bodies)
        memories, low, high = spans(complete)
        if memories:
            rows = await self._database.rows(_SQL["later_versions"], memories, low, high, space=space)
            newer = [(int(no), Kept(number, encoded_of(packed))) for no, number, *packed in rows]
            complete = linked(complete, newer)
        missing = self._missing(complete)
        if missing:
            self._cache(await self._database.rows(_SQL["dictionaries"], missing, space=space))
        return complete

    async def load_within(self, work: Work, bodies: Sequence[Body]) -> None:
        """Cache the dictionaries of bodies, within a transaction."""
        missing = self._missing(bodies)
        if missing:
            self._cache(await work.rows(_SQL["dictionaries"], missing))

    def forget(self, numbers: Sequence[int] = ()) -> None:
        """Drop the cached bodies and some dictionaries after a purge."""
        self._unpacking.forget()
        for number in numbers:
            self._dictionaries.pop(number, None)

    async def plain_samples(self, space: str) -> tuple[list[bytes], int]:
        """Return decompressed bodies from the whole space to train on, and the number of purges before them."""
        totals, rows = await self._database.read(
            Ask("SELECT purges FROM scrubjay.space_totals WHERE space_no = scrubjay.current_space()"),
            Ask(_SQL["samples"], (SAMPLES,)),
            space=space,
        )
        bodies = [body for row in rows if (body := Body(encoded_of(row), "", 0)).is_complete]
        await self.load(space, bodies)

        def plain() -> list[bytes]:
            # A damaged body must not prevent the training.
            return [text for body in bodies if (text := self.plain(body)) is not None]

        return await asyncio.to_thread(plain), int(totals[0][0]) if totals else 0

    async def has_dictionary(self, space: str) -> bool:
        """Tell whether a space ever had a dictionary, tainted or not."""
        rows = await self._database.rows(
            "SELECT EXISTS (SELECT 1 FROM scrubjay.dictionaries WHERE space_no = scrubjay.current_space())",
            space=space,
        )
        return bool(rows[0][0])

    async def keep_dictionary(self, space: str, data: bytes, *, learned_after: int) -> None:
        """Store a trained dictionary as the newest of the space, unless a purge followed the reading of its samples."""

        async def job(work: Work) -> None:
            await work.do(_SQL["insert_dictionary"], data, time.time_ns() // 1000, learned_after)

        await self._database.write(job, space=space)

    async def _newest(self, work: Work, newest: Sequence[Row]) -> Dictionary:
        number = int(newest[0][0]) if newest else 0
        if number not in self._dictionaries:
            self._cache(await work.rows(_SQL["dictionaries"], [number]))
        self._used[number] = time.monotonic()
        return self._dictionaries[number]

    def _unpacked(self, body: Body, space: str) -> Memory | tuple[Body, BodyDamaged]:
        try:
            return self.unpack(body, space=space)
        except BodyDamaged as error:
            return body, error

    def _dictionary(self, number: int) -> Dictionary:
        dictionary = self._dictionaries.get(number)
        if dictionary is None:
            raise BodyDamaged(f"dictionary {number} is missing")
        return dictionary

    def _is_ready(self, bodies: Sequence[Body]) -> bool:
        return all(body.is_complete for body in bodies) and not self._missing(bodies)

    async def _last_good(self, space: str, body: Body) -> int | None:
        rows = await self._database.rows(_SQL["earlier_versions"], body.memory_no, body.version, space=space)
        earlier = [Body(encoded_of(packed), body.memory_id, number, body.memory_no) for number, *packed in rows]
        earlier = await self.load(space, earlier)
        return next((body.version for body in earlier if isinstance(self._unpacked(body, space), Memory)), None)

    def _missing(self, bodies: Sequence[Body]) -> list[int]:
        needed = {version.encoded.dictionary for body in bodies for version in (body.kept, *body.newer)}
        self._used |= dict.fromkeys(needed & self._dictionaries.keys(), time.monotonic())
        return sorted(needed - self._dictionaries.keys())

    def _cache(self, rows: Sequence[Row]) -> None:
        now = time.monotonic()
        for number, data in rows:
            self._dictionaries[int(number)] = Dictionary(int(number), bytes(data))
            self._used[int(number)] = now
        if len(self._dictionaries) > self._most:
            # Each takes most of a megabyte. A read in progress may still need one that was loaded a moment ago.
            idle = [number for number in self._dictionaries if number and now - self._used.get(number, 0.0) > _IDLE]
            for number in idle:
                del self._dictionaries[number]
                self._used.pop(number, None)


def training_is_due(bodies: int, newest: Sequence[Row]) -> bool:
    """Tell whether a space with so many bodies has outgrown its newest dictionary."""
    return is_training_due(bodies, int(newest[0][1]) if newest else None)
