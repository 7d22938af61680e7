"""An agent and somebody with an editor on one note, in whatever order: what each may do, and what must hold."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from scrubjay.model.memory import State
from scrubjay.notes.markdown.format import parse
from tests.scenarios.notes.vaults import AGENT, SPACE, Desk

START = "alpha\n\nbeta\n\ngamma"
STRATEGIES = ("merge", "supersede", "branch", "ignore", "update")
OPS = "AaEeSRDFTV"
"""Agent edits the same line as the editor (A) or another (a), the editor likewise (E, e), sync, rename, delete, forget,
restore, resolve."""


@dataclass(kw_only=True)
class Round:
    """One note, and all that was ever written of it."""

    context: Desk
    id: str
    said: list[str] = field(default_factory=list[str])
    strategy: str = "merge"
    renamed: int = 0
    path: Path = Path()

    @classmethod
    async def begin(cls, context: Desk, *, strategy: str = "merge") -> "Round":
        item = await context.write(START, title="Shared")
        await context.sync()
        return cls(context=context, id=item, strategy=strategy, path=await context.file(item))

    async def play(self, op: str) -> None:
        await getattr(self, f"_{_NAMES[op]}")()

    async def finish(self) -> None:
        """All is decided, and then both sides say the same and nothing is lost."""
        for _ in range(3):
            await self.context.sync()
            await self._resolve()
        await self.context.sync()
        assert await self.context.engine.conflicts(who=AGENT) == ()
        assert await self.context.vault.drift() == ()
        await self.check()
        for id_ in await self.context.engine.store.ids(SPACE, limit=1000):
            memory = await self.context.get(id_)
            if memory.state is State.LIVE:
                reported = parse((await self.context.file(id_)).read_bytes()).note
                assert (reported.id, reported.content) == (id_, memory.content)

    async def check(self) -> None:
        """All that was ever said is in a version or in a file."""
        stored = "\n".join(item.read_text() for item in self.context.root.rglob("*.md"))
        store = self.context.engine.store
        for id_ in await store.ids(SPACE, limit=1000):
            stored += "\n".join(version.memory.content for version in await store.versions(SPACE, id_, limit=200))
        lost = [item for item in self.said if item not in stored]
        assert not lost, lost

    def _word(self, who: str) -> str:
        self.said.append(f"{who}{len(self.said)}x")
        return self.said[-1]

    async def _agent(self, line: str) -> None:
        memory = await self.context.get(self.id)
        if memory.state is State.LIVE:
            await self.context.edit(self.id, content=_changed(memory.content, line, self._word("agent")))

    def _editor(self, line: str) -> None:
        if self.path.exists():
            text = self.path.read_text()
            self.context.save(self.path, _changed(text, line, self._word("editor")))

    async def _agent_same(self) -> None:
        await self._agent("beta")

    async def _agent_other(self) -> None:
        await self._agent("alpha")

    async def _editor_same(self) -> None:
        self._editor("beta")

    async def _editor_other(self) -> None:
        self._editor("gamma")

    async def _sync(self) -> None:
        await self.context.sync()
        await self.check()
        self.path = await self.context.path_of(self.id) or self.path

    async def _rename(self) -> None:
        if self.path.exists():
            self.renamed += 1
            self.path = self.path.rename(self.path.with_name(f"renamed {self.renamed} {self.id[-6:]}.md"))

    async def _delete(self) -> None:
        # What only a file had and its author deletes is lost on purpose.
        if self.path.exists():
            text = self.path.read_text()
            stored = await self.context.texts(self.id)
            self.said = [item for item in self.said if item not in text or any(item in other for other in stored)]
            self.path.unlink()

    async def _forget(self) -> None:
        if (await self.context.get(self.id)).state is State.LIVE:
            await self.context.forget(self.id)

    async def _restore(self) -> None:
        if (await self.context.get(self.id)).state is State.TRASHED:
            await self.context.restore(self.id)

    async def _resolve(self) -> None:
        for conflict in await self.context.engine.conflicts(who=AGENT):
            await self.context.engine.resolve_conflict(conflict.id, who=AGENT, strategy=self.strategy)


def _changed(text: str, line: str, word: str) -> str:
    # Nobody takes out what he wrote before: that would be lost on purpose.
    return re.sub(rf"^({line}.*)$", rf"\1 {word}", text, count=1, flags=re.MULTILINE)


_NAMES = {
    "A": "agent_same", "a": "agent_other", "E": "editor_same", "e": "editor_other", "S": "sync", "R": "rename",
    "D": "delete", "F": "forget", "T": "restore", "V": "resolve",
}  # fmt: skip
