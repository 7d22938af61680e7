"""What becomes of a memory when one of its statements is superseded, leaves it, or gives way to another."""

import re
from dataclasses import replace
from datetime import datetime

from scrubjay.conflicts.statement import End
from scrubjay.errors import WrongState
from scrubjay.model.memory import Memory, Observation
from scrubjay.text.claims.statements import comparison_key, join_statements, split_statements, statements_of

__all__ = ["instead", "superseded", "without"]


def superseded(end: End, *, until: datetime) -> Memory:
    """A memory whose statement held until a moment, and no longer.

    An observation and a memory as a whole have a place for that. A sentence among others has none: it becomes an
    observation, which has. So it is found no more, is read as what held until then, and no word is lost.
    """
    memory = end.memory
    if end.observation is not None:
        ended = replace(memory.observations[end.observation], valid_until=until)
        return replace(memory, observations=_with(memory.observations, end.observation, ended))
    if end.is_whole or (end.is_all and not memory.observations):
        return replace(memory, valid_until=until)
    # It is the memory's own word, as the rest of its text.
    ended = Observation(text=end.sentence, recorded_at=memory.date, valid_until=until)
    return replace(memory, content=_cut(memory, end.sentence), observations=(*memory.observations, ended))


def without(end: End) -> Memory:
    """A memory without one of its statements; the version before has it still."""
    memory = end.memory
    if end.observation is None:
        return replace(memory, content=_cut(memory, end.sentence))
    return replace(memory, observations=_with(memory.observations, end.observation))


def instead(older: End, newer: End) -> Memory:
    """The memory of the older statement as it would be if it said the newer one in its place.

    A text has one source: the word of who is trusted more, or less, becomes an observation with its own, or all of it.
    """
    memory, other = older.memory, newer.memory
    is_other_word = newer.trust.outranks(older.trust) or older.trust.outranks(newer.trust)
    if older.is_whole or (is_other_word and older.is_all and older.observation is None):
        observations = other.observations if newer.is_whole else ()
        content = other.content if newer.is_whole else newer.text
        source = newer.source if is_other_word else memory.source
        return replace(memory, content=content, observations=observations, source=source)
    if older.observation is not None:
        observations = _with(memory.observations, older.observation, newer.as_observation)
        return replace(memory, observations=observations)
    content = None if is_other_word else _put(memory.content, older.sentence, newer.text)
    if content is not None:
        return replace(memory, content=content)
    rest = without(older)
    return replace(rest, observations=(*rest.observations, newer.as_observation))


def _put(content: str, sentence: str, other: str) -> str | None:
    """The content with another sentence in the place of one; None where that would change more than this one."""
    statements = [comparison_key(statement) for statement in statements_of(content)]
    place = statements.index(comparison_key(sentence)) if comparison_key(sentence) in statements else 0
    wanted = [*statements[:place], comparison_key(other), *statements[place + 1 :]]
    # The same words may stand in another sentence, too.
    for found in re.finditer(re.escape(sentence), content):
        text = content[: found.start()] + other + content[found.end() :]
        if [comparison_key(statement) for statement in statements_of(text)] == wanted:
            return text
    return None


def _with(before: tuple[Observation, ...], place: int, *new: Observation) -> tuple[Observation, ...]:
    return (*before[:place], *new, *before[place + 1 :])


def _cut(memory: Memory, sentence: str) -> str:
    """The content without a sentence, which must change no other; raises WrongState where that cannot be."""
    content = memory.content
    if sentence == content.strip():
        return ""
    said = [comparison_key(statement) for statement in statements_of(content)]
    if comparison_key(sentence) in said:
        place = said.index(comparison_key(sentence))
        left = [*said[:place], *said[place + 1 :]]
        for text in (_closed_up(content, sentence), _retold(content, place)):
            if [comparison_key(statement) for statement in statements_of(text)] == left:
                return text
    raise WrongState(
        f"the statement cannot be taken out of the text of {memory.name!r} without changing the rest",
        hint="`revise` the text, or choose `update` or `ignore`",
        memory_id=memory.id,
    )


def _closed_up(content: str, sentence: str) -> str:
    before, found, after = content.partition(sentence)
    if not found:
        return content
    head, tail = before.rstrip(), after.lstrip()
    if not head or not tail:
        return head or tail
    gap = before[len(head) :] + after[: len(after) - len(tail)]
    joint = "\n\n" if "\n\n" in gap else "\n" if "\n" in gap else " "
    return head + joint + tail


def _retold(content: str, place: int) -> str:
    statements = split_statements(content)
    return join_statements((*statements[:place], *statements[place + 1 :]))
