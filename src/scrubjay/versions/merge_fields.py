"""Three-way merge of memories, field by field: a change of one side alone is taken, any other is a clash."""

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
from scrubjay.versions.merge_text import merge_text

# Each version has its own time of change.
_NOT_CONTENT = (*OWN_FIELDS, "updated_at")
_DIVISIBLE = ("content", "observations", "metadata", "tags", "flags", "merged")
_INDIVISIBLE = tuple(field.name for field in fields(Memory) if field.name not in (*_NOT_CONTENT, *_DIVISIBLE))
# A clash quotes so much of each side; the versions have all of it.
_MAX_QUOTED = 2_000
# With more pairs, replacements are matched by order: a coarse result is better than a slow one.
_MAX_PAIRS = 20_000

Value = TypeVar("Value")
_Observations = tuple[Observation, ...]
# A text, and the number of its occurrence in the list.
_Key = tuple[str, int]
_ByText = Mapping[_Key, Observation]


@dataclass(slots=True, kw_only=True)
class _Merge:
    """The clashes of a merge, and the side that wins them."""

    prefer: str
    clashes: list[MergeConflict] = field(default_factory=list[MergeConflict])

    def choose(self, name: str, base: Value, ours: Value, theirs: Value) -> Value:
        """Return the value of the side that alone has changed it; record a clash if both have."""
        if theirs in (ours, base):
            return ours
        if ours == base:
            return theirs
        self.add_clash(name, _to_text(base), _to_text(ours), _to_text(theirs))
        return theirs if self.prefer == "theirs" else ours

    def add_clash(self, name: str, base: str, ours: str, theirs: str) -> None:
        """Record a value that both sides have changed, each in its own way."""
        self.clashes.append(
            MergeConflict(field=name, base=base[:_MAX_QUOTED], ours=ours[:_MAX_QUOTED], theirs=theirs[:_MAX_QUOTED])
        )


def merge_records(
    base: Memory, ours: Memory, theirs: Memory, *, prefer: str = ""
) -> tuple[Memory, tuple[MergeConflict, ...]]:
    """Return ours with the changes of theirs, and the clashes; there the preferred side wins, or ours."""
    merge = _Merge(prefer=prefer)
    changes: dict[str, object] = {}
    for name in (*_INDIVISIBLE, *_DIVISIBLE):
        before, mine, others = (getattr(side, name) for side in (base, ours, theirs))
        if name in _INDIVISIBLE or mine == before or others in (mine, before):
            # A change of one side alone is taken as it is, with its order.
            changes[name] = merge.choose(name, before, mine, others)
        else:
            changes[name] = _PARTS[name](merge, before, mine, others)
    return cast("Memory", replace(ours, **changes)), tuple(merge.clashes)  # type: ignore[arg-type]


def has_same_content(record: Memory, other: Memory) -> bool:
    """Check that two records of a memory differ in nothing that a merge would change."""
    return all(getattr(record, name) == getattr(other, name) for name in (*_INDIVISIBLE, *_DIVISIBLE))


def with_content_of(record: Memory, other: Memory) -> Memory:
    """Return a record with the content of another."""
    content: dict[str, object] = {name: getattr(other, name) for name in (*_INDIVISIBLE, *_DIVISIBLE)}
    return cast("Memory", replace(record, **content))  # type: ignore[arg-type]


def _content(merge: _Merge, base: str, ours: str, theirs: str) -> str:
    merged, clashes = merge_text(base, ours, theirs, prefer=merge.prefer)
    for clash in clashes:
        merge.add_clash("content", clash.base.strip(), clash.ours.strip(), clash.theirs.strip())
    return merged


