"""The two statements of a conflict: where each is now, its source and date, and how it leaves its memory."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from itertools import islice

from scrubjay.detection.advice import is_one_statement
from scrubjay.detection.describe import date_of, source_of
from scrubjay.errors import WrongState
from scrubjay.lazy import dataclass
from scrubjay.lookup.branches import OWN_FIELDS
from scrubjay.model.conflict import ConflictRecord, statement_key
from scrubjay.model.memory import Memory, Observation, Source, State, Trust
from scrubjay.ports import RecordStore
from scrubjay.text.claims.statements import comparison_key, join_statements, split_statements, statements_of

__all__ = [
    "DisputedStatement", "are_branches", "find_statement", "find_statements", "load_current", "needs_decision",
    "newer_and_older", "replace_statement", "supersede_statement", "without_statement",
]  # fmt: skip

# A merged memory may have been merged further; a longer chain is an error.
_MAX_MERGES = 8
_MAX_CONTENT = 20_000
# In so many places of a text the same words are tried; each takes as long as the text.
_MAX_PLACES = 10
_NEVER = datetime.max.replace(tzinfo=UTC)
# The fields in which a branch may differ from its memory without a difference in content.
_NOT_CONTENT = (*OWN_FIELDS, "updated_at", "resolution", "source", "flags", "merged")
_CONTENT = tuple(field.name for field in fields(Memory) if field.name not in _NOT_CONTENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputedStatement:
    """One statement of a conflict: an observation, a sentence of the content, or the whole memory."""

    memory: Memory
    # The place among the observations.
    observation: int | None = None
    sentence: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether the whole memory is meant."""
        return self.observation is None and not self.sentence

    @property
    def is_all(self) -> bool:
        """Whether the memory says nothing else."""
        return self.is_whole or is_one_statement(self.memory)

    @property
    def text(self) -> str:
        """The words of the statement."""
        if self.observation is not None:
            return self.memory.observations[self.observation].text
        texts = (self.memory.content, *(observation.text for observation in self.memory.observations))
        return self.sentence or "\n".join(texts).strip()

    @property
    def source(self) -> Source:
        """The source of the statement."""
        return source_of(self.memory, self._observation)

    @property
    def trust(self) -> Trust:
        """The trust in its source."""
        return self.source.trust

    @property
    def date(self) -> datetime:
        """The date of the statement."""
        return date_of(self.memory, self._observation)

    @property
    def as_observation(self) -> Observation:
        """The statement as an observation with its own source."""
        return Observation(text=self.text, recorded_at=self.date, source=self.source)

    @property
    def _observation(self) -> Observation | None:
        return None if self.observation is None else self.memory.observations[self.observation]

    @property
    def valid_until(self) -> datetime | None:
        """When it was superseded; None while it is in force."""
        return (self._observation.valid_until if self._observation else None) or self.memory.valid_until

    def holds(self, now: datetime) -> bool:
        """Check that the memory is live and in force, and the statement is not superseded."""
        if self.memory.state is not State.LIVE or not self.memory.holds(now):
            return False
        return self._observation is None or self._observation.holds(now)

    def is_branch_of(self, other: "DisputedStatement") -> bool:
        """Check whether it is a branch of the other memory, as a whole."""
        is_branch = self.memory.state is State.BRANCHED and self.memory.trunk == other.memory.id
        return is_branch and self.is_whole and other.is_whole

    def is_same(self, other: "DisputedStatement") -> bool:
        """Check whether both are one statement now."""
        return (self.memory.id, self.observation, self.sentence) == (other.memory.id, other.observation, other.sentence)


def are_branches(first: DisputedStatement, second: DisputedStatement) -> bool:
    """Check whether the two are a memory and one of its branches."""
    return first.is_branch_of(second) or second.is_branch_of(first)


def newer_and_older(
    first: DisputedStatement, second: DisputedStatement
) -> tuple[DisputedStatement, DisputedStatement]:  # fmt: skip
    """Return the newer of two statements, then the older one."""
    if are_branches(first, second):
        # Both have one creation date: the last change counts.
        return (first, second) if first.memory.updated_at >= second.memory.updated_at else (second, first)
    return (first, second) if first.date >= second.date else (second, first)


def needs_decision(first: DisputedStatement, second: DisputedStatement, *, now: datetime) -> bool:
    """Check that there is something to decide: both statements hold, and they are not the same.

    A branch is in force only beside its memory.
    """
    if not are_branches(first, second):
        return first.holds(now) and second.holds(now) and not first.is_same(second)
    trunk = second if first.memory.trunk else first
    return trunk.holds(now) and any(getattr(first.memory, name) != getattr(second.memory, name) for name in _CONTENT)


def find_statement(memory: Memory, key: str) -> DisputedStatement | None:
    """Find the statement of a key in a memory; an empty key means the whole memory."""
    if not key:
        return DisputedStatement(memory=memory)
    places = [place for place, observation in enumerate(memory.observations) if key in _keys(observation.text)]
    # A former observation may have been made again: the one that holds longest counts.
    places.sort(key=lambda place: memory.observations[place].valid_until or _NEVER, reverse=True)
    if places:
        return DisputedStatement(memory=memory, observation=places[0])
    sentence = next((statement for statement in _sentences(memory.content) if statement_key(statement) == key), "")
    if sentence:
        return DisputedStatement(memory=memory, sentence=sentence)
    if statement_key(memory.content) != key:
        return None
    return DisputedStatement(memory=memory, sentence=memory.content.strip() if memory.observations else "")


