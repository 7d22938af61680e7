"""The comparison of schemathesis' findings with the list of allowed ones."""

import base64
import json
import re
import threading
import tomllib
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from interop.exceptions import LIST, Finding, allowed_findings, problem_of
from interop.paths import ROOT
from interop.processes import Failed
from interop.schemathesis_results import Report, disagreements, report_from, require_complete

REFUSED = Finding(operation="GET /search", check="positive_data_acceptance", problem="invalid_input/cursor")
BROKEN = Finding(operation="GET /search", check="not_a_server_error", problem="500")
SHORT_LIST = """
[[exception]]
reason = "it belongs to its question"
check = "positive_data_acceptance"
problem = "invalid_input/cursor"
[exception.shown]
"GET /search" = { query = "?cursor=mine", headers = "A: 1\\nB: 2" }
"POST /memories/{id}" = { body = '{"cursor": "mine"}', id = "sarah" }

[[exception]]
reason = "it is in the trash"
check = "use_after_free"
problem = "200"
[exception.shown]
"DELETE /memories/{id}" = { then = "GET /memories/{id}" }

[[exception]]
reason = "it is so"
check = "allow_header_conformance"
problem = "method_not_allowed"
[exception.shown]
"POST /read" = {}
"""
ALLOWED = list(allowed_findings(SHORT_LIST))


def finished(status: int, content: bytes, *checks: dict[str, Any]) -> str:
    request: dict[str, Any] = {"method": "GET", "uri": "http://here/search?cursor=x", "headers": {}}
    written = {"$base64": base64.b64encode(content).decode()}
    exchange = {"request": request, "response": {"status_code": status, "content": written}}
    recorder = {"label": "GET /search", "interactions": {"a1": exchange}, "checks": {"a1": list(checks)}}
    return json.dumps({"ScenarioFinished": {"phase": "fuzzing", "recorder": recorder}})


def failed(check: str) -> dict[str, Any]:
    failure = {"operation": "GET /search", "message": "this must not be"}
    return {"name": check, "status": "failure", "failure_info": {"failure": failure}}


def summary(**changes: Any) -> dict[str, Any]:
    phases = {name: {"status": "success"} for name in ("examples", "coverage", "fuzzing", "stateful")}
    operations = {"total": 2, "tested": 2}
    return {"complete": True, "stop_reason": "completed", "phases": phases, "operations": operations} | changes


def test_failures_are_read_with_the_problem_of_the_server() -> None:
    problem = json.dumps({"code": "invalid_input", "field": "cursor"}).encode()
    passed = {"name": "not_a_server_error", "status": "success"}
    report = report_from(
        [
            json.dumps({"EngineStarted": {}}),
            json.dumps({"ScenarioFinished": {"recorder": {"label": "GET /nothing"}}}),
            finished(422, problem, passed, failed("positive_data_acceptance")),
            finished(422, problem, failed("positive_data_acceptance")),
            finished(500, b"no JSON", failed("not_a_server_error")),
            json.dumps({"NonFatalError": {"label": "POST /import", "value": {"message": "cannot be sent"}}}),
        ]
    )
    assert report.requests == 3
    assert report.findings == {REFUSED: 2, BROKEN: 1}
    assert report.errors == ("POST /import: {'message': 'cannot be sent'}",)
    assert all("this must not be" in str(finding) and "cursor=x" in str(finding) for finding in report.findings)


def test_findings_and_the_list_must_agree() -> None:
    report = Report(requests=3, findings={REFUSED: 2, BROKEN: 1}, errors=("it fell over",))
    assert disagreements(report, ALLOWED, must_meet=True) == [
        "it fell over",
        "GET /search: not_a_server_error: 500 (1 times)",
        "POST /read: allow_header_conformance: method_not_allowed: passes now, remove it from openapi_exceptions.toml",
    ]
    assert len(disagreements(report, ALLOWED, must_meet=False)) == 2
    assert disagreements(Report(requests=3, findings={REFUSED: 2}, errors=()), ALLOWED, must_meet=False) == []


def test_many_findings_are_cut_short() -> None:
    many = {Finding(operation=f"GET /{number}", check="x", problem="500"): 1 for number in range(30)}
    complaints = disagreements(Report(requests=1, findings=many, errors=()), [], must_meet=True)
    assert len(complaints) == 11
    assert complaints[-1] == "and 20 more"


@pytest.mark.parametrize(
    "changes",
    [
        {"complete": False, "stop_reason": "interrupted"},
        {"operations": {"total": 2, "tested": 1}},
        {"phases": summary()["phases"] | {"stateful": {"status": "skip"}}},
    ],
)
def test_an_incomplete_run_fails(changes: dict[str, Any]) -> None:
    assert require_complete(summary()) == 2
    with pytest.raises(Failed, match="the run is incomplete"):
        require_complete(summary(**changes))


class RecordingHandler(BaseHTTPRequestHandler):
    """Refuses every request before a DELETE, and records all requests."""

    requests: list[str]

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        more = "".join(self.headers.get(name, "") for name in ("A", "B"))
        self.requests.append(f"{self.command} {self.path} {body}{more}".strip())
        is_fine = any(line.startswith("DELETE") for line in self.requests)
        answer = b"{}" if is_fine else b'{"code": "invalid_input", "field": "cursor"}'
        self.send_response(200 if is_fine else 422)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = do_DELETE = _answer  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def echo() -> Generator[tuple[str, list[str]]]:
    requests: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Mine", (RecordingHandler,), {"requests": requests}))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_every_exception_is_shown_by_a_request(echo: tuple[str, list[str]]) -> None:
    url, requests = echo
    shown = [entry.shown(url) for entry in ALLOWED if entry.shown_by]
    assert shown == ["invalid_input/cursor", "invalid_input/cursor", "200"]
    assert requests == [
        "GET /search?cursor=mine 12",
        'POST /memories/sarah {"cursor": "mine"}',
        "DELETE /memories/how-to-reach-sarah",
        "GET /memories/how-to-reach-sarah",
    ]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b'{"code": "busy"}', "busy"),
        (b'{"code": "invalid_input", "field": "ids"}', "invalid_input/ids"),
        (b'{"id": "x"}', ""),
        (b"[]", ""),
        (b"\xff", ""),
    ],
)
def test_a_problem_is_known_by_its_code_and_its_field(answer: bytes, problem: str) -> None:
    assert problem_of(answer) == problem


def test_the_page_lists_every_exception_and_no_other() -> None:
    page = (ROOT / "docs" / "how-to" / "interop.md").read_text(encoding="utf-8")
    table = page.partition("## What schemathesis takes for a fault")[2].partition("\n## ")[0]
    listed_rows = {
        (Finding(operation=operation, check=check, problem=problem), reason)
        for operations, check, problem, reason in re.findall(
            r"^\| (`.*?) \| `(.*?)` \| `(.*?)` \| (.*?) \|$", table, re.MULTILINE
        )
        for operation in re.findall(r"`(.*?)`", operations)
    }
    assert listed_rows == {(finding.finding, finding.reason) for finding in allowed_findings()}


def test_every_exception_is_listed_once() -> None:
    listed = tomllib.loads(LIST.read_text(encoding="utf-8"))["exception"]
    findings = [finding.finding for finding in allowed_findings()]
    assert len(findings) == len(set(findings))
    assert len(listed) == len({(entry["check"], entry["problem"]) for entry in listed})
