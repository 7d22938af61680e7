"""The conformance suite of the protocol: every scenario for servers, judged check by check."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.request import Request, urlopen

from interop.checks import Check, Stage
from interop.processes import Failed
from interop.servers import ERAS, Served

_SUITE = "@modelcontextprotocol/conformance/dist/index.js"
_LIST = Path(__file__).with_name("expected_failures.toml")
_RUNNING = 120.0
_FINE = ("SUCCESS", "INFO")
# A folder of results is named for its scenario and the time.
_FOLDER = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
_EXPECTED = re.compile(r"(?P<era>\S+) (?P<scenario>[\w.-]+)/(?P<check>[\w.$-]+)")
# What is judged on the real daemon, too; all else needs tools, resources or prompts of the fixture's.
_WITHOUT_FIXTURE = frozenset(
    {
        "caching",
        "dns-rebinding-protection",
        "http-header-validation",
        "ping",
        "prompts-list",
        "resources-list",
        "sep-2164-resource-not-found",
        "server-initialize",
        "server-session-lifecycle",
        "server-sse-multiple-streams",
        "tools-list",
    }
)


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One check of one scenario that did not simply succeed."""

    scenario: str
    check: str
    status: str = ""
    message: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What it is known by in the list."""
        return self.scenario, self.check


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What the suite has found in one run."""

    passed: Mapping[str, int]
    """How many checks of each scenario succeeded."""
    findings: tuple[Finding, ...]

    def only(self, scenarios: frozenset[str]) -> "Results":
        """The same for some of the scenarios."""
        return Results(
            passed={name: count for name, count in self.passed.items() if name in scenarios},
            findings=tuple(finding for finding in self.findings if finding.scenario in scenarios),
        )


def checks(stage: Stage) -> list[Check]:
    """Each era on the daemon and on the fixture."""
    return [
        Check(name=f"conformance, {name}, {era}", run=_Suite(stage=stage, server=server, name=name, era=era).judge)
        for era in ERAS
        for name, server in (("daemon", stage.daemon), ("fixture", stage.fixture))
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Suite:
    stage: Stage
    server: Served
    name: str
    era: str

    async def judge(self) -> str:
        _remember_something(self.server)
        results = await self._run()
        expected = expected_failures(_LIST.read_text(encoding="utf-8"), era=self.era)
        if self.name == "daemon":
            results = results.only(_WITHOUT_FIXTURE)
            expected = {key: reason for key, reason in expected.items() if key[0] in _WITHOUT_FIXTURE}
        if complaints := disagreements(results, expected):
            raise Failed("\n".join(complaints))
        passed = f"{len(results.passed)} scenarios, {sum(results.passed.values())} checks passed"
        return passed + (f", {len(expected)} not, as expected" if expected else "")

    async def _run(self) -> Results:
        job_runner = self.stage.job_runner
        folder = job_runner.folder / f"conformance-{self.name}-{self.era}"
        request = ("--url", self.server.mcp, "--suite", "all", "--spec-version", self.era, "--output-dir", folder)
        done = await job_runner.run_package(_SUITE, "server", *request, seconds=_RUNNING)
        # It exits with 1 for any failure; only its summary tells that it came to the end.
        if "=== SUMMARY ===" not in done.out:
            raise Failed(f"the suite stopped: {(done.errors or done.out)[-1_000:]}")
        return results_from((path.parent.name, json.loads(path.read_bytes())) for path in folder.glob("*/checks.json"))


def results_from(files: Iterable[tuple[str, Sequence[Mapping[str, Any]]]]) -> Results:
    """What is in the suite's files: the name of each one's folder, and its checks."""
    passed: Counter[str] = Counter()
    findings: list[Finding] = []
    for folder, results in files:
        named = _FOLDER.fullmatch(folder)
        if named is None:
            raise Failed(f"{folder} is no folder of results")
        scenario = named["scenario"]
        passed[scenario] += sum(item["status"] == "SUCCESS" for item in results)
        findings += [_finding(scenario, item) for item in results if item["status"] not in _FINE]
    return Results(passed=passed, findings=tuple(sorted(findings)))


def expected_failures(text: str, *, era: str) -> dict[tuple[str, str], str]:
    """The written list for an era: scenario and check, and why it fails."""
    expected: dict[tuple[str, str], str] = {}
    for entry in tomllib.loads(text)["failure"]:
        for line in entry["checks"]:
            results = _EXPECTED.fullmatch(line)
            if results is None:
                raise Failed(f"{_LIST.name} has a line that says nothing: {line}")
            if results["era"] in (era, "*"):
                expected[results["scenario"], results["check"]] = entry["reason"]
    return expected


def disagreements(results: Results, expected: Mapping[tuple[str, str], str]) -> list[str]:
    """What failed and should not have, and what should have failed and did not."""
    matches = {finding.key for finding in results.findings}
    unexpected = [finding for finding in results.findings if finding.key not in expected]
    return [
        *(f"{item.scenario}/{item.check}: {item.status} {item.message[:300]}" for item in unexpected),
        *(f"{'/'.join(key)}: passes now, take it off {_LIST.name}" for key in expected if key not in matches),
    ]


def _finding(scenario: str, one: Mapping[str, Any]) -> Finding:
    details = cast("Mapping[str, object]", one.get("details") or {})
    return Finding(scenario, one["id"], one["status"], str(one.get("errorMessage") or details.get("message") or ""))


def _remember_something(server: Served) -> None:
    """Some scenarios read the first resource there is."""
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "remember", "arguments": {"text": "The suite was here.", "name": "suite"}},
    }
    request = Request(  # noqa: S310 - our own daemon
        server.mcp + "/core", data=json.dumps(message).encode(), headers={"content-type": "application/json"}
    )
    with urlopen(request, timeout=10) as response:  # noqa: S310
        answer = cast("dict[str, Any]", json.load(response))
    if answer["result"].get("isError"):
        raise Failed(f"nothing can be remembered: {answer}")
