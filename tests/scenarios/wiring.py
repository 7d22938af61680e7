"""A memory wired as the application wires it, but with an embedder that needs no model, and with every part at hand."""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import scrubjay
from scrubjay.app import SystemClock, hold_folder
from scrubjay.client import MemoryClient
from scrubjay.engine import Engine
from scrubjay.indexing.child import run_niced
from scrubjay.indexing.generation import Policy
from scrubjay.indexing.local_index import LocalIndex, LocalIndexParts
from scrubjay.model.rules import Rules
from scrubjay.paths import database_file
from scrubjay.ports import Profile, VectorIndex
from scrubjay.recalling.access_log import AccessLog
from scrubjay.settings import Settings
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.vectors.edge import EdgeIndex
from scrubjay.vectors.scan import ScanIndex
from tests.fakes import FakeEmbedder
from tests.temp_folders import quick_place

SOURCES = Path(scrubjay.__file__).parents[1]
ROOT = Path(__file__).parents[2]
# Hundreds of sentences that are much alike: to compare each with those near it takes longer than all else.
UNCOMPARED = Rules(conflicts="off")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """One open data folder."""

    home: Path
    engine: Engine
    store: SqliteStore
    keeper: LocalIndex
    embedder: FakeEmbedder

    def client(self, *, space: str = "default", agent: str = "tester", run: str = "") -> MemoryClient:
        """Somebody who uses it; several may at once."""
        client = MemoryClient(settings=Settings(home=str(self.home)), space=space, agent=agent, run=run)
        client._connection._engine = self.engine  # pyright: ignore[reportAttributeAccessIssue]
        return client


@asynccontextmanager
async def open_wiring(
    home: Path,
    *,
    embedder: FakeEmbedder | None = None,
    index: bool = True,
    key: str = "",
    policy: Policy | None = None,
    rules: Rules = UNCOMPARED,
) -> AsyncGenerator[Wiring]:
    """Open a data folder; `index=False` leaves the vector index to others and scans."""
    embedder = embedder or FakeEmbedder()
    lock = hold_folder(home)
    try:
        store = await SqliteStore.open(database_file(home), key=key, readers=2)
        keeper = _keeper(home, store, embedder, folder=home / "index" if index and not key else None, policy=policy)
        clock = SystemClock()
        engine = Engine(
            store=store,
            embedder=embedder,
            index=keeper,
            clock=clock,
            limits=Settings().limits,
            access_log=AccessLog(store, clock=clock),
            data=home,
            default_rules=rules,
        )
        try:
            yield Wiring(home=home, engine=engine, store=store, keeper=keeper, embedder=embedder)
        finally:
            await engine.close()
    finally:
        lock.release()


@contextmanager
def furnished(fill: Callable[[Wiring], Coroutine[object, object, None]]) -> Generator[Path]:
    """A data folder that was filled once, for the many who then copy it: each would do the same again."""
    with tempfile.TemporaryDirectory(prefix="scrubjay-", dir=quick_place()) as folder, ThreadPoolExecutor(1) as pool:
        place = Path(folder) / "data"

        async def furnish() -> None:
            async with open_wiring(place) as wiring:
                await fill(wiring)

        # In a thread: whoever asks for it may have a loop that runs.
        pool.submit(asyncio.run, furnish()).result()
        yield place


def environment(home: Path, **more: str) -> dict[str, str]:
    """What a child process is given: our sources, one folder, and no setting of whoever runs the tests."""
    stored = {name: value for name, value in os.environ.items() if not name.startswith("SCRUBJAY_")}
    return stored | {"PYTHONPATH": str(SOURCES), "SCRUBJAY_HOME": str(home), "PYTHONUTF8": "1"} | more


def command(*arguments: str) -> list[str]:
    """The command line as a user's shell would start it."""
    return [sys.executable, "-m", "scrubjay.surfaces.cli.main", *arguments]


def run_command(home: Path, *arguments: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """Run one command to its end, without a process for it: to start one takes longer than what it does."""
    # Those who are started by the dozen to do something else need not load it.
    from tests.command_line import invoke

    hidden = dict.fromkeys(name for name in os.environ if name.startswith("SCRUBJAY_"))
    inputs = hidden | {"SCRUBJAY_HOME": str(home), "NO_COLOR": "1"} | more
    # In a thread: where a test has a loop that runs, a command could not have its own.
    with ThreadPoolExecutor(1) as pool:
        text = pool.submit(invoke, arguments, stdin=stdin, env=inputs).result()
    return subprocess.CompletedProcess(arguments, text.code, text.out, text.err)


def run_process(home: Path, *arguments: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """Run one command to its end, in a process of its own."""
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
    """Which files below a folder hold one of the words, in whatever case."""
    return [
        f"{path.relative_to(folder)}: {word!r}"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        for word in words
        if word.lower() in path.read_bytes().lower()
    ]


def _keeper(
    home: Path, store: SqliteStore, embedder: FakeEmbedder, *, folder: Path | None, policy: Policy | None
) -> LocalIndex:
    def scan(profile: Profile) -> VectorIndex:
        return ScanIndex(store, profile.model, dimension=profile.dimension)

    async def build(target: Path) -> None:
        profile = await embedder.profile()
        arguments = (str(database_file(home)), str(target), profile.model, str(profile.dimension))
        await run_niced([sys.executable, "-m", "scrubjay.app.build_index", *arguments])

    means = LocalIndexParts(profile=embedder.profile, kind=EdgeIndex, scan=scan, build=build)
    return LocalIndex(store, means, folder=folder, policy=policy)
