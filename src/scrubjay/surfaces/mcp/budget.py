"""Token budgets: no result costs more than its budget. The rest is cut, and the result says how to get it."""

import json
from collections.abc import Mapping, Sequence

from scrubjay.lazy import dataclass
from scrubjay.model.memory import Json
from scrubjay.text.cost import end_within, estimate_tokens

DEFAULT_TOKENS = 1_500
MAX_TOKENS = 8_000
MIN_TOKENS = 300
ELLIPSIS = "…"
# The protocol wraps the text and the structured form in a few words.
_WRAPPING = 30
# Where a text may end, from best to worst; a break that loses more than half of the text does not count.
_BREAKS = ("\n\n", "\n", ". ", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListEntry:
    """One item of a list, as fields for programs and a line for models; `short` replaces a line that does not fit."""

    structured: dict[str, Json]
    line: str
    short: str = ""

    @property
    def cost(self) -> int:
        """The tokens of both forms."""
        return cost_of(self.line, self.structured)


def room_for(max_tokens: Json) -> int:
    """Return the tokens that a result may cost, given the caller's `max_tokens`."""
    requested = max_tokens if isinstance(max_tokens, int) and not isinstance(max_tokens, bool) else DEFAULT_TOKENS
    return min(max(requested, MIN_TOKENS), MAX_TOKENS) - _WRAPPING


def cost_of(text: str, structured: Mapping[str, Json] | None = None) -> int:
    """Return the tokens of a text, and of the structured form next to it."""
    return estimate_tokens(text) + (estimate_tokens(compact_json(structured)) if structured is not None else 0)


def compact_json(value: Json | Mapping[str, Json]) -> str:
    """Return a value as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def drop_empty(values: Mapping[str, Json]) -> dict[str, Json]:
    """Return an object without its empty fields: they say nothing and still cost tokens."""
    return {name: value for name, value in values.items() if value not in (None, "", [], {})}


def fit(entries: Sequence[ListEntry], *, room: int) -> list[ListEntry]:
    """Return as many entries as fit, from the first on; shorten their lines before leaving any out."""
    whole = _prefix(entries, room)
    if len(whole) == len(entries):
        return whole
    return _prefix([ListEntry(structured=entry.structured, line=entry.short or entry.line) for entry in entries], room)


def trim_lists(values: Mapping[str, Json], *, room: int) -> dict[str, Json]:
    """Return an object that fits: cut the ends off its lists, the last list first."""
    trimmed: dict[str, Json] = {name: [] if isinstance(value, list) else value for name, value in values.items()}
    left = room - cost_of("", trimmed)
    for name, value in values.items():
        if isinstance(value, list):
            count = 0
            for item in value:
                left -= estimate_tokens(compact_json(item))
                if left < 0:
                    break
                count += 1
            trimmed[name] = value[:count]
    return trimmed


def find_cut(text: str, *, start: int = 0, tokens: int) -> int:
    """Return the end of a part of a text that costs at most `tokens`: after a paragraph, line, sentence or word."""
    end = max(end_within(text, start=start, tokens=tokens), min(start + 1, len(text)))
    if end >= len(text):
        return len(text)
    for mark in _BREAKS:
        at = text.rfind(mark, start, end)
        if at > start + (end - start) // 2:
            return at + len(mark)
    return end


def shorten(text: str, *, tokens: int) -> str:
    """Return a text, or its beginning with an ellipsis."""
    end = find_cut(text, tokens=max(tokens, 1))
    return text if end == len(text) else text[:end].rstrip() + ELLIPSIS


def _prefix(entries: Sequence[ListEntry], room: int) -> list[ListEntry]:
    fitting: list[ListEntry] = []
    for entry in entries:
        room -= entry.cost
        if room < 0:
            break
        fitting.append(entry)
    return fitting
