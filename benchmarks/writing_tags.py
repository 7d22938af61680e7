"""Measures the normalization of tags: a vocabulary, and synonyms that should map to its tags.

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
    """Shares of the synonyms that became their target or another tag, for the whole file and for both halves.

    `replaced` and `added`: of tags without a synonym in the vocabulary, the share that became another tag, and the
    share that got an additional tag.
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
                f"{self.sources:,} synonyms of {self.targets:,} tags",
                f"right / wrong                {self.right:.1%} / {self.wrong:.1%}   (halves: {halves})",
                f"tags without a synonym       {self.replaced:.1%} replaced, {self.added:.1%} got another one added",
                f"a tag, vectors included      {self.milliseconds:.1f} ms",
            )
        )


async def measure_tags(path: Path, *, max_pairs: int | None = None) -> TagFigures:
    """Measure a file of synonyms, or its first rows."""
    pairs = _pairs(path)[:max_pairs]
    targets = sorted({target for _, target in pairs})
    embedder = make_embedder(Settings.load())
    try:
        async with _open_filled(targets) as store:
            began = time.perf_counter()
            normalized = [await _normalize(source, store=store, embedder=embedder) for source, _ in pairs]
            seconds = (time.perf_counter() - began) / len(pairs)
        others = [change for half in (0, 1) for change in await _normalize_half(targets, half, embedder=embedder)]
    finally:
        await embedder.close()
    graded = [_grade(pair, after) for pair, after in zip(pairs, normalized, strict=True)]
    right, wrong = _shares(graded)
    return TagFigures(
        sources=len(pairs),
        targets=len(targets),
        right=right,
        wrong=wrong,
        halves=(_shares(graded[::2]), _shares(graded[1::2])),
        replaced=sum(tag not in after for tag, after in others) / len(others),
        added=sum(tag in after and len(after) > 1 for tag, after in others) / len(others),
        milliseconds=seconds * 1000,
    )


def _pairs(path: Path) -> list[_Pair]:
    with path.open(encoding="utf-8", newline="") as file:
        return [(row["source"], row["target"]) for row in csv.DictReader(file)]


async def _normalize_half(
    targets: Sequence[str], half: int, *, embedder: Embedder
) -> list[tuple[str, tuple[str, ...]]]:
    """Normalize every other tag with a vocabulary of the remaining ones."""
    async with _open_filled(targets[half::2]) as store:
        return [(target, await _normalize(target, store=store, embedder=embedder)) for target in targets[1 - half :: 2]]


@asynccontextmanager
async def _open_filled(tags: Sequence[str]) -> AsyncGenerator[RecordStore]:
    """Open a store whose memories have these tags."""
    with tempfile.TemporaryDirectory() as folder:
        store = await open_store(Settings.load(home=folder))
        try:
            parts = [tags[start : start + _TAGS_A_MEMORY] for start in range(0, len(tags), _TAGS_A_MEMORY)]
            await store.commit(
                a_commit(*(a_memory(tags=tuple(part), name=f"m{number}") for number, part in enumerate(parts)))
            )
            yield store
        finally:
            await store.close()


async def _normalize(tag: str, *, store: RecordStore, embedder: Embedder) -> tuple[str, ...]:
    preview_ = await preview([tag], text="", space=_SPACE, rules=_RULES, store=store, embedder=embedder)
    return preview_.after


def _grade(pair: _Pair, after: Sequence[str]) -> str:
    """Grade a synonym: it became its target, another tag, or stayed the same."""
    source, target = pair
    if target in after:
        return "right"
    return "wrong" if any(tag != source for tag in after) else ""


def _shares(graded: Sequence[str]) -> tuple[float, float]:
    return graded.count("right") / len(graded), graded.count("wrong") / len(graded)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="CSV with the columns source and target")
    print(asyncio.run(measure_tags(parser.parse_args().file)))


if __name__ == "__main__":
    main()
