"""The examples for clients in the pages: client configurations, and lines for curl."""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from scripts.tour import first_missing, run, steps_of
from tests.contract.source import ROOT, pages
from tests.surfaces.daemon_process import Daemon

ADDRESS = "http://127.0.0.1:7272"
CONFIGURATIONS = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")
    for page in pages()
    for number, block in enumerate(re.findall(r"^```json\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL))
    if "mcpServers" in block
]
SERVED = [page for page in pages() if "```console serving\n" in page.read_text(encoding="utf-8")]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with Daemon(tmp_path_factory.mktemp("readme") / "data") as running:
        yield running


@pytest.mark.parametrize("block", CONFIGURATIONS)
async def test_the_configuration_for_a_client_works(daemon: Daemon, block: str) -> None:
    (server,) = cast("dict[str, dict[str, Any]]", json.loads(block)["mcpServers"]).values()
    # As a client finds the program on the user's path.
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    program = shutil.which(str(server["command"]).removeprefix("/path/to/.venv/bin/"), path=path)
    assert program is not None
    parameters = StdioServerParameters(
        command=program,
        args=server["args"],
        env={"PATH": path, "SCRUBJAY_HOME": str(daemon.home)},
    )
    async with Client(cast("Any", stdio_client(parameters))) as client:
        assert (await client.list_tools()).tools


@pytest.mark.parametrize("page", SERVED, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_lines_for_curl_print_the_answers_on_the_page(daemon: Daemon, page: Path, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not on this machine")
    http = json.loads((daemon.home / "daemon.lock").read_text())["http"]
    for step in steps_of(page.read_text(encoding="utf-8"), kind="serving"):
        done = run(step.command.replace(ADDRESS, http), folder=tmp_path)
        assert done.returncode == 0, done.stdout
        assert first_missing(step.shown, done.stdout) == "", done.stdout


def test_the_readme_shows_both() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "mcpServers" in text
    assert ROOT / "README.md" in SERVED
