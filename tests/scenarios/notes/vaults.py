"""A memory with its folder of notes, an agent who writes to the one, and somebody with an editor on the other."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from scrubjay.engine import Engine
from scrubjay.lookup.branches import branch_id
from scrubjay.model.draft import Caller, Draft, Edit, Selection
from scrubjay.model.memory import Json, Memory, State
from scrubjay.model.rules import Rules
from scrubjay.notes.results import NotesSynced
from scrubjay.notes.vault import Vault, open_vault
from scrubjay.ports import RecordStore
from tests.scenarios.wiring import Wiring, open_wiring

SPACE = "default"
AGENT = Caller(space=SPACE, agent="tester")
# Nothing is added to what is written, and nothing merged.
PLAIN = Rules(gate="off", density="off", tags="off", conflicts="off")


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Both sides at hand."""

    engine: Engine
    vault: Vault
    root: Path

    async def write(self, text: str, *, title: str = "", **fields: object) -> str:
        """The agent writes a memory; tells its id."""
        draft = Draft(text=text, title=title, intent="new", **fields)  # type: ignore[arg-type]
        return (await self.engine.remember(draft, who=AGENT)).id

    async def edit(self, memory_id: str, **fields: Json) -> None:
        """The agent changes a memory on main."""
        await self.engine.revise(memory_id, Edit(fields=fields, branch="main"), who=AGENT)

    async def forget(self, memory_id: str) -> None:
        await self.engine.forget(Selection(refs=(memory_id,)), who=AGENT)

    async def restore(self, memory_id: str) -> None:
        await self.engine.restore(Selection(refs=(memory_id,)), who=AGENT)

    async def get(self, memory_id: str) -> Memory:
        return (await self.engine.store.get(SPACE, [memory_id]))[memory_id]

    async def links(self, memory_id: str) -> set[str]:
        """The other ends of a memory's relations, as far as they are alive."""
        results = await self.engine.store.relations(SPACE, [memory_id])
        ends = {item.target if item.source == memory_id else item.source for item in results}
        return {end for end in ends if (await self.get(end)).state is State.LIVE}

    async def sync(self, *, deletions: bool = False) -> NotesSynced:
        return await self.vault.sync(deletions=deletions)

    async def path_of(self, memory_id: str) -> Path | None:
        return (await self.vault.paths_of([memory_id])).get(memory_id)

    async def file(self, memory_id: str) -> Path:
        """Where the file of a memory is."""
        results = await self.path_of(memory_id)
        assert results is not None
        return results

    def files(self) -> list[str]:
        """All notes in the folder."""
        return sorted(str(item.relative_to(self.root)) for item in self.root.rglob("*.md"))

    def save(self, path: Path | str, text: str) -> Path:
        """Save a file as most editors do: beside it, and then over it."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(f".{target.name}.swp")
        beside.write_bytes(text.encode())
        beside.replace(target)
        return target

    async def texts(self, memory_id: str) -> list[str]:
        """The contents of all versions of a memory and of its branches."""
        store = self.engine.store
        results = list(await store.versions(SPACE, memory_id, limit=500))
        for line in await _lines(store, memory_id):
            results += await store.versions(SPACE, line, limit=500)
        return [item.memory.content for item in results]


async def _lines(store: RecordStore, memory_id: str) -> list[str]:
    names = [f"file-{number}" for number in range(1, 30)]
    return list(await store.get(SPACE, [branch_id(memory_id, name) for name in names]))


@asynccontextmanager
async def open_desk(
    home: Path,
    *,
    rules: Rules = PLAIN,
    wiring: Wiring | None = None,
    engine: Engine | None = None,
    root: Path | None = None,
    adopt: bool = False,
) -> AsyncGenerator[Desk]:
    """Open a data folder with its notes, which are in it unless `root` says where."""
    engine = wiring.engine if wiring is not None else engine
    if engine is None:
        async with (
            open_wiring(home, index=False, rules=rules) as opened,
            open_desk(home, wiring=opened, root=root, adopt=adopt) as context,
        ):
            yield context
        return
    root = root or home / "notes"
    async with open_vault(
        engine, folder=root, ledger=home / "index" / "notes.db", space=SPACE, home=str(home), adopt=adopt
    ) as vault:
        yield Desk(engine=engine, vault=vault, root=root)
