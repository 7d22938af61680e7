"""The past of a memory: `history` (or `log`), `diff`, `commit` and `revert`."""

from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput
from scrubjay.model.branch import parse_version_or_branch
from scrubjay.model.results import History, Written
from scrubjay.surfaces.cli.command import verb

app = typer.Typer()

Ref = Annotated[str, typer.Argument(help="Id, name or title.", show_default=False)]
OnBranch = Annotated[
    str, typer.Option("--branch", "-b", metavar="NAME", help="On this branch. Default: the one it is switched to.")
]
Message = Annotated[str, typer.Option("--message", "-m", help="Why, for the history.")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="How many versions at most.")]
Before = Annotated[int | None, typer.Option(metavar="VERSION", help="Only versions before this one: the next page.")]
Two = Annotated[tuple[str, str] | None, typer.Option(metavar="A B", help="How A became B; the same as `diff`.")]


@verb(app)
async def history(
    client: MemoryClient, id: Ref, *, limit: Limit = 20, before: Before = None, branch: OnBranch = "", diff: Two = None
) -> History:
    """Show the versions of a memory, the newest first: when, by whom, what was done and why."""
    if diff is not None:
        return await client.history(id, diff=[parse_version_or_branch(one) for one in diff], branch=branch)
    return await client.history(id, limit=limit, before=before, branch=branch)


@verb(app)
async def log(
    client: MemoryClient, id: Ref, *, limit: Limit = 20, before: Before = None, branch: OnBranch = ""
) -> History:
    """The same as `history`."""
    return await client.history(id, limit=limit, before=before, branch=branch)


@verb(app)
async def diff(
    client: MemoryClient,
    id: Ref,
    a: Annotated[
        str, typer.Argument(help="Version or branch. Default: the version before the newest.", show_default=False)
    ] = "",
    b: Annotated[str, typer.Argument(help="Version or branch. Default: the newest version.", show_default=False)] = "",
    *,
    branch: OnBranch = "",
) -> History:
    """Show how one version of a memory became another, field by field; a branch stands for its newest version."""
    if a and b:
        return await client.history(id, diff=[parse_version_or_branch(a), parse_version_or_branch(b)], branch=branch)
    newest = (await client.history(id, limit=1, branch=branch)).versions[0]
    if not a and newest.parent is None:
        raise InvalidInput(f"{newest.memory.name!r} has one version only", hint="There is nothing to compare it with")
    first = parse_version_or_branch(a) if a else newest.parent or newest.number
    return await client.history(id, diff=[first, newest.number], branch=branch)


@verb(app)
async def commit(
    client: MemoryClient,
    id: Ref,
    *,
    message: Annotated[str, typer.Option("--message", "-m", help="What this version is.", show_default=False)],
    branch: OnBranch = "",
) -> Written:
    """Mark a memory as it is now with a message: a new version that says the same."""
    return await client.commit(id, message=message, branch=branch)


@verb(app)
async def revert(
    client: MemoryClient,
    id: Ref,
    *,
    to: Annotated[int, typer.Option(help="The version to go back to.", show_default=False)],
    message: Message = "",
    branch: OnBranch = "",
) -> Written:
    """Go back to a version, as a new one: nothing is lost by it."""
    return await client.revert(id, to=to, message=message, branch=branch)
