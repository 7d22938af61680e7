"""Errors as HTTP responses: `application/problem+json` on every route."""

import re
from collections.abc import Mapping

from starlette.responses import Response

from scrubjay.errors import NotAdmitted, ScrubjayError, TooSlow
from scrubjay.model.memory import Json
from scrubjay.rpc.codec import PROBLEM, problem, problem_from_error
from scrubjay.rpc.frames import encode_frame
from scrubjay.telemetry import request_id

_UNSUPPORTED_MEDIA_TYPE = 415
_JSON_TYPES = re.compile(r"application/(?:[\w.+-]+\+|x-nd)?json\s*(?:;.*)?", re.IGNORECASE)
_CHALLENGE = 'Bearer realm="scrubjay"'


def error_response(error: ScrubjayError) -> Response:
    """Return the response to a request that failed with an error."""
    error = error.without_places()
    headers: dict[str, str] = {}
    if "retry_after" in error.fields:
        headers["retry-after"] = str(error.fields["retry_after"])
    if isinstance(error, NotAdmitted):
        is_missing = error.fields.get("reason") == "missing"
        headers["www-authenticate"] = _CHALLENGE if is_missing else f'{_CHALLENGE}, error="invalid_token"'
    if isinstance(error, TooSlow):
        # The rest of the body may never arrive.
        headers["connection"] = "close"
    return problem_response(problem_from_error(error, request_id=request_id.get()), headers=headers)


def unexpected_error(error: Exception) -> ScrubjayError:
    """Return the error that a caller sees for an unexpected exception: its type, but not its message."""
    return ScrubjayError(f"the request failed: {type(error).__name__}", hint="See the server's log for details")


def is_json(content_type: str) -> bool:
    """Return whether a header declares JSON, or JSON Lines. A form of a web page can declare neither."""
    return _JSON_TYPES.fullmatch(content_type) is not None


def unsupported_media_type(detail: str) -> Response:
    """Return the response to a body that is not declared as JSON."""
    document = problem(_UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail, request_id=request_id.get())
    return problem_response(document | {"hint": "Send content-type: application/json, and no content-encoding"})


def not_declared_as_json(content_type: str) -> Response:
    """Return the response to a body with another content type, or without one."""
    declared = f"{content_type[:100]!r}" if content_type else "without a content type"
    return unsupported_media_type(f"a body must be declared as JSON, and this one is {declared}")


def problem_response(document: Mapping[str, Json], *, headers: Mapping[str, str] | None = None) -> Response:
    """Return a problem as a response, in ASCII: it may quote parts of the request that are invalid Unicode."""
    status = document["status"]
    assert isinstance(status, int)
    return Response(encode_frame(document), status_code=status, headers=headers, media_type=PROBLEM)
