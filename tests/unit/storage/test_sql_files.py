"""The SQL files: each loads, each named statement has a user, and each function of the schema has one name."""

import re
from collections import Counter
from pathlib import Path

import pytest

from scrubjay.storage import sql_files
from scrubjay.storage.sql_files import read_sql, read_statements

FOLDER = Path(sql_files.__file__).parent
POSTGRES = FOLDER / "postgres" / "sql"
QUERIES = sorted(f"postgres/queries/{file.stem}" for file in POSTGRES.glob("queries/*.sql"))


def test_statements_are_split_by_name_without_comments() -> None:
    statements = read_statements("postgres/queries/bodies")
    assert list(statements)[:2] == ["later_versions", "earlier_versions"]
    assert all(text.startswith(("SELECT", "INSERT")) and "--" not in text for text in statements.values())
    assert not any(text.endswith(";") for text in statements.values())


def test_an_unknown_file_or_statement_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        read_sql("postgres/nothing")
    with pytest.raises(KeyError):
        read_statements("postgres/rls")["nothing"]


@pytest.mark.parametrize("name", QUERIES)
def test_every_statement_is_used(name: str) -> None:
    texts = [file.read_text(encoding="utf-8") for file in FOLDER.rglob("*.py")]
    (user,) = [text for text in texts if f'read_statements("{name}")' in text]
    unused = [statement for statement in read_statements(name) if f'"{statement}"' not in user]
    assert not unused


def test_every_function_is_defined_once_under_a_plain_name() -> None:
    texts = [file.read_text(encoding="utf-8") for file in POSTGRES.glob("*.sql")]
    functions = Counter(re.findall(r"CREATE FUNCTION scrubjay\.(\w+)", "\n".join(texts)))
    assert functions
    assert [name for name, count in functions.items() if count > 1 or re.search(r"\d", name)] == []
