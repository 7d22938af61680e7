"""A command that a daemon answers loads no module of the daemon, because every call would wait for it."""

import ast
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from scrubjay.settings import Settings
from scrubjay.surfaces.cli.by_daemon import SERVED
from scrubjay.surfaces.cli.command import typed
from scrubjay.surfaces.cli.main import COMMANDS_BY_MODULE, load_commands
from tests.contract.source import ROOT, modules
from tests.surfaces.background_daemon import background_daemon

# Modules that only a process with an open store needs, and modules that only some commands need.
ENGINE = (
    "scrubjay.app", "scrubjay.versions", "scrubjay.curation", "scrubjay.embedding", "scrubjay.engine",
    "scrubjay.versions", "scrubjay.indexing", "scrubjay.llm", "scrubjay.notes.service", "scrubjay.notes.markdown",
    "scrubjay.ports", "scrubjay.recalling", "scrubjay.conflicts", "scrubjay.storage", "scrubjay.text",
    "scrubjay.transfer", "scrubjay.vectors", "scrubjay.writing",
)  # fmt: skip
PACKAGES = (
    "apsw", "fastapi", "httpx2", "jsonschema", "mcp", "mcp_types", "numpy", "prometheus_client", "qdrant_edge",
    "rapidfuzz", "rich", "ruamel", "starlette", "Stemmer", "uvicorn", "zstandard",
)  # fmt: skip
COMPLETED = ("", "rec", "recall --any-", "notes ado", "tokens create --r", "conflicts list --status ", "recall tea ")
VERBS = (
    ("remember", "Sarah prefers voice calls", "--name", "Sarah"),
    ("recall", "how does Sarah like to be called?"),
    ("read", "Sarah"),
    ("revise", "Sarah", "--text", "Sarah prefers mail"),
    ("history", "Sarah"),
    ("graph", "Sarah"),
    ("context",),
    ("tags", "list"),
    ("rules", "show"),
    ("inbox", "list"),
    ("jobs", "list"),
    ("conflicts", "list"),
    ("tokens", "list"),
    ("notes", "search", "mail"),
    ("status",),
)
# Modules for agents, browsers and rare file formats: a daemon loads them on demand.
BESIDE = (
    "click", "fastapi", "jsonschema", "mcp", "mcp_types", "onnxruntime", "prometheus_client", "pydantic", "ruamel",
    "scrubjay.surfaces.mcp.toolsets", "starlette", "typer", "uvicorn",
)  # fmt: skip
RUN = """
import sys
from scrubjay.surfaces.cli.main import app

for arguments in {calls!r}:
    try:
        app(arguments)
    except SystemExit as left:
        assert not left.code, (arguments, left.code)
print("loaded", *sys.modules)
"""


# All that a process loads whose command a daemon carries out, besides the standard library.
THIN = {
    "scrubjay", "scrubjay.__main__", "scrubjay.paths", "scrubjay.rpc", "scrubjay.rpc.peercred", "scrubjay.surfaces",
    "scrubjay.surfaces.cli", "scrubjay.surfaces.cli.by_daemon", "scrubjay.surfaces.cli.console", "scrubjay.version",
}  # fmt: skip
RUN_MAIN = """
import sys
before = set(sys.modules)
from scrubjay.__main__ import main

for arguments in {calls!r}:
    sys.argv[1:] = arguments
    try:
        main()
    except SystemExit as left:
        assert not left.code, (arguments, left.code)
print("loaded", *(set(sys.modules) - before - {{"__main__"}}))
"""
COMPLETING = THIN | {"scrubjay.surfaces.cli.completion"}
RUN_COMPLETION = """
import os, sys
before = set(sys.modules)
from scrubjay.__main__ import main

sys.argv = ["scrubjay"]
for line in {lines!r}:
    typed = "scrubjay " + line
    os.environ |= {{
        "_SCRUBJAY_COMPLETE": "complete_{shell}", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" ")),
        "_TYPER_COMPLETE_ARGS": typed, "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }}
    try:
        main()
    except SystemExit as left:
        assert not left.code, (line, left.code)
print("loaded", *(set(sys.modules) - before - {{"__main__"}}))
"""
RUN_DAEMON = """
import asyncio, sys
from scrubjay.client import MemoryClient
from scrubjay.settings import Settings
from scrubjay.surfaces.daemon.serve import ServeOptions, open_daemon

async def ask():
    settings = Settings.load(environment=None, embedder="none", vector_index="scan")
    async with open_daemon(ServeOptions(settings=settings, tools=settings.tools, http="127.0.0.1:0")):
        async with MemoryClient(settings=settings) as memory:
            await memory.remember("Ada likes green tea")
            assert (await memory.recall("green tea")).hits

asyncio.run(ask())
print("loaded", *sys.modules)
"""


def test_the_version_is_printed_without_loading_a_command() -> None:
    loaded = _loaded_by([["--version"]])
    assert not [item for item in loaded if _is_of(item, (*ENGINE, *PACKAGES, "scrubjay.client", "scrubjay.model"))]


def test_the_help_of_all_commands_needs_no_engine() -> None:
    loaded = _loaded_by([["--help"], ["notes", "--help"]])
    assert loaded >= {f"scrubjay.surfaces.cli.{module}" for module in COMMANDS_BY_MODULE}
    assert not [item for item in loaded if _is_of(item, (*ENGINE, *PACKAGES))]


