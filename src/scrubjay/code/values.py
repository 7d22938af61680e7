"""Values that cross the border between a program and the memory: plain JSON, of limited size, and parts of it."""

import asyncio
import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from typing import cast

from scrubjay.model.memory import Json
from scrubjay.text.cost import end_within, estimate_tokens

_MAX_DEPTH = 100
_MAX_NAME = 60
# A value takes at least so many characters, with its separators, and time to convert.
_PER_VALUE = 5
# Python writes no longer numbers as text.
_MAX_BITS = 10_000
# What is larger is converted in a thread, for all wait for the event loop.
_SMALL = 20_000
_ELLIPSIS = "…"
# How the interpreter shows a function or a module, in the place of its value.
_NO_TEXT = re.compile(r"<function '[^']*' at 0x[0-9a-f]+>|<module '[^']*'>")
_OF_THE_MEMORY = re.compile(r"<function '([\w.]+)' of the memory>")


class NotJson(Exception):
    """A value that is no JSON, or too large; its text says what to do."""


class TooMuch(NotJson):
    """A value that is too large."""


def plain(value: object, *, most: int, is_result: bool = False) -> Json:
    """Return a value as JSON of at most so many characters; raises NotJson.

    It has no functions of the memory. A result has none of the program and no modules, which look like texts; an
    argument may be the name of one.

    Programs share parts of values, so that a small one may be huge when it is written out: the size is counted first.
    """
    return _Plain(most, is_result=is_result).convert(value, depth=0)


async def plain_in_background(value: object, *, most: int, is_result: bool = False) -> Json:
    """Return a value as JSON like `plain`, without keeping the event loop for long."""
    try:
        return plain(value, most=min(_SMALL, most), is_result=is_result)
    except TooMuch:
        if most <= _SMALL:
            raise
    return await asyncio.to_thread(plain, value, most=most, is_result=is_result)


def shown_function(name: str) -> str:
    """Return how a function of the memory is shown to the interpreter, which gives it out as this text."""
    return f"<function '{name}' of the memory>"


def function_name(shown: str) -> str:
    """Return the name of a function of the memory as it is shown; another text is one already."""
    match = _OF_THE_MEMORY.fullmatch(shown)
    return match[1] if match else shown


def no_json(name: str) -> NotJson:
    """Return the error for what is no JSON."""
    shown = function_name(name)[:_MAX_NAME]
    return NotJson(f"it contains {shown!r}, which is no JSON: return texts, numbers, lists and dicts")


