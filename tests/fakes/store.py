"""A record store in memory: plain dicts, correct but not fast."""

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
from tests.fakes.state import StoreState
from tests.fakes.tokens import FakeTokens
from tests.fakes.vector_store import FakeVectorStore


class FakeStore(
    FakeWriter, FakeReader, FakeLexicon, FakeVectorStore, FakeLog, FakeDocuments, FakeTokens, FakeInventory
):
    """The whole port `RecordStore`, for tests. A backup lists its content, but cannot be opened."""

    def __init__(self, state: StoreState | None = None) -> None:
        super().__init__(state)
        self._store_id = new_id()

    @property
    def store_id(self) -> str:
        """An id of its own for every fake store."""
        return self._store_id

    async def statistics(self, space: str) -> StoreStatistics:
        """Return sizes and counts."""
        space_state = self._state.space(space)
        memories = [entry.memory for entry in space_state.entries.values()]
        size = sum(len(body) for body in self._bodies())
        return StoreStatistics(
            memories=Counter(memory.state.value for memory in memories),
            versions=sum(len(entry.versions) for entry in space_state.entries.values()),
            relations=len(space_state.relations),
            body_bytes=size,
            stored_bytes=size,
            raw_bodies=len(memories),
            flagged_bodies=0,
            vectors=Counter(model for model, _ in space_state.vectors),
            facets=Counter(facet for memory in memories if memory.state is State.LIVE for facet in facets_of(memory)),
        )

    async def check(self, *, deep: bool = False) -> list[str]:
        """Return the problems: relations without a source or target."""
        del deep
        return [
            f"{space}: {relation.key} has no end"
            for space, space_state in self._state.spaces.items()
            for relation in space_state.relations.values()
            if not {relation.source, relation.target} <= set(space_state.entries)
        ]

    async def backup(self, target: Path, *, progress: Progress | None = None) -> None:
        """Write every memory as a line of JSON."""
        lines = self._bodies()
        await asyncio.to_thread(target.write_text, "\n".join(lines) + "\n", encoding="utf-8")
        if progress:
            progress(len(lines), len(lines))

    async def tidy(self) -> list[str]:
        """Return nothing: no upkeep is ever due."""
        return []

    async def close(self) -> None:
        """Do nothing."""

    def _bodies(self) -> list[str]:
        return [
            json.dumps({"id": memory_id, "space": space, **to_body(entry.memory)})
            for space, space_state in self._state.spaces.items()
            for memory_id, entry in space_state.entries.items()
        ]
