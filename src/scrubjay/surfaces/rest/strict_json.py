"""Strict JSON: the grammar of RFC 8259, without the extensions that Python accepts."""

import json
from typing import NoReturn, cast

from scrubjay.model.memory import Json

_INFINITY = float("inf")


class NotJsonError(ValueError):
    """Why some bytes are not JSON, without quoting them."""


def parse_json(body: bytes) -> Json:
    """Parse a JSON text; raise NotJsonError.

    Input that two parsers could read differently is refused: a repeated key, a number that is not finite, and any
    encoding other than UTF-8.
    """
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotJsonError(f"it is not UTF-8 at byte {error.start:,}") from None
    try:
        parsed = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_parse_float, object_pairs_hook=_build_object
        )
    except json.JSONDecodeError as error:
        raise NotJsonError(f"{error.msg} in line {error.lineno:,}, column {error.colno:,}") from None
    except RecursionError:
        raise NotJsonError("it is nested too deeply") from None
    except NotJsonError:
        raise
    except ValueError:
        raise NotJsonError("a number in it has too many digits") from None
    return cast("Json", parsed)


def _refuse_constant(name: str) -> NoReturn:
    raise NotJsonError(f"JSON has no number {name}")


def _parse_float(digits: str) -> float:
    number = float(digits)
    if abs(number) == _INFINITY:
        raise NotJsonError("a number in it is larger than the server can store")
    return number


def _build_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotJsonError("an object in it has the same key twice")
    return members
