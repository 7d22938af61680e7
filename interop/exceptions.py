"""The written list of what schemathesis takes for a fault, each with a request that shows that it is none."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

LIST = Path(__file__).with_name("openapi_exceptions.toml")
# It is in the description's own example of an export.
_MEMORY = "how-to-reach-sarah"
_WAITING = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One check of one request that did not pass. `problem` is the server's code, and the field that it names."""

    operation: str
    check: str
    problem: str
    told: str = field(default="", compare=False)

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.operation, self.check, self.problem, self.told)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What may be found, why that is right, and how it is shown; what shows itself in every run needs no request."""

    finding: Finding
    reason: str
    shown_by: Mapping[str, str]

    def shown(self, url: str) -> str:
        """The problem that a server at this address tells of when it is asked; or the number of its answer."""
        body = self.shown_by.get("body")
        headers = {"content-type": self.shown_by.get("kind", "application/json")} if body is not None else {}
        headers |= dict(line.split(": ", 1) for line in self.shown_by.get("headers", "").splitlines())
        reported = self._asked(
            self.finding.operation, url, headers=headers, body=None if body is None else body.encode()
        )
        return (
            reported if "then" not in self.shown_by else self._asked(self.shown_by["then"], url, headers={}, body=None)
        )

    def _asked(self, operation: str, url: str, *, headers: Mapping[str, str], body: bytes | None) -> str:
        method, _, path = operation.partition(" ")
        where = path.replace("{id}", self.shown_by.get("id", _MEMORY)).replace(
            "{name}", self.shown_by.get("name", "draft")
        ) + self.shown_by.get("query", "")
        status, answer = asked(url + where, method=method, headers=headers, body=body)
        return problem_of(answer) or str(status)


def known_findings(text: str | None = None) -> Iterator[Known]:
    """What the list holds."""
    for entry in tomllib.loads(LIST.read_text(encoding="utf-8") if text is None else text)["exception"]:
        for operation, request in entry["shown"].items():
            finding = Finding(operation=operation, check=entry["check"], problem=entry["problem"])
            yield Known(finding=finding, reason=entry["reason"], shown_by=request)


def problem_of(answer: bytes) -> str:
    """What an answer says is wrong: the code, and the field if it names one; nothing, if it is no problem."""
    try:
        reported = json.loads(answer)
        return "/".join(filter(None, (reported["code"], reported.get("field", ""))))
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""


def asked(url: str, *, method: str, headers: Mapping[str, str], body: bytes | None) -> tuple[int, bytes]:
    """What our own daemon answers, be it a problem."""
    request = Request(url, data=body, headers=dict(headers), method=method)  # noqa: S310
    try:
        with urlopen(request, timeout=_WAITING) as response:  # noqa: S310
            return response.status, response.read()
    except HTTPError as refused:
        with refused:
            return refused.code, refused.read()