def test_help_is_printed_from_the_table_without_loading_the_command_line() -> None:
    calls = [["--help"], ["recall", "--help"], ["notes", "adopt", "--help"], ["search", "--help"], ["mcp", "--help"]]
    loaded = _modules_after(RUN_MAIN.format(calls=calls)) - {"loaded"}
    assert {name for name in loaded if name.startswith("scrubjay")} == {
        "scrubjay", "scrubjay.__main__", "scrubjay.surfaces", "scrubjay.surfaces.cli", "scrubjay.surfaces.cli.help",
        "scrubjay.version",
    }  # fmt: skip
    assert not {"typer", "click", "pydantic", "asyncio", "dataclasses"} & loaded


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_commands_and_options_are_completed_by_the_standard_library_without_a_daemon(
    shell: str, tmp_path: Path
) -> None:
    loaded = _modules_after(RUN_COMPLETION.format(lines=COMPLETED, shell=shell), home=str(tmp_path)) - {"loaded"}
    assert {name for name in loaded if name.split(".")[0] not in sys.stdlib_module_names} == COMPLETING
    assert not {"asyncio", "dataclasses", "inspect"} & loaded


def test_names_of_the_store_are_completed_by_the_standard_library_with_a_daemon(tmp_path: Path) -> None:
    settings = Settings(home=str(tmp_path / "data"), embedder="none", vector_index="scan", readers=1)
    with background_daemon(settings, http=""):
        code = RUN_COMPLETION.format(lines=("read ja", "recall --tag ", "list --space="), shell="bash")
        loaded = _modules_after(code, home=settings.home) - {"loaded"}
    assert {name for name in loaded if name.split(".")[0] not in sys.stdlib_module_names} == COMPLETING
    assert not {"asyncio", "dataclasses", "inspect"} & loaded


def test_a_command_that_a_daemon_answers_needs_no_engine(tmp_path: Path) -> None:
    settings = Settings(home=str(tmp_path / "data"), embedder="none", vector_index="scan", readers=1)
    with background_daemon(settings, http=""):
        loaded = _loaded_by(VERBS, home=settings.home)
    assert "scrubjay.rpc.socket_transport" in loaded
    assert not [item for item in loaded if _is_of(item, (*ENGINE, *PACKAGES))]


def test_a_command_that_a_daemon_carries_out_needs_the_standard_library_only(tmp_path: Path) -> None:
    settings = Settings(home=str(tmp_path / "data"), embedder="none", vector_index="scan", readers=1)
    calls = [call for call in VERBS if call[0] in SERVED]
    with background_daemon(settings, http=""):
        loaded = _modules_after(RUN_MAIN.format(calls=calls), home=settings.home) - {"loaded"}
    assert len(calls) > len(VERBS) - 2
    assert {name for name in loaded if name.split(".")[0] not in sys.stdlib_module_names} == THIN
    # The event loop and dataclasses alone take longer to load than all of this.
    assert not {"asyncio", "dataclasses", "inspect"} & loaded


@pytest.mark.parametrize("module", COMMANDS_BY_MODULE)
def test_a_process_asks_the_daemon_for_the_commands_that_it_carries_out(module: str) -> None:
    token = typed.set(commands := [])
    try:
        for name, command in load_commands(module).items():
            commands.clear()
            for each in getattr(command, "commands", {"": command}).values():
                each.callback()
            assert (name in SERVED) == any(each.call is not None for each in commands), name
    finally:
        typed.reset(token)


def test_a_daemon_starts_without_its_background_modules() -> None:
    loaded = _modules_after("import sys, scrubjay.surfaces.cli.serving\nprint('loaded', *sys.modules)")
    assert "scrubjay.engine" in loaded
    assert not [item for item in loaded if _is_of(item, BESIDE)]


def test_a_daemon_that_was_asked_on_its_socket_has_not_loaded_its_modules_for_http(tmp_path: Path) -> None:
    loaded = _modules_after(RUN_DAEMON, home=str(tmp_path / "data"))
    assert "scrubjay.surfaces.daemon.http_on_demand" in loaded
    assert not [item for item in loaded if _is_of(item, BESIDE)]


@pytest.mark.parametrize("module", COMMANDS_BY_MODULE)
def test_a_command_is_in_the_module_that_it_is_loaded_from(module: str) -> None:
    assert tuple(load_commands(module)) == COMMANDS_BY_MODULE[module]


def test_every_module_with_commands_is_in_the_table_of_commands() -> None:
    folder = "src/scrubjay/surfaces/cli/"
    having = {
        Path(module.name).stem
        for module in modules("src")
        if module.name.startswith(folder)
        for node in module.tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "app"
    }
    assert having - {"main"} == set(COMMANDS_BY_MODULE)


def _loaded_by(calls: Sequence[Sequence[str]], *, home: str = "") -> set[str]:
    """Return the modules that a process has loaded after it has run commands."""
    return _modules_after(RUN.format(calls=calls), home=home)


def _modules_after(code: str, *, home: str = "") -> set[str]:
    stored = {name: value for name, value in os.environ.items() if not name.startswith("SCRUBJAY_")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=stored | {"SCRUBJAY_HOME": home}, cwd=ROOT / "src", capture_output=True,
        text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return set(done.stdout.splitlines()[-1].split())


def _is_of(module: str, names: Sequence[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names)
