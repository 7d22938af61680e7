"""The description, and whether an answer is as it says."""

import re
from functools import cache
from typing import Any, cast

import httpx2
from jsonschema import Draft202012Validator

from scrubjay.surfaces.rest.app import rest_app
from scrubjay.surfaces.rest.openapi import described

PROBLEM = "application/problem+json"
# Told by whatever lies before the routes, whichever of them was meant.
ANYWHERE = {404, 405, 408, 413}


@cache
def document() -> dict[str, Any]:
    return cast("dict[str, Any]", described(rest_app()))


@cache
def validator(ref: str) -> Draft202012Validator:
    """Holds values to a schema of the document."""
    return Draft202012Validator({"$ref": ref, "components": document()["components"]})


def responses_of(method: str, path: str) -> dict[str, Any] | None:
    """What the document says of an operation's answers; None where it says nothing."""
    named = path.removeprefix("/api/v1") if path.endswith(("/healthz", "/readyz", "/metrics")) else path
    for template, operations in document()["paths"].items():
        pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))
        operation = operations.get("get" if method == "HEAD" else method.lower())
        # What has a name of its own comes first, as among the routes.
        if operation is not None and re.fullmatch(pattern, named):
            return {status: resolved(answer) for status, answer in operation["responses"].items()}
    return None


def resolved(told: dict[str, Any]) -> dict[str, Any]:
    """A part of the document, or what it points to."""
    if "$ref" not in told:
        return told
    results: Any = document()
    for name in told["$ref"].removeprefix("#/").split("/"):
        results = results[name]
    return cast("dict[str, Any]", results)


def require_as_described(response: httpx2.Response) -> None:
    """An answer is one of those that the description knows, and every problem is told as one."""
    kind = response.headers.get("content-type", "").partition(";")[0]
    assert re.fullmatch(r"[\w-]{8,64}", response.headers["x-request-id"])
    if response.status_code >= 400:
        assert kind == PROBLEM, response.text
        require_problem(response)
    reported = responses_of(response.request.method, response.request.url.path)
    if reported is None or (response.status_code in ANYWHERE and str(response.status_code) not in reported):
        return
    assert str(response.status_code) in reported, f"{response.status_code} is not described: {response.text}"
    content = reported[str(response.status_code)].get("content", {})
    if response.request.method == "HEAD" or not content:
        assert not response.content
        return
    assert kind in content, kind
    if "json" in kind and "ndjson" not in kind:
        validator(content[kind]["schema"]["$ref"]).validate(response.json())


def require_problem(response: httpx2.Response) -> dict[str, Any]:
    """A refusal tells what is wrong, under which number, and nothing that only we should know."""
    if response.request.method == "HEAD":
        return {}
    reported = cast("dict[str, Any]", response.json())
    validator("#/components/schemas/Problem").validate(reported)
    assert reported["status"] == response.status_code
    assert reported["type"] == f"urn:scrubjay:problem:{reported['code']}"
    assert reported["request_id"] == response.headers["x-request-id"]
    assert reported["detail"]
    for secret in ("Traceback", 'File "', "sj_", "/site-packages/"):
        assert secret not in response.text
    return reported
