"""The YAML at the head of a file: read for what it says, and kept line by line as it is written.

What we write ourselves, and most of what others write, is read by a few patterns, which agree with a real parser.
"""

from scrubjay.notes.markdown.plain_yaml import read_plainly
from scrubjay.notes.markdown.unreadable import unreadable
from scrubjay.notes.markdown.yaml_values import Head

__all__ = ["read_head"]


def read_head(text: str, *, first: int = 2) -> Head:
    """The entries of a frontmatter, whose first line has that number in its file; raises NoteUnreadable."""
    results = read_plainly(text)
    head = Head(raw=text, entries=results[0], tail=results[1]) if results else _parsed(text, first=first)
    seen: set[str] = set()
    line = first
    for entry in head.entries:
        if entry.key in seen:
            where = first if head.is_odd else line + entry.lead.count("\n")
            raise unreadable(f"the frontmatter has the key {entry.key[:80]!r} twice", line=where)
        seen.add(entry.key)
        line += entry.text.count("\n")
    return head


def _parsed(text: str, *, first: int) -> Head:
    # A parser that few files need; whoever has none of them never loads it.
    from scrubjay.notes.markdown.parsed_yaml import read_by_parser  # noqa: PLC0415

    return read_by_parser(text, first=first)
