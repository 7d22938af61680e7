"""A store with its folder of notes, an agent that writes to the store, and a user who edits the files."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from scrubjay.engine import Engine
from scrubjay.lookup.branches import branch_id
from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Json, Memory, State
from scrubjay.model.notes import NotesSynced
from scrubjay.model.requests import Edit, ForgetRequest, RestoreRequest
from scrubjay.model.rules import Rules
from scrubjay.notes.vault import Vault, open_vault
from scrubjay.ports import MemoryReader
from tests.scenarios.wiring import Wiring, open_wiring

SPACE = "default"
AGENT = Caller(space=SPACE, agent="tester")
# Drafts are stored as they are, and never merged.
PLAIN = Rules(gate="off", density="off", tags="off", conflicts="off")


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultHarness:
    """A vault, with the actions of the agent and of the user."""

    engine: Engine
    vault: Vault
    root: Path

    async def write(self, text: str, *, title: str = "", **fields: object) -> str:
        """Let the agent write a memory, and return its id."""
        draft = Draft(text=text, title=title, intent="new", **fields)  # type: ignore[arg-type]
        return (await self.engine.remember(draft, who=AGENT)).id

    async def edit(self, memory_id: str, **fields: Json) -> None:
        """Let the agent change a memory on main."""
        await self.engine.apply_edit(memory_id, Edit(fields=fields, branch="main"), who=AGENT)

    async def forget(self, memory_id: str) -> None:
        await self.engine.forget(ForgetRequest(ids=(memory_id,)), who=AGENT)

    async def restore(self, memory_id: str) -> None:
        await self.engine.restore(RestoreRequest(ids=(memory_id,)), who=AGENT)

    async def get(self, memory_id: str) -> Memory:
        return (await self.engine.reader.get(SPACE, [memory_id]))[memory_id]

    async def links(self, memory_id: str) -> set[str]:
        """Return the live memories that a memory is related to."""
        relations = await self.engine.reader.relations(SPACE, [memory_id])
        ends = {relation.target if relation.source == memory_id else relation.source for relation in relations}
        return {end for end in ends if (await self.get(end)).state is State.LIVE}

    async def sync(self, *, deletions: bool = False) -> NotesSynced:
        return await self.vault.sync(deletions=deletions)

    async def path_of(self, memory_id: str) -> Path | None:
        return (await self.vault.paths_of([memory_id])).get(memory_id)

    async def file(self, memory_id: str) -> Path:
        """Return the path of the file of a memory."""
        path = await self.path_of(memory_id)
        assert path is not None
        return path

    def files(self) -> list[str]:
        """Return the paths of all notes in the folder."""
        return sorted(str(file.relative_to(self.root)) for file in self.root.rglob("*.md"))

    def save(self, path: Path | str, text: str) -> Path:
        """Save a file as most editors do: write a new file, and rename it."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.swp")
        temporary.write_bytes(text.encode())
        temporary.replace(target)
        return target

    async def texts(self, memory_id: str) -> list[str]:
        """Return the contents of all versions of a memory and its branches."""
        reader = self.engine.reader
        versions = list(await reader.versions(SPACE, memory_id, limit=500))
        for branch in await _branches(reader, memory_id):
            versions += await reader.versions(SPACE, branch, limit=500)
        return [version.memory.content for version in versions]


async def _branches(reader: MemoryReader, memory_id: str) -> list[str]:
    names = [f"file-{number}" for number in range(1, 30)]
    return list(await reader.get(SPACE, [branch_id(memory_id, name) for name in names]))


@asynccontextmanager
async def open_harness(
    home: Path,
    *,
    rules: Rules = PLAIN,
    wiring: Wiring | None = None,
    engine: Engine | None = None,
    root: Path | None = None,
    adopt: bool = False,
) -> AsyncGenerator[VaultHarness]:
    """Open a data folder with its notes, which are in it unless `root` names another folder."""
    engine = wiring.engine if wiring is not None else engine
    if engine is None:
        async with (
            open_wiring(home, index=False, rules=rules) as opened,
            open_harness(home, wiring=opened, root=root, adopt=adopt) as harness,
        ):
            yield harness
        return
    root = root or home / "notes"
    async with open_vault(
        engine, folder=root, ledger=home / "index" / "notes.db", space=SPACE, home=str(home), adopt=adopt
    ) as vault:
        yield VaultHarness(engine=engine, vault=vault, root=root)
