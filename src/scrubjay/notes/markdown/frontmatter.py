"""Read the YAML frontmatter of a file and keep its lines as they are.

A few patterns read our own files and most others; they agree with the full parser, which reads the rest.
"""

from scrubjay.notes.markdown.note import unreadable
from scrubjay.notes.markdown.plain_yaml import parse_simple_yaml
from scrubjay.notes.markdown.yaml_values import Frontmatter

__all__ = ["read_head"]


def parse_frontmatter(text: str, *, first: int = 2) -> Frontmatter:
    """Read the entries of a frontmatter; `first` is the number of its first line. Raises NoteUnreadable."""
    plain = parse_simple_yaml(text)
    head = Frontmatter(raw=text, entries=plain[0], tail=plain[1]) if plain else _parse(text, first=first)
    seen: set[str] = set()
    line = first
    for entry in head.entries:
        if entry.key in seen:
            where = first if head.is_odd else line + entry.lead.count("\n")
            raise unreadable(f"the frontmatter has the key {entry.key[:80]!r} twice", line=where)
        seen.add(entry.key)
        line += entry.text.count("\n")
    return head


def _parse(text: str, *, first: int) -> Frontmatter:
    # Few files need the parser, so it is loaded on first use.
    from scrubjay.notes.markdown.parsed_yaml import parse_full_yaml  # noqa: PLC0415

    return parse_full_yaml(text, first=first)
