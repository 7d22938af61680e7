"""The findings of schemathesis, compared with the list of allowed ones."""

import base64
import binascii
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from interop.exceptions import LIST, AllowedFinding, Finding, problem_of
from interop.processes import Failed

_PHASES = ("examples", "coverage", "fuzzing", "stateful")
_SHOWN = 10
_ERRORS = ("NonFatalError", "FatalError", "Interrupted")
_Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of one run."""

    requests: int
    findings: Mapping[Finding, int]
    errors: tuple[str, ...]
    """Operations that schemathesis could not test."""


def report_from(lines: Iterable[str]) -> Report:
    """Read the file of events, which has one line for every request with its answer and its checks."""
    requests = 0
    findings: Counter[Finding] = Counter()
    errors: list[str] = []
    for line in lines:
        ((name, event),) = cast("dict[str, _Event]", json.loads(line)).items()
        if name in _ERRORS:
            errors.append(f"{event.get('label') or name}: {event.get('value') or event.get('exception')}")
        elif name == "ScenarioFinished":
            recorded = cast("_Event", event["recorder"])
            requests += len(recorded.get("interactions", {}))
            findings.update(_findings(recorded))
    return Report(requests=requests, findings=findings, errors=tuple(errors))


def disagreements(report: Report, allowed: Collection[AllowedFinding], *, must_meet: bool) -> list[str]:
    """Return the findings that are not allowed, and if `must_meet` the allowed ones that did not occur."""
    expected = {entry.finding for entry in allowed}
    unexpected = [f"{finding} ({count} times)" for finding, count in report.findings.items() if finding not in expected]
    more = [f"and {len(unexpected) - _SHOWN} more"] if len(unexpected) > _SHOWN else []
    unmet = [entry for entry in allowed if must_meet and not entry.shown_by and entry.finding not in report.findings]
    return [
        *report.errors,
        *unexpected[:_SHOWN],
        *more,
        *(f"{entry.finding}: passes now, remove it from {LIST.name}" for entry in unmet),
    ]


def require_complete(summary: Mapping[str, Any]) -> int:
    """Return the number of tested operations; raise Failed unless the run tested all of them in all phases."""
    operations = cast("Mapping[str, int]", summary["operations"])
    skipped = [phase for phase in _PHASES if summary["phases"][phase]["status"] == "skip"]
    if not summary["complete"] or skipped or operations["tested"] < operations["total"]:
        raise Failed(f"the run is incomplete: {summary['stop_reason']}, {operations}, without {skipped or 'nothing'}")
    return operations["tested"]


def _findings(recorded: _Event) -> Iterator[Finding]:
    for number, checks in recorded.get("checks", {}).items():
        for check in checks:
            if check["status"] != "success":
                failure = check["failure_info"]["failure"]
                exchange = recorded["interactions"][number]
                yield Finding(
                    operation=failure["operation"],
                    check=check["name"],
                    problem=_problem(exchange),
                    detail=f"{failure['message']}\n{_shown(exchange)}",
                )


def _problem(exchange: _Event) -> str:
    response = exchange.get("response")
    return problem_of(_body(response.get("content"))) or str(response["status_code"]) if response else "no answer"


def _shown(exchange: _Event) -> str:
    request, response = exchange["request"], cast("_Event", exchange.get("response") or {})
    sent = f"{request['method']} {request['uri'][:300]} {request['headers']} {_body(request.get('body'))[:300]!r}"
    return f"{sent}\n{response.get('status_code')} {_body(response.get('content'))[:500]!r}"


def _body(content: object) -> bytes:
    """Decode the bytes of a message."""
    written = cast("Mapping[str, str]", content).get("$base64", "") if isinstance(content, Mapping) else ""
    try:
        return base64.b64decode(written)
    except binascii.Error:
        return b""
