"""The answer fits its budget: first what matters most, then as much as there is room for."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from scrubjay.model.memory import Memory
from scrubjay.model.results import Hit, Neighbour
from scrubjay.text.cost import end_within, estimate_tokens

_ELLIPSIS = " …"


def fit(hits: Sequence[Hit], *, max_tokens: int) -> tuple[list[Hit], int]:
    """As many hits as fit, in order, and what they cost.

    One that is too long is told without its memory, then without what is around it; the first is cut if it must be.
    """
    kept: list[Hit] = []
    spent = 0
    for hit in hits:
        room = max_tokens - spent
        told = ((shorter, cost_of(shorter)) for shorter in _shorter(hit))
        shown, cost = next((one for one in told if one[1] <= room), (None, 0))
        if shown is None and not kept:
            shown = _cut(hit, max_tokens)
            cost = cost_of(shown) if shown is not None else 0
        if shown is None:
            break
        kept.append(shown)
        spent += cost
    return kept, spent


def cost_of(hit: Hit) -> int:
    """What a hit costs the model that reads it."""
    line = " ".join((hit.id, hit.name, hit.title, hit.passage, *hit.entities, *hit.why, hit.date.isoformat()))
    return (
        estimate_tokens(line)
        + sum(map(_cost_of_neighbour, hit.around))
        + (_cost_of_memory(hit.memory) if hit.memory else 0)
    )


def _shorter(hit: Hit) -> Iterator[Hit]:
    yield hit
    if hit.memory is not None:
        yield replace(hit, memory=None)
    if hit.around:
        yield replace(hit, memory=None, around=())


def _cost_of_neighbour(one: Neighbour) -> int:
    return estimate_tokens(f"{one.id} {one.name} {one.passage} {one.date.isoformat()}")


def _cost_of_memory(memory: Memory) -> int:
    return estimate_tokens(memory.content) + sum(
        estimate_tokens(observation.text) for observation in memory.observations
    )


def _cut(hit: Hit, max_tokens: int) -> Hit | None:
    line = replace(hit, memory=None, around=())
    # One less: the space before the ellipsis may count by itself.
    room = max_tokens - cost_of(replace(line, passage=_ELLIPSIS)) - 1
    cut = replace(line, passage=hit.passage[: end_within(hit.passage, tokens=room)] + _ELLIPSIS)
    return cut if cost_of(cut) <= max_tokens else None
