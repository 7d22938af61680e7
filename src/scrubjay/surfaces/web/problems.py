"""How a refusal looks over HTTP, on every route."""

from collections.abc import Mapping

from starlette.responses import JSONResponse, Response

from scrubjay.errors import NotAdmitted, ScrubjayError
from scrubjay.model.memory import Json
from scrubjay.remote.problems import PROBLEM, problem_of
from scrubjay.telemetry import request_id

_CHALLENGE = 'Bearer realm="scrubjay"'


def refusal(error: ScrubjayError) -> Response:
    """The answer to a request that cannot be done."""
    headers: dict[str, str] = {}
    if "retry_after" in error.fields:
        headers["retry-after"] = str(error.fields["retry_after"])
    if isinstance(error, NotAdmitted):
        is_missing = error.fields.get("reason") == "missing"
        headers["www-authenticate"] = _CHALLENGE if is_missing else f'{_CHALLENGE}, error="invalid_token"'
    return told(problem_of(error, request_id=request_id.get()), headers=headers)


def told(problem: Mapping[str, Json], *, headers: Mapping[str, str] | None = None) -> Response:
    """A problem as a response."""
    status = problem["status"]
    assert isinstance(status, int)
    return JSONResponse(dict(problem), status_code=status, headers=headers, media_type=PROBLEM)
