"""Two memories that came of one, field by field: what one side alone has changed is taken, the rest is a clash."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import partial
from typing import TypeVar, cast

from scrubjay.lookup.branches import OWN_FIELDS
from scrubjay.model.branch import MergeConflict
from scrubjay.model.memory import Json, Memory, Observation, Source
from scrubjay.model.snapshot import source_to_json
from scrubjay.model.timestamps import to_iso
from scrubjay.versions.merge_text import weave

# When it was changed is told anew with each version.
_NO_CONTENT = (*OWN_FIELDS, "updated_at")
_IN_PARTS = ("content", "observations", "metadata", "tags", "flags", "merged")
_WHOLE = tuple(field.name for field in fields(Memory) if field.name not in (*_NO_CONTENT, *_IN_PARTS))
# So much of each side is told of a clash; all of it stands in the versions.
_LONGEST = 2_000
# Above this many pairs what took the place of what goes by order: slower is worse than coarser.
_MOST_PAIRS = 20_000

Value = TypeVar("Value")
_Facts = tuple[Observation, ...]
# A text, and how often it was said before in the same list.
_Key = tuple[str, int]
_ByText = Mapping[_Key, Observation]


@dataclass(slots=True, kw_only=True)
class _Table:
    """Where what clashes is noted, and which side is preferred then."""

    prefer: str
    clashes: list[MergeConflict] = field(default_factory=list[MergeConflict])

    def settle(self, name: str, base: Value, ours: Value, theirs: Value) -> Value:
        """One thing, as whoever alone has changed it has it."""
        if theirs in (ours, base):
            return ours
        if ours == base:
            return theirs
        self.note(name, _spelled(base), _spelled(ours), _spelled(theirs))
        return theirs if self.prefer == "theirs" else ours

    def note(self, name: str, base: str, ours: str, theirs: str) -> None:
        """Both have changed one thing, each in its own way."""
        self.clashes.append(
            MergeConflict(field=name, base=base[:_LONGEST], ours=ours[:_LONGEST], theirs=theirs[:_LONGEST])
        )


def combine(
    base: Memory, ours: Memory, theirs: Memory, *, prefer: str = ""
) -> tuple[Memory, tuple[MergeConflict, ...]]:
    """Ours with what theirs has changed, and what both have; there the side that is preferred counts, or ours."""
    table = _Table(prefer=prefer)
    changes: dict[str, object] = {}
    for name in (*_WHOLE, *_IN_PARTS):
        before, mine, others = (getattr(side, name) for side in (base, ours, theirs))
        if name in _WHOLE or mine == before or others in (mine, before):
            # What one side alone has changed is taken as it has it, order and all.
            changes[name] = table.settle(name, before, mine, others)
        else:
            changes[name] = _PARTS[name](table, before, mine, others)
    return cast("Memory", replace(ours, **changes)), tuple(table.clashes)  # type: ignore[arg-type]


def says_the_same(one: Memory, other: Memory) -> bool:
    """Whether two records of a memory differ in nothing that a merge would bring."""
    return all(getattr(one, name) == getattr(other, name) for name in (*_WHOLE, *_IN_PARTS))


def with_words_of(record: Memory, other: Memory) -> Memory:
    """A record that says what another does, and is itself otherwise."""
    said: dict[str, object] = {name: getattr(other, name) for name in (*_WHOLE, *_IN_PARTS)}
    return cast("Memory", replace(record, **said))  # type: ignore[arg-type]


def _content(table: _Table, base: str, ours: str, theirs: str) -> str:
    woven, differing = weave(base, ours, theirs, prefer=table.prefer)
    for one in differing:
        table.note("content", one.base.strip(), one.ours.strip(), one.theirs.strip())
    return woven


def _observations(table: _Table, base: _Facts, ours: _Facts, theirs: _Facts) -> _Facts:
    before, mine, others = (_numbered(side) for side in (base, ours, theirs))
    # In the order of ours, and what only theirs has after that.
    merged = {
        key: one
        for key in {**mine, **others}
        if (one := _observation(table, before.get(key), mine.get(key), others.get(key))) is not None
    }
    for gone, my_word, their_word in _replaced(before, mine, others):
        sides = [before[gone], mine[my_word], others[their_word]]
        table.note("observations", *map(_spelled, sides))
        # Of two that took the place of one, only one can stand, unless somebody wants both.
        if table.prefer != "both":
            merged.pop(my_word if table.prefer == "theirs" else their_word, None)
    return tuple(merged.values())


def _replaced(before: _ByText, mine: _ByText, others: _ByText) -> Iterator[tuple[_Key, _Key, _Key]]:
    """What both took out or ended, and what each said instead: of what it said anew, that with the most words of it."""
    gone = [key for key in before if _holds(before, key) and not _holds(mine, key) and not _holds(others, key)]
    new = [[key for key in side if key not in before and _holds(side, key)] for side in (mine, others)]
    if len(gone) * max(map(len, new)) > _MOST_PAIRS:
        yield from (each for each in zip(gone, *new, strict=False) if each[1] != each[2])
        return
    agreed = [key for key in new[0] if key in others]
    for key in gone:
        words = frozenset(key[0].casefold().split())
        # What both say anew comes first: among equals it is what took the place.
        chosen = [max([*agreed, *side], key=partial(_common, words), default=None) for side in new]
        first, second = chosen
        if first is None or second is None:
            return
        if first in agreed or second in agreed:
            agreed = [one for one in agreed if one not in chosen]
        else:
            yield key, first, second
        new = [[one for one in side if one not in chosen] for side in new]


def _holds(side: _ByText, key: _Key) -> bool:
    return key in side and side[key].valid_until is None


def _common(words: frozenset[str], other: _Key) -> int:
    return len(words.intersection(other[0].casefold().split()))


def _numbered(observations: Iterable[Observation]) -> dict[_Key, Observation]:
    """By their texts: one that was said again after it was over stands there twice."""
    counts: Counter[str] = Counter()
    found: dict[_Key, Observation] = {}
    for observation in observations:
        counts[observation.text] += 1
        found[observation.text, counts[observation.text]] = observation
    return found


def _observation(
    table: _Table, base: Observation | None, ours: Observation | None, theirs: Observation | None
) -> Observation | None:
    """Whether something is said, and until when it held; by whom and when it was written down decides nothing."""
    before, mine, others = (one and (one.valid_until,) for one in (base, ours, theirs))
    if others in (mine, before):
        return ours
    if mine == before:
        return theirs
    if ours and theirs and ours.valid_until and theirs.valid_until:
        # What both have ended is over since the first did.
        return replace(ours, valid_until=min(ours.valid_until, theirs.valid_until))
    table.note("observations", _spelled(base), _spelled(ours), _spelled(theirs))
    return theirs if table.prefer == "theirs" else ours


def _metadata(
    table: _Table, base: Mapping[str, Json], ours: Mapping[str, Json], theirs: Mapping[str, Json]
) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key in {**ours, **theirs}:
        sides = (json.dumps(side[key], ensure_ascii=False) if key in side else "" for side in (base, ours, theirs))
        if kept := table.settle(f"metadata.{key}", *sides):
            found[key] = json.loads(kept)
    return found


def _as_sets(
    _: _Table, base: tuple[Value, ...], ours: tuple[Value, ...], theirs: tuple[Value, ...]
) -> tuple[Value, ...]:
    kept = [our for our in ours if our in theirs or our not in base]
    return (*kept, *(their for their in theirs if their not in ours and their not in base))


def _spelled(value: object) -> str:
    """One side of a clash, for people."""
    match value:
        case None:
            return ""
        case str():
            return str(value)
        case datetime():
            return to_iso(value)
        case Observation():
            return value.text + (f" (until {to_iso(value.valid_until)})" if value.valid_until else "")
        case Source():
            return json.dumps(source_to_json(value), ensure_ascii=False)
        case _:
            return json.dumps(value)


_PARTS: dict[str, Callable[..., object]] = {
    "content": _content,
    "observations": _observations,
    "metadata": _metadata,
    **dict.fromkeys(("tags", "flags", "merged"), _as_sets),
}
