"""One message of a chat as programs keep it: who, what, when, under the names that each of them has for it."""

import html
import re
from collections.abc import Mapping, Sequence
from typing import cast

from scrubjay.extraction.timestamps import parse_timestamp
from scrubjay.model.fact import Turn

__all__ = ["Json", "is_message", "is_silent", "text_of", "turn_of"]

Json = Mapping[str, object]
_WHO = ("speaker", "author", "from", "sender", "role", "username", "user", "name")
_WHAT = ("content", "text", "message", "body", "utterance", "value", "parts")
_WHEN = ("date_unixtime", "timestamp", "time", "date", "created_at", "create_time", "ts", "at", "sent_at", "datetime")
_ID = ("id", "uuid", "dia_id", "message_id", "turn", "ts")
_NAMED_BY = ("real_name", "display_name", "name", "username", "first_name", "role", "id")
_ROLES = {"human": "user", "gpt": "assistant", "ai": "assistant", "bot": "assistant"}
# What is in a message besides words: what a tool was asked and gave, what a model thought, pictures.
_WORDS = frozenset(("text", "input_text", "output_text", "plain", "link", "mention", "bold", "italic", "hashtag", ""))
_SPOKEN = frozenset(("text", "multimodal_text", "audio_transcription", ""))
_SILENT = frozenset(
    "service tool_use tool_result summary event file-history-snapshot progress queue-operation attachment".split()
)
# What Slack marks, and is said all the same.
_SAID = frozenset((None, "", "thread_broadcast", "file_share", "me_message"))
# What was put into somebody's mouth: by an agent that talks to another, by what sums up, or by whom it was passed on.
_NOT_OWN = ("isMeta", "isSidechain", "isCompactSummary", "is_hidden", "forwarded_from")
# What programs put between the words, as `<system-reminder>...</system-reminder>`.
_INSERTED = re.compile(r"<([a-z]{1,30}[-_][a-z_-]{1,30})>")
_MOST_INSERTED = 200
_MOST_PARTS = 10_000
_DEEPEST = 3
_LONGEST_NAME = 100
# As Slack writes whom somebody means, and links: what is shown stands last.
_MENTION = re.compile(r"<(?:[@#!]\w{1,50}\|?|https?://[^<>|\s]{1,2000}\|)([^<>|]{0,200})>")


def is_message(value: object) -> bool:
    """Whether something has a speaker and words."""
    if not isinstance(value, dict):
        return False
    one = cast("Json", value)
    inner = _inner(one)
    return any(name in inner or name in one for name in _WHO) and any(name in inner for name in _WHAT)


def turn_of(message: Json, *, number: int) -> Turn | None:
    """The turn that a message is; None for one in which nobody says anything."""
    inner = _inner(message)
    if is_silent(message) or any(message.get(name) for name in _NOT_OWN) or _is_hidden(message):
        return None
    text = next((told for name in _WHAT if (told := text_of(inner.get(name)))), "")
    text = _own(html.unescape(text) if "ts" in message else text).strip()
    if not text:
        return None
    when = next((at for name in _WHEN for at in (parse_timestamp(message.get(name) or inner.get(name)),) if at), None)
    said_as = next((str(message[name]) for name in _ID if _is_id(message.get(name))), str(number))
    return Turn(speaker=_speaker(message, inner), text=text, id=said_as, at=when)


def is_silent(message: Json) -> bool:
    """Whether it is what a chat notes of itself: who came, what a tool did, how far something is."""
    kind, sort = message.get("type"), message.get("subtype")
    return (isinstance(kind, str) and kind in _SILENT) or not (isinstance(sort, str | None) and sort in _SAID)


def text_of(value: object, *, deep: int = 0) -> str:
    """The words of a message's content: a text, or parts of which some are words."""
    if isinstance(value, str):
        return _MENTION.sub(r"\1", value) if "<" in value else value
    # Nobody nests the words of a message any deeper.
    if deep > _DEEPEST:
        return ""
    if isinstance(value, dict):
        one = cast("Json", value)
        if one.get("content_type", "") not in _SPOKEN:
            return ""
        if "parts" in one:
            return text_of(one["parts"], deep=deep + 1)
        return text_of(one.get("text"), deep=deep + 1) if one.get("type", "") in _WORDS else ""
    if isinstance(value, list):
        parts = cast("Sequence[object]", value)[:_MOST_PARTS]
        # Pieces of one line, as Telegram has them, or paragraphs.
        joint = "" if any(isinstance(part, str) for part in parts) and len(parts) > 1 else "\n"
        return joint.join(filter(None, (text_of(part, deep=deep + 1) for part in parts)))
    return ""


def _is_hidden(message: Json) -> bool:
    """Whether ChatGPT keeps it and shows it to nobody."""
    return "author" in message and message.get("weight") == 0


def _own(text: str) -> str:
    """Without what a program put in, which stands between two marks."""
    for _ in range(_MOST_INSERTED):
        if not (begun := _INSERTED.search(text)):
            break
        end = text.find(f"</{begun[1]}>", begun.end())
        after = end + len(begun[1]) + 3 if end >= 0 else begun.end()
        text = f"{text[: begun.start()]}\n{text[after:]}"
    return text


def _inner(message: Json) -> Json:
    for name in ("message", "payload"):
        if isinstance(inner := message.get(name), dict):
            return cast("Json", inner)
    return message


def _speaker(message: Json, inner: Json) -> str:
    found = _named(message.get("user_profile"))
    for name in _WHO:
        found = found or _named(inner.get(name)) or _named(message.get(name))
    if found in ("user", "human"):
        found = _named(inner.get("name")) or found
    low = found.lower()
    return _ROLES.get(low, low if low in ("user", "assistant", "system", "tool") else found)


def _named(value: object) -> str:
    if isinstance(value, dict):
        one = cast("Json", value)
        return next((name.strip() for key in _NAMED_BY if isinstance(name := one.get(key), str) and name.strip()), "")
    return " ".join(value.split())[:_LONGEST_NAME] if isinstance(value, str) else ""


def _is_id(value: object) -> bool:
    return (isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME) or (
        isinstance(value, int) and not isinstance(value, bool)
    )
