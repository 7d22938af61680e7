"""Compares this tree with another checkout of the project, by turns: `python -m benchmarks.beside ../before`.

The other checkout has a `.venv` of its own (`make .venv/installed/core` there). Each turn is a new process that runs
this file with one of the two trees; the figures are medians over the turns. Vectors are made from words, so that no
model is part of them, except for the daemons, which embed. Both trees run without the models that read two texts;
with `--readers` both run with them, as users do.
"""

import argparse
import asyncio
import gc
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

# As many as `make bench` times, in a process that has answered some: a daemon lives for days.
_WARM_UP = 100
_OPERATIONS = 300
_BULK = 200
_CLIENTS = 50
_CROWD_OPERATIONS = 1_500
_CROWD_SECONDS = 15.0
_DIMENSION = 384
_GC_THRESHOLDS = (50_000, 20, 100)
_WORKER = "--worker"
_READERS = "--readers"


class WordVectors:
    """Embeds a text as the sum of random vectors of its words."""

    def __init__(self, profile: Any) -> None:
        self._profile = profile
        self._texts: dict[str, Any] = {}
        self._words: dict[str, Any] = {}

    async def profile(self) -> Any:
        """Return the profile of the model that it stands for."""
        return self._profile

    async def embed(self, texts: Sequence[str]) -> list[Any]:
        """Return the vectors of texts."""
        return [self._vector(text) for text in texts]

    async def embed_query(self, text: str) -> Any:
        """Return the vector of a question."""
        return self._vector(text)

    async def embed_media(self, items: Sequence[object]) -> list[None]:
        """Return no vectors."""
        return [None] * len(items)

    async def close(self) -> None:
        """Do nothing."""

    def _vector(self, text: str) -> Any:
        if text not in self._texts:
            total = sum((self._word(word) for word in text.lower().split()), np.full(_DIMENSION, 1e-6, np.float32))
            self._texts[text] = (total / np.linalg.norm(total)).astype(np.float32)
        return self._texts[text]

    def _word(self, word: str) -> Any:
        if word not in self._words:
            seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest())
            self._words[word] = np.random.default_rng(seed).standard_normal(_DIMENSION).astype(np.float32)
        return self._words[word]


async def _engine_figures(size: int, folder: Path, *, readers: bool) -> dict[str, float]:
    from benchmarks.corpus import load_corpus  # noqa: PLC0415 - of the tree that this process measures
    from benchmarks.filling import open_engine_with, remember_all  # noqa: PLC0415
    from benchmarks.memories import CALLER, drafts  # noqa: PLC0415
    from scrubjay.model.requests import RecallRequest, RememberManyRequest  # noqa: PLC0415
    from scrubjay.settings import Settings  # noqa: PLC0415

    corpus = load_corpus(sentences=size + _WARM_UP + _OPERATIONS + 2 * _BULK, questions=_WARM_UP + _OPERATIONS)
    stored, rest = corpus.sentences[:size], corpus.sentences[size:]
    settings = Settings.load(environment={}, home=str(folder), space=CALLER.space, agent=CALLER.agent)
    settings = settings if readers else replace(settings, **_without_readers(settings))
    embedder = cast("Any", WordVectors(await _profile(settings)))
    await embedder.embed(corpus.sentences)
    await embedder.embed(corpus.questions)
    async with open_engine_with(settings, embedder) as engine:
        await remember_all(engine, drafts(stored), progress=_ignore)
        waiting = drafts(rest, first=size)
        # As a daemon does: else it depends on the moment whether a figure includes a look at all of these objects.
        gc.set_threshold(*_GC_THRESHOLDS)
        gc.collect()
        gc.freeze()
        single, bulk = waiting[: _WARM_UP + _OPERATIONS], waiting[_WARM_UP + _OPERATIONS :]

        async def ask(number: int) -> object:
            return await engine.recall(RecallRequest(query=corpus.questions[number]), who=CALLER)

        async def write(number: int) -> object:
            return await engine.remember(single[number], who=CALLER)

        async def many() -> object:
            return await engine.remember_many(RememberManyRequest(items=tuple(bulk[:_BULK])), who=CALLER)

        async def gather() -> object:
            return await asyncio.gather(*(engine.remember(draft, who=CALLER) for draft in bulk[_BULK:]))

        figures = await _each(f"recall at {size:,}", ask, _OPERATIONS)
        figures |= await _each(f"remember at {size:,}", write, _OPERATIONS)
        for name, run in (("remember_many", many), ("gather of remember", gather)):
            began = time.process_time()
            await run()
            figures[f"{name} at {size:,}, CPU ms a text"] = (time.process_time() - began) / _BULK * 1000
    return figures


