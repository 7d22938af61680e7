"""Answers of the daemon that are kept for the time when it cannot be reached."""

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from scrubjay.model.memory import Json

_MOST = 256
# One answer may hold whole memories: together they must not outgrow the program that asks.
_MOST_CHARACTERS = 4_000_000

_Key = tuple[tuple[str, ...], str, str]


class OfflineAnswers:
    """The last answers, by what was asked and in which spaces; bounded in number and size."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, str] = OrderedDict()
        self._size = 0

    def keep(self, verb: str, asked: Mapping[str, Json], told: Json, *, spaces: Sequence[str]) -> None:
        """Remember an answer as the newest."""
        key, text = _key(verb, asked, spaces), json.dumps(told)
        self._drop(key)
        if len(text) > _MOST_CHARACTERS // 4:
            return
        self._kept[key] = text
        self._size += len(text)
        while len(self._kept) > _MOST or self._size > _MOST_CHARACTERS:
            self._drop(next(iter(self._kept)))

    def find(self, verb: str, asked: Mapping[str, Json], *, spaces: Sequence[str]) -> Json:
        """The answer to the same question, or None."""
        text = self._kept.get(_key(verb, asked, spaces))
        return None if text is None else json.loads(text)

    def _drop(self, key: _Key) -> None:
        self._size -= len(self._kept.pop(key, ""))


def _key(verb: str, asked: Mapping[str, Json], spaces: Sequence[str]) -> _Key:
    return tuple(spaces), verb, json.dumps(asked, sort_keys=True)
