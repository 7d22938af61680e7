"""The official clients, current and before 2.0, against the real daemon: through the bridge and over HTTP."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from tests.surfaces.daemon_process import Daemon

OLD_SDK = Path(sys.prefix) / "mcp1"
CORE = ["remember", "recall", "read", "revise", "forget", "relate", "history"]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with Daemon(tmp_path_factory.mktemp("sdk") / "data") as running:
        yield running
        assert running.stop() == 0


@pytest.fixture
def http(daemon: Daemon) -> str:
    return str(json.loads((daemon.home / "daemon.lock").read_text())["http"])


def bridge(daemon: Daemon) -> list[str]:
    return [sys.executable, "-m", "scrubjay", "mcp", "--data", str(daemon.home)]


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("way", ["bridge", "http"])
async def test_the_current_sdk_in_both_eras(daemon: Daemon, http: str, way: str, mode: str) -> None:
    command = bridge(daemon)
    server: Any = (
        stdio_client(StdioServerParameters(command=command[0], args=command[1:])) if way == "bridge" else f"{http}/mcp"
    )
    async with Client(server, mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == CORE
        text = f"the current sdk came by {way} in {mode}"
        done = await client.call_tool("remember", {"text": text})
        assert not done.is_error
        result = await client.call_tool("recall", {"query": text, "limit": 1})
        assert cast("dict[str, Any]", result.structured_content)["hits"][0]["passage"] == text
        wrong = await client.call_tool("recall", {"limit": "many"})
        assert wrong.is_error
        name = cast("dict[str, Any]", done.structured_content)["name"]
        resource = await client.read_resource(f"memory://default/{name}")
        assert text in str(resource.contents[0])
        assert (await client.list_prompts()).prompts


@pytest.mark.parametrize("way", ["bridge", "http"])
def test_the_sdk_before_2(daemon: Daemon, http: str, way: str) -> None:
    if not OLD_SDK.is_dir():
        pytest.skip(f"the SDK before 2.0 is not in {OLD_SDK}: `make test` installs it from requirements/mcp1.txt")
    script = str(Path(__file__).with_name("old_client.py"))
    done = subprocess.run(
        [sys.executable, script, *([f"{http}/mcp"] if way == "http" else bridge(daemon))],
        env={**os.environ, "PYTHONPATH": str(OLD_SDK), "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["tools"] == CORE
    assert result["protocol"].startswith("2025-")
    assert "the old client was here" in result["passage"]
    assert "the old client was here" in result["resource"]
    assert (result["wrong"], result["server"]) == (True, "scrubjay")
    assert result["prompts"] >= 3


async def test_an_agent_that_was_given_a_space_stays_in_it(daemon: Daemon) -> None:
    command = [*bridge(daemon), "--tools", "items"]
    for space, is_error in (("walled", True), ("", False)):
        arguments = [*command[1:], *(["--space", space] if space else [])]
        async with Client(
            cast("Any", stdio_client(StdioServerParameters(command=command[0], args=arguments)))
        ) as client:
            stored = await client.call_tool("memory_store", {"text": "the code is 4711", "session_user_id": "secret"})
            assert stored.is_error is is_error
            arguments = {"query": "what is the code?", "session_user_id": "secret"}
            assert (await client.call_tool("memory_recall", arguments)).is_error is is_error
