"""All that a memory says, in whatever field: what is judged by its words is judged by all of them, everywhere alike."""

from collections.abc import Iterator, Sequence
from typing import cast

from scrubjay.model.draft import Draft
from scrubjay.model.memory import Json, Memory

__all__ = ["draft_texts", "memory_texts", "source_texts", "strings_in"]

# More than metadata can have.
_MOST_PARTS = 100_000
_LABELS = ("title", "name", "kind", "category", "project", "scope")
_SOURCE = ("session", "conversation", "agent", "tool")


def draft_texts(draft: Draft, *, apart: bool = False) -> Iterator[str]:
    """The texts of a draft. `apart`: each of a list by itself; else a list is one text with a line for each."""
    yield draft.text
    yield from (str(getattr(draft, name)) for name in _LABELS)
    for several in (draft.observations, draft.entities, draft.tags):
        yield from several if apart else ("\n".join(several),)
    yield from (text for _, text in strings_in(dict(draft.metadata)))


def memory_texts(memory: Memory, *, apart: bool = False) -> Iterator[str]:
    """The same of a memory."""
    yield memory.content
    yield from (str(getattr(memory, name)) for name in _LABELS)
    yield memory.entity
    for several in (tuple(observation.text for observation in memory.observations), memory.tags):
        yield from several if apart else ("\n".join(several),)
    yield from (text for _, text in strings_in(dict(memory.metadata)))


def source_texts(thing: Draft | Memory) -> Iterator[str]:
    """Where it comes from, as far as that is a text."""
    return (str(getattr(thing.source, name)) for name in _SOURCE)


def strings_in(value: Json) -> Iterator[tuple[str, str]]:
    """The texts in a value and its names, each with the name it stands under. It may be deep, or have no end."""
    waiting: list[tuple[str, object]] = [("", value)]
    for _ in range(_MOST_PARTS):
        if not waiting:
            return
        name, one = waiting.pop()
        if isinstance(one, str):
            yield name, one
        elif isinstance(one, dict):
            named = cast("dict[str, object]", one)
            yield from (("", key) for key in named)
            waiting += named.items()
        elif isinstance(one, list | tuple):
            waiting += ((name, each) for each in cast("Sequence[object]", one))
