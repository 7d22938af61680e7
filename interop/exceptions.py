"""The list of allowed schemathesis findings, each with a request that shows why it is allowed."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

LIST = Path(__file__).with_name("openapi_exceptions.toml")
# From the example of an export in the API description.
_MEMORY = "how-to-reach-sarah"
_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A failed check of a request. `problem` is the server's error code, and the field that it names."""

    operation: str
    check: str
    problem: str
    detail: str = field(default="", compare=False)

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.operation, self.check, self.problem, self.detail)))


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedFinding:
    """An allowed finding, its reason, and a request that shows it; one that every run shows needs no request."""

    finding: Finding
    reason: str
    shown_by: Mapping[str, str]

    def shown(self, url: str) -> str:
        """Send the request to a server, and return the problem in its answer, or the status."""
        body = self.shown_by.get("body")
        headers = {"content-type": self.shown_by.get("kind", "application/json")} if body is not None else {}
        headers |= dict(line.split(": ", 1) for line in self.shown_by.get("headers", "").splitlines())
        problem = self._send(self.finding.operation, url, headers=headers, body=None if body is None else body.encode())
        return problem if "then" not in self.shown_by else self._send(self.shown_by["then"], url, headers={}, body=None)

    def _send(self, operation: str, url: str, *, headers: Mapping[str, str], body: bytes | None) -> str:
        method, _, path = operation.partition(" ")
        target = path.replace("{id}", self.shown_by.get("id", _MEMORY)).replace(
            "{name}", self.shown_by.get("name", "draft")
        ) + self.shown_by.get("query", "")
        status, answer = send_request(url + target, method=method, headers=headers, body=body)
        return problem_of(answer) or str(status)


def allowed_findings(text: str | None = None) -> Iterator[AllowedFinding]:
    """Read the list."""
    for entry in tomllib.loads(LIST.read_text(encoding="utf-8") if text is None else text)["exception"]:
        for operation, request in entry["shown"].items():
            finding = Finding(operation=operation, check=entry["check"], problem=entry["problem"])
            yield AllowedFinding(finding=finding, reason=entry["reason"], shown_by=request)


def problem_of(answer: bytes) -> str:
    """Return the code and the field of a problem, or an empty text if the answer is no problem."""
    try:
        problem = json.loads(answer)
        return "/".join(filter(None, (problem["code"], problem.get("field", ""))))
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""


def send_request(url: str, *, method: str, headers: Mapping[str, str], body: bytes | None) -> tuple[int, bytes]:
    """Send a request to our own daemon; return its answer, which may be a problem."""
    request = Request(url, data=body, headers=dict(headers), method=method)  # noqa: S310
    try:
        with urlopen(request, timeout=_TIMEOUT) as response:  # noqa: S310
            return response.status, response.read()
    except HTTPError as refused:
        with refused:
            return refused.code, refused.read()
