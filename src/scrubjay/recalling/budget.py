"""The answer fits its budget: first what matters most, then as much as there is room for."""

from collections.abc import Sequence
from dataclasses import replace

from scrubjay.model.memory import Memory
from scrubjay.model.results import Hit
from scrubjay.text.tokens import estimate_tokens

_ELLIPSIS = " …"
# Characters that surely fit into one token, for cutting a passage that alone is too long.
_CHARACTERS_A_TOKEN = 2


def fit(hits: Sequence[Hit], *, max_tokens: int) -> tuple[list[Hit], int]:
    """As many hits as fit, in order, and what they cost; the first is cut rather than left out."""
    kept: list[Hit] = []
    spent = 0
    for hit in hits:
        cost = cost_of(hit)
        if spent + cost > max_tokens:
            if kept:
                break
            hit = _cut(hit, max_tokens)  # noqa: PLW2901
            cost = min(cost_of(hit), max_tokens)
        kept.append(hit)
        spent += cost
    return kept, spent


def cost_of(hit: Hit) -> int:
    """What a hit costs the model that reads it."""
    line = " ".join((hit.id, hit.name, hit.title, hit.passage, *hit.entities, *hit.why, hit.date.isoformat()))
    return estimate_tokens(line) + (_cost_of_memory(hit.memory) if hit.memory else 0)


def _cost_of_memory(memory: Memory) -> int:
    return estimate_tokens(memory.content) + sum(estimate_tokens(one.text) for one in memory.observations)


def _cut(hit: Hit, max_tokens: int) -> Hit:
    bare = replace(hit, passage="", memory=None)
    room = max(0, max_tokens - cost_of(bare) - 2) * _CHARACTERS_A_TOKEN
    passage = hit.passage if len(hit.passage) <= room else hit.passage[:room] + _ELLIPSIS
    return replace(bare, passage=passage)
