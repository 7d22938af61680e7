"""Merge two memories without losing anything: the first stays as it is, the additions of the second follow.

Each statement keeps its source; a more trusted source takes over the statements that it repeats.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from scrubjay.model.memory import Flag, Json, Memory, Merged, Observation, Source
from scrubjay.text.claims.extract import claims_of
from scrubjay.text.claims.statements import (
    TextStatement,
    close_fence,
    comparison_key,
    gap_after,
    join_statements,
    parts_of,
    split_statements,
    statements_of,
)
from scrubjay.text.names import names_in
from scrubjay.text.tokens import terms_of

__all__ = ["as_one_statement", "merge", "not_merged", "rewrite_source", "take_over"]

_MAX_TAGS = 8
_FIGURE = re.compile(r"\d[\d.,:]*")
_SINGLE_FIELDS = ("title", "category", "project", "scope", "entity")
# The labels by which a memory is shown.
_SHOWN_LABELS = ("title", "name", "entity")
# The kind of a memory whose caller named none.
_DEFAULT_KIND = "note"


def merge(memory: Memory, incoming: Memory, *, at: datetime, max_tags: int = _MAX_TAGS) -> Memory:
    """Return the first memory's next version with the additions of the second; the first itself if there are none.

    The first takes precedence in fields with one value; `not_merged` names the fields that stay in the second's own
    record. That record alone is reason for a next version: the version names it.

    A text has one source. Additions from a source that is trusted more, or less, become observations with theirs.
    """
    before, memory = memory, take_over(memory, incoming, at=at)
    if memory.source != before.source:
        incoming = replace(incoming, source=memory.source)
    is_above = incoming.source.trust.outranks(memory.source.trust)
    statements = _new_statements(memory, incoming, ignore_content=is_above)
    if is_above or memory.source.trust.outranks(incoming.source.trust):
        content, additions = memory.content, [
            Observation(text=statement.text, recorded_at=incoming.date, source=incoming.source)
            for statement in statements
        ]  # fmt: skip
    else:
        content, additions = _append(memory.content, incoming.content, statements), []
    observations = [*additions, *_new_observations(memory, incoming, content, additions=additions)]
    fields: dict[str, str] = {
        name: getattr(memory, name) or getattr(incoming, name) for name in (*_SINGLE_FIELDS, "kind")
    }
    if _is_less_trusted(incoming, memory):
        fields["title"] = memory.title
    metadata: dict[str, Json] = {**incoming.metadata, **memory.metadata}
    flags = tuple(dict.fromkeys(flag for flag in (*memory.flags, *incoming.flags) if flag != Flag.THIN))
    merged = replace(
        memory,
        **fields,
        content=content,
        observations=(*memory.observations, *observations),
        tags=_merge_tags(memory.tags, incoming.tags, most=max_tags),
        metadata=metadata,
        flags=flags if statements or observations else memory.flags,
    )
    leaves_fields = bool(not_merged(memory, incoming, max_tags=max_tags))
    if merged == before and (not leaves_fields or any(part.id == incoming.id for part in memory.merged)):
        return before
    texts = (*(statement.text for statement in statements), *(observation.text for observation in observations))
    part = Merged(id=incoming.id, at=at, source=incoming.source, statements=tuple(dict.fromkeys(texts)))
    return replace(
        merged, merged=(*memory.merged, part), version=memory.version + 1, updated_at=max(at, memory.updated_at),
        last_confirmed=at,
    )  # fmt: skip


def as_one_statement(merged: Memory, memory: Memory, incoming: Memory) -> Memory:
    """Return a merged memory with one wording where both said one thing: the fullest, or the more trusted one.

    The others stay in its history and in the merged record. A wording with a name or a figure of its own stays.
    """
    wordings = [memory.content.strip(), incoming.content.strip()]
    is_single = all(len(statements_of(text)) == 1 for text in wordings)
    if merged is memory or not is_single or _title_adds(memory, incoming):
        return merged
    # Of equal ones the first stays.
    fullest, other = sorted(wordings, key=lambda text: len(set(terms_of(text))), reverse=True)
    ours, theirs = memory.source.trust, incoming.source.trust
    is_equal = not ours.outranks(theirs) and not theirs.outranks(ours)
    content = fullest if is_equal else merged.content.strip()
    if content not in wordings or not _restates(other if content == fullest else fullest, content):
        return merged
    added = {text for text in wordings if text != content}
    observations = tuple(
        entry for entry in merged.observations if entry in memory.observations or entry.text not in added
    )  # fmt: skip
    texts = {content, *(entry.text for entry in observations)}
    *parts, part = merged.merged
    part = replace(part, statements=tuple(text for text in part.statements if text in texts))
    return replace(merged, content=content, observations=observations, merged=(*parts, part))


def not_merged(memory: Memory, incoming: Memory, *, max_tags: int = _MAX_TAGS) -> tuple[str, ...]:
    """Return the parts of the second that the first has no place for: fields with other values, tags over the limit."""
    fields = [name for name in _SINGLE_FIELDS if _differs(getattr(memory, name), getattr(incoming, name))]
    if "title" in fields and _title_adds(memory, incoming):
        fields.remove("title")
    if incoming.title and not memory.title and _is_less_trusted(incoming, memory):
        fields.append("title")
    if incoming.kind not in (memory.kind, _DEFAULT_KIND):
        fields.append("kind")
    tags = _merge_tags(memory.tags, incoming.tags, most=max_tags)
    return (
        *fields,
        *(
            f"metadata {key}"
            for key, value in incoming.metadata.items()
            if key in memory.metadata and not _is_equal(memory.metadata[key], value)
        ),
        *(f"tag {tag}" for tag in incoming.tags if tag not in tags),
    )


def take_over(memory: Memory, incoming: Memory, *, at: datetime) -> Memory:
    """Return the memory with the source of the incoming one where that is trusted more and says the same.

    If the incoming memory repeats the whole text, or both are one sentence, the memory gets its source and text, and
    the other observations keep theirs. Else only the repeated observations get its source.
    """
    keys = {
        *map(comparison_key, statements_of(incoming.content)),
        *(comparison_key(observation.text) for observation in incoming.current_observations(at)),
    }
    source = replace(incoming.source, at=incoming.source.at or at)
    if not source.trust.outranks(memory.source.trust):
        return _take_over_observations(memory, keys, source, at=at)
    statements = statements_of(memory.content)
    texts = statements or tuple(
        observation.text for observation in memory.observations if observation.source is None and observation.holds(at)
    )
    if texts and all(comparison_key(text) in keys for text in texts):
        return _take_over_memory(memory, keys, source, at=at)
    if len(statements) == len(statements_of(incoming.content)) == 1:
        taken = _take_over_memory(memory, keys, source, at=at)
        former = Observation(text=memory.content.strip(), recorded_at=memory.date, source=memory.source)
        return replace(taken, content=incoming.content, observations=(former, *taken.observations))
    return _take_over_observations(memory, keys, source, at=at)


def rewrite_source(before: Memory, after: Memory, source: Source | None, *, by_agent: bool = False) -> Memory:
    """Give a rewritten text the source of the edit, if that is trusted more or less than the former one.

    `by_agent`: the edit is made with an agent's token, whose title must not stand over the words of the user.
    """
    is_renamed = by_agent and any(getattr(before, name) != getattr(after, name) for name in _SHOWN_LABELS)
    if source is None or (after.content in ("", before.content) and not is_renamed):
        return after
    ours, theirs = before.source.trust, source.trust
    if not ours.outranks(theirs) and not theirs.outranks(ours):
        return after
    rewritten = replace(before.source, trust=theirs, agent=source.agent, method=source.method)
    observations = tuple(
        replace(observation, source=observation.source or before.source) for observation in after.observations
    )
    return replace(after, source=rewritten, observations=observations)


def _take_over_memory(memory: Memory, keys: set[str], source: Source, *, at: datetime) -> Memory:
    """Give the memory a source; observations that the source did not make keep theirs."""
    observations = tuple(
        replace(
            observation,
            source=None
            if _is_taken_over(observation, memory, keys, source, at=at)
            else observation.source or memory.source,
        )
        for observation in memory.observations
    )
    return replace(memory, source=source, observations=observations)


def _take_over_observations(memory: Memory, keys: set[str], source: Source, *, at: datetime) -> Memory:
    observations = tuple(
        replace(observation, source=source) if _is_taken_over(observation, memory, keys, source, at=at) else observation
        for observation in memory.observations
    )
    return memory if observations == memory.observations else replace(memory, observations=observations)


def _is_taken_over(
    observation: Observation, memory: Memory, keys: set[str], source: Source, *, at: datetime
) -> bool:  # fmt: skip
    is_repeated = observation.holds(at) and comparison_key(observation.text) in keys
    return is_repeated and source.trust.outranks((observation.source or memory.source).trust)


def _new_statements(memory: Memory, incoming: Memory, *, ignore_content: bool) -> list[TextStatement]:
    """Return the statements of the second that the first lacks, its title first if that adds something."""
    content = () if ignore_content else statements_of(memory.content)
    statement_keys = _StatementKeys([*content, *(observation.text for observation in memory.observations)])
    statements = list(split_statements(incoming.content))
    if _title_adds(memory, incoming):
        # A colon at its end would make it the heading of the rest.
        statements.insert(0, TextStatement(incoming.title.strip("# :"), -1))
    return [statement for statement in statements if statement_keys.add(statement.text)]


def _title_adds(memory: Memory, incoming: Memory) -> bool:
    """Check whether the second has another title, with words that occur nowhere else."""
    if not _differs(memory.title, incoming.title):
        return False
    if claims_of(incoming.title).negations:
        # Terms do not show a negation.
        return True
    texts = [memory.title, memory.content, incoming.content]
    texts += [observation.text for observation in (*memory.observations, *incoming.observations)]
    terms = {term for text in texts for term in terms_of(text)}
    return not terms.issuperset(terms_of(incoming.title))


def _append(content: str, incoming: str, statements: Sequence[TextStatement]) -> str:
    if not statements:
        return content
    is_whole = len(statements) == len(split_statements(incoming)) and statements[0].block >= 0
    addition = close_fence(incoming.strip("\n")) if is_whole else join_statements(statements)
    return content + gap_after(content) + addition if content.strip() else addition


def _new_observations(
    memory: Memory, incoming: Memory, content: str, *, additions: Sequence[Observation]
) -> list[Observation]:
    texts = (observation.text for observation in (*memory.observations, *additions))
    statement_keys = _StatementKeys([*statements_of(content), *texts])
    # An observation with another end is another observation.
    ends = {(comparison_key(observation.text), observation.valid_until) for observation in memory.observations}
    # An observation without a source has the memory's.
    source = None if incoming.source == memory.source else incoming.source
    return [
        observation if observation.source else replace(observation, source=source)
        for observation in incoming.observations
        if statement_keys.add(observation.text)
        or (observation.valid_until and (comparison_key(observation.text), observation.valid_until) not in ends)
    ]


def _merge_tags(first: tuple[str, ...], second: tuple[str, ...], *, most: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))[: max(most, len(first))]


def _is_less_trusted(incoming: Memory, memory: Memory) -> bool:
    return memory.source.trust.outranks(incoming.source.trust)


def _restates(text: str, content: str) -> bool:
    """Check whether a text says nothing that another wording lacks: no name, no figure, no negation."""
    values, others = ({*map(str.casefold, names_in(each)), *_FIGURE.findall(each)} for each in (text, content))
    return values <= others and claims_of(text).negations == claims_of(content).negations


def _differs(value: str, other: str) -> bool:
    return bool(value and other) and value.casefold().split() != other.casefold().split()


def _is_equal(value: Json, other: Json) -> bool:
    # In Python True equals 1 and 1.0; in JSON it does not.
    return json.dumps(value, sort_keys=True) == json.dumps(other, sort_keys=True)


class _StatementKeys:
    """A set of statements, and of the parts that each of them claims."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._keys = {key for text in texts for key in _keys(text)}

    def add(self, statement: str) -> bool:
        """Add a statement; return whether it was new."""
        if comparison_key(statement) in self._keys:
            return False
        self._keys.update(_keys(statement))
        return True


def _keys(statement: str) -> Iterator[str]:
    yield comparison_key(statement)
    yield from map(comparison_key, parts_of(statement))
