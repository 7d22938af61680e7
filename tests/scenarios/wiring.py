"""A memory as the application wires it, but with an embedder that needs no model, and with access to every part."""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import scrubjay
from scrubjay.app import SystemClock, hold_folder
from scrubjay.client import MemoryClient
from scrubjay.curation.runner import CurationRunner
from scrubjay.engine import Engine
from scrubjay.indexing.build import run_niced
from scrubjay.indexing.generations import LocalIndexPolicy
from scrubjay.indexing.local_index import LocalIndex, LocalIndexParts
from scrubjay.model.rules import Rules
from scrubjay.paths import database_file
from scrubjay.ports import Profile, VectorIndex
from scrubjay.recalling.access_log import AccessLog
from scrubjay.recalling.usage import UsageLog
from scrubjay.service import LocalService
from scrubjay.settings import Settings
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.vectors.edge import EdgeIndex
from scrubjay.vectors.scan import ScanIndex
from tests.fakes import FakeEmbedder
from tests.temp_folders import quick_place

SOURCES = Path(scrubjay.__file__).parents[1]
ROOT = Path(__file__).parents[2]
# Comparing each of hundreds of similar sentences with its neighbours would take most of the time.
UNCOMPARED = Rules(conflicts="off")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """An open data folder and its parts."""

    home: Path
    engine: Engine
    store: SqliteStore
    index: LocalIndex
    embedder: FakeEmbedder

    def client(self, *, space: str = "default", agent: str = "tester", run: str = "") -> MemoryClient:
        """Return a client of it; several clients may work at once."""
        client = MemoryClient(settings=Settings(home=str(self.home)), space=space, agent=agent, run=run)
        client._connection._service = LocalService.over(self.engine)  # pyright: ignore[reportAttributeAccessIssue]
        return client


@asynccontextmanager
async def open_wiring(
    home: Path,
    *,
    embedder: FakeEmbedder | None = None,
    index: bool = True,
    key: str = "",
    policy: LocalIndexPolicy | None = None,
    rules: Rules = UNCOMPARED,
) -> AsyncGenerator[Wiring]:
    """Open a data folder; with `index=False` searches scan the stored vectors."""
    embedder = embedder or FakeEmbedder()
    lock = hold_folder(home)
    try:
        store = await SqliteStore.open(database_file(home), key=key, readers=2)
        local_index = _make_index(
            home, store, embedder, folder=home / "index" if index and not key else None, policy=policy
        )
        clock = SystemClock()
        engine = Engine(
            _store=store,
            embedder=embedder,
            index=local_index,
            clock=clock,
            limits=Settings().limits,
            access_log=AccessLog(store, clock=clock, usage=UsageLog(store, clock=clock)),
            data=home,
            default_rules=rules,
        )
        engine = replace(engine, curator=CurationRunner(engine, store))
        try:
            yield Wiring(home=home, engine=engine, store=store, index=local_index, embedder=embedder)
        finally:
            await engine.close()
    finally:
        lock.release()


@contextmanager
def filled_folder(fill: Callable[[Wiring], Coroutine[object, object, None]]) -> Generator[Path]:
    """Fill a data folder once, for many tests that copy it."""
    with tempfile.TemporaryDirectory(prefix="scrubjay-", dir=quick_place()) as folder, ThreadPoolExecutor(1) as pool:
        place = Path(folder) / "data"

        async def fill_folder() -> None:
            async with open_wiring(place) as wiring:
                await fill(wiring)

        # In a thread, because the caller may already run an event loop.
        pool.submit(asyncio.run, fill_folder()).result()
        yield place


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return the environment of a child process: the sources, one data folder, and no other settings."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SCRUBJAY_")}
    return inherited | {"PYTHONPATH": str(SOURCES), "SCRUBJAY_HOME": str(home), "PYTHONUTF8": "1"} | more


def command(*arguments: str) -> list[str]:
    """Return the command line as the shell of a user would start it."""
    return [sys.executable, "-m", "scrubjay.surfaces.cli.main", *arguments]


def run_command(home: Path, *arguments: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, because starting one would take longer than the command."""
    # Imported here: worker processes that run no command start faster without it.
    from tests.command_line import invoke

    hidden = dict.fromkeys(name for name in os.environ if name.startswith("SCRUBJAY_"))
    variables = hidden | {"SCRUBJAY_HOME": str(home), "NO_COLOR": "1"} | more
    # In a thread, because a test may already run an event loop.
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(invoke, arguments, stdin=stdin, env=variables).result()
    return subprocess.CompletedProcess(arguments, result.code, result.out, result.err)


def run_process(home: Path, *arguments: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    return subprocess.run(
        command(*arguments),
        env=environment(home, **more),
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def files_with(folder: Path, words: Sequence[bytes]) -> list[str]:
    """Return the files below a folder that contain any of the words, in any case."""
    return [
        f"{path.relative_to(folder)}: {word!r}"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        for word in words
        if word.lower() in path.read_bytes().lower()
    ]


def _make_index(
    home: Path, store: SqliteStore, embedder: FakeEmbedder, *, folder: Path | None, policy: LocalIndexPolicy | None
) -> LocalIndex:
    def scan(profile: Profile) -> VectorIndex:
        return ScanIndex(store, profile.model, dimension=profile.dimension)

    async def build(target: Path) -> None:
        profile = await embedder.profile()
        arguments = (str(database_file(home)), str(target), profile.model, str(profile.dimension))
        await run_niced([sys.executable, "-m", "scrubjay.app.build_index", *arguments])

    parts = LocalIndexParts(profile=embedder.profile, kind=EdgeIndex, scan=scan, build=build)
    return LocalIndex(store, parts, folder=folder, policy=policy)
