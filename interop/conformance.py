"""The conformance suite of the protocol: every scenario for servers, compared check by check with a list."""

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
# The name of a results folder has the scenario and the time.
_FOLDER = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
_EXPECTED = re.compile(r"(?P<era>\S+) (?P<scenario>[\w.-]+)/(?P<check>[\w.$-]+)")
# Scenarios that also run on the real daemon; all others need tools, resources or prompts of the fixture.
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
    """One check of a scenario that did not succeed."""

    scenario: str
    check: str
    status: str = ""
    message: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Its key in the list."""
        return self.scenario, self.check


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The results of one run of the suite."""

    passed: Mapping[str, int]
    """The number of successful checks of each scenario."""
    findings: tuple[Finding, ...]

    def only(self, scenarios: frozenset[str]) -> "Results":
        """Return the results of these scenarios."""
        return Results(
            passed={name: count for name, count in self.passed.items() if name in scenarios},
            findings=tuple(finding for finding in self.findings if finding.scenario in scenarios),
        )


def checks(stage: Stage) -> list[Check]:
    """Return a check for each era on the daemon and on the fixture."""
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
        _store_a_memory(self.server)
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
        workspace = self.stage.workspace
        folder = workspace.folder / f"conformance-{self.name}-{self.era}"
        request = ("--url", self.server.mcp, "--suite", "all", "--spec-version", self.era, "--output-dir", folder)
        done = await workspace.run_package(_SUITE, "server", *request, seconds=_RUNNING)
        # The suite exits with 1 for any failure; only its summary shows that it ran to the end.
        if "=== SUMMARY ===" not in done.out:
            raise Failed(f"the suite stopped: {(done.errors or done.out)[-1_000:]}")
        return results_from((path.parent.name, json.loads(path.read_bytes())) for path in folder.glob("*/checks.json"))


def results_from(files: Iterable[tuple[str, Sequence[Mapping[str, Any]]]]) -> Results:
    """Read the files of the suite: the name of each folder, and its checks."""
    passed: Counter[str] = Counter()
    findings: list[Finding] = []
    for folder, checks_ in files:
        named = _FOLDER.fullmatch(folder)
        if named is None:
            raise Failed(f"{folder} is no folder of results")
        scenario = named["scenario"]
        passed[scenario] += sum(check["status"] == "SUCCESS" for check in checks_)
        findings += [_finding(scenario, check) for check in checks_ if check["status"] not in _FINE]
    return Results(passed=passed, findings=tuple(sorted(findings)))


def expected_failures(text: str, *, era: str) -> dict[tuple[str, str], str]:
    """Read the list for an era: scenario and check, and the reason of the failure."""
    expected: dict[tuple[str, str], str] = {}
    for entry in tomllib.loads(text)["failure"]:
        for line in entry["checks"]:
            match = _EXPECTED.fullmatch(line)
            if match is None:
                raise Failed(f"{_LIST.name} has an invalid line: {line}")
            if match["era"] in (era, "*"):
                expected[match["scenario"], match["check"]] = entry["reason"]
    return expected


def disagreements(results: Results, expected: Mapping[tuple[str, str], str]) -> list[str]:
    """Return the unexpected failures, and the expected failures that did not occur."""
    failed = {finding.key for finding in results.findings}
    unexpected = [finding for finding in results.findings if finding.key not in expected]
    return [
        *(f"{finding.scenario}/{finding.check}: {finding.status} {finding.message[:300]}" for finding in unexpected),
        *(f"{'/'.join(key)}: passes now, remove it from {_LIST.name}" for key in expected if key not in failed),
    ]


def _finding(scenario: str, check: Mapping[str, Any]) -> Finding:
    details = cast("Mapping[str, object]", check.get("details") or {})
    return Finding(
        scenario, check["id"], check["status"], str(check.get("errorMessage") or details.get("message") or "")
    )


def _store_a_memory(server: Served) -> None:
    """Store a memory, because some scenarios read the first resource."""
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
        raise Failed(f"remember failed: {answer}")
