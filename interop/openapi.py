"""Tests the REST interface against its own description with requests that schemathesis generates."""

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from interop.checks import Check, Stage
from interop.exceptions import LIST, allowed_findings, send_request
from interop.processes import Failed, run
from interop.schemathesis_results import Report, disagreements, report_from, require_complete
from interop.servers import Served, serving

_CONFIG = Path(__file__).with_name("schemathesis.toml")
_PROGRAM = Path(sys.executable).with_name("st")
_RUNNING = 300.0
_NOTES = 20
_JSON = "application/json"
# Two users without shared spaces: neither may read the memories of the other.
_USERS = ("ada", "bela")


def checks(stage: Stage) -> list[Check]:
    """Return a check without tokens, as on a personal machine, and one with tokens."""
    return [
        Check(name="openapi, open", run=_Trial(stage=stage, name="openapi-open", users=()).judge),
        Check(name="openapi, with tokens", run=_Trial(stage=stage, name="openapi-tokens", users=_USERS).judge),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    stage: Stage
    name: str
    users: Sequence[str]

    async def judge(self) -> str:
        options = ("--require-token",) if self.users else ()
        async with serving(
            self.stage.workspace, module="scrubjay", tools="core", name=self.name, options=options
        ) as server:
            tokens = {user: await self._token(server, user) for user in self.users}
            for token in tokens.values() or ("",):
                await asyncio.to_thread(_fill, server, token)
            if not self.users:
                await asyncio.to_thread(_require_shown, server)
            folder = await self._run_schemathesis(server, tokens)
            await server.has_logged_no_error()
        operations = require_complete(json.loads((folder / "summary.json").read_bytes()))
        report = await asyncio.to_thread(_report, folder / "events.ndjson")
        # A user with one space does not trigger every allowed finding.
        if complaints := disagreements(report, list(allowed_findings()), must_meet=not self.users):
            raise Failed("\n".join(complaints))
        allowed_count = sum(report.findings.values())
        return f"{operations} operations, {report.requests:,} requests, {allowed_count} allowed findings"

    async def _token(self, server: Served, user: str) -> str:
        """Create a token for a user's own space, without a practical rate limit."""
        command = [sys.executable, "-m", "scrubjay", "tokens", "create", "--data", server.data, "--json"]
        command += ["--name", user, "--spaces", user, "--access", "write", "--requests-per-minute", "1000000"]
        workspace = self.stage.workspace
        done = await run(command, environment=workspace.environment, folder=workspace.folder)
        return str(json.loads(done.must_succeed())["secret"])

    async def _run_schemathesis(self, server: Served, tokens: Mapping[str, str]) -> Path:
        """Run schemathesis; return the folder with its reports."""
        workspace = self.stage.workspace
        folder = workspace.folder / f"{self.name}-report"
        folder.mkdir()
        config = folder / "schemathesis.toml"
        config.write_text("\n".join(_config(folder, tokens)), encoding="utf-8")
        command = [_PROGRAM, "--config-file", config, "run", f"{server.url}/openapi.json", "--no-color"]
        done = await run(command, environment=workspace.environment, folder=folder, seconds=_RUNNING)
        # It exits with 1 for any failure; only its summary shows that it ran to the end.
        if not (folder / "summary.json").exists():
            raise Failed(f"schemathesis stopped: {(done.errors + done.out)[-2_000:]}")
        return folder


def _report(events: Path) -> Report:
    with events.open(encoding="utf-8") as lines:
        return report_from(lines)


def _config(folder: Path, tokens: Mapping[str, str]) -> Iterator[str]:
    """Yield the configuration, with the users and their tokens."""
    yield _CONFIG.read_text(encoding="utf-8")
    if tokens:
        users = folder / "people.json"
        auth = [
            {"name": name, "fixedHeaders": [{"name": "Authorization", "value": f"Bearer {token}"}]}
            for name, token in tokens.items()
        ]
        users.write_text(json.dumps({"auth": auth}), encoding="utf-8")
        yield f"[auth.wfc]\npath = {json.dumps(str(users))}\npeers = {json.dumps(list(tokens))}"
        # The run without tokens covers invalid requests, which do not depend on the user.
        yield '[phases]\ncoverage.generation.mode = "positive"\nfuzzing.generation.max-examples = 5'


def _fill(server: Served, token: str) -> None:
    """Import the export example of the description, to which its other examples refer, and add more memories."""
    description = _answer(server, "GET", "/openapi.json")
    ((kind, lines),) = description["paths"]["/api/v1/import"]["post"]["requestBody"]["content"].items()
    taken = _answer(server, "POST", "/api/v1/import", token=token, body=lines["example"], kind=kind)
    if not taken.get("imported"):
        raise Failed(f"the example of an export cannot be imported: {taken}")
    # Wherever a path has a name, the examples say `draft`.
    skill = {"name": "draft", "source": "def draft(x: int = 1): return x", "description": "Returns a number"}
    _answer(server, "POST", "/api/v1/skills", token=token, body=json.dumps(skill))
    for number in range(_NOTES):
        note = {"text": f"Note {number} is about the garden and the house.", "name": f"note-{number}", "intent": "new"}
        _answer(server, "POST", "/api/v1/memories", token=token, body=json.dumps(note), key="" if number else "used")


def _answer(
    server: Served, method: str, path: str, *, token: str = "", body: str = "", kind: str = _JSON, key: str = ""
) -> dict[str, Any]:
    headers = {"content-type": kind} | ({"authorization": f"Bearer {token}"} if token else {})
    headers |= {"idempotency-key": key} if key else {}
    sent = body.encode() if body else None
    _, answer = send_request(server.url + path, method=method, headers=headers, body=sent)
    return cast("dict[str, Any]", json.loads(answer))


def _require_shown(server: Served) -> None:
    """Raise Failed if a request of the list does not get the listed answer."""
    for finding in allowed_findings():
        if finding.shown_by and (problem := finding.shown(server.url)) != finding.finding.problem:
            raise Failed(f"{finding.finding}: is {problem} now, remove it from {LIST.name}")
