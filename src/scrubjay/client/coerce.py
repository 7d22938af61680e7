"""Conversion of the arguments of a client to those of the engine."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.model.checks import require_moment, wrong_type
from scrubjay.model.memory import Json, Source, State
from scrubjay.model.snapshot import source_from_json
from scrubjay.model.timestamps import parse_moment
from scrubjay.model.transfer import Lines

Moment = datetime | str | None


def as_tuple(values: Sequence[str]) -> tuple[str, ...]:
    """Return a list of texts as a tuple."""
    # A single text would become a tuple of letters; it is passed on unchanged, and validation names the field.
    is_list = isinstance(values, Sequence) and not isinstance(values, str | bytes)
    return tuple(values) if is_list else values  # type: ignore[return-value]


def as_refs(ids: str | Sequence[str]) -> tuple[str, ...]:
    """Return one reference or several as a tuple."""
    return (ids,) if isinstance(ids, str) else as_tuple(ids)


def as_moment(value: Moment, field: str) -> datetime | None:
    """Return a time, given as one or as ISO text."""
    if isinstance(value, str):
        return parse_moment(value, field=field)
    # Checked here: on the way to a daemon a time without a zone would become local time.
    require_moment(value, field=field)
    return value


def as_state(value: str) -> State:
    """Return a state by its name."""
    try:
        return State(value)
    except ValueError:
        raise InvalidInput(f"state must be one of {', '.join(State)}, not {value!r}", field="state") from None


def as_source(source: Source | Mapping[str, Json] | None, *, agent: str) -> Source:
    """Return a source, with a default agent."""
    if source is not None and not isinstance(source, Source | Mapping):
        raise wrong_type("source", "an object", source)
    source = source if isinstance(source, Source) else source_from_json(dict(source or {}))
    return source if source.agent else replace(source, agent=agent)


def absolute_path(path: str | Path) -> str:
    """Return an absolute path: a daemon has another working folder."""
    return str(Path(path).expanduser().absolute())


def read_bytes(path: Path, *, limit: int) -> bytes:
    """Read a file up to a size limit."""
    try:
        if not path.is_file():
            raise InvalidInput(f"{path} is not a file", field="file")
        with path.open("rb") as stream:
            data = stream.read(limit + 1)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}", field="file") from error
    if len(data) > limit:
        raise TooLarge(f"{path} has more than {limit:,} bytes", hint="Raise SCRUBJAY_MAX_ATTACHMENT_BYTES", limit=limit)
    return data


def line_source(lines: Sequence[str] | Path) -> Lines:
    """Return a function that opens the lines of a file or a list from the start."""

    def read() -> Iterable[str]:
        if isinstance(lines, Path):
            with lines.open(encoding="utf-8") as file:
                yield from file
        else:
            yield from lines

    return read
