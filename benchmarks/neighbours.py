"""Measures what one token's worst does to another: `python -m benchmarks.neighbours`, also a part of `make bench`.

With `texts` it measures how long a megabyte keeps each function that reads texts, and with the name of an attack it is
the attacker, in a process of its own.
"""

import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from tests.attacks.long_texts import TEXT_FUNCTIONS, long_texts

from benchmarks.corpus import Corpus, load_corpus
from benchmarks.daemons import Daemon, connected, daemon, settings_for
from benchmarks.memories import drafts
from benchmarks.rest import RestClient
from benchmarks.tables import Table, at_most, both, ms, rows_of
from benchmarks.timing import spread
from scrubjay.errors import ScrubjayError
from scrubjay.model.draft import Draft
from scrubjay.model.requests import CreateTokenRequest, WriteNoteRequest

_ROOT = Path(__file__).parent.parent
_SECONDS = 5.0
_LEAD_SECONDS = 1.0
_EMBEDDING_SECONDS = 4.0
_PAUSE_SECONDS = 0.02
_CONNECTIONS = 3
_IDLE_CONNECTIONS = 1_000
_WORDS = 198_000
# Enough for minutes: the time for one paragraph grows with the square of its length.
_NOTE_WORDS = 40_000
# So many memories are in the space of the neighbour before.
_STORED = 200
_SENTENCES = 4_000
_QUESTIONS = 400
_MEGABYTE = 1_000_000
# So many texts are measured in full, of those that take a tenth of their length the longest.
_WORST_KINDS = 3
MAX_TEXT_SECONDS = 2.0
MAX_HEALTH_SECONDS = 0.25
MAX_TIMES = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The daemon under attack: its address, a token for each side, and a large note of the attacker."""

    url: str
    attacker: str
    neighbour: str
    note: str


@dataclass(slots=True, kw_only=True)
class Durations:
    """How long the neighbour's requests took, in seconds."""

    health: list[float] = field(default_factory=list[float])
    recall: list[float] = field(default_factory=list[float])
    remember: list[float] = field(default_factory=list[float])
    errors: list[str] = field(default_factory=list[str])


def main() -> None:
    """Measure, or attack."""
    if sys.argv[1:] == ["texts"]:
        print("\n".join(report_texts()))
    elif len(sys.argv) > 1:
        asyncio.run(ATTACKS[sys.argv[1]](Site(**json.loads(sys.stdin.readline()))))
    else:
        print("\n".join(report(asyncio.run(measure()))))


async def measure() -> dict[str, Durations]:
    """Use a daemon while it is idle, and during each attack."""
    corpus = load_corpus(sentences=_SENTENCES, questions=_QUESTIONS)
    with tempfile.TemporaryDirectory(prefix="scrubjay-neighbours-") as folder:
        settings = replace(settings_for(Path(folder) / "data"), space="attacker")
        async with daemon(settings) as running:
            site = await _prepare(running, corpus)
            texts = iter(drafts(corpus.sentences[_STORED:]))
            results = {"idle": await _use(site, corpus.questions, texts)}
            for name in ATTACKS:
                async with _attack(name, site):
                    results[name] = await _use(site, corpus.questions, texts)
    return results


def report(results: dict[str, Durations]) -> list[str]:
    """Return the figures as a table, and the targets."""
    idle = results["idle"]
    rows: list[tuple[str, ...]] = []
    checks: list[tuple[str, bool]] = []
    for name, durations in results.items():
        slowest = max(durations.health, default=_SECONDS)
        spreads = {verb: spread(getattr(durations, verb) or [_SECONDS]) for verb in ("recall", "remember")}
        rows.append((name, ms(slowest * 1000), *map(both, spreads.values()), str(len(durations.errors))))
        if durations is not idle:
            checks.append(at_most(f"{name}: /healthz, the slowest", slowest, MAX_HEALTH_SECONDS, "s"))
            checks += [
                at_most(f"{name}: {verb}, p95", times.p95 / spread(getattr(idle, verb)).p95, MAX_TIMES, "times idle")
                for verb, times in spreads.items()
            ]
    head = ("meanwhile, another token", "/healthz, slowest, ms", "recall, p50 / p95", "remember, p50 / p95", "errors")
    table = Table(title="Neighbours", head=head, rows=tuple(rows))
    return ["", *rows_of(table), "", *(f"{'ok  ' if is_met else 'MISS'} {check}" for check, is_met in checks)]


