"""The Inspector's command line: every method that it has for a server like ours, over both ways and in both eras."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from interop.checks import Check, Stage
from interop.paths import NO_DAEMON
from interop.processes import Failed
from interop.servers import ERAS, HTTP, NEWER, OLDER, WAYS

_CLI = "@modelcontextprotocol/inspector/clients/cli/build/index.js"
_ERAS = {OLDER: "legacy", NEWER: "modern"}
_TOOLSETS = ("core", "kg", "enhanced", "items", "entities", "smart", "notes")


def checks(stage: Stage) -> list[Check]:
    """One check for each way and era, and one for the schemas of each toolset."""
    return [
        *(
            Check(name=f"inspector, {way}, {era}", run=_Inspector(stage=stage, way=way, era=era).journey)
            for way in WAYS
            for era in ERAS
        ),
        *(
            Check(
                name=f"inspector --strict, {name}", run=_Inspector(stage=stage, way=HTTP, era=NEWER, path=name).strict
            )
            for name in _TOOLSETS
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inspector:
    stage: Stage
    way: str
    era: str
    path: str = ""

    async def journey(self) -> str:
        """Greet, list, remember, recall, read; each command is a client of its own."""
        greeting = await self._ask("initialize")
        _require(greeting["protocolVersion"] == self.era, "another revision was spoken", greeting)
        tools = await self._ask("tools/list", "--strict")
        _require("recall" in _names(tools["tools"]), "recall is not listed", tools)
        text = f"The inspector came by {self.way} and spoke {self.era}."
        made = await self._ask("tools/call", "--tool-name", "remember", "--tool-args-json", json.dumps({"text": text}))
        request = json.dumps({"query": text, "limit": 1})
        results = await self._ask("tools/call", "--tool-name", "recall", "--tool-args-json", request)
        _require(results["structuredContent"]["hits"][0]["passage"] == text, "recall finds something else", results)
        await self._read(f"memory://default/{made['structuredContent']['name']}", text)
        prompts = await self._ask("prompts/list")
        _require("what_do_you_know_about" in _names(prompts["prompts"]), "a prompt is not listed", prompts)
        worded = await self._ask(
            "prompts/get", "--prompt-name", "what_do_you_know_about", "--prompt-args", f"topic={text}"
        )
        _require(text in worded["messages"][0]["content"]["text"], "the prompt does not know", worded)
        return "9 methods"

    async def strict(self) -> str:
        """Every tool of a toolset, held to what all clients can read."""
        tools = await self._ask("tools/list", "--strict")
        return f"{len(tools['tools'])} tools, nothing to complain of"

    async def _read(self, uri: str, text: str) -> None:
        templates = await self._ask("resources/templates/list")
        _require(templates["resourceTemplates"][0]["uriTemplate"].startswith("memory://"), "no template", templates)
        listed = await self._ask("resources/list")
        _require(uri in [item["uri"] for item in listed["resources"]], f"{uri} is not listed", listed)
        read = await self._ask("resources/read", "--uri", uri)
        _require(text in read["contents"][0]["text"], f"{uri} says something else", read)

    async def _ask(self, method: str, *options: str) -> dict[str, Any]:
        """What one command prints; any complaint on standard error is a failure, also when the exit code is 0."""
        request = ("--protocol-era", _ERAS[self.era], "--method", method, "--format", "json", *options)
        done = await self.stage.job_runner.run_package(_CLI, *self._target(), *request)
        printed = done.must_succeed()
        if done.errors.strip():
            raise Failed(f"{method}: {done.errors.strip()[:1_000]}")
        result: dict[str, Any] = json.loads(printed)["result"]
        _require(not result.get("isError"), f"{method} failed", result)
        return result

    def _target(self) -> list[str]:
        server = self.stage.daemon
        if self.path:
            # Only an address that ends in /mcp tells by itself how it is spoken to.
            return [f"{server.mcp}/{self.path}", "--transport", "http"]
        # A bridge gets no environment but what is said here.
        return [*server.reached_by(self.way), *(f"-e{name}={value}" for name, value in NO_DAEMON.items())]


def _require(is_so: bool, complaint: str, seen: Mapping[str, object]) -> None:
    if not is_so:
        raise Failed(f"{complaint}: {json.dumps(seen)[:500]}")


def _names(listed: list[dict[str, Any]]) -> list[str]:
    return [item["name"] for item in listed]
