"""What a new argument and a new verb cost: both are added to a copy of the tree, and every surface has them."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
    "result": asyncio.run(use()),
}, default=str))
"""


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """The surfaces of a copy of the package with one more argument of `remember`, and one more verb."""
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


def _edit(file: Path, mark: str, *, before: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(mark) == 1, f"{file.name} has {mark!r} {text.count(mark)} times"
    file.write_text(text.replace(mark, before + mark), encoding="utf-8")


def _run(tree: Path, *arguments: str) -> str:
    environment = {"PYTHONPATH": f"{tree / 'src'}:{tree}", "PATH": "", "HOME": str(tree), "SCRUBJAY_EMBEDDER": "none"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    return done.stdout
