"""Chats as programs export them, in JSON: lists of messages wherever they stand, and trees of them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from scrubjay.errors import InvalidInput
from scrubjay.extraction.messages import Json, is_message, is_silent, turn_of
from scrubjay.model.fact import Turn

__all__ = ["Conversation", "talks_in_json", "talks_in_json_lines"]

# Deeper than this no export keeps its messages.
_DEEPEST = 6
_MOST_TALKS = 100_000
_NAMES = ("conversation_id", "session_id", "sessionId", "uuid", "id", "name", "title", "sample_id")
_LINE_NAMES = ("sessionId", "session_id", "conversation_id")
# A few of a list are enough to see what it holds.
_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation of a file: what the file calls it, which may be nothing, and its turns."""

    name: str
    turns: tuple[Turn, ...]


def talks_in_json(text: str) -> list[Conversation]:
    """The conversations of a JSON document."""
    return [talk for talk in _talks(_parsed(text), name="", deep=0) if talk.turns]


def talks_in_json_lines(text: str) -> list[Conversation]:
    """The conversations of a file with a JSON value in each line: a message, or a whole conversation."""
    sessions: dict[str, list[Json]] = {}
    found: list[Conversation] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        value = _parsed(line, line=number)
        if is_message(value):
            message = cast("Json", value)
            sessions.setdefault(_name(message, _LINE_NAMES), []).append(message)
        elif not is_silent(_object(value)):
            found += _talks(value, name="", deep=0)
    found += [_talk(name, messages) for name, messages in sessions.items()]
    return [talk for talk in found if talk.turns]


def _parsed(text: str, *, line: int = 0) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f"line {line}" if line else "it"
        reason = "is nested too deeply" if isinstance(error, RecursionError) else "is no JSON"
        raise InvalidInput(
            f"{where} {reason}",
            hint="Give the file as the chat exported it, or --format text for a conversation line by line",
            field="text",
        ) from None


def _talks(value: object, *, name: str, deep: int) -> Iterator[Conversation]:
    """The conversations in a value, wherever in it they stand."""
    if deep > _DEEPEST:
        return
    if isinstance(value, list):
        items = cast("list[object]", value)
        if any(map(is_message, items[:_LOOKED_AT])):
            yield _talk(name, [cast("Json", item) for item in items if isinstance(item, dict)])
        else:
            for one in items[:_MOST_TALKS]:
                yield from _talks(one, name=name, deep=deep + 1)
    elif isinstance(value, dict):
        one = cast("Json", value)
        name = _name(one, _NAMES) or name
        if isinstance(one.get("mapping"), dict):
            yield _talk(name, _branch(one))
            return
        for key, inner in one.items():
            # Some keep their sessions side by side, each under a name of its own.
            told = f"{name} {key}".strip() if key.startswith("session") else name
            yield from _talks(inner, name=told, deep=deep + 1)


def _talk(name: str, messages: Sequence[Json]) -> Conversation:
    turns: list[Turn] = []
    for message in messages:
        turn = turn_of(message, number=len(turns) + 1) if is_message(message) else None
        if turn is not None:
            turns.append(turn)
    return Conversation(name, tuple(turns))


def _branch(conversation: Json) -> list[Json]:
    """The messages of a tree, from its root to the leaf that was shown last."""
    mapping = cast("dict[str, object]", conversation["mapping"])
    at = conversation.get("current_node")
    if not isinstance(at, str) or at not in mapping:
        return [one for node in mapping.values() if (one := _object(_object(node).get("message")))]
    found: list[Json] = []
    seen: set[str] = set()
    while isinstance(at, str) and at in mapping and at not in seen:
        seen.add(at)
        node = _object(mapping[at])
        if message := _object(node.get("message")):
            found.append(message)
        at = node.get("parent")
    return found[::-1]


def _object(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _name(value: Json, keys: Sequence[str]) -> str:
    return next((str(name)[:100] for key in keys if isinstance(name := value.get(key), str | int) and name), "")
