"""Chat logs in JSON, as programs export them: lists of messages at any depth, and trees of messages."""

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from scrubjay.errors import InvalidInput
from scrubjay.extraction.timestamps import parse_timestamp
from scrubjay.lazy import dataclass
from scrubjay.model.fact import Turn

__all__ = ["Conversation", "read_json", "read_json_lines"]

_Json = Mapping[str, object]
# No export has its messages deeper than this.
_MAX_DEPTH = 6
_MAX_CONVERSATIONS = 100_000
_NAME_KEYS = ("conversation_id", "session_id", "sessionId", "uuid", "id", "name", "title", "sample_id")
_LINE_NAME_KEYS = ("sessionId", "session_id", "conversation_id")
# The first items of a list show what it holds.
_SAMPLE = 20


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation of a file: its name in the file, which may be empty, and its turns."""

    name: str
    turns: tuple[Turn, ...]


def read_json(text: str) -> list[Conversation]:
    """Return the conversations of a JSON document."""
    conversations = _find_conversations(_parse(text), name="", depth=0)
    return [conversation for conversation in conversations if conversation.turns]


def read_json_lines(text: str) -> list[Conversation]:
    """Return the conversations of a file with a JSON value in each line: a message, or a whole conversation."""
    sessions: dict[str, list[_Json]] = {}
    conversations: list[Conversation] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        value = _parse(line, line=number)
        if _is_message(value):
            message = cast("_Json", value)
            sessions.setdefault(_find_name(message, _LINE_NAME_KEYS), []).append(message)
        elif not _is_notice(_as_object(value)):
            conversations += _find_conversations(value, name="", depth=0)
    conversations += [_read_conversation(name, messages) for name, messages in sessions.items()]
    return [conversation for conversation in conversations if conversation.turns]


def _parse(text: str, *, line: int = 0) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f"line {line}" if line else "the text"
        reason = "is nested too deeply" if isinstance(error, RecursionError) else "is not valid JSON"
        raise InvalidInput(
            f"{where} {reason}",
            hint="Give the file as the chat exported it, or --format text for a conversation line by line",
            field="text",
        ) from None


def _find_conversations(value: object, *, name: str, depth: int) -> Iterator[Conversation]:
    """Return the conversations in a value, at any depth."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        items = cast("list[object]", value)
        if any(map(_is_message, items[:_SAMPLE])):
            yield _read_conversation(name, [cast("_Json", item) for item in items if isinstance(item, dict)])
        else:
            for item in items[:_MAX_CONVERSATIONS]:
                yield from _find_conversations(item, name=name, depth=depth + 1)
    elif isinstance(value, dict):
        document = cast("_Json", value)
        name = _find_name(document, _NAME_KEYS) or name
        if isinstance(document.get("mapping"), dict):
            yield _read_conversation(name, _shown_branch(document))
            return
        for key, inner in document.items():
            # Some files have several sessions in one object, each under a key of its own.
            inner_name = f"{name} {key}".strip() if key.startswith("session") else name
            yield from _find_conversations(inner, name=inner_name, depth=depth + 1)


def _read_conversation(name: str, messages: Sequence[_Json]) -> Conversation:
    turns: list[Turn] = []
    for message in messages:
        turn = _read_turn(message, number=len(turns) + 1) if _is_message(message) else None
        if turn is not None:
            turns.append(turn)
    return Conversation(name, tuple(turns))


def _shown_branch(conversation: _Json) -> list[_Json]:
    """Return the messages of a tree from its root to the leaf that was shown last."""
    mapping = cast("dict[str, object]", conversation["mapping"])
    at = conversation.get("current_node")
    if not isinstance(at, str) or at not in mapping:
        messages = (_as_object(_as_object(node).get("message")) for node in mapping.values())
        return [message for message in messages if message]
    branch: list[_Json] = []
    seen: set[str] = set()
    while isinstance(at, str) and at in mapping and at not in seen:
        seen.add(at)
        node = _as_object(mapping[at])
        if message := _as_object(node.get("message")):
            branch.append(message)
        at = node.get("parent")
    return branch[::-1]


def _as_object(value: object) -> _Json:
    return cast("_Json", value) if isinstance(value, dict) else {}


def _find_name(value: _Json, keys: Sequence[str]) -> str:
    return next((str(name)[:100] for key in keys if isinstance(name := value.get(key), str | int) and name), "")


