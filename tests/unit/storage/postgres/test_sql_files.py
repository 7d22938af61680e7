"""The SQL files: each loads, each named statement has a user, and each function of the schema has one name."""

import re
from collections import Counter
from pathlib import Path

import pytest

from scrubjay.storage.postgres import sql_files
from scrubjay.storage.postgres.sql_files import named_statements, read_sql

FOLDER = Path(sql_files.__file__).with_name("sql")
QUERIES = sorted(f"queries/{file.stem}" for file in FOLDER.glob("queries/*.sql"))


def test_statements_are_split_by_name_without_comments() -> None:
    statements = named_statements("queries/bodies")
    assert list(statements)[:2] == ["later_versions", "earlier_versions"]
    assert all(text.startswith(("SELECT", "INSERT")) and "--" not in text for text in statements.values())
    assert not any(text.endswith(";") for text in statements.values())


def test_an_unknown_file_or_statement_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        read_sql("nothing")
    with pytest.raises(KeyError):
        named_statements("rls")["nothing"]


@pytest.mark.parametrize("name", QUERIES)
def test_every_statement_is_used(name: str) -> None:
    users = [file.read_text(encoding="utf-8") for file in FOLDER.parent.glob("*.py")]
    (user,) = [text for text in users if f'named_statements("{name}")' in text]
    unused = [statement for statement in named_statements(name) if f'"{statement}"' not in user]
    assert not unused


def test_every_function_is_defined_once_under_a_plain_name() -> None:
    texts = [file.read_text(encoding="utf-8") for file in FOLDER.glob("*.sql")]
    functions = Counter(re.findall(r"CREATE FUNCTION scrubjay\.(\w+)", "\n".join(texts)))
    assert functions
    assert [name for name, count in functions.items() if count > 1 or re.search(r"\d", name)] == []