async def _each(name: str, do: Callable[[int], Awaitable[object]], count: int) -> dict[str, float]:
    for number in range(_WARM_UP):
        await do(number)
    walls: list[float] = []
    cpu = time.process_time()
    for number in range(_WARM_UP, _WARM_UP + count):
        began = time.perf_counter()
        await do(number)
        walls.append(time.perf_counter() - began)
    cpu = time.process_time() - cpu
    return {f"{name}, CPU ms": cpu / count * 1000, f"{name}, p50 ms": statistics.median(walls) * 1000}


async def _serving_figures(size: int, folder: Path, *, readers: bool) -> dict[str, float]:
    from benchmarks.concurrent_clients import Job, measure_crowd  # noqa: PLC0415 - of the tree that this process measures
    from benchmarks.corpus import load_corpus  # noqa: PLC0415
    from benchmarks.daemons import daemon, settings_for  # noqa: PLC0415
    from benchmarks.filling import open_engine_with, remember_all  # noqa: PLC0415
    from benchmarks.memories import drafts  # noqa: PLC0415
    from benchmarks.rest import measure_requests  # noqa: PLC0415
    from scrubjay.app import make_embedder  # noqa: PLC0415

    settings = settings_for(folder)
    settings = settings if readers else replace(settings, **_without_readers(settings))
    corpus = load_corpus(sentences=size, questions=1_000)
    async with open_engine_with(settings, make_embedder(settings)) as engine:
        await remember_all(engine, drafts(corpus.sentences), progress=_ignore)
    async with daemon(settings) as running:
        rest = await measure_requests(running, corpus.questions)
        job = Job(
            settings=settings,
            questions=corpus.questions,
            sentences=corpus.sentences,
            clients=_CLIENTS,
            operations=_CROWD_OPERATIONS,
            first=size,
            seconds=_CROWD_SECONDS,
        )
        crowd = await measure_crowd(running, [job])
    if crowd.errors or rest.errors:
        raise SystemExit(f"errors: {(*crowd.errors, *rest.errors)[:3]}")
    return {
        f"{_CLIENTS} clients at {size:,}, operations a second": crowd.per_second,
        f"{_CLIENTS} clients at {size:,}, p99 by p50": crowd.all.p99 / crowd.all.p50,
        f"{_CLIENTS} clients at {size:,}, cores of the daemon": crowd.daemon_busy,
        f"REST at {size:,}, recalls a second": rest.per_second,
        f"REST at {size:,}, repeated recalls a second": rest.repeated_per_second,
    }


def _without_readers(settings: object) -> dict[str, Any]:
    return {name: value for name, value in (("pair_model", "off"), ("reader", False)) if hasattr(settings, name)}


async def _profile(settings: Any) -> Any:
    from scrubjay.app import make_embedder  # noqa: PLC0415 - of the tree that this process measures

    model = make_embedder(settings)
    try:
        return replace(await model.profile(), dimension=_DIMENSION)
    finally:
        await model.close()


def _ignore(*_: object) -> None:
    """Take progress, and show nothing."""


def _work(part: str, size: int, *, readers: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        measure = _engine_figures if part == "engine" else _serving_figures
        print(json.dumps(asyncio.run(measure(size, Path(folder) / "store", readers=readers))))


def _turn(tree: Path, part: str, size: int, *, readers: bool) -> dict[str, float]:
    """Measure one tree in a process of its own."""
    chosen = [_READERS] if readers else []
    done = subprocess.run(
        [tree / ".venv" / "bin" / "python", "-P", __file__, _WORKER, part, str(size), *chosen],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"},
        stdout=subprocess.PIPE,
        check=True,
    )
    return cast("dict[str, float]", json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Measure both trees by turns, and print the medians with their ratio."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("before", type=Path, help="the other checkout")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000])
    parser.add_argument("--parts", nargs="+", choices=["engine", "serving"], default=["engine", "serving"])
    parser.add_argument(_READERS, action="store_true", help="leave the models on that read two texts")
    options = parser.parse_args()
    trees = (options.before.resolve(), Path(__file__).resolve().parent.parent)
    print("| | before | now | ratio |\n|---|--:|--:|--:|")
    for part in options.parts:
        for size in options.sizes:
            turns = [[_turn(tree, part, size, readers=options.readers) for tree in trees] for _ in range(options.turns)]
            for name in turns[0][0]:
                before, now = (statistics.median(turn[side][name] for turn in turns) for side in (0, 1))
                print(f"| {name} | {before:.2f} | {now:.2f} | {now / before:.2f} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == [_WORKER]:
        _work(sys.argv[2], int(sys.argv[3]), readers=_READERS in sys.argv)
    else:
        main()
