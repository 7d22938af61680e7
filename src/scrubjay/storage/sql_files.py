"""SQL that is kept in files: schemas, and statements under `-- name:` headings."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

_FOLDER = Path(__file__).parent
_HEADING = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT = re.compile(r"^\s*--.*\n?", re.MULTILINE)


def read_sql(name: str) -> str:
    """Return the text of a file, such as `sqlite/schema`."""
    engine, _, path = name.partition("/")
    return (_FOLDER / engine / "sql" / f"{path}.sql").read_text(encoding="utf-8")


@cache
def read_statements(name: str) -> Mapping[str, str]:
    """Return the statements of a file by name, without comments: SQLite caches prepared statements by their text."""
    _, *parts = _HEADING.split(read_sql(name))
    texts = (_COMMENT.sub("", text).strip().removesuffix(";") for text in parts[1::2])
    return MappingProxyType(dict(zip(parts[::2], texts, strict=True)))