_SPEAKER_KEYS = ("speaker", "author", "from", "sender", "role", "username", "user", "name")
_TEXT_KEYS = ("content", "text", "message", "body", "utterance", "value", "parts")
_TIME_KEYS = (
    "date_unixtime", "timestamp", "time", "date", "created_at", "create_time", "ts", "at", "sent_at", "datetime",
)  # fmt: skip
_ID_KEYS = ("id", "uuid", "dia_id", "message_id", "turn", "ts")
_PERSON_KEYS = ("real_name", "display_name", "name", "username", "first_name", "role", "id")
_ROLES = {"human": "user", "gpt": "assistant", "ai": "assistant", "bot": "assistant"}
# Types of the parts of a message that are text; other parts are tool calls, thoughts and pictures.
_TEXT_TYPES = frozenset(
    ("text", "input_text", "output_text", "plain", "link", "mention", "bold", "italic", "hashtag", "")
)
_TEXT_CONTENT_TYPES = frozenset(("text", "multimodal_text", "audio_transcription", ""))
_NOTICE_TYPES = frozenset(
    "service tool_use tool_result summary event file-history-snapshot progress queue-operation attachment".split()
)
# Slack marks these messages, and they are messages of people all the same.
_MESSAGE_SUBTYPES = frozenset((None, "", "thread_broadcast", "file_share", "me_message"))
# The words of another: of an agent that talks to another one, of a summary, or of a forwarded message.
_NOT_OWN = ("isMeta", "isSidechain", "isCompactSummary", "is_hidden", "forwarded_from")
# Texts that programs insert, such as `<system-reminder>...</system-reminder>`.
_INSERTED = re.compile(r"<([a-z]{1,30}[-_][a-z_-]{1,30})>")
_MAX_INSERTED = 200
_MAX_PARTS = 10_000
_MAX_TEXT_DEPTH = 3
_MAX_NAME = 100
# Mentions and links in Slack's notation: the text to show comes last.
_MENTION = re.compile(r"<(?:[@#!]\w{1,50}\|?|https?://[^<>|\s]{1,2000}\|)([^<>|]{0,200})>")


def _is_message(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    message = cast("_Json", value)
    inner = _inner(message)
    has_speaker = any(key in inner or key in message for key in _SPEAKER_KEYS)
    return has_speaker and any(key in inner for key in _TEXT_KEYS)


def _read_turn(message: _Json, *, number: int) -> Turn | None:
    """Return the turn of a message; None for a message without words of a speaker."""
    inner = _inner(message)
    # ChatGPT keeps a message of weight 0 and does not show it.
    is_hidden = "author" in message and message.get("weight") == 0
    if _is_notice(message) or any(message.get(key) for key in _NOT_OWN) or is_hidden:
        return None
    text = next((words for key in _TEXT_KEYS if (words := _read_text(inner.get(key)))), "")
    text = _remove_inserted(html.unescape(text) if "ts" in message else text).strip()
    if not text:
        return None
    times = (parse_timestamp(message.get(key) or inner.get(key)) for key in _TIME_KEYS)
    turn_id = next((str(message[key]) for key in _ID_KEYS if _is_id(message.get(key))), str(number))
    at = next((time for time in times if time), None)
    return Turn(speaker=_read_speaker(message, inner), text=text, id=turn_id, at=at)


def _is_notice(message: _Json) -> bool:
    """Return whether a message is a notice of the chat itself: a new member, a tool call, a progress report."""
    kind, subtype = message.get("type"), message.get("subtype")
    is_message = isinstance(subtype, str | None) and subtype in _MESSAGE_SUBTYPES
    return (isinstance(kind, str) and kind in _NOTICE_TYPES) or not is_message


def _read_text(value: object, *, depth: int = 0) -> str:
    """Return the words of a message's content: a text, or the parts that are text."""
    if isinstance(value, str):
        return _MENTION.sub(r"\1", value) if "<" in value else value
    # No export nests the words of a message deeper.
    if depth > _MAX_TEXT_DEPTH:
        return ""
    if isinstance(value, dict):
        part = cast("_Json", value)
        if part.get("content_type", "") not in _TEXT_CONTENT_TYPES:
            return ""
        if "parts" in part:
            return _read_text(part["parts"], depth=depth + 1)
        return _read_text(part.get("text"), depth=depth + 1) if part.get("type", "") in _TEXT_TYPES else ""
    if isinstance(value, list):
        parts = cast("Sequence[object]", value)[:_MAX_PARTS]
        # Pieces of one line, as in Telegram, or paragraphs.
        joint = "" if any(isinstance(part, str) for part in parts) and len(parts) > 1 else "\n"
        return joint.join(filter(None, (_read_text(part, depth=depth + 1) for part in parts)))
    return ""


def _remove_inserted(text: str) -> str:
    for _ in range(_MAX_INSERTED):
        if not (start := _INSERTED.search(text)):
            break
        end = text.find(f"</{start[1]}>", start.end())
        after = end + len(start[1]) + 3 if end >= 0 else start.end()
        text = f"{text[: start.start()]}\n{text[after:]}"
    return text


def _inner(message: _Json) -> _Json:
    for key in ("message", "payload"):
        if isinstance(inner := message.get(key), dict):
            return cast("_Json", inner)
    return message


def _read_speaker(message: _Json, inner: _Json) -> str:
    speaker = _read_name(message.get("user_profile"))
    for key in _SPEAKER_KEYS:
        speaker = speaker or _read_name(inner.get(key)) or _read_name(message.get(key))
    if speaker in ("user", "human"):
        speaker = _read_name(inner.get("name")) or speaker
    low = speaker.lower()
    return _ROLES.get(low, low if low in ("user", "assistant", "system", "tool") else speaker)


def _read_name(value: object) -> str:
    if isinstance(value, dict):
        person = cast("_Json", value)
        names = (person.get(key) for key in _PERSON_KEYS)
        return next((name.strip() for name in names if isinstance(name, str) and name.strip()), "")
    return " ".join(value.split())[:_MAX_NAME] if isinstance(value, str) else ""


def _is_id(value: object) -> bool:
    return (isinstance(value, str) and 0 < len(value) <= _MAX_NAME) or (
        isinstance(value, int) and not isinstance(value, bool)
    )