def _observations(merge: _Merge, base: _Observations, ours: _Observations, theirs: _Observations) -> _Observations:
    before, mine, others = (_by_text(side) for side in (base, ours, theirs))
    # In the order of ours, followed by the additions of theirs.
    merged = {
        key: observation
        for key in {**mine, **others}
        if (observation := _observation(merge, before.get(key), mine.get(key), others.get(key))) is not None
    }
    for removed, my_key, their_key in _replacements(before, mine, others):
        sides = [before[removed], mine[my_key], others[their_key]]
        merge.add_clash("observations", *map(_to_text, sides))
        # Of two replacements one remains, unless both are preferred.
        if merge.prefer != "both":
            merged.pop(my_key if merge.prefer == "theirs" else their_key, None)
    return tuple(merged.values())


def _replacements(before: _ByText, mine: _ByText, others: _ByText) -> Iterator[tuple[_Key, _Key, _Key]]:
    """Match each observation that both sides removed or ended with the new one of each side that is most like it."""
    removed = [key for key in before if _holds(before, key) and not _holds(mine, key) and not _holds(others, key)]
    new = [[key for key in side if key not in before and _holds(side, key)] for side in (mine, others)]
    if len(removed) * max(map(len, new)) > _MAX_PAIRS:
        yield from (keys for keys in zip(removed, *new, strict=False) if keys[1] != keys[2])
        return
    shared = [key for key in new[0] if key in others]
    for key in removed:
        words = frozenset(key[0].casefold().split())
        # A new observation of both comes first: among equals it is the replacement.
        chosen = [max([*shared, *side], key=partial(_count_common, words), default=None) for side in new]
        first, second = chosen
        if first is None or second is None:
            return
        if first in shared or second in shared:
            shared = [other for other in shared if other not in chosen]
        else:
            yield key, first, second
        new = [[other for other in side if other not in chosen] for side in new]


def _holds(side: _ByText, key: _Key) -> bool:
    return key in side and side[key].valid_until is None


def _count_common(words: frozenset[str], other: _Key) -> int:
    return len(words.intersection(other[0].casefold().split()))


def _by_text(observations: Iterable[Observation]) -> dict[_Key, Observation]:
    """Index observations by text; a former one that was made again occurs twice."""
    counts: Counter[str] = Counter()
    by_text: dict[_Key, Observation] = {}
    for observation in observations:
        counts[observation.text] += 1
        by_text[observation.text, counts[observation.text]] = observation
    return by_text


def _observation(
    merge: _Merge, base: Observation | None, ours: Observation | None, theirs: Observation | None
) -> Observation | None:
    """Merge one observation by its presence and its end; its source and date do not matter."""
    before, mine, others = (side and (side.valid_until,) for side in (base, ours, theirs))
    if others in (mine, before):
        return ours
    if mine == before:
        return theirs
    if ours and theirs and ours.valid_until and theirs.valid_until:
        # Both have ended it: the earlier end counts.
        return replace(ours, valid_until=min(ours.valid_until, theirs.valid_until))
    merge.add_clash("observations", _to_text(base), _to_text(ours), _to_text(theirs))
    return theirs if merge.prefer == "theirs" else ours


def _metadata(
    merge: _Merge, base: Mapping[str, Json], ours: Mapping[str, Json], theirs: Mapping[str, Json]
) -> dict[str, Json]:
    merged: dict[str, Json] = {}
    for key in {**ours, **theirs}:
        sides = (json.dumps(side[key], ensure_ascii=False) if key in side else "" for side in (base, ours, theirs))
        if chosen := merge.choose(f"metadata.{key}", *sides):
            merged[key] = json.loads(chosen)
    return merged


def _sets(_: _Merge, base: tuple[Value, ...], ours: tuple[Value, ...], theirs: tuple[Value, ...]) -> tuple[Value, ...]:
    remaining = [item for item in ours if item in theirs or item not in base]
    return (*remaining, *(item for item in theirs if item not in ours and item not in base))


def _to_text(value: object) -> str:
    """Return one side of a clash for a reader."""
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
    **dict.fromkeys(("tags", "flags", "merged"), _sets),
}
