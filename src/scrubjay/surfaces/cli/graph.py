"""Commands on the graph of relations: neighbours, neighbourhood, and shortest path."""

from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.model.relation import Network
from scrubjay.model.requests import GraphRequest, PathRequest, RelatedRequest
from scrubjay.surfaces.cli.command import verb
from scrubjay.surfaces.cli.render import RelationPath, RelationTree

app = typer.Typer()

Ref = Annotated[str, typer.Argument(help="Id, name or title.", show_default=False)]
Types = Annotated[
    list[str] | None,
    typer.Option("--type", "-t", metavar="NAME", help="Only relations of this type; repeatable."),
]
Direction = Annotated[
    str, typer.Option("--direction", metavar="out|in|both", help="Follow relations forwards, backwards, or both.")
]
Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", help="Maximum number of memories.")]
AsOf = Annotated[str | None, typer.Option("--as-of", metavar="TIME", help="Show the graph as of this time.")]


@verb(app)
async def related(
    client: MemoryClient,
    id: Ref,
    *,
    types: Types = None,
    direction: Direction = "both",
    limit: Limit = 200,
    as_of: AsOf = None,
) -> RelationTree:
    """List the memories related to a memory, the strongest first."""
    return _as_tree(
        await client.call(RelatedRequest.of(id=id, types=types or (), direction=direction, limit=limit, as_of=as_of))
    )


@verb(app)
async def graph(
    client: MemoryClient,
    ids: Annotated[list[str], typer.Argument(help="Ids, names or titles to start from.", show_default=False)],
    *,
    depth: Annotated[int, typer.Option("--depth", "-d", metavar="N", help="Maximum distance in relations.")] = 2,
    types: Types = None,
    direction: Direction = "both",
    limit: Limit = 200,
    as_of: AsOf = None,
) -> RelationTree:
    """Show the neighbourhood of memories as a tree.

    Each memory appears once, where it is nearest to a start.
    """
    network = await client.call(
        GraphRequest.of(ids=ids, depth=depth, types=types or (), direction=direction, limit=limit, as_of=as_of)
    )
    return _as_tree(network)


@verb(app)
async def path(
    client: MemoryClient,
    source: Ref,
    target: Ref,
    *,
    types: Types = None,
    direction: Direction = "both",
    most: Annotated[int, typer.Option("--most", metavar="N", help="Maximum number of relations.")] = 6,
    as_of: AsOf = None,
) -> RelationPath:
    """Show a shortest path from one memory to another."""
    network = await client.call(
        PathRequest.of(source=source, target=target, types=types or (), direction=direction, most=most, as_of=as_of)
    )
    return RelationPath(nodes=network.nodes, edges=network.edges, truncated=network.truncated)


def _as_tree(network: Network) -> RelationTree:
    return RelationTree(nodes=network.nodes, edges=network.edges, truncated=network.truncated)
