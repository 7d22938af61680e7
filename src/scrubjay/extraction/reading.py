"""A chat log of whatever form becomes turns: who said what, and when."""

import re
from collections.abc import Callable
from dataclasses import replace

from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.extraction.exports import Conversation, talks_in_json, talks_in_json_lines
from scrubjay.extraction.formats import FORMATS, LONGEST
from scrubjay.extraction.lines import turns_in_lines
from scrubjay.model.checks import require_text
from scrubjay.model.fact import Turn

__all__ = ["Conversation", "read_conversations", "read_turns"]

MOST_TURNS = 200_000
_LOOKED_AT = 4_000
_BINARY_SHARE = 0.02
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffd]")
_BROKEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_FIRST_LINE = re.compile(r"\s*([^\n]*)\n\s*([\[{]?)")


def read_turns(text: str, format: str = "auto") -> list[Turn]:
    """All turns of a log, of its conversations one behind the other."""
    return [turn for talk in read_conversations(text, format) for turn in talk.turns]


def read_conversations(text: str, format: str = "auto") -> list[Conversation]:
    """The conversations of a log; raises InvalidInput for what is none."""
    if format not in FORMATS:
        raise InvalidInput(
            f"there is no format {format!r}", hint=f"One of: {', '.join(FORMATS)}", field="format", value=format
        )
    text = _checked(text)
    read = _READERS[FORMATS[format] or FORMATS[_form_of(text)]]
    talks = [_cleaned(talk) for talk in read(text)]
    count = sum(len(talk.turns) for talk in talks)
    if not count:
        raise InvalidInput(
            "nobody says anything in it",
            hint="A log has lines such as `Ann: I moved to Rome`, or messages in JSON with a speaker and a text",
            field="text",
        )
    if count > MOST_TURNS:
        raise TooLarge(f"it has {count:,} turns; the limit is {MOST_TURNS:,}", hint="Split it", field="text")
    return talks


def _checked(text: str) -> str:
    if len(text) > LONGEST:
        raise TooLarge(
            f"it has {len(text):,} characters; the limit is {LONGEST:,}", hint="Split it", field="text", limit=LONGEST
        )
    start = text[:_LOOKED_AT]
    if len(_CONTROL.findall(start)) > _BINARY_SHARE * len(start):
        raise InvalidInput("it is no text", hint="Give a chat log: plain text, Markdown, JSON or JSONL", field="text")
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise InvalidInput("it is empty", hint="Give a chat log: plain text, Markdown, JSON or JSONL", field="text")
    return text


def _form_of(text: str) -> str:
    """How a log is written, by its beginning."""
    start = text.lstrip()
    if start[0] == "[" and re.match(r"\[\s*[\[{\"\]]", start):
        return "json"
    if start[0] != "{":
        return "text"
    lines = _FIRST_LINE.match(start)
    first_is_whole = bool(lines) and lines[1].rstrip().endswith("}") and lines[2] == "{"
    return "jsonl" if first_is_whole else "json"


def _in_lines(text: str) -> list[Conversation]:
    return [Conversation("", tuple(turns_in_lines(text)))]


def _cleaned(talk: Conversation) -> Conversation:
    """Without the signs that no store keeps."""
    if not any(_BROKEN.search(f"{turn.text}{turn.speaker}{turn.id}") for turn in talk.turns):
        return talk
    return replace(talk, turns=tuple(map(_clean, talk.turns)))


def _clean(turn: Turn) -> Turn:
    text, speaker, said_as = (_BROKEN.sub("", one) for one in (turn.text, turn.speaker, turn.id))
    return replace(turn, text=require_text(text, field="text"), speaker=speaker, id=said_as)


_READERS: dict[str, Callable[[str], list[Conversation]]] = {
    "lines": _in_lines,
    "json": talks_in_json,
    "jsonl": talks_in_json_lines,
}
