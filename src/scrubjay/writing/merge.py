"""Two memories become one: all that the first says as it is, then what the second adds. Nothing is lost."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from scrubjay.model.memory import Flag, Json, Memory, Merged, Observation
from scrubjay.text.claims.extract import claims_of
from scrubjay.text.claims.parts import parts_of
from scrubjay.text.claims.statements import (
    TextStatement,
    close_fence,
    comparison_key,
    gap_after,
    join_statements,
    split_statements,
    statements_of,
)
from scrubjay.text.tokens import terms_of
from scrubjay.writing.trust import restated

__all__ = ["kept_apart", "merge"]

_MOST_TAGS = 8
_ONE_VALUE = ("title", "category", "project", "scope", "entity")
# What a memory is of whose kind nobody said anything.
_PLAIN_KIND = "note"


def merge(memory: Memory, incoming: Memory, *, at: datetime, most_tags: int = _MOST_TAGS) -> Memory:
    """The first memory's next version with all that the second says besides; the first itself if that is nothing.

    The first goes before in whatever can have one value only; `kept_apart` tells what of the second is left to its own
    record then. For that alone there is a next version too: it says where the record is.

    A text has one source. What somebody adds whose word counts more, or less, becomes observations with theirs.
    """
    before, memory = memory, restated(memory, incoming, at=at)
    if memory.source != before.source:
        incoming = replace(incoming, source=memory.source)
    above = incoming.source.trust.outranks(memory.source.trust)
    statements = _new_statements(memory, incoming, anew=above)
    if above or memory.source.trust.outranks(incoming.source.trust):
        content, observed = memory.content, [_observation(statement, incoming) for statement in statements]
    else:
        content, observed = _with_added(memory.content, incoming.content, statements), []
    observations = [*observed, *_new_observations(memory, incoming, content, beside=observed)]
    tags = _tags(memory.tags, incoming.tags, most=most_tags)
    fields: dict[str, str] = {
        name: getattr(memory, name) or getattr(incoming, name)
        for name in ("title", "kind", "category", "project", "scope", "entity")
    }
    metadata: dict[str, Json] = {**incoming.metadata, **memory.metadata}
    flags = tuple(dict.fromkeys(one for one in (*memory.flags, *incoming.flags) if one != Flag.THIN))
    merged = replace(
        memory,
        **fields,
        content=content,
        observations=(*memory.observations, *observations),
        tags=tags,
        metadata=metadata,
        flags=flags if statements or observations else memory.flags,
    )
    apart = kept_apart(memory, incoming, most_tags=most_tags)
    if merged == before and (not apart or any(one.id == incoming.id for one in memory.merged)):
        return before
    added = tuple(
        dict.fromkeys(
            (*(statement.text for statement in statements), *(observation.text for observation in observations))
        )
    )
    entry = Merged(id=incoming.id, at=at, source=incoming.source, statements=added)
    return replace(
        merged, merged=(*memory.merged, entry), version=memory.version + 1, updated_at=max(at, memory.updated_at),
        last_confirmed=at,
    )  # fmt: skip


def kept_apart(memory: Memory, incoming: Memory, *, most_tags: int = _MOST_TAGS) -> tuple[str, ...]:
    """What of the second has no place in the first: fields and metadata of another value, and tags beyond the limit."""
    fields = [name for name in _ONE_VALUE if _differs(getattr(memory, name), getattr(incoming, name))]
    if "title" in fields and _title_tells_more(memory, incoming):
        fields.remove("title")
    if incoming.kind not in (memory.kind, _PLAIN_KIND):
        fields.append("kind")
    kept = _tags(memory.tags, incoming.tags, most=most_tags)
    return (
        *fields,
        *(
            f"metadata {key}"
            for key, value in incoming.metadata.items()
            if key in memory.metadata and not _is_equal(memory.metadata[key], value)
        ),
        *(f"tag {tag}" for tag in incoming.tags if tag not in kept),
    )


def _new_statements(memory: Memory, incoming: Memory, *, anew: bool) -> list[TextStatement]:
    """What the second says that the first does not; `anew`: what stands in its text counts as not said."""
    content = () if anew else statements_of(memory.content)
    known = _Known([*content, *(observation.text for observation in memory.observations)])
    return [one for one in _titled(memory, incoming) if known.takes(one.text)]


def _observation(statement: TextStatement, incoming: Memory) -> Observation:
    return Observation(text=statement.text, recorded_at=incoming.date, source=incoming.source)


def _titled(memory: Memory, incoming: Memory) -> list[TextStatement]:
    """The statements of a memory; first its title, if that tells more and the other has one of its own."""
    statements = list(split_statements(incoming.content))
    if not _title_tells_more(memory, incoming):
        return statements
    # A colon at its end would make it the head of what follows.
    return [TextStatement(incoming.title.strip("# :"), -1), *statements]


def _title_tells_more(memory: Memory, incoming: Memory) -> bool:
    if not _differs(memory.title, incoming.title):
        return False
    if claims_of(incoming.title).negations:
        # The terms do not tell a negation.
        return True
    texts = [memory.title, memory.content, incoming.content]
    texts += [one.text for one in (*memory.observations, *incoming.observations)]
    told = {term for text in texts for term in terms_of(text)}
    return not told.issuperset(terms_of(incoming.title))


def _with_added(content: str, incoming: str, statements: Sequence[TextStatement]) -> str:
    if not statements:
        return content
    whole = len(statements) == len(split_statements(incoming)) and statements[0].block >= 0
    addition = close_fence(incoming.strip("\n")) if whole else join_statements(statements)
    return content + gap_after(content) + addition if content.strip() else addition


def _new_observations(
    memory: Memory, incoming: Memory, content: str, *, beside: Sequence[Observation]
) -> list[Observation]:
    known = _Known([*statements_of(content), *(one.text for one in (*memory.observations, *beside))])
    # Until when something holds is part of it.
    until = {(comparison_key(observation.text), observation.valid_until) for observation in memory.observations}
    # Whose word it is stands beside it, unless that is whoever told the rest.
    source = None if incoming.source == memory.source else incoming.source
    return [
        observation if observation.source else replace(observation, source=source)
        for observation in incoming.observations
        if known.takes(observation.text)
        or (observation.valid_until and (comparison_key(observation.text), observation.valid_until) not in until)
    ]


def _tags(first: tuple[str, ...], second: tuple[str, ...], *, most: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))[: max(most, len(first))]


def _differs(mine: str, other: str) -> bool:
    return bool(mine and other) and mine.casefold().split() != other.casefold().split()


def _is_equal(mine: Json, other: Json) -> bool:
    # True is 1 and 1.0 in Python, but not where it is written down.
    return json.dumps(mine, sort_keys=True) == json.dumps(other, sort_keys=True)


class _Known:
    """What was said already: each statement, and the parts of it that it claims by themselves."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._keys = {key for text in texts for key in _keys(text)}

    def takes(self, statement: str) -> bool:
        """Whether a statement is new; it is known from now on."""
        if comparison_key(statement) in self._keys:
            return False
        self._keys.update(_keys(statement))
        return True


def _keys(statement: str) -> Iterator[str]:
    yield comparison_key(statement)
    yield from map(comparison_key, parts_of(statement))
