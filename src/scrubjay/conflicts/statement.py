"""The two ends of a conflict: where each statement stands now, whose word it is, and since when."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime

from scrubjay.detection.describe import date_of, source_of
from scrubjay.lookup.branches import OWN_FIELDS
from scrubjay.model.conflict import Conflict, statement_key
from scrubjay.model.memory import Memory, Observation, Source, State, Trust
from scrubjay.ports import RecordStore
from scrubjay.text.claims.statements import statements_of

__all__ = ["End", "are_lines", "both_hold", "end_of", "ends_of", "in_time", "standing"]

# What was merged may have been merged further; longer chains are a mistake.
_MOST_STEPS = 8
_NEVER = datetime.max.replace(tzinfo=UTC)
# In what a branch may differ from its memory without saying anything else.
_BESIDES = (*OWN_FIELDS, "updated_at", "resolution", "source", "flags", "merged")


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """One statement of a conflict: an observation, a sentence of the content, or the memory as a whole."""

    memory: Memory
    # The place among the observations.
    observation: int | None = None
    sentence: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether all that the memory says is meant."""
        return self.observation is None and not self.sentence

    @property
    def is_all(self) -> bool:
        """Whether the memory says nothing else."""
        if self.is_whole:
            return True
        others = len(self.memory.observations) + len(statements_of(self.memory.content)) - 1
        return others == 0

    @property
    def text(self) -> str:
        """What it says."""
        if self.observation is not None:
            return self.memory.observations[self.observation].text
        return (
            self.sentence
            or "\n".join((self.memory.content, *(observation.text for observation in self.memory.observations))).strip()
        )

    @property
    def source(self) -> Source:
        """Where it comes from."""
        return source_of(self.memory, self._observed)

    @property
    def trust(self) -> Trust:
        """Whose word it is."""
        return self.source.trust

    @property
    def date(self) -> datetime:
        """When it was said."""
        return date_of(self.memory, self._observed)

    @property
    def as_observation(self) -> Observation:
        """The same, to be kept among observations that may come from elsewhere."""
        return Observation(text=self.text, recorded_at=self.date, source=self.source)

    @property
    def _observed(self) -> Observation | None:
        return None if self.observation is None else self.memory.observations[self.observation]

    def holds(self, now: datetime) -> bool:
        """Whether it is said still: the memory is alive and has not expired, and nothing has taken its place."""
        if self.memory.state is not State.LIVE or not self.memory.holds(now):
            return False
        return self._observed is None or self._observed.holds(now)

    def is_line_of(self, other: "End") -> bool:
        """Whether it is all that another line of versions of the other one's memory says."""
        is_line = self.memory.state is State.BRANCHED and self.memory.trunk == other.memory.id
        return is_line and self.is_whole and other.is_whole

    def is_same(self, other: "End") -> bool:
        """Whether both are one statement now."""
        return (self.memory.id, self.observation, self.sentence) == (other.memory.id, other.observation, other.sentence)


def are_lines(first: End, second: End) -> bool:
    """Whether the two are a memory and one of its branches."""
    return first.is_line_of(second) or second.is_line_of(first)


def in_time(first: End, second: End) -> tuple[End, End]:
    """The newer of two statements, and the older one."""
    if are_lines(first, second):
        # Both began on the same day: what counts is who was changed last.
        return (first, second) if first.memory.updated_at >= second.memory.updated_at else (second, first)
    return (first, second) if first.date >= second.date else (second, first)


def both_hold(first: End, second: End, *, now: datetime) -> bool:
    """Whether there is anything to decide: both are said still, and are not the same.

    What is said on a branch alone holds only beside the memory that it is one of.
    """
    if not are_lines(first, second):
        return first.holds(now) and second.holds(now) and not first.is_same(second)
    trunk = second if first.memory.trunk else first
    own = [field.name for field in fields(Memory) if field.name not in _BESIDES]
    return trunk.holds(now) and any(getattr(first.memory, one) != getattr(second.memory, one) for one in own)


def end_of(memory: Memory, key: str) -> End | None:
    """Where a statement stands in a memory; None when it is there no more."""
    if not key:
        return End(memory=memory)
    places = [place for place, one in enumerate(memory.observations) if key in _keys(one.text)]
    # The same may have been said before, and hold again: it counts where it holds longest.
    places.sort(key=lambda place: memory.observations[place].valid_until or _NEVER, reverse=True)
    if places:
        return End(memory=memory, observation=places[0])
    sentence = next((statement for statement in statements_of(memory.content) if statement_key(statement) == key), "")
    if sentence:
        return End(memory=memory, sentence=sentence)
    if statement_key(memory.content) != key:
        return None
    return End(memory=memory, sentence=memory.content.strip() if memory.observations else "")


def ends_of(conflict: Conflict, memories: Mapping[str, Memory]) -> tuple[End, End] | None:
    """Both ends, that of what came later first; None when a memory or a statement is gone."""
    memory, other = memories.get(conflict.memory), memories.get(conflict.other)
    if memory is None or other is None:
        return None
    first, second = end_of(memory, conflict.statement), end_of(other, conflict.against)
    return None if first is None or second is None else (first, second)


async def standing(ids: Iterable[str], *, space: str, store: RecordStore) -> dict[str, Memory]:
    """The memories that stand for some ids now: what was merged is found in what it was merged into."""
    wanted = {id_: id_ for id_ in ids}
    known: dict[str, Memory] = {}
    for _ in range(_MOST_STEPS):
        missing = [fromkey for fromkey in dict.fromkeys(wanted.values()) if fromkey not in known]
        known |= await store.get(space, missing) if missing else {}
        merged = {one: known[now] for one, now in wanted.items() if now in known and _is_part(known[now])}
        if not merged:
            break
        wanted |= {one: memory.merged_into for one, memory in merged.items()}
    return {one: known[now] for one, now in wanted.items() if now in known}


def _is_part(memory: Memory) -> bool:
    return memory.state is State.MERGED and bool(memory.merged_into)


def _keys(text: str) -> set[str]:
    return {statement_key(text), *map(statement_key, statements_of(text))}
