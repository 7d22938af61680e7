"""How well tags are normalised: a vocabulary, and other names for its tags, of which each should find its own.

`python -m benchmarks.writing_tags FILE` where FILE is CSV with the columns `source` and `target`.
"""

import argparse
import asyncio
import csv
import tempfile
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.build import a_commit, a_memory

from scrubjay.app import make_embedder, open_store
from scrubjay.model.rules import Rules
from scrubjay.ports import Embedder, RecordStore
from scrubjay.settings import Settings
from scrubjay.writing.synonyms import preview

_SPACE = "default"
_TAGS_A_MEMORY = 50
_RULES = Rules(least_tags=0)
_Pair = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TagFigures:
    """Shares of the sources that got their target, or another tag instead; both halves of the file, and all.

    `replaced` and `added`: of tags for which the vocabulary has no other name, the share that became another one, and
    the share that was given another one besides.
    """

    sources: int
    targets: int
    right: float
    wrong: float
    halves: tuple[tuple[float, float], tuple[float, float]]
    replaced: float
    added: float
    milliseconds: float

    def __str__(self) -> str:
        halves = ", ".join(f"{right:.1%} / {wrong:.1%}" for right, wrong in self.halves)
        return "\n".join(
            (
                f"{self.sources:,} other names of {self.targets:,} tags",
                f"right / wrong                {self.right:.1%} / {self.wrong:.1%}   (halves: {halves})",
                f"tags without another name    {self.replaced:.1%} replaced, {self.added:.1%} given one besides",
                f"a tag, vectors included      {self.milliseconds:.1f} ms",
            )
        )


async def measure_tags(path: Path, *, most: int | None = None) -> TagFigures:
    """The figures of a file of synonyms, or of its first ones."""
    pairs = _pairs(path)[:most]
    targets = sorted({target for _, target in pairs})
    embedder = make_embedder(Settings.load())
    try:
        async with _filled(targets) as store:
            began = time.perf_counter()
            results = [await _after(source, store=store, embedder=embedder) for source, _ in pairs]
            took = (time.perf_counter() - began) / len(pairs)
        others = [item for half in (0, 1) for item in await _of_half(targets, half, embedder=embedder)]
    finally:
        await embedder.close()
    graded = [_grade(pair, after) for pair, after in zip(pairs, results, strict=True)]
    right, wrong = _shares(graded)
    return TagFigures(
        sources=len(pairs),
        targets=len(targets),
        right=right,
        wrong=wrong,
        halves=(_shares(graded[::2]), _shares(graded[1::2])),
        replaced=sum(tag not in after for tag, after in others) / len(others),
        added=sum(tag in after and len(after) > 1 for tag, after in others) / len(others),
        milliseconds=took * 1000,
    )


def _pairs(path: Path) -> list[_Pair]:
    with path.open(encoding="utf-8", newline="") as file:
        return [(row["source"], row["target"]) for row in csv.DictReader(file)]


async def _of_half(targets: Sequence[str], half: int, *, embedder: Embedder) -> list[tuple[str, tuple[str, ...]]]:
    """What becomes of every other tag where only those between them are known."""
    async with _filled(targets[half::2]) as store:
        return [(target, await _after(target, store=store, embedder=embedder)) for target in targets[1 - half :: 2]]


@asynccontextmanager
async def _filled(tags: Sequence[str]) -> AsyncGenerator[RecordStore]:
    """A store whose memories have these tags."""
    with tempfile.TemporaryDirectory() as folder:
        store = await open_store(Settings.load(home=folder))
        try:
            parts = [tags[start : start + _TAGS_A_MEMORY] for start in range(0, len(tags), _TAGS_A_MEMORY)]
            await store.commit(a_commit(*(a_memory(tags=tuple(part), name=f"m{at}") for at, part in enumerate(parts))))
            yield store
        finally:
            await store.close()


async def _after(tag: str, *, store: RecordStore, embedder: Embedder) -> tuple[str, ...]:
    results = await preview([tag], text="", space=_SPACE, rules=_RULES, store=store, embedder=embedder)
    return results.after


def _grade(pair: _Pair, after: Sequence[str]) -> str:
    """Whether a source got its target, another tag of the vocabulary, or stayed what it is."""
    source, target = pair
    if target in after:
        return "right"
    return "wrong" if any(item != source for item in after) else ""


def _shares(graded: Sequence[str]) -> tuple[float, float]:
    return graded.count("right") / len(graded), graded.count("wrong") / len(graded)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="CSV with the columns source and target")
    print(asyncio.run(measure_tags(parser.parse_args().file)))


if __name__ == "__main__":
    main()
