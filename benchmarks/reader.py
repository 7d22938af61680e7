"""Times the reader beside one embedding: `python -m benchmarks.reader`. See benchmarks/README.md."""

import argparse
import asyncio
import time
from collections.abc import Awaitable

from benchmarks.corpus import load_corpus
from benchmarks.tables import Table, rows_of
from benchmarks.timing import spread
from scrubjay.app import make_embedder
from scrubjay.app.models import make_pair_model
from scrubjay.recalling.rerank import READ
from scrubjay.settings import Settings

_WARM_UP = 3


def main() -> None:
    """Embed and read by turns, and print the times."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reader", description="Times the reader of recall.")
    parser.add_argument("--questions", type=int, default=100)
    options = parser.parse_args()
    print("\n".join(rows_of(asyncio.run(measure(options.questions)))))


async def measure(count: int) -> Table:
    """Embed a question and a memory, and read as many as a recall does: others each time, so that no cache has them."""
    settings = Settings()
    embedder, reader = make_embedder(settings), make_pair_model(settings)
    if reader is None:
        raise SystemExit("there is no reader beside this embedder")
    corpus = load_corpus(sentences=(READ + 1) * (count + _WARM_UP), questions=count + _WARM_UP)
    columns = "a question embedded", "a memory embedded", f"{READ} memories read"
    rounds: list[list[tuple[float, float]]] = []
    for number, question in enumerate(corpus.questions):
        alone, *memories = corpus.sentences[(READ + 1) * number : (READ + 1) * (number + 1)]
        dated = [f"(5 March 2026) {text}" for text in memories]
        rounds.append([
            await _timed(embedder.embed_query(question)),
            await _timed(embedder.embed([alone])),
            await _timed(reader.rerank(f"(6 March 2026) {question}", dated)),
        ])  # fmt: skip
    await embedder.close()
    await reader.close()
    # Each as time and as processor time, in milliseconds.
    middles = [
        [spread([each[column][kind] for each in rounds[_WARM_UP:]]).p50 for kind in range(2)] for column in range(3)
    ]
    rows = [(name, *(f"{value:.1f}" for value in values)) for name, values in zip(columns, middles, strict=True)]
    times = [f"{read / memory:.1f}" for memory, read in zip(middles[1], middles[2], strict=True)]
    return Table(
        title="The reader",
        head=("", "ms", "processor, ms"),
        rows=(*rows, ("times a memory embedded, at most 10", *times)),
    )


async def _timed(call: Awaitable[object]) -> tuple[float, float]:
    began, computed = time.perf_counter(), time.process_time()
    await call
    return time.perf_counter() - began, time.process_time() - computed


if __name__ == "__main__":
    main()
