"""Errors as problem responses, and back."""

import json
from typing import Any

import pytest
from starlette.responses import Response

from scrubjay.errors import CODES, Field, InvalidInput, NotFound, ScrubjayError, StoreBusy, TooSlow, codes_of
from scrubjay.rpc.codec import error_from_problem, problem, problem_from_error
from scrubjay.surfaces.http.problems import error_response, problem_response, unexpected_error
from scrubjay.telemetry import request_id


def read(response: Response) -> dict[str, Any]:
    return json.loads(bytes(response.body))


@pytest.mark.parametrize("kind", CODES, ids=lambda kind: kind.__name__)
def test_every_error_survives_the_conversion_to_a_problem(kind: type[ScrubjayError]) -> None:
    facts: dict[str, Field] = {"field": "x", "names": ("a", "b"), "count": 3, "share": 0.5, "flag": True, "none": None}
    error = kind("it went wrong", hint="Try again", **facts)
    body = problem_from_error(error, request_id="number-0001")
    assert body["status"] == codes_of(error).http
    assert body["type"] == f"urn:scrubjay:problem:{kind.code}"
    assert (body["code"], body["detail"], body["hint"]) == (kind.code, "it went wrong", "Try again")
    back = error_from_problem(json.loads(json.dumps(body)))
    assert type(back) is kind
    assert (back.message, back.hint) == (error.message, error.hint)
    assert back.fields == error.fields


def test_fields_of_an_error_do_not_replace_standard_members() -> None:
    error = InvalidInput("it went wrong", status="live", title="Mine", type="note", request_id="forged")
    body = problem_from_error(error, request_id="number-0001")
    assert (body["status"], body["title"], body["request_id"]) == (422, "invalid input", "number-0001")
    assert body["type"] == "urn:scrubjay:problem:invalid_input"


def test_a_problem_without_a_request_id_has_none() -> None:
    assert "request_id" not in problem(404, "not_found", "gone")


def test_an_error_response_is_ascii_even_if_it_quotes_invalid_unicode() -> None:
    response = error_response(NotFound("no memory is called '\ud800é'", ref="\ud800"))
    assert response.status_code == 404
    assert bytes(response.body).isascii()
    assert read(response)["ref"] == "\ud800"


def test_an_error_response_has_the_request_id() -> None:
    token = request_id.set("number-0001")
    try:
        assert read(error_response(NotFound("gone")))["request_id"] == "number-0001"
    finally:
        request_id.reset(token)


def test_a_slow_client_is_disconnected() -> None:
    assert error_response(TooSlow("slow")).headers["connection"] == "close"
    assert "connection" not in error_response(NotFound("gone")).headers


def test_an_unexpected_error_hides_its_message() -> None:
    error = unexpected_error(ValueError("swordfish"))
    assert "swordfish" not in str(error)
    assert codes_of(error).http == 500
    assert problem_response(problem_from_error(error)).media_type == "application/problem+json"


def test_the_address_of_the_database_is_hidden() -> None:
    server = "postgresql://memory@db.internal/memory"
    error = StoreBusy(f"{server} cannot be reached: refused", hint="Try again", server=server, retry_after=2)
    response = error_response(error)
    assert (response.status_code, response.headers["retry-after"]) == (503, "2")
    assert b"internal" not in response.body
    assert read(response)["detail"] == "the database cannot be reached: refused"
