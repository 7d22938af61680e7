"""What relations lead to: beside a memory, around it, and from one to another."""

from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.model.relation import Network
from scrubjay.surfaces.cli.command import verb
from scrubjay.surfaces.cli.render_graph import Tree, Way

app = typer.Typer()

Ref = Annotated[str, typer.Argument(help="Id, name or title.", show_default=False)]
Types = Annotated[
    list[str] | None,
    typer.Option("--type", "-t", metavar="NAME", help="Only relations of this type; may be given again."),
]
Direction = Annotated[
    str, typer.Option("--direction", metavar="out|in|both", help="Along relations, against them, or both.")
]
Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many memories at most.")]
AsOf = Annotated[str | None, typer.Option("--as-of", metavar="TIME", help="As it was on that day.")]


@verb(app)
async def related(
    client: MemoryClient,
    id: Ref,
    *,
    types: Types = None,
    direction: Direction = "both",
    limit: Limit = 200,
    as_of: AsOf = None,
) -> Tree:
    """Show what relations of a memory lead to, the strongest first."""
    return _tree(await client.related(id, types=types or (), direction=direction, limit=limit, as_of=as_of))


@verb(app)
async def graph(
    client: MemoryClient,
    ids: Annotated[list[str], typer.Argument(help="Ids, names or titles to begin with.", show_default=False)],
    *,
    depth: Annotated[int, typer.Option("--depth", "-d", metavar="N", help="How many relations away at most.")] = 2,
    types: Types = None,
    direction: Direction = "both",
    limit: Limit = 200,
    as_of: AsOf = None,
) -> Tree:
    """Show what is around memories as a tree: each memory where it is nearest."""
    found = await client.graph(ids, depth=depth, types=types or (), direction=direction, limit=limit, as_of=as_of)
    return _tree(found)


@verb(app)
async def path(
    client: MemoryClient,
    source: Ref,
    target: Ref,
    *,
    types: Types = None,
    direction: Direction = "both",
    most: Annotated[int, typer.Option("--most", metavar="N", help="How many relations at most.")] = 6,
    as_of: AsOf = None,
) -> Way:
    """Show a shortest way from one memory to another."""
    found = await client.path(source, target, types=types or (), direction=direction, most=most, as_of=as_of)
    return Way(nodes=found.nodes, edges=found.edges, truncated=found.truncated)


def _tree(found: Network) -> Tree:
    return Tree(nodes=found.nodes, edges=found.edges, truncated=found.truncated)
