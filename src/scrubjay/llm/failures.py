"""What went wrong when a language model was asked: told apart, and told without a word of what was sent or said."""

from dataclasses import dataclass

from scrubjay.errors import LlmUnavailable
from scrubjay.llm.models import TooMuch
from scrubjay.llm.response import NoAnswer

_HINTS = {
    "down": "See that it runs and that SCRUBJAY_LLM_URL is right",
    "slow": "Raise SCRUBJAY_LLM_SECONDS, or choose a smaller model",
    "busy": "It is asked again later",
    "key": "Set a valid SCRUBJAY_LLM_KEY",
    "refused": "See that it has the model of SCRUBJAY_LLM_MODEL, and takes texts of this length",
    "answer": "What it was asked about stays as it is; a larger model does better",
}
_BAD_REQUEST = (400, 415, 422)
_BAD_KEY = (401, 403)
_NOT_NOW = (408, 409, 425, 429)
_SERVER = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failure. `passes`: it may go well at once when asked again. `is_down`: it says something of all questions."""

    reason: str
    what: str
    passes: bool = False
    is_down: bool = False
    is_schema: bool = False
    wait: float | None = None

    def error(self, name: str, *, seconds: float, rest: float) -> LlmUnavailable:
        """As it is raised."""
        what = self.what.format(seconds=seconds)
        # What says something of all questions is no fault of this one.
        fields: dict[str, str | float] = {"reason": self.reason}
        if self.is_down:
            fields["put_off"] = max(rest, self.wait or 0.0, 1.0)
        return LlmUnavailable(f"the language model {name!r} {what}", hint=_HINTS[self.reason], **fields)


def failure_of(error: Exception) -> Failure | None:
    """What an exception means; None for what the model has no part in."""
    from pydantic_ai import exceptions as of_sdk  # noqa: PLC0415 - loaded by now

    if isinstance(error, NoAnswer):
        return Failure(reason="answer", what=f"gave no such answer as it was asked for: {error}", passes=True)
    if _is_too_much(error):
        return Failure(reason="answer", what="said far more than it was asked for")
    if isinstance(error, TimeoutError | of_sdk.ModelTimeoutError | of_sdk.ModelRequestTimeout):
        return Failure(reason="slow", what="did not answer within {seconds:g} s", is_down=True)
    if isinstance(error, of_sdk.ModelHTTPError):
        return _of_status(error.status_code, wait=error.retry_after)
    if isinstance(error, of_sdk.UnexpectedModelBehavior | ValueError | RecursionError):
        return Failure(reason="answer", what="gave an answer that cannot be read", passes=True)
    if isinstance(error, of_sdk.ModelAPIError | OSError):
        return Failure(reason="down", what="cannot be reached, or is something else", passes=True, is_down=True)
    return None


def _of_status(status: int, *, wait: float | None) -> Failure:
    if status in _BAD_KEY:
        return Failure(reason="key", what=f"does not accept the API key ({status})", is_down=True)
    if status in _NOT_NOW or status >= _SERVER:
        what = f"is busy or broken ({status})"
        return Failure(reason="busy", what=what, passes=True, is_down=True, wait=wait)
    return Failure(reason="refused", what=f"refused the question ({status})", is_schema=status in _BAD_REQUEST)


def _is_too_much(error: BaseException) -> bool:
    """Whether it was our own limit, which the SDK may have wrapped."""
    for _ in range(10):
        if isinstance(error, TooMuch):
            return True
        inner = error.__cause__ or error.__context__
        if inner is None:
            return False
        error = inner
    return False