def dump(value: Json) -> str:
    """Return JSON as text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def cost(value: Json) -> int:
    """Return the number of tokens of a value."""
    return estimate_tokens(value if isinstance(value, str) else dump(value))


def length(value: Json) -> int:
    """Return the number of parts of a value: items, entries, or characters."""
    return len(value) if isinstance(value, list | dict | str) else 1


def part_of(value: Json, *, offset: int, tokens: int) -> tuple[Json, int | None]:
    """Return the parts of a value from an offset on that fit into a budget, and the offset of the next one.

    A single part that does not fit is cut, as text.
    """
    if isinstance(value, str):
        end = max(offset + 1, end_within(value, start=offset, tokens=tokens))
        return value[offset:end], end if end < len(value) else None
    if isinstance(value, list):
        taken = _fitting(value[offset:], tokens)
        end = offset + len(taken)
        return taken, end if end < len(value) else None
    if isinstance(value, dict):
        names = list(value)[offset:]
        taken = _fitting([[name, value[name]] for name in names], tokens)
        end = offset + len(taken)
        entries = dict(zip(names, (_value_of(item) for item in taken), strict=False))
        return cast("Json", entries), end if end < len(value) else None
    return value, None


def cut_key(value: Json, part: Json, *, offset: int) -> str | int | None:
    """Return the index or name of the item of a value that is cut in a part of it, if one is: it is alone there."""
    if isinstance(value, list) and isinstance(part, list) and len(part) == 1:
        return offset if part[0] != value[offset] else None
    if isinstance(value, dict) and isinstance(part, dict) and len(part) == 1:
        (name,) = part
        return name if part[name] != value[name] else None
    return None


def shorten(text: str, tokens: int) -> str:
    """Return the beginning of a text that fits into a budget, and say how much is missing."""
    if estimate_tokens(text) <= tokens:
        return text
    end = end_within(text, tokens=max(0, tokens - 10))
    return f"{text[:end]}{_ELLIPSIS} ({len(text) - end:,} more characters)"


class _Plain:
    """One conversion, with the number of characters that are left."""

    def __init__(self, most: int, *, is_result: bool) -> None:
        self._most = self._left = most
        self._is_result = is_result

    def convert(self, value: object, *, depth: int) -> Json:
        if depth > _MAX_DEPTH:
            raise NotJson(f"it is nested more than {_MAX_DEPTH} levels deep, or contains itself")
        self._spend(_PER_VALUE)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            self._spend(len(value))
            if _OF_THE_MEMORY.fullmatch(value) or (self._is_result and _NO_TEXT.fullmatch(value)):
                raise no_json(value)
            # A lone half of a surrogate pair is no text.
            return value.encode("utf-8", "replace").decode("utf-8")
        if isinstance(value, int | float | Decimal):
            return self._number(value)
        if isinstance(value, Mapping):
            return self._mapping(cast("Mapping[object, object]", value), depth)
        if isinstance(value, list | tuple):
            return [self.convert(item, depth=depth + 1) for item in cast("list[object]", value)]
        if isinstance(value, set | frozenset):
            items = [self.convert(item, depth=depth + 1) for item in cast("set[object]", value)]
            return sorted(items, key=dump)
        if isinstance(value, date | time):
            return value.isoformat()
        if isinstance(value, timedelta):
            return value.total_seconds()
        attributes = getattr(value, "attributes", None)
        if isinstance(attributes, Mapping):
            return self._mapping(cast("Mapping[object, object]", attributes), depth)
        raise no_json(str(getattr(value, "name", None) or type(value).__name__))

    def _number(self, value: float | Decimal) -> Json:
        if isinstance(value, int):
            if value.bit_length() > _MAX_BITS:
                raise NotJson("it contains a number with thousands of digits: return a text or a float instead")
            return value
        number = float(value)
        if not math.isfinite(number):
            raise NotJson(f"it contains {number}, which is no JSON: return None or a text instead")
        return number

    def _mapping(self, value: Mapping[object, object], depth: int) -> Json:
        result: dict[str, Json] = {}
        for name, item in value.items():
            if not isinstance(name, str | int | float | bool | date) and name is not None:
                raise NotJson(f"it has the key {str(name)[:_MAX_NAME]}, and keys of JSON are texts: use str()")
            text = str(self.convert(name, depth=depth + 1))
            if text in result:
                raise NotJson(f"it has two keys that are {text[:_MAX_NAME]!r} as texts: make them differ with str()")
            result[text] = self.convert(item, depth=depth + 1)
        return result

    def _spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise TooMuch(f"it has more than {self._most:,} characters: return less, or write it to a file")


def _fitting(items: Iterable[Json], tokens: int) -> list[Json]:
    taken: list[Json] = []
    left = tokens
    for item in items:
        left -= cost(item) + 1
        if left < 0:
            break
        taken.append(item)
    else:
        return taken
    return taken or [_cut(item, tokens)]


def _cut(item: Json, tokens: int) -> Json:
    # An entry of an object is a pair of its name and its value.
    if isinstance(item, list) and len(item) == 2 and isinstance(item[0], str):  # noqa: PLR2004
        return [item[0], shorten(item[1] if isinstance(item[1], str) else dump(item[1]), tokens)]
    return shorten(item if isinstance(item, str) else dump(item), tokens)


def _value_of(pair: Json) -> Json:
    return cast("list[Json]", pair)[1]
