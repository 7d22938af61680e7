"""How a refusal looks over HTTP, on every route."""

from collections.abc import Mapping

from starlette.responses import Response

from scrubjay.errors import NotAdmitted, ScrubjayError, TooSlow
from scrubjay.model.memory import Json
from scrubjay.rpc.codec import PROBLEM, problem_from_error
from scrubjay.rpc.frames import encode_frame
from scrubjay.telemetry import request_id

_CHALLENGE = 'Bearer realm="scrubjay"'


def refusal(error: ScrubjayError) -> Response:
    """The answer to a request that cannot be done."""
    error = _discreet(error)
    headers: dict[str, str] = {}
    if "retry_after" in error.fields:
        headers["retry-after"] = str(error.fields["retry_after"])
    if isinstance(error, NotAdmitted):
        is_missing = error.fields.get("reason") == "missing"
        headers["www-authenticate"] = _CHALLENGE if is_missing else f'{_CHALLENGE}, error="invalid_token"'
    if isinstance(error, TooSlow):
        # The rest of what is being sent may never come.
        headers["connection"] = "close"
    return told(problem_from_error(error, request_id=request_id.get()), headers=headers)


def _discreet(error: ScrubjayError) -> ScrubjayError:
    """What is wrong, without where the database is: that is nobody's business who comes by HTTP."""
    if not isinstance(server := error.fields.get("server"), str):
        return error
    fields = {name: value for name, value in error.fields.items() if name != "server"}
    return type(error)(error.message.replace(server, "the database"), hint=error.hint, **fields)


def failure(error: Exception) -> ScrubjayError:
    """What a caller is told of an error that nobody thought of: that there was one, and not what it said."""
    return ScrubjayError(f"the request failed: {type(error).__name__}", hint="The server's log says more")


def told(problem: Mapping[str, Json], *, headers: Mapping[str, str] | None = None) -> Response:
    """A problem as a response. In plain ASCII: what is told again of a bad request may be no Unicode."""
    status = problem["status"]
    assert isinstance(status, int)
    return Response(encode_frame(problem), status_code=status, headers=headers, media_type=PROBLEM)
