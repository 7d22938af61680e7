"""`scrubjay-client` in an environment of its own: it calls servers and daemons, and has nothing of the engine."""

import json
import os
import re
import subprocess
import sys
import tarfile
import textwrap
import tomllib
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import cast

import pytest
from tests.surfaces.background_daemon import background_daemon

from scrubjay.settings import Settings
from scrubjay.version import PROTOCOL, VERSION

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "packages" / "scrubjay-client"
# All that a program needs besides the standard library and the client itself.
NEEDED = {"anyio", "h11", "httpcore2", "httpx2", "idna", "truststore", "typing-extensions"}


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel and its dependencies alone."""
    folder = tmp_path_factory.mktemp("thin")
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=PACKAGE)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", symlinks=True)
    interpreter = folder / "venv" / "bin" / "python"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for name in NEEDED:
        _copy(distribution(name), folder / "venv" / "lib" / version / "site-packages")
    _pip(interpreter, "install", "--quiet", "--no-index", str(wheel))
    return interpreter


def test_it_needs_no_package_of_the_engine(python: Path) -> None:
    _pip(python, "check")
    installed = json.loads(_pip(python, "list", "--format=json"))
    assert {item["name"].replace("_", "-") for item in installed} == {*NEEDED, "scrubjay-client"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    engine = {re.split(r"[\[<>=]", line)[0] for line in project["dependencies"]} - NEEDED
    assert {"apsw-sqlite3mc", "fastapi", "mcp", "numpy", "onnxruntime", "rapidfuzz", "typer"} <= engine
    assert not engine & {item["name"] for item in installed}


def test_it_has_the_licence_of_the_product_and_of_its_notice_what_is_not_about_models() -> None:
    # Links would dangle in a source distribution.
    assert (PACKAGE / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    whole, _, data = (ROOT / "NOTICE").read_text(encoding="utf-8").partition("\nThis product contains data")
    assert (PACKAGE / "NOTICE").read_text(encoding="utf-8") == whole
    # Each entry of the list is about models, which a client does not have.
    assert all("src/scrubjay/embedding/data" in entry for entry in data.split("\n- ")[1:])


def test_a_source_distribution_of_the_product_has_all_its_files(tmp_path: Path) -> None:
    """The link to the source in the folder of this package must not take the place of the source."""
    _run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path))
    (file,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    files = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("src/**/*") if path.is_file()}
    assert {name for name in files if "__pycache__" not in name} == {name for name in names if name.startswith("src/")}


def test_every_public_name_is_importable(python: Path, tmp_path: Path) -> None:
    code = """
        import scrubjay, sys
        from scrubjay import *
        import scrubjay.rpc.http_transport
        from scrubjay.model import requests
        print(scrubjay.__version__, MemoryClient.__name__, SyncMemoryClient.__name__)
        print(*sorted({name.split(".")[1] for name in sys.modules if name.startswith("scrubjay.")}))
    """
    versions, rooms = _execute(python, code, cwd=tmp_path).splitlines()
    assert versions == f"{VERSION} MemoryClient SyncMemoryClient"
    assert rooms == "client errors lazy model paths rpc service settings version"


@pytest.mark.parametrize("way", ["http", "socket"])
def test_a_program_uses_a_daemon_of_the_product(python: Path, settings: Settings, tmp_path: Path, way: str) -> None:
    code = """
        import asyncio, json, os
        from scrubjay import MemoryClient, SyncMemoryClient
        from scrubjay.errors import InvalidInput
        from scrubjay.model.requests import RecallRequest

        url = os.environ["DAEMON"]

        async def write():
            async with MemoryClient(url=url, space="work", agent="program") as memory:
                done = await memory.remember("Sarah of Acme prefers voice calls", entities=["Sarah", "Acme"])
                texts = ["Standup is at 9:30", "", "Tea at four"]
                many = await memory.remember_many([{"text": text} for text in texts])
                exported = [line async for line in memory.export()]
                imported = await memory.import_lines(exported)
                return done, many, exported, imported

        done, many, exported, imported = asyncio.run(write())
        with SyncMemoryClient(url=url, space="work") as memory:
            found = memory.recall("how does Sarah like voice calls?")
            same = memory.call(RecallRequest(query="how does Sarah like voice calls?"))
            read = memory.read(done.ids)
            try:
                memory.recall("x", limit=0)
            except InvalidInput as error:
                field = error.fields["field"]
        print(json.dumps({
            "action": done.action, "counts": many.counts, "error": many.items[1].error.field,
            "passage": found.hits[0].passage, "same": same.hits[0].id == found.hits[0].id,
            "content": read.memories[0].content, "known": imported.known, "lines": len(exported), "field": field,
        }))
    """
    with background_daemon(settings) as running:
        address = running.http if way == "http" else ""
        answer = json.loads(_execute(python, code, cwd=tmp_path, SCRUBJAY_HOME=settings.home, DAEMON=address))
    text = "Sarah of Acme prefers voice calls"
    assert answer.pop("counts") == {"created": 2, "failed": 1}
    assert answer == {
        "action": "created", "error": "text", "passage": text, "same": True, "content": text, "known": 4, "lines": 5,
        "field": "limit",
    }  # fmt: skip


def test_without_the_product_a_store_cannot_be_opened(python: Path, home: Path, tmp_path: Path) -> None:
    code = """
        from scrubjay import ScrubjayError, SyncMemoryClient
        for arguments in ({"path": "store"}, {}):
            try:
                with SyncMemoryClient(**arguments):
                    pass
            except ScrubjayError as error:
                print(error.code, "|", error.message, "|", error.hint)
    """
    alone, away = _execute(python, code, cwd=tmp_path, SCRUBJAY_HOME=str(home)).splitlines()
    assert alone.startswith("invalid_input | scrubjay-client cannot open a store | Install the package `scrubjay`")
    assert away.startswith(f"daemon_unavailable | no daemon runs for {home}, and scrubjay-client cannot open the store")
    assert "`scrubjay serve`" in away
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("way", ["http", "socket"])
@pytest.mark.parametrize(("step", "hint"), [(1, "restart the daemon"), (-1, "Update the client")])
def test_a_client_of_another_protocol_is_refused(
    python: Path, settings: Settings, tmp_path: Path, way: str, step: int, hint: str
) -> None:
    code = """
        import os, scrubjay.version
        scrubjay.version.PROTOCOL += int(os.environ["STEP"])
        from scrubjay import ScrubjayError, SyncMemoryClient
        try:
            with SyncMemoryClient(url=os.environ["DAEMON"]) as memory:
                memory.remember("tea")
        except ScrubjayError as error:
            print(error.code, "|", error.message, "|", error.hint)
    """
    with background_daemon(settings) as running:
        address = running.http if way == "http" else ""
        answer = _execute(python, code, cwd=tmp_path, SCRUBJAY_HOME=settings.home, DAEMON=address, STEP=str(step))
    assert answer.startswith("daemon_unavailable | ")
    assert f"the client (Scrubjay {VERSION}, protocol {PROTOCOL + step}) and the daemon (Scrubjay {VERSION}" in answer
    assert hint in answer


def _execute(python: Path, code: str, *, cwd: Path, **environment: str) -> str:
    """Run a program in the environment, isolated from the one that runs the tests."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SCRUBJAY_", "PYTHON"))}
    return _run(str(python), "-W", "error", "-c", textwrap.dedent(code), cwd=cwd, env={**inherited, **environment})


def _pip(python: Path, *arguments: str) -> str:
    return _run(sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", *arguments)


def _run(*command: str, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _copy(package: Distribution, target: Path) -> None:
    """Copy an installed package into another environment: the tests use no network."""
    for file in package.files or ():
        if ".." not in file.parts and file.suffix != ".pyc":
            copy = target / file
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(cast("Path", file.locate()).read_bytes())
