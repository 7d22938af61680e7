"""What a new argument and a new verb cost: both are added to a copy of the tree, and every surface has them."""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scrubjay.paths import daemon_file
from tests.patience import PATIENCE
from tests.surfaces.daemon_process import is_open

ROOT = Path(__file__).parents[2]
_ARGUMENT = """    language: Annotated[str, Arg("Language of the text.", brief="of the text", length=LABEL)] = ""
"""
_REQUEST = '''

@dataclass(frozen=True, slots=True, kw_only=True)
class CountWordsRequest(Request[dict[str, int]]):
    """Count the words of memories."""

    ids: Refs
    least: Annotated[int, Arg("Least number of characters of a word.", minimum=0)] = 0
'''
_LINE = """    _reads(
        requests.CountWordsRequest, command="count-words", route="POST /words/count", tools=("core.count_words",),
    ),
"""
_METHOD = '''
    async def count_words(self, request: requests.CountWordsRequest, *, who: Caller) -> dict[str, int]:
        """Count the words of memories."""
        memories = (await self.read(requests.ReadRequest(ids=request.ids), who=who)).memories
        words = [word for memory in memories for word in memory.content.split() if len(word) >= request.least]
        return {"words": len(words)}
'''
# Prints what each surface has, in the copy, which no other process imports.
_PROBE = """
import asyncio, inspect, json
from scripts.help_table import help_table
from scripts.reference import python_page
from scrubjay import MemoryClient, SyncMemoryClient
from scrubjay.surfaces.cli.main import app
from scrubjay.surfaces.mcp.toolsets import pick
from scrubjay.surfaces.rest.app import make_bare_app
from scrubjay.surfaces.rest.openapi import describe_app
import typer

def command(name):
    return [text for option in typer.main.get_command(app).commands[name].params for text in (option.opts, option.help)]

tools = {tool.name: dict(tool.input["properties"]) for tool in pick("core")}
async def use():
    async with MemoryClient(path="data") as memory:
        await memory.remember("one two three", name="numbers", language="en")
        return await memory.count_words("numbers", least=4)

print(json.dumps({
    "client": [str(inspect.signature(kind.remember)) + str(inspect.signature(kind.count_words))
               for kind in (MemoryClient, SyncMemoryClient)],
    "commands": [command("remember"), command("count-words")],
    "tools": [tools["remember"], tools["count_words"]],
    "rest": describe_app(make_bare_app()),
    "reference": python_page(),
    "help": help_table(),
    "result": asyncio.run(use()),
}, default=str))
"""
# Prints what a daemon of the copy answers to calls of both, and to values that break their limits.
_CALLS = """
import asyncio, json, sys
import httpx2
from scrubjay import MemoryClient
from scrubjay.errors import InvalidInput

async def refused(call):
    try:
        await call
    except InvalidInput as error:
        return error.fields["field"]

async def by_socket():
    async with MemoryClient(path=sys.argv[1]) as memory:
        return [
            await memory.count_words("numbers", least=4),
            await refused(memory.count_words("numbers", least=-1)),
        ]

async def by_rest(web):
    async def post(path, **body):
        return (await web.post(f"/api/v1/{path}", json=body)).json()
    return [
        await post("words/count", ids=["numbers"], least=4),
        (await post("words/count", ids=["numbers"], least=-1))["field"],
    ], (await post("memories", text="tea", language="x" * 301))["field"]

async def by_mcp(web):
    async def call(tool, **arguments):
        params = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return (await web.post("/mcp/core", json=message)).json()["result"]
    return [
        (await call("count_words", ids=["numbers"], least=4))["structuredContent"],
        (await call("count_words", ids=["numbers"], least=-1))["_meta"]["scrubjay/error"]["field"],
    ]

async def main():
    async with MemoryClient(path=sys.argv[1]) as memory:
        await memory.remember("one two three", name="numbers", language="en")
    async with httpx2.AsyncClient(base_url=sys.argv[2], timeout=60, trust_env=False) as web:
        rest, too_long = await by_rest(web)
        return {"socket": await by_socket(), "rest": rest, "mcp": await by_mcp(web), "too long": too_long}

print(json.dumps(asyncio.run(main())))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with one more argument of `remember`, and one more verb."""
    tree = tmp_path_factory.mktemp("tree")
    for folder in ("src", "scripts"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__"))
    memories = tree / "src/scrubjay/model/requests/memories.py"
    _edit(memories, "    session_hint: Annotated[\n", before=_ARGUMENT)
    _edit(memories, '    "Edit",\n', before='    "CountWordsRequest",\n')
    memories.write_text(memories.read_text(encoding="utf-8") + _REQUEST, encoding="utf-8")
    _edit(tree / "src/scrubjay/model/verbs.py", "    _reads(requests.SearchTextRequest", before=_LINE)
    _edit(tree / "src/scrubjay/engine/engine.py", "    async def search_text(", before=_METHOD.lstrip("\n") + "\n")
    _run(tree, "-m", "scripts.client")
    return tree


@pytest.fixture(scope="module")
def copied(tree: Path) -> dict[str, object]:
    """What the surfaces of the copy have."""
    return json.loads(_run(tree, "-c", _PROBE))


def test_the_clients_have_both(copied: dict[str, list[str]]) -> None:
    for signature in copied["client"]:
        assert "language: str = ''" in signature
        assert "least: int = 0" in signature
    assert copied["result"] == {"words": 1}


def test_the_commands_have_both(copied: dict[str, list[list[object]]]) -> None:
    remember, count_words = copied["commands"]
    assert ["--language"] in remember
    assert "Language of the text." in remember
    assert ["--least"] in count_words


def test_the_tools_have_both(copied: dict[str, list[dict[str, dict[str, object]]]]) -> None:
    remember, count_words = copied["tools"]
    assert remember["language"] == {"type": "string", "description": "of the text"}
    assert set(count_words) == {"ids", "least"}


def test_the_routes_have_both(copied: dict[str, dict[str, dict[str, dict[str, object]]]]) -> None:
    description = copied["rest"]
    assert "/api/v1/words/count" in description["paths"]
    described = json.dumps(description["components"]["schemas"])
    assert "Language of the text." in described
    assert "Least number of characters of a word." in described


def test_a_daemon_answers_both_and_names_a_value_that_breaks_a_limit(tree: Path) -> None:
    # A path that is short enough for a socket.
    with tempfile.TemporaryDirectory(prefix="scrubjay-") as folder, _serving(tree, Path(folder, "data")) as home:
        address = json.loads(daemon_file(home).read_bytes())["http"]
        answers = json.loads(_run(tree, "-c", _CALLS, str(home), address))
    # REST knows the lengths of all texts; elsewhere the verb checks those of what it stores.
    assert answers.pop("too long") == "language"
    assert answers == {surface: [{"words": 1}, "least"] for surface in ("socket", "rest", "mcp")}


def test_the_reference_and_the_help_have_both(copied: dict[str, str]) -> None:
    for words in ("count_words", "Least number of characters of a word.", "Language of the text."):
        assert words in copied["reference"]
    pages = json.loads(copied["help"])
    assert "--least" in pages["count-words"]
    assert "--language" in pages["remember"]


@contextmanager
def _serving(tree: Path, home: Path) -> Generator[Path]:
    """Run a daemon of the copy on a folder until the end of the block."""
    command = [sys.executable, "-m", "scrubjay", "serve", "--data", str(home), "--http", "127.0.0.1:0"]
    log = home.with_name("log")
    with log.open("wb") as output:
        daemon = subprocess.Popen(command, cwd=tree, env=_environment(tree), stdout=output, stderr=output)
    try:
        end = time.monotonic() + PATIENCE
        while not is_open(home):
            assert daemon.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)
        yield home
    finally:
        daemon.terminate()
        daemon.wait(PATIENCE)


def _edit(file: Path, mark: str, *, before: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(mark) == 1, f"{file.name} has {mark!r} {text.count(mark)} times"
    file.write_text(text.replace(mark, before + mark), encoding="utf-8")


def _environment(tree: Path) -> dict[str, str]:
    return {"PYTHONPATH": f"{tree / 'src'}:{tree}", "PATH": "", "HOME": str(tree), "SCRUBJAY_EMBEDDER": "none"}


def _run(tree: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=tree, env=_environment(tree), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    return done.stdout
