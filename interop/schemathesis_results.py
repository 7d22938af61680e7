"""What schemathesis has found, check by check, held against the written list of exceptions."""

import base64
import binascii
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from interop.exceptions import LIST, Finding, Known, problem_of
from interop.processes import Failed

_PHASES = ("examples", "coverage", "fuzzing", "stateful")
_SHOWN = 10
_ERRORS = ("NonFatalError", "FatalError", "Interrupted")
_Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What one run has done and found."""

    requests: int
    findings: Mapping[Finding, int]
    errors: tuple[str, ...]
    """What it could not do at all."""


def report_from(lines: Iterable[str]) -> Report:
    """What is in the file of events: one on each line, of every request with its answer and its checks."""
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


def disagreements(report: Report, known: Collection[Known], *, must_meet: bool) -> list[str]:
    """What was found and is not known; and what must be found in every run and was not, if this run must meet it."""
    expected = {item.finding for item in known}
    unexpected = [f"{item} ({count} times)" for item, count in report.findings.items() if item not in expected]
    more = [f"and {len(unexpected) - _SHOWN} more"] if len(unexpected) > _SHOWN else []
    unmet = [item for item in known if must_meet and not item.shown_by and item.finding not in report.findings]
    return [
        *report.errors,
        *unexpected[:_SHOWN],
        *more,
        *(f"{item.finding}: passes now, take it off {LIST.name}" for item in unmet),
    ]


def require_complete(summary: Mapping[str, Any]) -> int:
    """How many operations were tried; raises Failed unless it was all of them, in all phases, to the end."""
    operations = cast("Mapping[str, int]", summary["operations"])
    skipped = [phase for phase in _PHASES if summary["phases"][phase]["status"] == "skip"]
    if not summary["complete"] or skipped or operations["tested"] < operations["total"]:
        raise Failed(
            f"not everything was tried: {summary['stop_reason']}, {operations}, without {skipped or 'nothing'}"
        )
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
                    told=f"{failure['message']}\n{_shown(exchange)}",
                )


def _problem(exchange: _Event) -> str:
    response = exchange.get("response")
    return problem_of(_body(response.get("content"))) or str(response["status_code"]) if response else "no answer"


def _shown(exchange: _Event) -> str:
    request, response = exchange["request"], cast("_Event", exchange.get("response") or {})
    sent = f"{request['method']} {request['uri'][:300]} {request['headers']} {_body(request.get('body'))[:300]!r}"
    return f"{sent}\n{response.get('status_code')} {_body(response.get('content'))[:500]!r}"


def _body(content: object) -> bytes:
    """The bytes of a message, which the file has in letters."""
    written = cast("Mapping[str, str]", content).get("$base64", "") if isinstance(content, Mapping) else ""
    try:
        return base64.b64decode(written)
    except binascii.Error:
        return b""
