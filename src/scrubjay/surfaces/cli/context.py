"""`scrubjay context`: what an agent should know before it begins."""

from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.model.results import Context
from scrubjay.surfaces.cli.command import verb

app = typer.Typer()


@verb(app)
async def context(
    client: MemoryClient,
    *,
    session: Annotated[str, typer.Option(help="The session that begins: it is not told as the last one.")] = "",
    project: Annotated[str, typer.Option(help="The project: what was said last is told of it alone.")] = "",
    max_tokens: Annotated[int, typer.Option(help="What the answer may cost a model.")] = 1500,
) -> Context:
    """Print what an agent should know before it begins, as Markdown.

    Who the person is, what is pinned, what is due, what contradicts itself, and what the last session said.
    """
    return await client.context(session=session, project=project, max_tokens=max_tokens)
