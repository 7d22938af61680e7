"""How two versions of a memory differ: texts line by line, observations one by one, fields before and after."""

import difflib
import json
from collections import Counter
from collections.abc import Iterator, Sequence

from scrubjay.model.memory import Json, Memory
from scrubjay.model.snapshot import to_body
from scrubjay.model.version import FieldDiff

# They differ between any two versions, or between any two branches, and say nothing.
_UNINTERESTING = ("updated_at", "last_confirmed", "last_reviewed", "branch", "trunk", "forked", "group")
_AROUND = 2


def diff(before: Memory, after: Memory) -> tuple[FieldDiff, ...]:
    """The fields that differ."""
    old, new = to_body(before), to_body(after)
    names = [name for name in dict.fromkeys((*old, *new)) if name not in _UNINTERESTING]
    found = (_field_diff(name, old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name))
    # What differs only in when it was written down is no difference.
    return tuple(one for one in found if one.before != one.after)


def spelled(value: Json) -> str:
    """A field's value, for people."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(_item(one) for one in value)
    return json.dumps(value, ensure_ascii=False)


def _field_diff(name: str, old: Json, new: Json) -> FieldDiff:
    before, after = spelled(old), spelled(new)
    if name == "observations":
        items = [[_item(one) for one in value] if isinstance(value, list) else [] for value in (old, new)]
        lines = tuple(_one_by_one(*items))
    else:
        lines = tuple(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=_AROUND))[2:]
    return FieldDiff(field=name, before=before, after=after, lines=lines)


def _one_by_one(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """What is gone, then what is new, each as often as it was said less or more."""
    counted = Counter(before), Counter(after)
    for sign, items, less in (("-", before, counted[0] - counted[1]), ("+", after, counted[1] - counted[0])):
        for item in items:
            if less[item] > 0:
                less[item] -= 1
                yield from (f"{sign}{line}" for line in item.splitlines() or [""])


def _item(value: Json) -> str:
    if isinstance(value, dict) and isinstance(value.get("text"), str):
        until = value.get("valid_until")
        return f"{value['text']} (until {until})" if until else str(value["text"])
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
