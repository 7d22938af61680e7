"""Reads a model's response: the JSON answer in its text, or the kind of failure an exception indicates."""

import json
from collections.abc import Mapping
from typing import cast

from scrubjay.errors import LlmUnavailable
from scrubjay.lazy import dataclass
from scrubjay.model.memory import Json

_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float),
}  # fmt: skip
_MAX_DEPTH = 20
_HINTS = {
    "down": "Check that it runs and that SCRUBJAY_LLM_URL is right",
    "slow": "Raise SCRUBJAY_LLM_SECONDS, or choose a smaller model",
    "busy": "Scrubjay tries again later",
    "key": "Set a valid SCRUBJAY_LLM_KEY",
    "refused": "Check that it has the model of SCRUBJAY_LLM_MODEL and accepts texts of this length",
    "answer": "Nothing was changed; a larger model gives better answers",
}
_BAD_REQUEST = (400, 415, 422)
_BAD_KEY = (401, 403)
_BUSY = (408, 409, 425, 429)
_SERVER_ERROR = 500
# How many wrapped exceptions are searched for the limit on the size of an answer.
_MAX_CAUSES = 10


class BadAnswer(ValueError):
    """The answer does not fit the schema; the message gives the reason and quotes nothing."""


class AnswerTooLarge(ValueError):
    """The answer exceeds the limit in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmFailure:
    """A failed call. If it `is_transient`, a retry may succeed at once; an outage affects all questions alike."""

    reason: str
    problem: str
    is_transient: bool = False
    is_outage: bool = False
    refuses_schema: bool = False
    retry_after: float | None = None

    def error(self, name: str, *, seconds: float, pause: float) -> LlmUnavailable:
        """Make the exception for callers."""
        problem = self.problem.format(seconds=seconds)
        fields: dict[str, str | float] = {"reason": self.reason}
        # A job is postponed by an outage only: any other failure is about its own question.
        if self.is_outage:
            fields["put_off"] = max(pause, self.retry_after or 0.0, 1.0)
        return LlmUnavailable(f"the language model {name!r} {problem}", hint=_HINTS[self.reason], **fields)


def parse_answer(text: str, *, schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return the JSON object in a text, which may have words around it; raises BadAnswer unless it fits the schema."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise BadAnswer("the answer is prose, not JSON")
    try:
        answer = cast("dict[str, Json]", json.loads(text[start : end + 1]))
    except (ValueError, RecursionError):
        raise BadAnswer("the answer is not JSON") from None
    problem = schema_mismatch(answer, schema)
    if problem:
        raise BadAnswer(problem)
    return answer


def schema_mismatch(value: Json, schema: Mapping[str, Json], *, at: str = "the answer", depth: int = 0) -> str:
    """Explain why a value does not fit a schema; empty if it does. Supports only what our own schemas use."""
    expected = str(schema.get("type", ""))
    if depth > _MAX_DEPTH:
        return f"{at} is nested too deep"
    if expected and (not isinstance(value, _TYPES[expected]) or (isinstance(value, bool) and expected != "boolean")):
        return f"{at} is not of type {expected}"
    if isinstance(value, dict):
        return _object_mismatch(value, schema, at=at, depth=depth)
    if isinstance(value, list):
        return _list_mismatch(value, schema, at=at, depth=depth)
    max_length = schema.get("maxLength")
    if isinstance(value, str) and isinstance(max_length, int) and len(value) > max_length:
        return f"{at} is longer than {max_length:,} characters"
    return ""


def _object_mismatch(value: dict[str, Json], schema: Mapping[str, Json], *, at: str, depth: int) -> str:
    properties = cast("dict[str, dict[str, Json]]", schema.get("properties", {}))
    missing = [name for name in cast("list[str]", schema.get("required", [])) if name not in value]
    if missing:
        return f"{at} has no {missing[0]!r}"
    # Additional fields are ignored: they are no reason to refuse the rest.
    for name, property_schema in properties.items():
        if name in value and (problem := schema_mismatch(value[name], property_schema, at=repr(name), depth=depth + 1)):
            return problem
    return ""


def _list_mismatch(value: list[Json], schema: Mapping[str, Json], *, at: str, depth: int) -> str:
    max_items = schema.get("maxItems")
    if isinstance(max_items, int) and len(value) > max_items:
        return f"{at} has more than {max_items:,} entries"
    items = cast("dict[str, Json]", schema.get("items", {}))
    problems = (schema_mismatch(entry, items, at=f"an entry of {at}", depth=depth + 1) for entry in value)
    return next(filter(None, problems), "")


def classify_error(error: Exception) -> LlmFailure | None:
    """Return the failure that an exception indicates, or None if the exception does not come from the model.

    No message quotes the question or the answer.
    """
    from pydantic_ai import exceptions as sdk  # noqa: PLC0415 - loaded by now

    if isinstance(error, BadAnswer):
        return LlmFailure(reason="answer", problem=f"gave an answer that does not fit: {error}", is_transient=True)
    if _is_too_large(error):
        return LlmFailure(reason="answer", problem="gave an answer far larger than requested")
    if isinstance(error, TimeoutError | sdk.ModelTimeoutError | sdk.ModelRequestTimeout):
        return LlmFailure(reason="slow", problem="did not answer within {seconds:g} s", is_outage=True)
    if isinstance(error, sdk.ModelHTTPError):
        return _classify_status(error.status_code, retry_after=error.retry_after)
    if isinstance(error, sdk.UnexpectedModelBehavior | ValueError | RecursionError):
        return LlmFailure(reason="answer", problem="gave an answer that cannot be read", is_transient=True)
    if isinstance(error, sdk.ModelAPIError | OSError):
        problem = "cannot be reached, or its address belongs to another service"
        return LlmFailure(reason="down", problem=problem, is_transient=True, is_outage=True)
    return None


def _classify_status(status: int, *, retry_after: float | None) -> LlmFailure:
    if status in _BAD_KEY:
        return LlmFailure(reason="key", problem=f"does not accept the API key ({status})", is_outage=True)
    if status in _BUSY or status >= _SERVER_ERROR:
        problem = f"is busy or broken ({status})"
        return LlmFailure(reason="busy", problem=problem, is_transient=True, is_outage=True, retry_after=retry_after)
    problem = f"refused the question ({status})"
    return LlmFailure(reason="refused", problem=problem, refuses_schema=status in _BAD_REQUEST)


def _is_too_large(error: BaseException) -> bool:
    """Return whether the error is our own limit, which the SDK may have wrapped."""
    for _ in range(_MAX_CAUSES):
        if isinstance(error, AnswerTooLarge):
            return True
        cause = error.__cause__ or error.__context__
        if cause is None:
            return False
        error = cause
    return False
