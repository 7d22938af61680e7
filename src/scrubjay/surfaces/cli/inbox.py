"""`scrubjay inbox`: memories of agents that wait for a person's approval."""

from dataclasses import dataclass
from typing import Annotated, TypeVar

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Memory
from scrubjay.model.requests import ApproveRequest, DeclineRequest, InboxRequest
from scrubjay.model.results import Outcome
from scrubjay.surfaces.cli.command import Make, plain, verb
from scrubjay.surfaces.cli.console import shorten

app = typer.Typer()
inbox_app = typer.Typer(help="Memories that wait for approval.", no_args_is_help=True)
app.add_typer(inbox_app, name="inbox")

Decision = TypeVar("Decision", ApproveRequest, DeclineRequest)
All = Annotated[bool, typer.Option("--all", help="All waiting memories.")]
# A person approves what they have seen in the list, by its id.
_OMITS = ("filter", "group")
_HELPS = {"ids": "Ids, names or titles; or --all."}
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


def _inbox_list(memories: tuple[Memory, ...]) -> InboxList:
    return InboxList(memories=memories)


plain(inbox_app, InboxRequest, "List the waiting memories, the newest first.", shown=_inbox_list)


async def _selected(client: MemoryClient, make: Make[Decision], *, everything: bool) -> Decision:
    request = make()
    if not everything:
        return request
    if request.ids:
        raise InvalidInput("ids and --all exclude each other", hint="Give one of them", field="ids")
    return make(ids=[memory.id for memory in await client.inbox(limit=_MAX_MEMORIES)])


@verb(inbox_app, omits=_OMITS, helps=_HELPS)
async def approve(client: MemoryClient, make: Make[ApproveRequest], *, everything: All = False) -> Outcome:
    """Approve waiting memories."""
    return await client.call(await _selected(client, make, everything=everything))


@verb(inbox_app, omits=_OMITS, helps=_HELPS)
async def decline(client: MemoryClient, make: Make[DeclineRequest], *, everything: All = False) -> Outcome:
    """Move waiting memories to the trash; `restore` brings them back."""
    return await client.call(await _selected(client, make, everything=everything))


def _describe(memory: Memory) -> str:
    by = f" by {memory.source.agent}" if memory.source.agent else ""
    about = f" [{memory.entity}]" if memory.entity else ""
    flags = f"  ({', '.join(memory.flags)})" if memory.flags else ""
    text = memory.content or "; ".join(observation.text for observation in memory.observations)
    head = f"{memory.label}{about}  {memory.created_at.date()}{by}{flags}"
    return f"{head}\n   {shorten(text, limit=_MAX_TEXT)}\n   {memory.id}"
