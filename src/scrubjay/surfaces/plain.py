"""Results as plain JSON values, the same for every surface."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import cast

from scrubjay.errors import ScrubjayError
from scrubjay.model.memory import Json, Memory
from scrubjay.model.moment import to_iso
from scrubjay.recalling.read import as_json


def plain(value: object) -> Json:
    """A result as JSON values; empty fields of a memory are left out, those of answers are kept."""
    if isinstance(value, Memory):
        return as_json(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in cast("list[object]", value)]
    if isinstance(value, datetime):
        return to_iso(value)
    if isinstance(value, Enum):
        return cast("str", value.value)
    if isinstance(value, Path):
        return str(value)
    return cast("Json", value)


def plain_error(error: ScrubjayError) -> dict[str, Json]:
    """An error as JSON values."""
    told: dict[str, Json] = {"code": error.code, "message": error.message}
    if error.hint:
        told["hint"] = error.hint
    return told | {name: plain(value) for name, value in error.fields.items()}
