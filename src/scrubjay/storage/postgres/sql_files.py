"""The SQL of the store: files of the schema, and named statements."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

_FOLDER = Path(__file__).with_name("sql")
_HEADER = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_COMMENT = re.compile(r"^\s*--.*\n?", re.MULTILINE)


def read_sql(name: str) -> str:
    """Return the text of a file."""
    return (_FOLDER / f"{name}.sql").read_text(encoding="utf-8")


@cache
def named_statements(name: str) -> Mapping[str, str]:
    """Return the statements of a file by the names in their `-- name:` headers, without comments."""
    _, *parts = _HEADER.split(read_sql(name))
    texts = (_COMMENT.sub("", text).strip().removesuffix(";") for text in parts[1::2])
    return MappingProxyType(dict(zip(parts[::2], texts, strict=True)))
