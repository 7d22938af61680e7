"""Measures big stores with made vectors: `python -m benchmarks.million --sizes 10000 1000000`, or `make bench-million`.

Nothing is embedded: a vector is the sum of random vectors of the words. The words are made, with frequencies by Zipf's
law, since a few templates would give every word to a tenth of the memories. One store grows from size to size, and at
each a new process opens it, recalls and tells its memory. A run with the same `--folder` goes on where the one before
stopped; `--minutes` ends the filling in time, and what is there is measured.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.filling import open_store_with
from benchmarks.memories import CALLER
from benchmarks.tables import Table, ms, rows_of
from benchmarks.timing import Spread, resident_mb, spread
from scrubjay.embedding.bundled import PROFILE
from scrubjay.engine import Engine
from scrubjay.model.change import Origin
from scrubjay.model.identity import new_id
from scrubjay.model.media import Media
from scrubjay.model.memory import Memory, Method, Source, Trust
from scrubjay.model.passage import Vector
from scrubjay.model.requests import RecallRequest
from scrubjay.model.version import MemoryHistory, Version
from scrubjay.paths import database_file
from scrubjay.ports import Profile, RecordStore
from scrubjay.settings import Settings

_ROOT = Path(__file__).parent.parent
_SEED = 20
_DIMENSION = PROFILE.dimension
_VOCABULARY = 60_000
_WORDS = 12
_CHUNK = 2_000
_BLOCK = 1_000
_SYLLABLES = "ba de fi go lu ma ne pi ro su ta ve wi zo ka le mi no pu ra se ti vo lan ber dor fen gil hom jas".split()
_KINDS = "fact preference decision event person task learning".split()
_START = datetime(2026, 1, 1, tzinfo=UTC)
_QUESTIONS, _WARM_UP, _QUESTION_WORDS = 120, 20, 4
_MB = 1_000_000
# Aims.
_GROWTH, _RESIDENT_MB, _OPENING_SECONDS = 3.0, 2_500, 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BigProbe:
    """A new process that opens a big store and recalls: seconds, milliseconds and MB."""

    opening: float
    first_recall: float
    recall: Spread
    recall_cpu: float
    resident: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BigStore:
    """The measurements at one size: seconds and MB."""

    memories: int
    filled_per_second: float
    indexing: float
    store: float
    index: float
    probe: BigProbe


class MadeEmbedder:
    """Makes vectors of words, in microseconds."""

    async def profile(self) -> Profile:
        """Return the profile of the bundled model, for which the engine has an index."""
        return PROFILE

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of texts in order."""
        return [_vector(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question."""
        return _vector(text)

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        """Return no vectors."""
        return [None for _ in items]

    async def close(self) -> None:
        """Close nothing."""


def main() -> None:
    """Fill, measure, and print it as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.million", description="Measures big stores.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000], metavar="N")
    parser.add_argument("--folder", type=Path, help="keep the store here, and go on with it")
    parser.add_argument("--minutes", type=float, default=120.0, help="the most time for filling (default: 120)")
    parser.add_argument("--probe", action="store_true", help=argparse.SUPPRESS)
    inputs = parser.parse_args()
    if inputs.probe:
        print(json.dumps(asdict(asyncio.run(_probe(inputs.folder, inputs.sizes[0])))))
        return
    with tempfile.TemporaryDirectory(prefix="scrubjay-million-") as folder:
        stores = asyncio.run(measure(inputs.folder or Path(folder), inputs.sizes, minutes=inputs.minutes))
    print("\n".join(rows_of(_table(stores))))
    print("\n".join(_aims(stores)))


async def measure(folder: Path, sizes: Sequence[int], *, minutes: float) -> list[BigStore]:
    """Fill a store to each size in turn, and measure it there."""
    until = time.monotonic() + 60 * minutes
    stores: list[BigStore] = []
    for size in sorted(sizes):
        count, rate, indexing = await _fill(folder, size, until=until)
        probed = await _probe_in_child(folder, count)
        settings = _settings(folder)
        index = sum(path.stat().st_blocks * 512 for path in settings.index.rglob("*") if path.is_file())
        store = database_file(settings.data).stat().st_size
        stores.append(
            BigStore(
                memories=count,
                filled_per_second=rate,
                indexing=indexing,
                store=store / _MB,
                index=index / _MB,
                probe=probed,
            )
        )
        print(f"{count:,}: {json.dumps(asdict(stores[-1]))}", file=sys.stderr, flush=True)
        if count < size:
            break
    return stores


