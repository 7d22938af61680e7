"""A record store that lives in memory: plain dicts, correct on every rule, fast on none."""

import asyncio
import json
from collections import Counter
from pathlib import Path

from scrubjay.model.identity import new_id
from scrubjay.model.memory import State
from scrubjay.model.query import facets_of
from scrubjay.model.snapshot import to_body
from scrubjay.ports import Progress, StoreStatistics
from tests.fakes.commit import FakeWriter
from tests.fakes.documents import FakeDocuments
from tests.fakes.inventory import FakeInventory
from tests.fakes.lexicon import FakeLexicon
from tests.fakes.log import FakeLog
from tests.fakes.reader import FakeReader
from tests.fakes.state import House
from tests.fakes.tokens import FakeTokens
from tests.fakes.vector_store import FakeVectorStore


class FakeStore(
    FakeWriter, FakeReader, FakeLexicon, FakeVectorStore, FakeLog, FakeDocuments, FakeTokens, FakeInventory
):
    """The whole port `RecordStore`, for tests. A backup shows what it holds, but cannot be opened."""

    def __init__(self, house: House | None = None) -> None:
        super().__init__(house)
        self._store_id = new_id()

    @property
    def store_id(self) -> str:
        """Another one for every fake store."""
        return self._store_id

    async def statistics(self, space: str) -> StoreStatistics:
        """Sizes and counts."""
        room = self._house.room(space)
        memories = [entry.memory for entry in room.entries.values()]
        size = sum(len(body) for body in self._bodies())
        return StoreStatistics(
            memories=Counter(memory.state.value for memory in memories),
            versions=sum(len(entry.versions) for entry in room.entries.values()),
            relations=len(room.relations),
            body_bytes=size,
            stored_bytes=size,
            raw_bodies=len(memories),
            flagged_bodies=0,
            vectors=Counter(model for model, _ in room.vectors),
            facets=Counter(facet for memory in memories if memory.state is State.LIVE for facet in facets_of(memory)),
        )

    async def check(self, *, deep: bool = False) -> list[str]:
        """What is wrong: names that two live memories share, relations without ends."""
        del deep
        return [
            f"{space}: {relation.key} has no end"
            for space, room in self._house.rooms.items()
            for relation in room.relations.values()
            if not {relation.source, relation.target} <= set(room.entries)
        ]

    async def backup(self, target: Path, *, progress: Progress | None = None) -> None:
        """Write every memory as a line of JSON."""
        lines = self._bodies()
        await asyncio.to_thread(target.write_text, "\n".join(lines) + "\n", encoding="utf-8")
        if progress:
            progress(len(lines), len(lines))

    async def tidy(self) -> list[str]:
        """Nothing is ever due."""
        return []

    async def close(self) -> None:
        """There is nothing to let go of."""

    def _bodies(self) -> list[str]:
        return [
            json.dumps({"id": memory_id, "space": space, **to_body(entry.memory)})
            for space, room in self._house.rooms.items()
            for memory_id, entry in room.entries.items()
        ]
