"""What callers of a client may hand in, made into what the engine takes."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import require_moment
from scrubjay.model.memory import State
from scrubjay.model.timestamps import parse_moment
from scrubjay.model.transfer import Lines

Moment = datetime | str | None


def as_tuple(values: Sequence[str]) -> tuple[str, ...]:
    """A list of texts."""
    # A lone text would become a tuple of letters; what is no list is left as it is, and validation names the field.
    is_list = isinstance(values, Sequence) and not isinstance(values, str | bytes)
    return tuple(values) if is_list else values  # type: ignore[return-value]


def as_refs(ids: str | Sequence[str]) -> tuple[str, ...]:
    """One reference or several."""
    return (ids,) if isinstance(ids, str) else as_tuple(ids)


def as_moment(value: Moment, field: str) -> datetime | None:
    """A moment, given as one or as ISO text."""
    if isinstance(value, str):
        return parse_moment(value, field=field)
    # Here, since on the way to a daemon a time without a zone would be taken for one of this machine's.
    require_moment(value, field=field)
    return value


def as_state(value: str) -> State:
    """A state by its name."""
    try:
        return State(value)
    except ValueError:
        raise InvalidInput(f"state must be one of {', '.join(State)}, not {value!r}", field="state") from None


def reopened(lines: Sequence[str] | Path) -> Lines:
    """The lines of a file or a list, from the beginning each time."""

    def read() -> Iterable[str]:
        if isinstance(lines, Path):
            with lines.open(encoding="utf-8") as file:
                yield from file
        else:
            yield from lines

    return read