async def _fill(folder: Path, size: int, *, until: float) -> tuple[int, float, float]:
    """Add memories until there are so many or the time is over; return how many there are, the rate, and the rest."""
    async with open_store_with(_settings(folder), MadeEmbedder()) as (engine, store):
        first = sum((await store.statistics(CALLER.space)).memories.values())
        # A run that was killed may have left memories without vectors.
        await engine.backfill()
        began, count = time.monotonic(), first
        while count < size and time.monotonic() < until:
            chunk = min(_CHUNK, size - count)
            await _add(engine, store, first=count, count=chunk)
            count += chunk
            rate = (count - first) / (time.monotonic() - began)
            print(f"\r{count:,} of {size:,}, {rate:,.0f} a second ", end="", file=sys.stderr, flush=True)
        filled = time.monotonic()
        await engine.index.rebuild()
        indexing = time.monotonic() - filled
    return count, (count - first) / max(filled - began, 1e-9), indexing


async def _add(engine: Engine, store: RecordStore, *, first: int, count: int) -> None:
    origin = Origin(at=_START, run=new_id(), agent=CALLER.agent)
    histories = [_history(number, text) for number, text in enumerate(_texts(first, count), start=first)]
    await store.adopt(CALLER.space, histories, origin=origin)
    # Not `backfill`, which looks through the whole store for what has no vector.
    await engine.embed_memories([history.memory.id for history in histories], who=CALLER)


def _history(number: int, text: str) -> MemoryHistory:
    at = _START + timedelta(seconds=number)
    source = Source(session=f"session-{number // 20}", agent=CALLER.agent, method=Method.AGENT, trust=Trust.USER)
    words = text.lower().split()
    memory = Memory(
        id=new_id(), space=CALLER.space, name=f"{words[0]}-{number}", created_at=at, updated_at=at, content=text,
        kind=_KINDS[number % len(_KINDS)], project=f"project-{number % 100}", tags=(words[1], words[2]), source=source,
    )  # fmt: skip
    version = Version(number=1, memory=memory, parent=None, action="created", created_at=at, agent=CALLER.agent)
    return MemoryHistory(memory=memory, versions=(version,))


