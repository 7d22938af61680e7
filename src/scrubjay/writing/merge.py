"""Two memories become one: all that the first says as it is, then what the second adds. Nothing is lost."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from scrubjay.model.memory import Json, Memory, Merged, Observation, Source
from scrubjay.text.claims import claims_of, differences
from scrubjay.text.statements import Statement, closed, gap_after, key_of, rejoined, split_statements, statements_of
from scrubjay.text.tokens import terms_of

__all__ = ["kept_apart", "merge", "source_words"]

_MOST_TAGS = 8
# What is shorter may mean anything within another sentence.
_LEAST_WORDS = 3
_LONGEST_SEARCHED = 100_000
# A sentence with one of these does not claim what it contains.
_HEDGES = frozenset(
    """
    if unless whether may might could would should maybe perhaps probably think thinks thought believe believes say said
    says claim claims claimed seems wants want hope hopes plan plans planned try tried tries except only until before
    almost nearly used likely once why how when instead rather
    """.split()
)
# The flag of texts that say little: what was added to says more.
_THIN = "thin"


def merge(memory: Memory, incoming: Memory, *, at: datetime, most_tags: int = _MOST_TAGS) -> Memory:
    """The first memory's next version with all that the second says besides; the first itself if that is nothing.

    The first goes before in whatever can have one value only; `kept_apart` tells what of the second is left to its own
    record then.
    """
    statements = _new_statements(memory, incoming)
    content = _with_added(memory.content, incoming.content, statements)
    observations = _new_observations(memory, incoming, content)
    tags = _tags(memory.tags, incoming.tags, most=most_tags)
    fields: dict[str, str] = {
        name: getattr(memory, name) or getattr(incoming, name)
        for name in ("title", "kind", "category", "project", "scope", "entity")
    }
    metadata: dict[str, Json] = {**incoming.metadata, **memory.metadata}
    flags = tuple(dict.fromkeys(one for one in (*memory.flags, *incoming.flags) if one != _THIN))
    merged = replace(
        memory,
        **fields,
        content=content,
        observations=(*memory.observations, *observations),
        tags=tags,
        metadata=metadata,
        flags=flags if statements or observations else memory.flags,
    )
    if merged == memory:
        return memory
    added = (*(one.text for one in statements), *(one.text for one in observations))
    entry = Merged(id=incoming.id, at=at, source=incoming.source, statements=added)
    return replace(merged, merged=(*memory.merged, entry), version=memory.version + 1, updated_at=at, last_confirmed=at)


def kept_apart(memory: Memory, incoming: Memory) -> tuple[str, ...]:
    """The metadata keys whose values differ: what the second says of them stays in its own record."""
    return tuple(
        key for key, value in incoming.metadata.items() if key in memory.metadata and memory.metadata[key] != value
    )


def source_words(source: Source) -> str:
    """Who said something and in which session, in a few words."""
    return " \u00b7 ".join(part for part in (source.agent, source.session) if part)


def _new_statements(memory: Memory, incoming: Memory) -> list[Statement]:
    known = _Known([*statements_of(memory.content), *(one.text for one in memory.observations)])
    return [one for one in _titled(memory, incoming) if known.takes(one.text)]


def _titled(memory: Memory, incoming: Memory) -> list[Statement]:
    """The statements of a memory; first its title, if that tells more and the other has one of its own."""
    statements = list(split_statements(incoming.content))
    if not memory.title or not incoming.title or key_of(memory.title) == key_of(incoming.title):
        return statements
    texts = [memory.title, memory.content, incoming.content]
    texts += [one.text for one in (*memory.observations, *incoming.observations)]
    told = {term for text in texts for term in terms_of(text)}
    if told.issuperset(terms_of(incoming.title)):
        return statements
    # A colon at its end would make it the head of what follows.
    return [Statement(incoming.title.strip("# :"), -1), *statements]


def _with_added(content: str, incoming: str, statements: Sequence[Statement]) -> str:
    if not statements:
        return content
    whole = len(statements) == len(split_statements(incoming)) and statements[0].block >= 0
    addition = closed(incoming.strip("\n")) if whole else rejoined(statements)
    return content + gap_after(content) + addition if content.strip() else addition


def _new_observations(memory: Memory, incoming: Memory, content: str) -> list[Observation]:
    known = _Known([*statements_of(content), *(one.text for one in memory.observations)])
    source = source_words(incoming.source)
    return [
        one if one.source else replace(one, source=source) for one in incoming.observations if known.takes(one.text)
    ]


def _tags(first: tuple[str, ...], second: tuple[str, ...], *, most: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))[: max(most, len(first))]


class _Known:
    """What was said already."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._keys = dict.fromkeys(key_of(text) for text in texts)
        # In what is longer than a note, only what is the same word for word is looked for: it may be a book.
        self._looks_inside = sum(map(len, self._keys)) < _LONGEST_SEARCHED

    def takes(self, statement: str) -> bool:
        """Whether a statement is new; it is known from now on."""
        key = key_of(statement)
        if key in self._keys or (self._looks_inside and any(_covers(known, key) for known in self._keys)):
            return False
        self._keys[key] = None
        return True


def _covers(longer: str, key: str) -> bool:
    """Whether a statement contains another one and claims it: not with a doubt, a condition or a negation."""
    if key not in longer or key.count(" ") + 1 < _LEAST_WORDS or "```" in longer:
        return False
    before, found, after = f" {longer} ".partition(f" {key} ")
    return (
        bool(found)
        and not _HEDGES.intersection((*before.split(), *after.split()))
        and not differences(claims_of(key), claims_of(longer))
    )
