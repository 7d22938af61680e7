"""The OpenAPI document, and checks of responses against it."""

import re
from functools import cache
from typing import Any, cast

import httpx2
from jsonschema import Draft202012Validator

from scrubjay.model.arguments import ArgumentGroup, arguments_of
from scrubjay.surfaces.rest.app import make_bare_app
from scrubjay.surfaces.rest.openapi import describe_app

PROBLEM = "application/problem+json"
# The middleware returns these on every route.
ANYWHERE = {404, 405, 408, 413}


@cache
def document() -> dict[str, Any]:
    return cast("dict[str, Any]", describe_app(make_bare_app()))


@cache
def validator(ref: str) -> Draft202012Validator:
    """Return a validator for a schema of the document."""
    return Draft202012Validator({"$ref": ref, "components": document()["components"]})


def responses_of(method: str, path: str) -> dict[str, Any] | None:
    """Return the described responses of an operation, or None."""
    public_path = path.removeprefix("/api/v1") if path.endswith(("/healthz", "/readyz", "/metrics")) else path
    for template, operations in document()["paths"].items():
        pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))
        operation = operations.get("get" if method == "HEAD" else method.lower())
        # Fixed paths come before patterns, as in the router.
        if operation is not None and re.fullmatch(pattern, public_path):
            return {status: resolved(answer) for status, answer in operation["responses"].items()}
    return None


def resolved(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part of the document, with its reference resolved."""
    if "$ref" not in part:
        return part
    target: Any = document()
    for name in part["$ref"].removeprefix("#/").split("/"):
        target = target[name]
    return cast("dict[str, Any]", target)


def require_described(response: httpx2.Response) -> None:
    """Check that the description has a response like this, and that errors are problems."""
    kind = response.headers.get("content-type", "").partition(";")[0]
    assert re.fullmatch(r"[\w-]{8,64}", response.headers["x-request-id"])
    if response.status_code >= 400:
        assert kind == PROBLEM, response.text
        require_problem(response)
    body = responses_of(response.request.method, response.request.url.path)
    if body is None or (response.status_code in ANYWHERE and str(response.status_code) not in body):
        return
    assert str(response.status_code) in body, f"{response.status_code} is not described: {response.text}"
    content = body[str(response.status_code)].get("content", {})
    if response.request.method == "HEAD" or not content:
        assert not response.content
        return
    assert kind in content, kind
    if "json" in kind and "ndjson" not in kind:
        validator(content[kind]["schema"]["$ref"]).validate(response.json())


def require_problem(response: httpx2.Response) -> dict[str, Any]:
    """Check that a problem has its members and the request id, and no secrets; return it."""
    if response.request.method == "HEAD":
        return {}
    body = cast("dict[str, Any]", response.json())
    validator("#/components/schemas/Problem").validate(body)
    assert body["status"] == response.status_code
    assert body["type"] == f"urn:scrubjay:problem:{body['code']}"
    assert body["request_id"] == response.headers["x-request-id"]
    assert body["detail"]
    for secret in ("Traceback", 'File "', "sj_", "/site-packages/"):
        assert secret not in response.text
    return body


def lines_to_import() -> bytes:
    """Return the example of an import."""
    body = document()["paths"]["/api/v1/import"]["post"]["requestBody"]
    return cast("str", body["content"]["application/x-ndjson"]["example"]).encode()


def choices_of(request: type[ArgumentGroup], name: str) -> tuple[str, ...]:
    """Return the values that an argument of a request may have."""
    return next(argument.choices for argument in arguments_of(request) if argument.name == name)
