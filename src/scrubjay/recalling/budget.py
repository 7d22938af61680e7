"""Fits an answer into its token budget: the best hits first, as many as there is room for."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from scrubjay.model.memory import Memory
from scrubjay.model.results import Hit, Neighbour
from scrubjay.text.cost import end_within, estimate_tokens

_ELLIPSIS = " …"


def fit(hits: Sequence[Hit], *, max_tokens: int) -> tuple[list[Hit], int]:
    """Return as many hits as fit, in order, and their cost in tokens.

    A hit that is too long loses its memory, then its neighbours; only the passage of the first hit is ever cut.
    """
    fitting: list[Hit] = []
    spent = 0
    for hit in hits:
        for shown in _shorter_variants(hit):
            cost = cost_of(shown)
            if spent + cost <= max_tokens:
                break
        else:
            cut = None if fitting else _cut(hit, max_tokens)
            if cut is None:
                break
            shown, cost = cut, cost_of(cut)
        fitting.append(shown)
        spent += cost
    return fitting, spent


def cost_of(hit: Hit) -> int:
    """Return the cost of a hit in tokens of the model that reads it."""
    line = " ".join((hit.id, hit.name, hit.title, hit.passage, hit.mark, *hit.entities, *hit.why, hit.date.isoformat()))
    around = sum(map(_cost_of_neighbour, hit.around)) if hit.around else 0
    return estimate_tokens(line) + around + (_cost_of_memory(hit.memory) if hit.memory else 0)


def _shorter_variants(hit: Hit) -> Iterator[Hit]:
    yield hit
    if hit.memory is not None:
        yield replace(hit, memory=None)
    if hit.around:
        yield replace(hit, memory=None, around=())


def _cost_of_neighbour(neighbour: Neighbour) -> int:
    return estimate_tokens(
        f"{neighbour.id} {neighbour.name} {neighbour.mark} {neighbour.passage} {neighbour.date.isoformat()}"
    )


def _cost_of_memory(memory: Memory) -> int:
    return estimate_tokens(memory.content) + sum(
        estimate_tokens(observation.text) for observation in memory.observations
    )


def _cut(hit: Hit, max_tokens: int) -> Hit | None:
    line = replace(hit, memory=None, around=())
    # One less, since the space before the ellipsis may be a token of its own.
    room = max_tokens - cost_of(replace(line, passage=_ELLIPSIS)) - 1
    cut = replace(line, passage=hit.passage[: end_within(hit.passage, tokens=room)] + _ELLIPSIS)
    return cut if cost_of(cut) <= max_tokens else None