def report_texts() -> list[str]:
    """Give each function that reads texts the worst megabytes, and return the CPU seconds of the slowest as a table."""
    samples, texts = long_texts(size=_MEGABYTE // 10), long_texts(size=_MEGABYTE)
    rows: list[tuple[str, ...]] = []
    checks: list[tuple[str, bool]] = []
    for name, read in TEXT_FUNCTIONS.items():
        by_sample = sorted(samples, key=lambda kind: _cpu_seconds(read, samples[kind]), reverse=True)
        seconds = {kind: _cpu_seconds(read, _first_bytes(texts[kind])) for kind in by_sample[:_WORST_KINDS]}
        worst = max(seconds, key=lambda kind: seconds[kind])
        rows.append((name, worst, f"{seconds[worst]:.2f}"))
        checks.append(at_most(f"{name}: {worst}", seconds[worst], MAX_TEXT_SECONDS, "s"))
    table = Table(title="Long texts", head=("a megabyte through", "the slowest text", "CPU, s"), rows=tuple(rows))
    return ["", *rows_of(table), "", *(f"MISS {check}" for check, is_met in checks if not is_met)]


def _first_bytes(text: str) -> str:
    return text.encode()[:_MEGABYTE].decode(errors="ignore")


def _cpu_seconds(read: Callable[[str], object], text: str) -> float:
    began = time.process_time()
    # Some texts are refused, which must not take long either.
    with suppress(ScrubjayError):
        read(text)
    return time.process_time() - began


async def _prepare(running: Daemon, corpus: Corpus) -> Site:
    """Fill the space of the neighbour, and give the attacker a note."""
    async with connected(running.settings) as owner:
        tokens = [
            await owner.call(CreateTokenRequest(name=name, spaces=(name,), access="write"))
            for name in ("attacker", "neighbour")
        ]
        note = await owner.call(WriteNoteRequest(title="Large", content="word " * _NOTE_WORDS))
    attacker, neighbour = (token.secret for token in tokens)
    async with RestClient(running.url, space="neighbour", token=neighbour) as client:
        for draft in drafts(corpus.sentences[:_STORED]):
            await client.remember(draft)
        # The daemon embeds the end of the note in the background.
        await asyncio.sleep(_EMBEDDING_SECONDS)
    return Site(url=running.url, attacker=attacker, neighbour=neighbour, note=note.id)


async def _use(site: Site, questions: tuple[str, ...], texts: Iterator[Draft]) -> Durations:
    """Ask, remember and check the health without haste, each over a connection of its own."""
    durations, until = Durations(), time.perf_counter() + _SECONDS
    source = random.Random(len(questions))

    async def repeat(name: str, call: Callable[[RestClient], Awaitable[object]]) -> None:
        while time.perf_counter() < until:
            # A connection that is refused or closed is made again: the server has its limits.
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                async with RestClient(site.url, space="neighbour", token=site.neighbour) as client:
                    await _time(client, name, call)

    async def _time(client: RestClient, name: str, call: Callable[[RestClient], Awaitable[object]]) -> None:
        while (began := time.perf_counter()) < until:
            try:
                await call(client)
            except OSError as error:
                durations.errors.append(str(error))
                raise ConnectionError from error
            getattr(durations, name).append(time.perf_counter() - began)
            await asyncio.sleep(_PAUSE_SECONDS)

    await asyncio.gather(
        repeat("health", lambda client: client.health()),
        repeat("recall", lambda client: client.recall(source.choice(questions), tokens=source.randint(1_000, 2_000))),
        repeat("remember", lambda client: client.remember(next(texts))),
    )
    return durations


@asynccontextmanager
async def _attack(name: str, site: Site) -> AsyncGenerator[None]:
    """Attack from another process for the duration of a block."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.neighbours", name, cwd=_ROOT, stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(json.dumps(asdict(site)).encode() + b"\n")
        # It says when it begins.
        await child.stdout.readline()
        await asyncio.sleep(_LEAD_SECONDS)
        yield
    finally:
        child.kill()
        await child.communicate()


async def _write_duplicates(site: Site) -> None:
    """Write nearly the same long text again and again."""
    text = " ".join(f"word{number % 977}" for number in range(_WORDS))[: 5 * _WORDS]

    async def write(client: RestClient, number: int) -> None:
        await client.remember(Draft(text=f"{text} {number}"))

    await _hammer(site, write)


async def _export(site: Site) -> None:
    """Export a large note as PDF again and again."""

    async def export(client: RestClient, _: int) -> None:
        await client.get(f"/notes/{site.note}/export?format=pdf&space=attacker")

    await _hammer(site, export)


async def _stay_idle(site: Site) -> None:
    """Open connections and send nothing; open another for each that is closed."""
    address = urlsplit(site.url)

    async def hold() -> None:
        while True:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection(address.hostname, address.port)
                await reader.read()
                writer.close()
            await asyncio.sleep(_PAUSE_SECONDS)

    print("begins", flush=True)
    await asyncio.gather(*(hold() for _ in range(_IDLE_CONNECTIONS)))


async def _hammer(site: Site, work: Callable[[RestClient, int], Awaitable[None]]) -> None:
    """Repeat work over some connections, whatever the answers are."""

    async def repeat(number: int) -> None:
        while True:
            number += _CONNECTIONS
            with suppress(OSError, ValueError, asyncio.IncompleteReadError):
                async with RestClient(site.url, space="attacker", token=site.attacker) as client:
                    await work(client, number)

    print("begins", flush=True)
    await asyncio.gather(*map(repeat, range(_CONNECTIONS)))


ATTACKS: dict[str, Callable[[Site], Coroutine[object, object, None]]] = {
    "exports a large note as PDF": _export,
    "opens 1,000 idle connections": _stay_idle,
    # Last: the daemon embeds what it has written for minutes.
    "writes 990 kB nearly the same": _write_duplicates,
}
"""What an attacker does, by its name in the report."""


if __name__ == "__main__":
    main()
