"""The answer fits its budget: first what matters most, then as much as there is room for."""

from collections.abc import Sequence
from dataclasses import replace

from scrubjay.model.memory import Memory
from scrubjay.model.results import Hit
from scrubjay.text.cost import estimate_tokens, reach

_ELLIPSIS = " …"


def fit(hits: Sequence[Hit], *, max_tokens: int) -> tuple[list[Hit], int]:
    """As many hits as fit, in order, and what they cost; the first is cut if that makes it fit."""
    kept: list[Hit] = []
    spent = 0
    for hit in hits:
        shown = hit if kept or cost_of(hit) <= max_tokens else _cut(hit, max_tokens)
        cost = cost_of(shown)
        if spent + cost > max_tokens:
            break
        kept.append(shown)
        spent += cost
    return kept, spent


def cost_of(hit: Hit) -> int:
    """What a hit costs the model that reads it."""
    line = " ".join((hit.id, hit.name, hit.title, hit.passage, *hit.entities, *hit.why, hit.date.isoformat()))
    return estimate_tokens(line) + (_cost_of_memory(hit.memory) if hit.memory else 0)


def _cost_of_memory(memory: Memory) -> int:
    return estimate_tokens(memory.content) + sum(estimate_tokens(one.text) for one in memory.observations)


def _cut(hit: Hit, max_tokens: int) -> Hit:
    whole = replace(hit, memory=None)
    if cost_of(whole) <= max_tokens:
        return whole
    room = max_tokens - cost_of(replace(whole, passage=_ELLIPSIS))
    return replace(whole, passage=hit.passage[: reach(hit.passage, tokens=room)] + _ELLIPSIS)
