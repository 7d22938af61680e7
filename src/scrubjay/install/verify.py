"""What a configuration must mean once it is changed: the last look before anything is written."""

import json
from copy import deepcopy

from scrubjay.install.syntax import Entry, Place, Syntax, Unfit, Unreadable, leaves
from scrubjay.model.memory import Json


def require_meaning(syntax: Syntax, text: str, expected: dict[str, Json], *, place: Place) -> None:
    """Raises Unfit where a text does not mean what it should, at a place or elsewhere."""
    try:
        meaning = syntax.value(text)
    except Unreadable as error:
        raise Unfit(f"it cannot be changed without harm ({error.what})", place=()) from None
    if _flattened(meaning, place) != _flattened(expected, place):
        raise Unfit("it cannot be changed without harm", place=())


def meaning_with(value: dict[str, Json], place: Place, entry: Entry, *, drop: tuple[str, ...]) -> dict[str, Json]:
    """A document with an entry's own values at a place, and without some of its keys."""
    reported = deepcopy(value)
    for key in drop:
        reported = meaning_without(reported, (*place, key))
    for keys, item in leaves(entry).items():
        _holder(reported, (*place, *keys[:-1]))[keys[-1]] = item
    return reported


def meaning_without(value: dict[str, Json], place: Place) -> dict[str, Json]:
    """A document without what stands at a place."""
    reported = deepcopy(value)
    _holder(reported, place[:-1]).pop(place[-1], None)
    return reported


def _holder(value: dict[str, Json], place: Place) -> dict[str, Json]:
    for key in place:
        inner = value.setdefault(key, {})
        if not isinstance(inner, dict):
            raise Unfit("is no object", place=place)
        value = inner
    return value


def _flattened(value: dict[str, Json], place: Place) -> str:
    # Some formats cannot tell a table without entries from none.
    reported = {key: item for key, item in value.items() if key != place[0] or item != {}}
    # As text: a number that is none is not equal to itself.
    return json.dumps(reported, sort_keys=True, default=str)
