"""SQL that is kept in files: the schema, and statements under `-- name:` headings."""

import re
from pathlib import Path

_FOLDER = Path(__file__).parent / "sql"
_HEADING = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)


def read_sql(file_name: str) -> str:
    """Return the text of a file."""
    return (_FOLDER / file_name).read_text(encoding="utf-8")


def read_statements(file_name: str) -> dict[str, str]:
    """Return the statements of a file by name, without comments: SQLite caches prepared statements by their text."""
    _, *parts = _HEADING.split(read_sql(file_name))
    names, bodies = parts[::2], parts[1::2]
    return {name: _COMMENT.sub("", body).strip().rstrip(";") for name, body in zip(names, bodies, strict=True)}