def find_statements(
    conflict: ConflictRecord, memories: Mapping[str, Memory]
) -> tuple[DisputedStatement, DisputedStatement] | None:
    """Find both statements, that of the later memory first; None if a memory or a statement is gone."""
    memory, other = memories.get(conflict.memory), memories.get(conflict.other)
    if memory is None or other is None:
        return None
    first, second = find_statement(memory, conflict.statement), find_statement(other, conflict.against)
    return None if first is None or second is None else (first, second)


async def load_current(ids: Iterable[str], *, space: str, store: RecordStore) -> dict[str, Memory]:
    """Read memories by id; a merged one is replaced by the memory that it was merged into."""
    targets = {memory_id: memory_id for memory_id in ids}
    memories: dict[str, Memory] = {}
    for _ in range(_MAX_MERGES):
        missing = [target for target in dict.fromkeys(targets.values()) if target not in memories]
        memories |= await store.get(space, missing) if missing else {}
        merged = {
            memory_id: memories[target].merged_into
            for memory_id, target in targets.items()
            if target in memories and memories[target].state is State.MERGED and memories[target].merged_into
        }
        if not merged:
            break
        targets |= merged
    return {memory_id: memories[target] for memory_id, target in targets.items() if target in memories}


def supersede_statement(statement: DisputedStatement, *, until: datetime) -> Memory:
    """Return the memory with its statement in force until a moment, and no longer.

    An observation and a memory have a field for that. A sentence among others has none, so that it becomes an
    observation: searches no longer find it, readers see that it held until then, and no word is lost.
    """
    memory = statement.memory
    if statement.observation is not None:
        ended = replace(memory.observations[statement.observation], valid_until=until)
        return replace(memory, observations=_splice(memory.observations, statement.observation, ended))
    if statement.is_whole or (statement.is_all and not memory.observations):
        return replace(memory, valid_until=until)
    # Like the rest of the text it has the memory's source.
    ended = Observation(text=statement.sentence, recorded_at=memory.date, valid_until=until)
    content = _cut_sentence(memory, statement.sentence)
    return replace(memory, content=content, observations=(*memory.observations, ended))


def without_statement(statement: DisputedStatement) -> Memory:
    """Return the memory without one of its statements; its former version keeps it."""
    memory = statement.memory
    if statement.observation is None:
        return replace(memory, content=_cut_sentence(memory, statement.sentence))
    return replace(memory, observations=_splice(memory.observations, statement.observation))


def replace_statement(older: DisputedStatement, newer: DisputedStatement) -> Memory:
    """Return the memory of the older statement with the newer one in its place.

    A text has one source: a statement of another trust becomes an observation with its own source, or all of the text.
    """
    memory, other = older.memory, newer.memory
    has_other_trust = newer.trust.outranks(older.trust) or older.trust.outranks(newer.trust)
    if older.is_whole or (has_other_trust and older.is_all and older.observation is None):
        observations = other.observations if newer.is_whole else ()
        content = other.content if newer.is_whole else newer.text
        source = newer.source if has_other_trust else memory.source
        return replace(memory, content=content, observations=observations, source=source)
    if older.observation is not None:
        observations = _splice(memory.observations, older.observation, newer.as_observation)
        return replace(memory, observations=observations)
    content = None if has_other_trust else _exchange_sentence(memory.content, older.sentence, newer.text)
    if content is not None:
        return replace(memory, content=content)
    rest = without_statement(older)
    return replace(rest, observations=(*rest.observations, newer.as_observation))


def _keys(text: str) -> set[str]:
    return {statement_key(text), *map(statement_key, statements_of(text))}


def _sentences(content: str) -> Iterator[str]:
    """Return the statements of a content; of a document its beginning, which was compared, comes first."""
    if len(content) > _MAX_CONTENT:
        yield from statements_of(content[:_MAX_CONTENT])
    yield from statements_of(content)


def _content_keys(content: str) -> list[str]:
    return [comparison_key(statement) for statement in statements_of(content)]


def _splice(observations: tuple[Observation, ...], place: int, *new: Observation) -> tuple[Observation, ...]:
    return (*observations[:place], *new, *observations[place + 1 :])


def _exchange_sentence(content: str, sentence: str, other: str) -> str | None:
    """Replace a sentence of the content; None where that would change more than this one."""
    keys = _content_keys(content)
    place = keys.index(comparison_key(sentence)) if comparison_key(sentence) in keys else 0
    expected = [*keys[:place], comparison_key(other), *keys[place + 1 :]]
    # The same words may be part of another sentence too.
    for match in islice(re.finditer(re.escape(sentence), content), _MAX_PLACES):
        text = content[: match.start()] + other + content[match.end() :]
        if _content_keys(text) == expected:
            return text
    return None


def _cut_sentence(memory: Memory, sentence: str) -> str:
    """Cut a sentence out of the content; raises WrongState where that would change another one."""
    content = memory.content
    if sentence == content.strip():
        return ""
    keys = _content_keys(content)
    if comparison_key(sentence) in keys:
        place = keys.index(comparison_key(sentence))
        expected = [*keys[:place], *keys[place + 1 :]]
        statements = split_statements(content)
        rejoined = join_statements((*statements[:place], *statements[place + 1 :]))
        for text in (_close_gap(content, sentence), rejoined):
            if _content_keys(text) == expected:
                return text
    raise WrongState(
        f"the statement cannot be taken out of the text of {memory.name!r} without changing the rest",
        hint="`revise` the text, or choose `update` or `ignore`",
        memory_id=memory.id,
    )


def _close_gap(content: str, sentence: str) -> str:
    before, match, after = content.partition(sentence)
    if not match:
        return content
    head, tail = before.rstrip(), after.lstrip()
    if not head or not tail:
        return head or tail
    gap = before[len(head) :] + after[: len(after) - len(tail)]
    joint = "\n\n" if "\n\n" in gap else "\n" if "\n" in gap else " "
    return head + joint + tail
