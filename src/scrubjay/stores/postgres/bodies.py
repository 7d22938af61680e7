"""The bodies of versions: packed on the way in, checked on the way out, with a dictionary per space."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from scrubjay.errors import BodyDamaged
from scrubjay.model.memory import Memory
from scrubjay.model.snapshot import to_body
from scrubjay.stores.codec import Dictionary, Encoded, encode, generic_dictionary, pack
from scrubjay.stores.packing import SAMPLES, Kept, Unpacking, damaged_memory, is_training_due
from scrubjay.stores.postgres.asking import Ask, Row, Work
from scrubjay.stores.postgres.database import Database
from scrubjay.stores.postgres.lining import BODY_COLUMNS, NEWER, Body, encoded_of, linked, spans

# So much is packed or unpacked while a thread would still be waking up.
_FEW, _SMALL = 16, 64 * 1024
MEMORY_TABLES = """scrubjay.memories m JOIN scrubjay.versions v
    ON v.space_no = m.space_no AND v.memory_no = m.no AND v.number = m.version"""
NEWEST_DICTIONARY = Ask("""SELECT no, bodies FROM scrubjay.dictionaries
    WHERE space_no = scrubjay.here() AND NOT tainted ORDER BY no DESC LIMIT 1""")


# So many dictionaries are kept whatever happens; beyond that, those that were used within these seconds.
_MOST_DICTIONARIES = 100
_IDLE = 60.0


class Bodies:
    """Reads and writes bodies; keeps the dictionaries it has met in memory, and the small bodies it unpacked last."""

    def __init__(self, database: Database, *, most: int = _MOST_DICTIONARIES) -> None:
        self._database = database
        self._most = most
        self._known: dict[int, Dictionary] = {0: generic_dictionary()}
        self._used: dict[int, float] = {}
        self._unpacking = Unpacking()

    async def pack(self, work: Work, memories: Sequence[Memory], *, newest: Sequence[Row]) -> list[Encoded]:
        """Bodies of memories, packed with the newest sound dictionary of their space."""
        dictionary = await self._newest(work, newest)

        def pack() -> list[Encoded]:
            return [encode(to_body(memory), dictionary=dictionary) for memory in memories]

        size = sum(len(memory.content) for memory in memories)
        return pack() if len(memories) <= _FEW and size <= _SMALL else await asyncio.to_thread(pack)

    async def repack(self, work: Work, plain: Sequence[bytes], *, newest: Sequence[Row]) -> list[Encoded]:
        """The same bytes to the letter, as older versions may be told by what they differ in from them."""
        dictionary = await self._newest(work, newest)
        return [pack(one, dictionary=dictionary) for one in plain]

    async def read(self, space: str, select: Callable[[], Awaitable[list[Body]]]) -> list[Memory]:
        """The memories of the bodies that are selected; a damaged one is named, with its last good version."""
        bodies = await self.select(space, select)

        def unpack() -> list[Memory | tuple[Body, BodyDamaged]]:
            return [self._unpacked(body, space) for body in bodies]

        size = sum(body.encoded.size for body in bodies)
        found = unpack() if len(bodies) <= _FEW and size <= _SMALL else await asyncio.to_thread(unpack)
        for one in found:
            if isinstance(one, tuple):
                body, error = one
                good = await self._last_good(space, body)
                raise damaged_memory(
                    error, memory_id=body.memory_id, space=space, version=body.version, last_good=good
                ) from error
        return [one for one in found if isinstance(one, Memory)]

    async def select(self, space: str, select: Callable[[], Awaitable[list[Body]]]) -> list[Body]:
        """Bodies with all at hand that it takes to read them. A purge may come between two looks: then look again."""
        bodies = await self.load(space, await select())
        return bodies if self._is_ready(bodies) else await self.load(space, await select())

    def unpack(self, body: Body, *, space: str) -> Memory:
        """The memory of one body that was loaded; raises BodyDamaged."""
        return self._unpacking.memory(
            body.kept, dictionaries=self._at_hand, newer=body.newer, memory_id=body.memory_id, space=space,
            accessed=body.accessed, count=body.readings,
        )  # fmt: skip

    def plain(self, body: Body) -> bytes | None:
        """Its plain bytes, unless it is damaged."""
        with suppress(BodyDamaged):
            return self._unpacking.plain(body.kept, dictionaries=self._at_hand, newer=body.newer)
        return None

    async def load(self, space: str, bodies: Sequence[Body]) -> list[Body]:
        """Some bodies, with the newer ones and the dictionaries at hand that they need, as far as these are there."""
        found = linked(bodies)
        memories, low, high = spans(found)
        if memories:
            rows = await self._database.rows(NEWER, memories, low, high, space=space)
            found = linked(found, [(int(no), Kept(number, encoded_of(packed))) for no, number, *packed in rows])
        missing = self._missing(found)
        if missing:
            self._note(await self._database.rows(_DICTIONARIES, missing, space=space))
        return found

    async def load_within(self, work: Work, bodies: Sequence[Body]) -> None:
        """Have the dictionaries of some bodies at hand, within a transaction."""
        missing = self._missing(bodies)
        if missing:
            self._note(await work.rows(_DICTIONARIES, missing))

    def forget(self, numbers: Sequence[int] = ()) -> None:
        """Keep nothing of what was unpacked, nor those dictionaries: some of it has been purged."""
        self._unpacking.forget()
        for number in numbers:
            self._known.pop(number, None)

    async def plain_samples(self, space: str) -> tuple[list[bytes], int]:
        """Plain bodies to learn from, spread over the whole space, and how many purges there were before."""
        ledger, rows = await self._database.read(
            Ask("SELECT purges FROM scrubjay.ledgers WHERE space_no = scrubjay.here()"),
            Ask(_SAMPLES, (SAMPLES,)),
            space=space,
        )
        bodies = [body for row in rows if (body := Body(encoded_of(row), "", 0)).is_complete]
        await self.load(space, bodies)

        def plain() -> list[bytes]:
            # A damaged body teaches nothing, and must not keep the others from being packed.
            return [text for body in bodies if (text := self.plain(body)) is not None]

        return await asyncio.to_thread(plain), int(ledger[0][0]) if ledger else 0

    async def has_dictionary(self, space: str) -> bool:
        """Whether a space was ever given a dictionary of its own, sound or not."""
        rows = await self._database.rows(
            "SELECT EXISTS (SELECT 1 FROM scrubjay.dictionaries WHERE space_no = scrubjay.here())", space=space
        )
        return bool(rows[0][0])

    async def keep_dictionary(self, space: str, data: bytes, *, learned_after: int) -> None:
        """Make a trained dictionary the space's newest, unless a purge came after its samples were read."""

        async def job(work: Work) -> None:
            await work.do(
                """INSERT INTO scrubjay.dictionaries(space_no, no, data, created_at, bodies)
                   SELECT space_no, nextval('scrubjay.dictionary_numbers'), %s, %s, bodies FROM scrubjay.ledgers
                   WHERE space_no = scrubjay.here() AND purges = %s""",
                data, time.time_ns() // 1000, learned_after,
            )  # fmt: skip

        await self._database.write(job, space=space)

    async def _newest(self, work: Work, newest: Sequence[Row]) -> Dictionary:
        number = int(newest[0][0]) if newest else 0
        if number not in self._known:
            self._note(await work.rows(_DICTIONARIES, [number]))
        self._used[number] = time.monotonic()
        return self._known[number]

    def _unpacked(self, body: Body, space: str) -> Memory | tuple[Body, BodyDamaged]:
        try:
            return self.unpack(body, space=space)
        except BodyDamaged as error:
            return body, error

    def _at_hand(self, number: int) -> Dictionary:
        dictionary = self._known.get(number)
        if dictionary is None:
            raise BodyDamaged(f"dictionary {number} is missing")
        return dictionary

    def _is_ready(self, bodies: Sequence[Body]) -> bool:
        return all(body.is_complete for body in bodies) and not self._missing(bodies)

    async def _last_good(self, space: str, body: Body) -> int | None:
        rows = await self._database.rows(
            f"""SELECT v.number, {BODY_COLUMNS} FROM scrubjay.versions v WHERE v.space_no = scrubjay.here()
                AND v.memory_no = %s AND v.number < %s ORDER BY v.number DESC""",
            body.memory_no, body.version, space=space,
        )  # fmt: skip
        older = [Body(encoded_of(packed), body.memory_id, number, body.memory_no) for number, *packed in rows]
        older = await self.load(space, older)
        return next((one.version for one in older if isinstance(self._unpacked(one, space), Memory)), None)

    def _missing(self, bodies: Sequence[Body]) -> list[int]:
        needed = {one.encoded.dictionary for body in bodies for one in (body.kept, *body.newer)}
        self._used |= dict.fromkeys(needed & self._known.keys(), time.monotonic())
        return sorted(needed - self._known.keys())

    def _note(self, rows: Sequence[Row]) -> None:
        now = time.monotonic()
        for number, data in rows:
            self._known[int(number)] = Dictionary(int(number), bytes(data))
            self._used[int(number)] = now
        if len(self._known) > self._most:
            # Each takes a good part of a megabyte. One that was asked for a moment ago may still be about to be used.
            idle = [number for number in self._known if number and now - self._used.get(number, 0.0) > _IDLE]
            for number in idle:
                del self._known[number]
                self._used.pop(number, None)


def training_is_due(bodies: int, newest: Sequence[Row]) -> bool:
    """Whether a space of so many bodies has outgrown its newest dictionary."""
    return is_training_due(bodies, int(newest[0][1]) if newest else None)


_DICTIONARIES = """SELECT no, data FROM scrubjay.dictionaries
    WHERE space_no = scrubjay.here() AND no = ANY(%s::integer[])"""
_SAMPLES = f"""SELECT {BODY_COLUMNS} FROM {MEMORY_TABLES} WHERE m.space_no = scrubjay.here()
    AND m.no IN (SELECT no FROM scrubjay.memories WHERE space_no = scrubjay.here()
      ORDER BY (no * 7919) %% 10007 LIMIT %s)"""