def _texts(first: int, count: int) -> Iterator[str]:
    """Yield the texts of memories by their numbers, the same in every run."""
    words, _ = _vocabulary()
    for number in range(first, first + count):
        drawn = _block(number // _BLOCK)[number % _BLOCK]
        yield " ".join(words[int(position)] for position in drawn).capitalize() + "."


@lru_cache(maxsize=4)
def _block(number: int) -> NDArray[np.intp]:
    """Return the words of a block of texts, as numbers."""
    _, frequencies = _vocabulary()
    return np.searchsorted(frequencies, np.random.default_rng((_SEED, number)).random((_BLOCK, _WORDS)))


def _questions(memories: int) -> list[str]:
    """Return some words of stored texts."""
    source = np.random.default_rng(_SEED)
    questions: list[str] = []
    for number in source.integers(0, memories, _QUESTIONS):
        (text,) = _texts(int(number), 1)
        questions.append(" ".join(source.choice(text.lower().rstrip(".").split(), _QUESTION_WORDS, replace=False)))
    return questions


@lru_cache
def _vocabulary() -> tuple[list[str], Vector]:
    """Return made words, and the sums of their frequencies by Zipf's law."""
    source = np.random.default_rng(_SEED)
    words: dict[str, None] = {}
    while len(words) < _VOCABULARY:
        for drawn in source.integers(0, len(_SYLLABLES), (_VOCABULARY, 4)):
            words["".join(_SYLLABLES[int(syllable)] for syllable in drawn)] = None
    weights = 1 / (np.arange(len(words)) + 10)
    return list(words), (np.cumsum(weights) / weights.sum()).astype(np.float32)


def _vector(text: str) -> Vector:
    total = sum(
        (_word_vector(word.strip(".")) for word in text.lower().split()), start=np.zeros(_DIMENSION, np.float32)
    )
    return (total / max(float(np.linalg.norm(total)), 1e-9)).astype(np.float32)


@lru_cache(maxsize=_VOCABULARY)
def _word_vector(word: str) -> Vector:
    return np.random.default_rng(zlib.crc32(word.encode())).standard_normal(_DIMENSION, dtype=np.float32)


async def _probe_in_child(folder: Path, memories: int) -> BigProbe:
    command = ("-m", "benchmarks.million", "--probe", "--folder", str(folder), "--sizes", str(memories))
    child = await asyncio.create_subprocess_exec(
        sys.executable, *command, cwd=_ROOT, stdout=asyncio.subprocess.PIPE
    )  # fmt: skip
    answer, _ = await child.communicate()
    if child.returncode:
        raise SystemExit(f"the probe of {folder} failed with exit code {child.returncode}")
    figures: dict[str, Any] = json.loads(answer)
    return BigProbe(recall=Spread(**figures.pop("recall")), **figures)


async def _probe(folder: Path, memories: int) -> BigProbe:
    """Open a filled store and recall, in a process in which nothing else has run."""
    questions = _questions(memories)
    began = time.perf_counter()
    async with open_store_with(_settings(folder), MadeEmbedder()) as (engine, _):
        opening = time.perf_counter() - began
        durations: list[float] = []
        cpu: list[float] = []
        for question in questions:
            began, busy = time.perf_counter(), time.process_time()
            await engine.recall(RecallRequest(query=question), who=CALLER)
            durations.append(time.perf_counter() - began)
            cpu.append(time.process_time() - busy)
        return BigProbe(
            opening=opening,
            first_recall=durations[0] * 1000,
            recall=spread(durations[_WARM_UP:]),
            recall_cpu=median(cpu[_WARM_UP:]) * 1000,
            resident=resident_mb(),
        )


def _settings(folder: Path) -> Settings:
    settings = Settings.load(environment={}, home=str(folder), space=CALLER.space, agent=CALLER.agent)
    return replace(settings, pair_model="off")


def _table(stores: Sequence[BigStore]) -> Table:
    figures = {
        "filling, memories/s": [f"{size.filled_per_second:,.0f}" for size in stores],
        "then building the vector index, s": [f"{size.indexing:.1f}" for size in stores],
        "opening, s": [f"{size.probe.opening:.3f}" for size in stores],
        "first recall, ms": [ms(size.probe.first_recall) for size in stores],
        "recall, p50 / p95, ms": [f"{ms(size.probe.recall.p50)} / {ms(size.probe.recall.p95)}" for size in stores],
        "- CPU time, p50, ms": [ms(size.probe.recall_cpu) for size in stores],
        "resident memory, MB": [f"{size.probe.resident:,.0f}" for size in stores],
        "store, MB": [f"{size.store:,.0f}" for size in stores],
        "vector index, MB": [f"{size.index:,.0f}" for size in stores],
    }
    rows = tuple((name, *values) for name, values in figures.items())
    return Table(title="Big stores", head=("", *(f"{size.memories:,}" for size in stores)), rows=rows)


def _aims(stores: Sequence[BigStore]) -> Iterator[str]:
    smallest, largest = stores[0], stores[-1]
    growth = largest.probe.recall_cpu / smallest.probe.recall_cpu
    aims = (
        (f"recall grows {growth:.2f} times (CPU, p50)", growth, _GROWTH, "times"),
        (f"resident memory {largest.probe.resident:,.0f} MB", largest.probe.resident, _RESIDENT_MB, "MB"),
        (f"opening {largest.probe.opening:.2f} s", largest.probe.opening, _OPENING_SECONDS, "s"),
    )
    yield ""
    for text, value, most, unit in aims:
        state = "met" if value <= most else "missed"
        yield f"- {state}: {text} from {smallest.memories:,} to {largest.memories:,}, at most {most:g} {unit}"


if __name__ == "__main__":
    main()
