"""Branches of a memory: begun, listed, switched to, merged and dropped."""

from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.model.branch import Branches, BranchMerged
from scrubjay.model.memory import MAIN
from scrubjay.surfaces.cli.command import verb
from scrubjay.surfaces.cli.history import Message, Ref

app = typer.Typer()

Name = Annotated[str, typer.Argument(help="Name of the branch.", show_default=False)]


@verb(app)
async def branch(
    client: MemoryClient,
    id: Ref,
    name: Name,
    *,
    description: Annotated[str, typer.Option("--description", "-d", help="What it is for.")] = "",
    at: Annotated[
        int | None, typer.Option(metavar="VERSION", help="Begin at this version of main, not at its newest.")
    ] = None,
    switch: Annotated[bool, typer.Option("--switch", "-s", help="Have the memory stand on it at once.")] = False,
) -> Branches:
    """Begin another line of versions of a memory. What is done there is not found on main until it is merged."""
    return await client.branch(id, name, description=description, at=at, switch=switch)


@verb(app)
async def branches(client: MemoryClient, id: Ref) -> Branches:
    """List the branches of a memory; a star stands before the one that it is switched to."""
    return await client.branches(id)


@verb(app)
async def switch(client: MemoryClient, id: Ref, name: Name) -> Branches:
    """Have a memory stand on another branch for whoever reads or changes it without naming one."""
    return await client.switch(id, name)


@verb(app, name="merge-branch")
async def merge_branch(
    client: MemoryClient,
    id: Ref,
    name: Name,
    *,
    into: Annotated[str, typer.Option(metavar="BRANCH", help="The branch that takes it in.")] = MAIN,
    prefer: Annotated[
        str, typer.Option(metavar="SIDE", help="Where both have changed the same: `ours` (into) or `theirs` wins.")
    ] = "",
    message: Message = "",
) -> BranchMerged:
    """Bring what a branch has changed into another. Where both have changed the same, nothing is done: exit code 4."""
    return await client.merge_branch(id, name, into=into, prefer=prefer, message=message)


@verb(app, name="drop-branch")
async def drop_branch(client: MemoryClient, id: Ref, name: Name) -> Branches:
    """Put a branch into the trash; main stays as it is."""
    return await client.drop_branch(id, name)
