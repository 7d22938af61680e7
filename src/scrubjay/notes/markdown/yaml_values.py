"""Frontmatter values, and writers whose output every YAML parser reads alike."""

import re
from collections.abc import Iterable

from scrubjay.lazy import dataclass, regex

__all__ = [
    "NULLS",
    "OTHER",
    "PRINTABLE",
    "Frontmatter",
    "FrontmatterEntry",
    "Other",
    "Scalar",
    "Value",
    "flow_list",
    "quote_double",
    "quote_single",
    "scalar",
]

NULLS = frozenset({"", "~", "null", "Null", "NULL"})
# Characters that need no escape in any YAML version, in Markdown or on a screen.
PRINTABLE = "\x20-\x7e\xa0-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\ufdcf\ufdf0-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
_PLAIN = regex(rf"(?!\d)\w(?:(?!:[ ]|:$|[ ]\#)[{PRINTABLE}])*(?<!\s)")
_UUID = regex(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
# Words that some parsers do not read as text.
_WORDS = frozenset({"y", "n", "yes", "no", "true", "false", "on", "off", "null"})
_UNPRINTABLE = regex(rf'[^{PRINTABLE}]|["\\]')
_UNQUOTABLE = regex(rf"[^{PRINTABLE}]")
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_LARGEST_SHORT = 0xFFFF


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text, and whether it is unquoted."""

    text: str
    is_plain: bool = False

    @property
    def is_null(self) -> bool:
        """Return whether the value is null."""
        return self.is_plain and self.text in NULLS


class Other:
    """A value that no known field accepts: a mapping, or nested lists."""


OTHER = Other()
Value = Scalar | tuple[Scalar, ...] | Other


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontmatterEntry:
    """A key with its lines; `lead` holds the comments and empty lines above it.

    The value is `raw[start:end]`; both are 0 for a block of lines.
    """

    key: str
    raw: str
    value: Value
    lead: str = ""
    start: int = 0
    end: int = 0

    @property
    def text(self) -> str:
        """Return all lines of the entry."""
        return self.lead + self.raw


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontmatter:
    """A frontmatter; `is_odd` means that the entries are a rewritten form of `raw`, not its lines."""

    raw: str = ""
    entries: tuple[FrontmatterEntry, ...] = ()
    tail: str = ""
    is_odd: bool = False


def scalar(text: str) -> str:
    """Write a text as YAML, quoted if necessary."""
    if _UUID.fullmatch(text) or (_PLAIN.fullmatch(text) and text.casefold() not in _WORDS):
        return text
    return quote_double(text)


def quote_double(text: str) -> str:
    """Write a text as YAML in double quotes, which is also JSON."""
    return f'"{_UNPRINTABLE.sub(_escape, text)}"'


def quote_single(text: str) -> str:
    """Write a text as YAML in single quotes if possible, else in double quotes."""
    return quote_double(text) if _UNQUOTABLE.search(text) else "'" + text.replace("'", "''") + "'"


def flow_list(texts: Iterable[str]) -> str:
    """Write texts as a list on one line."""
    return f"[{', '.join(map(quote_double, texts))}]"


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    return _SHORT.get(character) or (f"\\u{code:04x}" if code <= _LARGEST_SHORT else f"\\U{code:08x}")
