"""No answer costs more than its budget: what does not fit is cut, and how to get the rest is said."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scrubjay.model.memory import Json
from scrubjay.text.cost import end_within, estimate_tokens

DEFAULT_TOKENS = 1_500
MOST_TOKENS = 8_000
LEAST_TOKENS = 300
ELLIPSIS = "…"
# The text and the structured form are wrapped in a few words of the protocol.
_WRAPPING = 30
# Where a text may end, from best to worst; one that would lose more than half of it is no good place.
_BREAKS = ("\n\n", "\n", ". ", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One item of a list, as a program and as a model gets it; `short` stands in for a line there is no room for."""

    structured: dict[str, Json]
    line: str
    short: str = ""

    @property
    def cost(self) -> int:
        """What it costs in both forms."""
        return cost_of(self.line, self.structured)


def room_for(max_tokens: Json) -> int:
    """What an answer may cost, given what the caller asked for."""
    asked = max_tokens if isinstance(max_tokens, int) and not isinstance(max_tokens, bool) else DEFAULT_TOKENS
    return min(max(asked, LEAST_TOKENS), MOST_TOKENS) - _WRAPPING


def cost_of(text: str, structured: Mapping[str, Json] | None = None) -> int:
    """What a text, and the structured form beside it, cost the model that reads both."""
    return estimate_tokens(text) + (estimate_tokens(compact(structured)) if structured is not None else 0)


def compact(value: Json | Mapping[str, Json]) -> str:
    """A value as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def lean(values: Mapping[str, Json]) -> dict[str, Json]:
    """An object without what is empty: it says nothing, and costs all the same."""
    return {name: value for name, value in values.items() if value not in (None, "", [], {})}


def fit(entries: Sequence[Entry], *, room: int) -> list[Entry]:
    """As many entries as fit, from the first on; their lines are shortened before any is left out."""
    whole = _prefix(entries, room)
    if len(whole) == len(entries):
        return whole
    return _prefix([_shortened(entry) for entry in entries], room)


def trim(values: Mapping[str, Json], *, room: int) -> dict[str, Json]:
    """An object whose lists have lost, from their ends, what there is no room for; the last list loses first."""
    trimmed: dict[str, Json] = {name: [] if isinstance(value, list) else value for name, value in values.items()}
    left = room - cost_of("", trimmed)
    for name, value in values.items():
        if isinstance(value, list):
            kept = 0
            for one in value:
                left -= estimate_tokens(compact(one))
                if left < 0:
                    break
                kept += 1
            trimmed[name] = value[:kept]
    return trimmed


def cut(text: str, *, start: int = 0, tokens: int) -> int:
    """Where a text must end to cost so much at most from `start` on: after a paragraph, a line, a sentence, a word."""
    end = max(end_within(text, start=start, tokens=tokens), min(start + 1, len(text)))
    if end >= len(text):
        return len(text)
    for mark in _BREAKS:
        at = text.rfind(mark, start, end)
        if at > start + (end - start) // 2:
            return at + len(mark)
    return end


def beginning(text: str, *, tokens: int) -> str:
    """A text, or its beginning with an ellipsis."""
    end = cut(text, tokens=max(tokens, 1))
    return text if end == len(text) else text[:end].rstrip() + ELLIPSIS


def _prefix(entries: Sequence[Entry], room: int) -> list[Entry]:
    kept: list[Entry] = []
    for entry in entries:
        room -= entry.cost
        if room < 0:
            break
        kept.append(entry)
    return kept


def _shortened(entry: Entry) -> Entry:
    return Entry(structured=entry.structured, line=entry.short or entry.line)
