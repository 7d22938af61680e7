"""The values of a frontmatter: as they are read, and as they are written so that every reader of YAML agrees."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = [
    "NULLS",
    "OTHER",
    "PRINTABLE",
    "Entry",
    "Head",
    "Other",
    "Scalar",
    "Value",
    "flow_list",
    "quoted",
    "scalar",
    "singly_quoted",
]

NULLS = frozenset({"", "~", "null", "Null", "NULL"})
# What stands for itself in YAML of every version, in Markdown and on a screen.
PRINTABLE = "\x20-\x7e\xa0-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\ufdcf\ufdf0-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
_PLAIN = re.compile(rf"(?!\d)\w(?:(?!:[ ]|:$|[ ]\#)[{PRINTABLE}])*(?<!\s)")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
# Words that some reader takes for something else than a text.
_WORDS = frozenset({"y", "n", "yes", "no", "true", "false", "on", "off", "null"})
_UNPRINTABLE = re.compile(rf'[^{PRINTABLE}]|["\\]')
_UNQUOTABLE = re.compile(rf"[^{PRINTABLE}]")
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_LARGEST_SHORT = 0xFFFF


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text, and whether it stands without quotes."""

    text: str
    is_plain: bool = False

    @property
    def is_null(self) -> bool:
        """Whether it says nothing."""
        return self.is_plain and self.text in NULLS


class Other:
    """A value that no field of ours has: a mapping, or lists in a list."""


OTHER = Other()
Value = Scalar | tuple[Scalar, ...] | Other


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A key with its lines; `lead` are the comments and empty lines above it.

    From `start` to `end` its value stands in `raw`; both are 0 where it is a block of lines.
    """

    key: str
    raw: str
    value: Value
    lead: str = ""
    start: int = 0
    end: int = 0

    @property
    def text(self) -> str:
        """All its lines."""
        return self.lead + self.raw


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A frontmatter; `is_odd` says that its entries are not the lines of `raw`, but stand for them."""

    raw: str = ""
    entries: tuple[Entry, ...] = ()
    tail: str = ""
    is_odd: bool = False


def scalar(text: str) -> str:
    """A text as YAML, in quotes where it needs them."""
    if _UUID.fullmatch(text) or (_PLAIN.fullmatch(text) and text.casefold() not in _WORDS):
        return text
    return quoted(text)


def quoted(text: str) -> str:
    """A text as YAML in double quotes, which is also JSON."""
    return f'"{_UNPRINTABLE.sub(_escaped, text)}"'


def singly_quoted(text: str) -> str:
    """A text as YAML in single quotes, where it can stand in them."""
    return quoted(text) if _UNQUOTABLE.search(text) else "'" + text.replace("'", "''") + "'"


def flow_list(texts: Iterable[str]) -> str:
    """Texts as a list on one line."""
    return f"[{', '.join(map(quoted, texts))}]"


def _escaped(found: re.Match[str]) -> str:
    sign = found[0]
    code = ord(sign)
    return _SHORT.get(sign) or (f"\\u{code:04x}" if code <= _LARGEST_SHORT else f"\\U{code:08x}")
