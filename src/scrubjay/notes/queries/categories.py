"""The categories of a space as a tree: `work/meetings` stands below `work`."""

from collections.abc import Mapping
from dataclasses import dataclass

from scrubjay.engine import Engine
from scrubjay.model.memory import State
from scrubjay.model.query import category_lineage

__all__ = ["Branch", "category_tree"]

_MOST = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A category, in lower case: how many notes are in it alone, and how many with all that is below it."""

    path: str
    name: str
    notes: int
    total: int
    children: tuple["Branch", ...] = ()


async def category_tree(*, engine: Engine, space: str) -> tuple[Branch, ...]:
    """All categories of live notes, in the order of their names."""
    counted = dict(await engine.store.facet_values(space, "category", state=State.LIVE, limit=_MOST))
    below: dict[str, set[str]] = {}
    for path in counted:
        # Also those that no note is in, of a category that is very deep.
        for one in (path, *_above(path)):
            below.setdefault(one.rpartition("/")[0], set()).add(one)
    return _branches("", below, counted)


def _above(path: str) -> tuple[str, ...]:
    parts = path.split("/")
    return tuple(dict.fromkeys((*category_lineage(path)[1:], *("/".join(parts[:end]) for end in range(1, len(parts))))))


def _branches(path: str, below: Mapping[str, set[str]], counted: Mapping[str, int]) -> tuple[Branch, ...]:
    return tuple(_branch(one, below, counted) for one in sorted(below.get(path, ())))


def _branch(path: str, below: Mapping[str, set[str]], counted: Mapping[str, int]) -> Branch:
    children = _branches(path, below, counted)
    further = sum(child.total for child in children)
    # A note counts in its category and in all above it.
    total = max(counted.get(path, 0), further)
    return Branch(
        path=path, name=path.rpartition("/")[2], notes=total - further, total=total, children=children
    )  # fmt: skip
