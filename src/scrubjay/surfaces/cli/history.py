"""Versions and branches of a memory: `history` (or `log`), `diff`, `commit`, `revert`, and the branch commands."""

from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput
from scrubjay.model.branch import Branches, BranchMerged, parse_version_or_branch
from scrubjay.model.memory import MAIN
from scrubjay.model.requests import MergeBranchRequest
from scrubjay.model.results import History, Written
from scrubjay.surfaces.cli.command import verb

app = typer.Typer()

Ref = Annotated[str, typer.Argument(help="Id, name or title.", show_default=False)]
OnBranch = Annotated[
    str,
    typer.Option("--branch", "-b", metavar="NAME", help="Branch to use. Default: the current branch of the memory."),
]
Message = Annotated[str, typer.Option("--message", "-m", help="Reason, recorded in the history.")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="Maximum number of versions.")]
Before = Annotated[
    int | None, typer.Option(metavar="VERSION", help="Only versions before this one, for the next page.")
]
VersionPair = Annotated[
    tuple[str, str] | None, typer.Option(metavar="A B", help="Show the changes from A to B, like `diff`.")
]
BranchName = Annotated[str, typer.Argument(help="Name of the branch.", show_default=False)]


@verb(app)
async def history(
    client: MemoryClient,
    id: Ref,
    *,
    limit: Limit = 20,
    before: Before = None,
    branch: OnBranch = "",
    diff: VersionPair = None,
) -> History:
    """List the versions of a memory, the newest first.

    Each line shows the time, the agent, the action and the message of a version.
    """
    if diff is not None:
        return await client.history(id, diff=[parse_version_or_branch(version) for version in diff], branch=branch)
    return await client.history(id, limit=limit, before=before, branch=branch)


@verb(app)
async def log(
    client: MemoryClient, id: Ref, *, limit: Limit = 20, before: Before = None, branch: OnBranch = ""
) -> History:
    """List the versions of a memory, like `history`."""
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
    """Show the changes between two versions of a memory.

    The changes are listed by field. A branch name means the newest version of the branch.
    """
    if a and b:
        return await client.history(id, diff=[parse_version_or_branch(a), parse_version_or_branch(b)], branch=branch)
    newest = (await client.history(id, limit=1, branch=branch)).versions[0]
    if not a and newest.parent is None:
        raise InvalidInput(
            f"{newest.memory.name!r} has only one version", hint="Change it first, or name the versions to compare"
        )
    first = parse_version_or_branch(a) if a else newest.parent or newest.number
    return await client.history(id, diff=[first, newest.number], branch=branch)


@verb(app)
async def commit(
    client: MemoryClient,
    id: Ref,
    *,
    message: Annotated[str, typer.Option("--message", "-m", help="Description of this version.", show_default=False)],
    branch: OnBranch = "",
) -> Written:
    """Mark the current state of a memory with a message.

    This adds a version with the same content.
    """
    return await client.commit(id, message=message, branch=branch)


@verb(app)
async def revert(
    client: MemoryClient,
    id: Ref,
    *,
    to: Annotated[int, typer.Option(help="The version to restore.", show_default=False)],
    message: Message = "",
    branch: OnBranch = "",
) -> Written:
    """Restore an old version of a memory as a new version."""
    return await client.revert(id, to=to, message=message, branch=branch)


@verb(app)
async def branch(
    client: MemoryClient,
    id: Ref,
    name: BranchName,
    *,
    description: Annotated[str, typer.Option("--description", "-d", help="Purpose of the branch.")] = "",
    at: Annotated[
        int | None, typer.Option(metavar="VERSION", help="Start at this version of main. Default: the newest.")
    ] = None,
    switch: Annotated[bool, typer.Option("--switch", "-s", help="Switch the memory to the branch at once.")] = False,
) -> Branches:
    """Start a branch of a memory.

    Changes on the branch are not visible on main until you merge it.
    """
    return await client.branch(id, name, description=description, at=at, switch=switch)


@verb(app)
async def branches(client: MemoryClient, id: Ref) -> Branches:
    """List the branches of a memory; a star marks the current one."""
    return await client.branches(id)


@verb(app)
async def switch(client: MemoryClient, id: Ref, name: BranchName) -> Branches:
    """Switch a memory to another branch.

    Reads and changes that name no branch then use this one.
    """
    return await client.switch(id, name)


@verb(app, name="merge-branch")
async def merge_branch(
    client: MemoryClient,
    id: Ref,
    name: BranchName,
    *,
    into: Annotated[str, typer.Option(metavar="BRANCH", help="Target branch.")] = MAIN,
    prefer: Annotated[
        str, typer.Option(metavar="SIDE", help="Winner of conflicts: `ours` (the target branch) or `theirs`.")
    ] = "",
    message: Message = "",
) -> BranchMerged:
    """Merge the changes of a branch into another.

    If both branches changed the same part, nothing is merged and the exit code is 4.
    """
    return await client.call(MergeBranchRequest.of(id=id, name=name, into=into, prefer=prefer, message=message))


@verb(app, name="drop-branch")
async def drop_branch(client: MemoryClient, id: Ref, name: BranchName) -> Branches:
    """Move a branch to the trash; main does not change."""
    return await client.drop_branch(id, name)
