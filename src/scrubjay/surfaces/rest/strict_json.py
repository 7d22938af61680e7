"""JSON as RFC 8259 has it, which is less than Python takes for JSON."""

import json
from typing import NoReturn, cast

from scrubjay.model.memory import Json

_LARGEST = float("inf")


class NotJsonError(ValueError):
    """Bytes that are no JSON, and why; none of what they say is told."""


def json_from(body: bytes) -> Json:
    """What some bytes say; raises NotJsonError.

    What two readers could take for different things is taken for nothing: a key that is there twice, a number that is
    none, an encoding that somebody would have to guess.
    """
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotJsonError(f"it is not UTF-8 at byte {error.start:,}") from None
    try:
        return cast("Json", json.loads(text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_object))
    except json.JSONDecodeError as error:
        raise NotJsonError(f"{error.msg} in line {error.lineno:,}, column {error.colno:,}") from None
    except RecursionError:
        raise NotJsonError("it is nested too deeply") from None
    except NotJsonError:
        raise
    except ValueError:
        raise NotJsonError("a number in it has too many digits") from None


def _refuse(name: str) -> NoReturn:
    raise NotJsonError(f"{name} is no number in JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if abs(number) == _LARGEST:
        raise NotJsonError("a number in it is larger than can be kept")
    return number


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    results = dict(pairs)
    if len(results) != len(pairs):
        raise NotJsonError("a key in it is there twice")
    return results
