"""The HTTP interface against its own description: schemathesis sends everything that it can invent."""

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from interop.checks import Check, Stage
from interop.exceptions import LIST, asked, known_findings
from interop.processes import Failed, run
from interop.schemathesis_results import Report, disagreements, report_from, require_complete
from interop.servers import Served, serving

_CONFIG = Path(__file__).with_name("schemathesis.toml")
_PROGRAM = Path(sys.executable).with_name("st")
_RUNNING = 180.0
_NOTES = 20
_JSON = "application/json"
# Two who share nothing: what one has written the other must not be given.
_PEOPLE = ("ada", "bela")


def checks(stage: Stage) -> list[Check]:
    """Once as a machine of one's own is, open to whoever is on it; once where everyone needs a token."""
    return [
        Check(name="openapi, open", run=_Trial(stage=stage, name="openapi-open", people=()).judge),
        Check(name="openapi, with tokens", run=_Trial(stage=stage, name="openapi-tokens", people=_PEOPLE).judge),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    stage: Stage
    name: str
    people: Sequence[str]

    async def judge(self) -> str:
        options = ("--require-token",) if self.people else ()
        async with serving(
            self.stage.job_runner, module="scrubjay", tools="core", name=self.name, options=options
        ) as server:
            tokens = {person: await self._token(server, person) for person in self.people}
            for token in tokens.values() or ("",):
                await asyncio.to_thread(_fill, server, token)
            if not self.people:
                await asyncio.to_thread(_require_shown, server)
            folder = await self._invent(server, tokens)
            await server.has_logged_no_error()
        operations = require_complete(json.loads((folder / "summary.json").read_bytes()))
        report = await asyncio.to_thread(_report, folder / "events.ndjson")
        # Whoever has one space only meets less of what there is.
        if complaints := disagreements(report, list(known_findings()), must_meet=not self.people):
            raise Failed("\n".join(complaints))
        existing = sum(report.findings.values())
        return f"{operations} operations, {report.requests:,} requests, {existing} refused as the exceptions list says"

    async def _token(self, server: Served, person: str) -> str:
        """A token for a space of one's own, which may be used as often as it is needed here."""
        command = [sys.executable, "-m", "scrubjay", "tokens", "create", "--data", server.data, "--json"]
        command += ["--name", person, "--spaces", person, "--access", "write", "--requests-per-minute", "1000000"]
        job_runner = self.stage.job_runner
        done = await run(command, environment=job_runner.environment, folder=job_runner.folder)
        return str(json.loads(done.must_succeed())["secret"])

    async def _invent(self, server: Served, tokens: Mapping[str, str]) -> Path:
        """Let it run; returns the folder with what it has written."""
        job_runner = self.stage.job_runner
        folder = job_runner.folder / f"{self.name}-report"
        folder.mkdir()
        config = folder / "schemathesis.toml"
        config.write_text("\n".join(_config(folder, tokens)), encoding="utf-8")
        command = [_PROGRAM, "--config-file", config, "run", f"{server.url}/openapi.json", "--no-color"]
        done = await run(command, environment=job_runner.environment, folder=folder, seconds=_RUNNING)
        # It exits with 1 for any failure; only its summary tells that it came to the end.
        if not (folder / "summary.json").exists():
            raise Failed(f"schemathesis stopped: {(done.errors + done.out)[-2_000:]}")
        return folder


def _report(events: Path) -> Report:
    with events.open(encoding="utf-8") as lines:
        return report_from(lines)


def _config(folder: Path, tokens: Mapping[str, str]) -> Iterator[str]:
    """The configuration, with those whom it comes as."""
    yield _CONFIG.read_text(encoding="utf-8")
    if tokens:
        people = folder / "people.json"
        auth = [
            {"name": name, "fixedHeaders": [{"name": "Authorization", "value": f"Bearer {token}"}]}
            for name, token in tokens.items()
        ]
        people.write_text(json.dumps({"auth": auth}), encoding="utf-8")
        yield f"[auth.wfc]\npath = {json.dumps(str(people))}\npeers = {json.dumps(list(tokens))}"
        # What is wrong in itself is wrong for everyone, and the other trial shows it.
        yield '[phases]\ncoverage.generation.mode = "positive"\nfuzzing.generation.max-examples = 5'


def _fill(server: Served, token: str) -> None:
    """Take in the description's own example of an export, to which its other examples refer; and some more."""
    description = _answer(server, "GET", "/openapi.json")
    ((kind, lines),) = description["paths"]["/api/v1/import"]["post"]["requestBody"]["content"].items()
    taken = _answer(server, "POST", "/api/v1/import", token=token, body=lines["example"], kind=kind)
    if not taken.get("imported"):
        raise Failed(f"the example of an export cannot be imported: {taken}")
    for number in range(_NOTES):
        note = {"text": f"Note {number} is about the garden and the house.", "name": f"note-{number}", "intent": "new"}
        _answer(server, "POST", "/api/v1/memories", token=token, body=json.dumps(note), key="" if number else "used")


def _answer(
    server: Served, method: str, path: str, *, token: str = "", body: str = "", kind: str = _JSON, key: str = ""
) -> dict[str, Any]:
    headers = {"content-type": kind} | ({"authorization": f"Bearer {token}"} if token else {})
    headers |= {"idempotency-key": key} if key else {}
    sent = body.encode() if body else None
    _, answer = asked(server.url + path, method=method, headers=headers, body=sent)
    return cast("dict[str, Any]", json.loads(answer))


def _require_shown(server: Served) -> None:
    """Raises Failed where a request of the list is not refused as the list has it."""
    for finding in known_findings():
        if finding.shown_by and (reported := finding.shown(server.url)) != finding.finding.problem:
            raise Failed(f"{finding.finding}: is {reported} now, take it off {LIST.name}")
