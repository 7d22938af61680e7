"""An agent and a user who change one note in any order: the operations of each, and the invariants."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.model.requests import ConflictsRequest, ResolveConflictRequest
from scrubjay.notes.markdown.format import parse
from tests.scenarios.notes.harness import AGENT, SPACE, VaultHarness

START = "alpha\n\nbeta\n\ngamma"
STRATEGIES = ("merge", "supersede", "branch", "ignore", "update")
OPS = "AaEeSRDFTV"
"""The agent edits the same line as the user (A) or another (a), the user likewise (E, e); then sync, rename, delete,
forget, restore, resolve."""


@dataclass(kw_only=True)
class Round:
    """One note, and every word that was ever written in it."""

    harness: VaultHarness
    id: str
    words: list[str] = field(default_factory=list[str])
    strategy: str = "merge"
    renamed: int = 0
    path: Path = Path()

    @classmethod
    async def begin(cls, harness: VaultHarness, *, strategy: str = "merge") -> "Round":
        note_id = await harness.write(START, title="Shared")
        await harness.sync()
        return cls(harness=harness, id=note_id, strategy=strategy, path=await harness.file(note_id))

    async def play(self, op: str) -> None:
        await getattr(self, f"_{_NAMES[op]}")()

    async def finish(self) -> None:
        """Resolve all conflicts; then both sides are equal, and no word is lost."""
        for _ in range(3):
            await self.harness.sync()
            await self._resolve()
        await self.harness.sync()
        assert await self.harness.engine.conflicts(ConflictsRequest(), who=AGENT) == ()
        assert await self.harness.vault.drift() == ()
        await self.check()
        for id_ in await self.harness.engine.reader.list_ids(SPACE, Filter(), limit=1000):
            memory = await self.harness.get(id_)
            note = parse((await self.harness.file(id_)).read_bytes()).note
            assert (note.id, note.content) == (id_, memory.content)

    async def check(self) -> None:
        """Check that every word is in a version or in a file."""
        stored = "\n".join(file.read_text() for file in self.harness.root.rglob("*.md"))
        reader = self.harness.engine.reader
        for state in State:
            for id_ in await reader.list_ids(SPACE, Filter(state=state), limit=1000):
                stored += "\n".join(version.memory.content for version in await reader.versions(SPACE, id_, limit=200))
        lost = [word for word in self.words if word not in stored]
        assert not lost, lost

    def _word(self, who: str) -> str:
        self.words.append(f"{who}{len(self.words)}x")
        return self.words[-1]

    async def _agent(self, line: str) -> None:
        memory = await self.harness.get(self.id)
        if memory.state is State.LIVE:
            await self.harness.edit(self.id, content=_append_word(memory.content, line, self._word("agent")))

    def _editor(self, line: str) -> None:
        if self.path.exists():
            text = self.path.read_text()
            self.harness.save(self.path, _append_word(text, line, self._word("editor")))

    async def _agent_same(self) -> None:
        await self._agent("beta")

    async def _agent_other(self) -> None:
        await self._agent("alpha")

    async def _editor_same(self) -> None:
        self._editor("beta")

    async def _editor_other(self) -> None:
        self._editor("gamma")

    async def _sync(self) -> None:
        await self.harness.sync()
        await self.check()
        self.path = await self.harness.path_of(self.id) or self.path

    async def _rename(self) -> None:
        if self.path.exists():
            self.renamed += 1
            self.path = self.path.rename(self.path.with_name(f"renamed {self.renamed} {self.id[-6:]}.md"))

    async def _delete(self) -> None:
        # A word that only the deleted file had is lost on purpose.
        if self.path.exists():
            text = self.path.read_text()
            versions = await self.harness.texts(self.id)
            self.words = [
                word for word in self.words if word not in text or any(word in version for version in versions)
            ]
            self.path.unlink()

    async def _forget(self) -> None:
        if (await self.harness.get(self.id)).state is State.LIVE:
            await self.harness.forget(self.id)

    async def _restore(self) -> None:
        if (await self.harness.get(self.id)).state is State.TRASHED:
            await self.harness.restore(self.id)

    async def _resolve(self) -> None:
        for conflict in await self.harness.engine.conflicts(ConflictsRequest(), who=AGENT):
            await self.harness.engine.resolve_conflict(
                ResolveConflictRequest.of(id=conflict.id, strategy=self.strategy), who=AGENT
            )


def _append_word(text: str, line: str, word: str) -> str:
    # Only add words: a removed word would be lost on purpose.
    return re.sub(rf"^({line}.*)$", rf"\1 {word}", text, count=1, flags=re.MULTILINE)


_NAMES = {
    "A": "agent_same", "a": "agent_other", "E": "editor_same", "e": "editor_other", "S": "sync", "R": "rename",
    "D": "delete", "F": "forget", "T": "restore", "V": "resolve",
}  # fmt: skip
