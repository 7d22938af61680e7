"""Errors as problems, and back."""

import json
from typing import Any

import pytest
from starlette.responses import Response

from scrubjay.errors import CODES, Field, InvalidInput, NotFound, ScrubjayError, StoreBusy, TooSlow, codes_of
from scrubjay.rpc.codec import error_from_problem, problem, problem_from_error
from scrubjay.surfaces.http.problems import failure, refusal, told
from scrubjay.telemetry import request_id


def read(response: Response) -> dict[str, Any]:
    return json.loads(bytes(response.body))


@pytest.mark.parametrize("kind", CODES, ids=lambda kind: kind.__name__)
def test_every_error_has_a_problem_and_the_problem_tells_the_error(kind: type[ScrubjayError]) -> None:
    facts: dict[str, Field] = {"field": "x", "names": ("a", "b"), "count": 3, "share": 0.5, "flag": True, "none": None}
    error = kind("it went wrong", hint="Try again", **facts)
    made = problem_from_error(error, request_id="number-0001")
    assert made["status"] == codes_of(error).http
    assert made["type"] == f"urn:scrubjay:problem:{kind.code}"
    assert (made["code"], made["detail"], made["hint"]) == (kind.code, "it went wrong", "Try again")
    back = error_from_problem(json.loads(json.dumps(made)))
    assert type(back) is kind
    assert (back.message, back.hint) == (error.message, error.hint)
    assert back.fields == error.fields


def test_a_fact_cannot_stand_in_for_what_every_problem_has() -> None:
    error = InvalidInput("it went wrong", status="live", title="Mine", type="note", request_id="forged")
    made = problem_from_error(error, request_id="number-0001")
    assert (made["status"], made["title"], made["request_id"]) == (422, "invalid input", "number-0001")
    assert made["type"] == "urn:scrubjay:problem:invalid_input"


def test_a_problem_without_a_number_has_none() -> None:
    assert "request_id" not in problem(404, "not_found", "gone")


def test_a_refusal_is_plain_ascii_whatever_is_told_again() -> None:
    response = refusal(NotFound("no memory is called '\ud800é'", ref="\ud800"))
    assert response.status_code == 404
    assert bytes(response.body).isascii()
    assert read(response)["ref"] == "\ud800"


def test_a_refusal_knows_its_request() -> None:
    token = request_id.set("number-0001")
    try:
        assert read(refusal(NotFound("gone")))["request_id"] == "number-0001"
    finally:
        request_id.reset(token)


def test_who_is_too_slow_is_not_waited_for() -> None:
    assert refusal(TooSlow("slow")).headers["connection"] == "close"
    assert "connection" not in refusal(NotFound("gone")).headers


def test_a_failure_does_not_tell_what_it_says() -> None:
    error = failure(ValueError("swordfish"))
    assert "swordfish" not in str(error)
    assert codes_of(error).http == 500
    assert told(problem_from_error(error)).media_type == "application/problem+json"


def test_where_the_database_is_is_not_told() -> None:
    shown = "postgresql://memory@db.internal/memory"
    error = StoreBusy(f"{shown} cannot be reached: refused", hint="Try again", server=shown, retry_after=2)
    response = refusal(error)
    assert (response.status_code, response.headers["retry-after"]) == (503, "2")
    assert b"internal" not in response.body
    assert read(response)["detail"] == "the database cannot be reached: refused"
