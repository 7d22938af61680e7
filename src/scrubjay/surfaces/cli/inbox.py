"""`scrubjay inbox`: memories of agents that wait for a person's approval."""

from dataclasses import dataclass
from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Memory
from scrubjay.model.results import Outcome
from scrubjay.surfaces.cli.command import verb
from scrubjay.surfaces.cli.console import shorten
from scrubjay.surfaces.cli.verbs import DryRun

app = typer.Typer()
inbox_app = typer.Typer(help="Memories that wait for approval.", no_args_is_help=True)
app.add_typer(inbox_app, name="inbox")

_MAX_TEXT = 300
_MAX_MEMORIES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxList:
    """The waiting memories, the newest first."""

    memories: tuple[Memory, ...]

    def __str__(self) -> str:
        if not self.memories:
            return "the inbox is empty; `scrubjay rules set review=agents` sends memories of agents to it"
        return "\n".join(_describe(memory) for memory in self.memories)


@verb(inbox_app, name="list")
async def list_(
    client: MemoryClient,
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number of memories.")] = 50,
) -> InboxList:
    """List the waiting memories, the newest first."""
    return InboxList(memories=await client.inbox(limit=limit))


Refs = Annotated[list[str] | None, typer.Argument(help="Ids, names or titles; or --all.", show_default=False)]
All = Annotated[bool, typer.Option("--all", help="All waiting memories.")]
Reason = Annotated[str, typer.Option(help="Reason, recorded in the history.")]


@verb(inbox_app)
async def approve(
    client: MemoryClient, ids: Refs = None, *, everything: All = False, reason: Reason = "", dry_run: DryRun = False
) -> Outcome:
    """Approve waiting memories."""
    return await client.approve(await _select_ids(client, ids, everything=everything), reason=reason, dry_run=dry_run)


@verb(inbox_app)
async def decline(
    client: MemoryClient, ids: Refs = None, *, everything: All = False, reason: Reason = "", dry_run: DryRun = False
) -> Outcome:
    """Move waiting memories to the trash; `restore` brings them back."""
    return await client.decline(await _select_ids(client, ids, everything=everything), reason=reason, dry_run=dry_run)


async def _select_ids(client: MemoryClient, ids: list[str] | None, *, everything: bool) -> list[str]:
    if not everything:
        return ids or []
    if ids:
        raise InvalidInput("ids and --all exclude each other", hint="Give one of them", field="ids")
    return [memory.id for memory in await client.inbox(limit=_MAX_MEMORIES)]


def _describe(memory: Memory) -> str:
    by = f" by {memory.source.agent}" if memory.source.agent else ""
    about = f" [{memory.entity}]" if memory.entity else ""
    flags = f"  ({', '.join(memory.flags)})" if memory.flags else ""
    text = memory.content or "; ".join(observation.text for observation in memory.observations)
    head = f"{memory.label}{about}  {memory.created_at.date()}{by}{flags}"
    return f"{head}\n   {shorten(text, limit=_MAX_TEXT)}\n   {memory.id}"
