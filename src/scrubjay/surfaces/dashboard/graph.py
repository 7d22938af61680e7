"""The graph of memories: a neighbourhood or a filtered set, as a page and as data for its canvas."""

from collections import Counter

from starlette.responses import JSONResponse, Response

from scrubjay.model.query import Filter
from scrubjay.model.relation import Network
from scrubjay.model.requests import GraphRequest
from scrubjay.surfaces.dashboard.memories import FILTERS, filter_of
from scrubjay.surfaces.dashboard.page import HEADERS, PageCall

__all__ = ["data", "graph"]

MAX_NODES = 5_000
"""So many memories are drawn; the page says if there are more."""
_MAX_STARTS = 1_000
_LISTED = 100
_MAX_DEPTH = 6


async def graph(page: PageCall) -> Response:
    """Show the graph, and its best connected memories as a list for those who cannot see it drawn."""
    network = await _network(page)
    degrees = Counter(end for edge in network.edges for end in (edge.source, edge.target))
    nodes = sorted(network.nodes, key=lambda node: (-degrees[node.id], node.name))[:_LISTED]
    return page.render(
        "graph.html", network=network, listed=[(node, degrees[node.id]) for node in nodes], id=page.text("id"),
        depth=_depth(page), conditions={name: page.texts(name) for name in FILTERS if page.texts(name)},
        data_address=page.address("graph-data", **{k: page.texts(k) for k in ("id", "depth", *FILTERS)}),
    )  # fmt: skip


async def data(page: PageCall) -> Response:
    """Return the nodes and, as pairs of their places, the edges."""
    network = await _network(page)
    places = {node.id: place for place, node in enumerate(network.nodes)}
    return JSONResponse(
        {
            "nodes": [
                {"id": node.id, "label": node.title or node.name, "kind": node.kind, "start": node.distance == 0}
                for node in network.nodes
            ],
            "edges": [
                [places[edge.source], places[edge.target], edge.type]
                for edge in network.edges
                if edge.source in places and edge.target in places
            ],
            "truncated": network.truncated,
        },
        headers=HEADERS,
    )


async def _network(page: PageCall) -> Network:
    starts = page.texts("id")
    if not starts:
        conditions = {name: page.texts(name) for name in FILTERS if page.texts(name)}
        chosen: Filter = filter_of(conditions)
        reader, space = page.dependencies.engine.reader, page.context.who.space
        starts = await page.context.read("graph", reader.list_ids(space, chosen, limit=_MAX_STARTS))
    if not starts:
        return Network(nodes=(), edges=())
    return await page.call(GraphRequest(ids=tuple(starts), depth=_depth(page), limit=MAX_NODES))


def _depth(page: PageCall) -> int:
    return min(page.number("depth") or 2, _MAX_DEPTH)
