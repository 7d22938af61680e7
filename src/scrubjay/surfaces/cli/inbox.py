"""`scrubjay inbox`: what agents have written, where a person says first whether it is kept."""

from dataclasses import dataclass
from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Memory
from scrubjay.model.results import Outcome
from scrubjay.surfaces.cli.command import verb
from scrubjay.surfaces.cli.verbs import DryRun

app = typer.Typer()
inbox_app = typer.Typer(help="Memories that wait for a person's yes.", no_args_is_help=True)
app.add_typer(inbox_app, name="inbox")

_LONGEST = 300
_MOST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What waits, the newest first."""

    memories: tuple[Memory, ...]

    def __str__(self) -> str:
        if not self.memories:
            return "nothing waits; `scrubjay rules set review=agents` has what agents write wait here"
        return "\n".join(_told(memory) for memory in self.memories)


@verb(inbox_app, name="list")
async def list_(
    client: MemoryClient,
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most.")] = 50,
) -> Waiting:
    """Show what waits."""
    return Waiting(memories=await client.inbox(limit=limit))


Refs = Annotated[list[str] | None, typer.Argument(help="Ids, names or titles; or --all.", show_default=False)]
All = Annotated[bool, typer.Option("--all", help="All that waits.")]
Reason = Annotated[str, typer.Option(help="Why, for the history.")]


@verb(inbox_app)
async def approve(
    client: MemoryClient, ids: Refs = None, *, everything: All = False, reason: Reason = "", dry_run: DryRun = False
) -> Outcome:
    """Keep memories that wait."""
    return await client.approve(await _chosen(client, ids, everything=everything), reason=reason, dry_run=dry_run)


@verb(inbox_app)
async def decline(
    client: MemoryClient, ids: Refs = None, *, everything: All = False, reason: Reason = "", dry_run: DryRun = False
) -> Outcome:
    """Put memories that wait into the trash; `restore` brings them back."""
    return await client.decline(await _chosen(client, ids, everything=everything), reason=reason, dry_run=dry_run)


async def _chosen(client: MemoryClient, ids: list[str] | None, *, everything: bool) -> list[str]:
    if not everything:
        return ids or []
    if ids:
        raise InvalidInput("give ids or --all, not both", field="ids")
    return [memory.id for memory in await client.inbox(limit=_MOST)]


def _told(memory: Memory) -> str:
    by = f" by {memory.source.agent}" if memory.source.agent else ""
    about = f" [{memory.entity}]" if memory.entity else ""
    flags = f"  ({', '.join(memory.flags)})" if memory.flags else ""
    text = " ".join((memory.content or "; ".join(observation.text for observation in memory.observations)).split())
    cut = text if len(text) <= _LONGEST else text[:_LONGEST].rstrip() + "…"
    return f"{memory.label}{about}  {memory.created_at.date()}{by}{flags}\n   {cut}\n   {memory.id}"
