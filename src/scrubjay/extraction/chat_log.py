"""Chat logs of every format as conversations: the turns of each, with speaker, text and time."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import islice

from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.extraction.formats import FORMATS, MAX_LENGTH
from scrubjay.extraction.json_log import Conversation, read_json, read_json_lines
from scrubjay.extraction.line_log import read_lines
from scrubjay.model.checks import require_text
from scrubjay.model.fact import Turn

__all__ = ["read_conversations", "read_turns"]

MAX_TURNS = 200_000
_SAMPLE_LENGTH = 4_000
_MAX_BINARY_SHARE = 0.02
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffd]")
_NOT_STORABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_FIRST_LINE = re.compile(r"\s*([^\n]*)\n\s*([\[{]?)")


def read_turns(text: str, format: str = "auto") -> list[Turn]:
    """Return all turns of a log, one conversation after the other."""
    return [turn for conversation in read_conversations(text, format) for turn in conversation.turns]


def read_conversations(text: str, format: str = "auto") -> list[Conversation]:
    """Return the conversations of a log; raise InvalidInput for a text that is no log."""
    if format not in FORMATS:
        raise InvalidInput(
            f"no format is called {format!r}", hint=f"One of: {', '.join(FORMATS)}", field="format", value=format
        )
    text = _check_text(text)
    read = _READERS[FORMATS[format] or FORMATS[_detect_format(text)]]
    conversations = read(text)
    count = sum(len(conversation.turns) for conversation in conversations)
    if not count:
        raise InvalidInput(
            "the log has no turns",
            hint="A log has lines such as `Ann: I moved to Rome`, or messages in JSON with a speaker and a text",
            field="text",
        )
    if count > MAX_TURNS:
        raise TooLarge(f"the log has more than {MAX_TURNS:,} turns", hint="Split it", field="text", limit=MAX_TURNS)
    return [_remove_unstorable(conversation) for conversation in conversations]


def _check_text(text: str) -> str:
    if len(text) > MAX_LENGTH:
        raise TooLarge(
            f"the log has {len(text):,} characters; the limit is {MAX_LENGTH:,}",
            hint="Split it",
            field="text",
            limit=MAX_LENGTH,
        )
    start = text[:_SAMPLE_LENGTH]
    hint = "Give a chat log: plain text, Markdown, JSON or JSONL"
    if len(_CONTROL.findall(start)) > _MAX_BINARY_SHARE * len(start):
        raise InvalidInput("the log is not a text", hint=hint, field="text")
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise InvalidInput("the log is empty", hint=hint, field="text")
    return text


def _detect_format(text: str) -> str:
    start = text.lstrip()
    if start[0] == "[" and re.match(r"\[\s*[\[{\"\]]", start):
        return "json"
    if start[0] != "{":
        return "text"
    lines = _FIRST_LINE.match(start)
    first_is_whole = bool(lines) and lines[1].rstrip().endswith("}") and lines[2] == "{"
    return "jsonl" if first_is_whole else "json"


def _remove_unstorable(conversation: Conversation) -> Conversation:
    """Return a conversation without the characters that no store keeps."""
    if not any(_NOT_STORABLE.search(f"{turn.text}{turn.speaker}{turn.id}") for turn in conversation.turns):
        return conversation
    return replace(conversation, turns=tuple(map(_clean_turn, conversation.turns)))


def _clean_turn(turn: Turn) -> Turn:
    text, speaker, turn_id = (_NOT_STORABLE.sub("", value) for value in (turn.text, turn.speaker, turn.id))
    return replace(turn, text=require_text(text, field="text"), speaker=speaker, id=turn_id)


_READERS: dict[str, Callable[[str], list[Conversation]]] = {
    # One turn too many shows that there are too many.
    "lines": lambda text: [Conversation("", tuple(islice(read_lines(text), MAX_TURNS + 1)))],
    "json": read_json,
    "jsonl": read_json_lines,
}
