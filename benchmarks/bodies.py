"""Measures the bodies of a young space: `python -m benchmarks.bodies --memories 200`.

The engine remembers sentences in a new store, too few for a dictionary of their own. The bytes are those in the file.
Then the bodies are packed and read again in this process, and the CPU time of both is taken.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks.corpus import load_corpus
from benchmarks.daemons import settings_for
from benchmarks.memories import CALLER
from benchmarks.tables import Table, rows_of
from scrubjay.app import open_engine
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory
from scrubjay.model.requests import StatusRequest
from scrubjay.model.snapshot import from_body, to_body
from scrubjay.storage.codec import decode, encode, generic_dictionary

_ROUNDS = 20
_MUST, _AIM = 60, 65


def main() -> None:
    """Measure, and print it as Markdown."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bodies", description="Measures bodies of a young space."
    )
    parser.add_argument("--memories", type=int, default=200, help="the number of memories (default: 200)")
    arguments = parser.parse_args()
    print("\n".join(rows_of(asyncio.run(measure(arguments.memories)))))


async def measure(memories: int) -> Table:
    """Measure stored bytes beside the bytes of JSON, and the time that packing takes."""
    corpus = load_corpus(sentences=memories, questions=1)
    with tempfile.TemporaryDirectory() as folder:
        settings = replace(settings_for(Path(folder)), embedder="none")
        async with open_engine(settings) as engine:
            done = [await engine.remember(Draft(text=text, intent="new"), who=CALLER) for text in corpus.sentences]
            stored = await engine.reader.get(CALLER.space, [result.id for result in done])
            compression = (await engine.status(StatusRequest(), who=CALLER)).compression
    return _table([*stored.values()], int(compression["stored_bytes"]), corpus.origin)


def _table(stored: list[Memory], stored_bytes: int, origin: str) -> Table:
    bodies = [to_body(memory) for memory in stored]
    plain = sum(len(json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()) for body in bodies)
    packed = [encode(body, dictionary=generic_dictionary()) for body in bodies]

    def read() -> None:
        for body in packed:
            from_body(decode(body, dictionary=generic_dictionary()), memory_id="m", space="s", version=1)

    def write() -> None:
        for body in bodies:
            encode(body, dictionary=generic_dictionary())

    saved = 100 * (1 - stored_bytes / plain)
    target = "met" if saved >= _AIM else f"aim of {_AIM} % missed" if saved >= _MUST else "MISS"
    return Table(
        title="Bodies",
        head=(f"{len(stored)} memories: {origin}", ""),
        rows=(
            ("bodies as JSON, bytes each", f"{plain / len(stored):.0f}"),
            ("- as stored", f"{stored_bytes / len(stored):.0f} ({saved:.1f} % smaller, at least {_MUST} %: {target})"),
            ("packing a body, µs of CPU", f"{_micros(write) / len(stored):.1f}"),
            ("reading a body, µs of CPU", f"{_micros(read) / len(stored):.1f}"),
        ),
    )


def _micros(work: Callable[[], None]) -> float:
    best = float("inf")
    for _ in range(_ROUNDS):
        began = time.process_time_ns()
        work()
        best = min(best, (time.process_time_ns() - began) / 1000)
    return best


if __name__ == "__main__":
    main()
