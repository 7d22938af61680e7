"""The Inspector's command line: every method for a server like ours, over both transports and in both eras."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from interop.checks import Check, Stage
from interop.paths import NO_DAEMON
from interop.processes import Failed
from interop.servers import ERAS, HTTP, NEWER, OLDER, TRANSPORTS

_CLI = "@modelcontextprotocol/inspector/clients/cli/build/index.js"
_ERAS = {OLDER: "legacy", NEWER: "modern"}
_TOOLSETS = ("core", "kg", "enhanced", "items", "entities", "smart", "notes")


def checks(stage: Stage) -> list[Check]:
    """Return a check for each transport and era, and one for the schemas of each toolset."""
    return [
        *(
            Check(
                name=f"inspector, {transport}, {era}", run=_Inspector(stage=stage, transport=transport, era=era).journey
            )
            for transport in TRANSPORTS
            for era in ERAS
        ),
        *(
            Check(
                name=f"inspector --strict, {name}",
                run=_Inspector(stage=stage, transport=HTTP, era=NEWER, path=name).strict,
            )
            for name in _TOOLSETS
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inspector:
    stage: Stage
    transport: str
    era: str
    path: str = ""

    async def journey(self) -> str:
        """Initialize, list, remember, recall and read; each command is a separate client."""
        greeting = await self._ask("initialize")
        _require(greeting["protocolVersion"] == self.era, "the revision differs", greeting)
        tools = await self._ask("tools/list", "--strict")
        _require("recall" in _names(tools["tools"]), "recall is not listed", tools)
        text = f"The inspector came by {self.transport} and spoke {self.era}."
        made = await self._ask("tools/call", "--tool-name", "remember", "--tool-args-json", json.dumps({"text": text}))
        # What the other journeys wrote at the same time disputes it, and the newer statement comes first.
        request = json.dumps({"query": text, "limit": 4})
        recalled = await self._ask("tools/call", "--tool-name", "recall", "--tool-args-json", request)
        passages = [hit["passage"] for hit in recalled["structuredContent"]["hits"]]
        _require(text in passages, "recall finds other memories", recalled)
        await self._read(f"memory://default/{made['structuredContent']['name']}", text)
        prompts = await self._ask("prompts/list")
        _require("what_do_you_know_about" in _names(prompts["prompts"]), "a prompt is not listed", prompts)
        prompt = await self._ask(
            "prompts/get", "--prompt-name", "what_do_you_know_about", "--prompt-args", f"topic={text}"
        )
        _require(text in prompt["messages"][0]["content"]["text"], "the prompt lacks the topic", prompt)
        return "9 methods"

    async def strict(self) -> str:
        """Check that all clients can read the schemas of a toolset."""
        tools = await self._ask("tools/list", "--strict")
        return f"{len(tools['tools'])} tools, no complaints"

    async def _read(self, uri: str, text: str) -> None:
        templates = await self._ask("resources/templates/list")
        _require(templates["resourceTemplates"][0]["uriTemplate"].startswith("memory://"), "no template", templates)
        listed = await self._ask("resources/list")
        _require(uri in [resource["uri"] for resource in listed["resources"]], f"{uri} is not listed", listed)
        read = await self._ask("resources/read", "--uri", uri)
        _require(text in read["contents"][0]["text"], f"{uri} has another text", read)

    async def _ask(self, method: str, *options: str) -> dict[str, Any]:
        """Run a command and return its result; any output on standard error is a failure, even with exit code 0."""
        request = ("--protocol-era", _ERAS[self.era], "--method", method, "--format", "json", *options)
        done = await self.stage.workspace.run_package(_CLI, *self._target(), *request)
        printed = done.must_succeed()
        if done.errors.strip():
            raise Failed(f"{method}: {done.errors.strip()[:1_000]}")
        result: dict[str, Any] = json.loads(printed)["result"]
        _require(not result.get("isError"), f"{method} failed", result)
        return result

    def _target(self) -> list[str]:
        server = self.stage.daemon
        if self.path:
            # The Inspector infers the transport only from an address that ends in /mcp.
            return [f"{server.mcp}/{self.path}", "--transport", "http"]
        # A bridge gets no other environment.
        return [*server.reached_by(self.transport), *(f"-e{name}={value}" for name, value in NO_DAEMON.items())]


def _require(condition: bool, complaint: str, seen: Mapping[str, object]) -> None:
    if not condition:
        raise Failed(f"{complaint}: {json.dumps(seen)[:500]}")


def _names(listed: list[dict[str, Any]]) -> list[str]:
    return [entry["name"] for entry in listed]
