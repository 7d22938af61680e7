"""Errors over HTTP, as RFC 9457 tells them: made by a server, read by a client."""

from collections.abc import Mapping

from scrubjay.errors import ScrubjayError, codes_of
from scrubjay.model.memory import Json
from scrubjay.rpc.codec import error_from, error_to_json

PROBLEM = "application/problem+json"
_TYPE = "urn:scrubjay:problem:"
# What says nothing that the error's own fields do not say.
_AROUND = frozenset({"type", "title", "status", "request_id"})


def problem_of(error: ScrubjayError, *, request_id: str = "") -> dict[str, Json]:
    """An error as a problem."""
    told = error_to_json(error)
    code, message = str(told.pop("code")), str(told.pop("message"))
    # What every problem has comes last: no fact of an error can stand in its place.
    return told | problem(codes_of(error).http, code, message, request_id=request_id)


def problem(status: int, code: str, detail: str, *, request_id: str = "") -> dict[str, Json]:
    """A problem in so many words; the code is for programs."""
    named: dict[str, Json] = {"request_id": request_id} if request_id else {}
    title = code.replace("_", " ")
    return {"type": f"{_TYPE}{code}", "title": title, "status": status, "detail": detail, "code": code} | named


def error_of(told: Mapping[str, Json]) -> ScrubjayError:
    """The error that a problem tells of."""
    fields = {name: value for name, value in told.items() if name not in _AROUND}
    return error_from({**fields, "message": fields["detail"], "detail": {}})
