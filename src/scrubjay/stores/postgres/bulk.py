"""Many rows in one statement: each column travels as one array."""

from collections.abc import Sequence
from typing import NamedTuple

from scrubjay.stores.postgres.asking import Ask


class Column(NamedTuple):
    """A column and its type."""

    name: str
    type: str


def update(table: str, columns: Sequence[Column], rows: Sequence[Sequence[object]], *, keys: int = 1) -> Ask:
    """Set columns of the rows that the first column, or the first few, find."""
    found = " AND ".join(f"t.{column.name} = v.{column.name}" for column in columns[:keys])
    changed = ", ".join(f"{column.name} = v.{column.name}" for column in columns[keys:])
    statement = f"""UPDATE scrubjay.{table} AS t SET {changed} FROM {_arrays(columns)}
        WHERE t.space_no = scrubjay.here() AND {found}"""
    return Ask(statement, _transposed(rows, len(columns)))


def together(asks: Sequence[Ask]) -> Ask:
    """Several statements about different rows as one; none sees what another has done."""
    parts = ", ".join(f"part_{number} AS ({one.statement})" for number, one in enumerate(asks))
    return Ask(f"WITH {parts} SELECT 1", [value for one in asks for value in one.values])


def _arrays(columns: Sequence[Column]) -> str:
    marks = ", ".join(f"%s::{column.type}[]" for column in columns)
    return f"unnest({marks}) AS v({', '.join(column.name for column in columns)})"


def _transposed(rows: Sequence[Sequence[object]], width: int) -> list[object]:
    return [[row[place] for row in rows] for place in range(width)]
