"""Measures the detection of duplicates on write: `python -m benchmarks.writing --pairs FILE --locomo FILE`.

Without files it measures generated pairs. See benchmarks/README.md.
"""

import argparse
import asyncio
import csv
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import cast

import numpy as np

from benchmarks.tables import Table, rows_of
from benchmarks.writing_swaps import KINDS, made_facts, made_pairs, names_in, swaps_of
from benchmarks.writing_tags import measure_tags
from scrubjay.app import make_embedder
from scrubjay.model.passage import Vector
from scrubjay.ports import Embedder
from scrubjay.settings import Settings
from scrubjay.writing.similarity_score import TextSimilarity, compare_texts

# Scores of STS: duplicates have at least the first, distinct texts at most the second.
_DUPLICATE, _DISTINCT = 4.5, 3.0
_STS_COLUMNS = 7
_BATCH = 64
_SEED = 7
_RELATED = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two texts and their kind: `duplicate`, `distinct`, or the kind of the swapped detail."""

    kind: str
    first: str
    second: str


@dataclass(kw_only=True)
class Merges:
    """The number of pairs of each kind, and of the merged ones, with the guards and without."""

    pairs: Counter[str] = field(default_factory=Counter[str])
    merged: Counter[str] = field(default_factory=Counter[str])
    unguarded: Counter[str] = field(default_factory=Counter[str])

    def note(self, kind: str, score: TextSimilarity, *, same: float) -> None:
        """Count one pair."""
        alike = score.similarity >= same
        self.pairs[kind] += 1
        self.unguarded[kind] += alike
        self.merged[kind] += alike and not score.differs

    def table(self, title: str) -> Table:
        """Return a table with a row for each kind."""
        rows = tuple(
            (
                kind,
                f"{count:,}",
                f"{self.merged[kind]:,}",
                f"{self.merged[kind] / count:.2%}",
                f"{self.unguarded[kind] / count:.2%}",
            )
            for kind, count in self.pairs.items()
        )
        return Table(title=title, head=("pairs", "count", "merged", "share", "without the guards"), rows=rows)


def main() -> None:
    """Measure the inputs that the arguments name, and print Markdown."""
    options = _options(sys.argv[1:])
    for table in asyncio.run(measure(options)):
        print(f"## {table.title}\n")
        print("\n".join(rows_of(table)), end="\n\n")
    if options.tags is not None:
        print(asyncio.run(measure_tags(options.tags)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The inputs; without any file, the benchmark generates its pairs."""

    pairs: Path | None = None
    locomo: Path | None = None
    mrpc: Path | None = None
    tags: Path | None = None


async def measure(options: Options) -> list[Table]:
    """Measure the inputs that the options name."""
    embedder = make_embedder(Settings.load())
    try:
        profile = await embedder.profile()
        results = [
            (f"{title}, {profile.model}, same from {profile.same:g}", await _merges(pairs, embedder=embedder))
            for title, pairs in _choose(options)
        ]
        tables = [merges.table(title) for title, merges in results]
        if options.locomo is not None:
            tables.append(await _related(options.locomo, embedder=embedder))
    finally:
        await embedder.close()
    return tables


async def _related(file: Path, *, embedder: Embedder) -> Table:
    """Return the cosines of questions with facts of other conversations, whose median is a profile's `related`."""
    facts, questions = _observations(file), _questions(file)
    for texts in (facts, questions):
        Random(_SEED).shuffle(texts)
        del texts[_RELATED:]
    vectors = await _embed([text for text, _ in (*facts, *questions)], embedder=embedder)
    cosines = np.stack([vectors[text] for text, _ in questions]) @ np.stack([vectors[text] for text, _ in facts]).T
    own = np.array([number for _, number in questions])[:, None] == np.array([number for _, number in facts])
    profile = await embedder.profile()
    title = f"Questions and facts of other conversations, {profile.model}, related from {profile.related:g}"
    quartiles = tuple(f"{value:.3f}" for value in np.percentile(cosines[~own], (25, 50, 75)))
    head = ("pairs", "lower quartile", "median", "upper quartile")
    return Table(title=title, head=head, rows=((f"{int((~own).sum()):,}", *quartiles),))


def _choose(options: Options) -> list[tuple[str, list[Pair]]]:
    chosen: list[tuple[str, list[Pair]]] = []
    if options.pairs is not None:
        chosen.append(("Judged pairs", _sts(options.pairs)))
    if options.mrpc is not None:
        chosen.append(("Paraphrases, of which most negatives only add a detail", _mrpc(options.mrpc)))
    if options.locomo is not None:
        chosen.append(("Facts with one detail swapped", _swap([fact for fact, _ in _observations(options.locomo)])))
    if not chosen:
        made = [Pair(kind="duplicate", first=text, second=other) for text, other in made_pairs()]
        chosen = [("Generated pairs", made), ("Generated facts with one detail swapped", _swap(made_facts()))]
    return chosen


async def _merges(pairs: Sequence[Pair], *, embedder: Embedder) -> Merges:
    same = (await embedder.profile()).same
    vectors = await _embed([text for pair in pairs for text in (pair.first, pair.second)], embedder=embedder)
    merges = Merges()
    for pair in pairs:
        cosine = float(np.dot(vectors[pair.first], vectors[pair.second]))
        merges.note(pair.kind, compare_texts(pair.first, pair.second, cosine=cosine), same=same)
    return merges


async def _embed(texts: Sequence[str], *, embedder: Embedder) -> dict[str, Vector]:
    distinct = list(dict.fromkeys(texts))
    vectors: dict[str, Vector] = {}
    for start in range(0, len(distinct), _BATCH):
        batch = distinct[start : start + _BATCH]
        vectors.update(zip(batch, await embedder.embed(batch), strict=True))
    return vectors


def _sts(file: Path) -> list[Pair]:
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    scored = [(float(row[4]), row[5], row[6]) for row in rows if len(row) >= _STS_COLUMNS]
    return [
        Pair(kind="duplicate" if score >= _DUPLICATE else "distinct", first=first, second=second)
        for score, first, second in scored
        if score >= _DUPLICATE or score <= _DISTINCT
    ]


def _mrpc(file: Path) -> list[Pair]:
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    return [
        Pair(kind="duplicate" if row["label"] == "1" else "distinct", first=row["sentence1"], second=row["sentence2"])
        for row in rows
    ]


def _observations(file: Path) -> list[tuple[str, int]]:
    """Return the distinct facts of LoCoMo's conversations, with the number of the conversation."""
    conversations = cast("list[dict[str, dict[str, dict[str, list[list[str]]]]]]", json.loads(file.read_bytes()))
    facts = {
        fact[0]: number
        for number, conversation in enumerate(conversations)
        for session in conversation["observation"].values()
        for speaker_facts in session.values()
        for fact in speaker_facts
    }
    return list(facts.items())


def _questions(file: Path) -> list[tuple[str, int]]:
    conversations = cast("list[dict[str, list[dict[str, str]]]]", json.loads(file.read_bytes()))
    return [(row["question"], number) for number, each in enumerate(conversations) for row in each["qa"]]


def _swap(facts: Sequence[str]) -> list[Pair]:
    random, names = Random(_SEED), names_in(facts)
    pairs = [
        Pair(kind=kind, first=fact, second=changed)
        for fact in facts
        for kind, changed in swaps_of(fact, names=names, random=random)
        if changed != fact
    ]
    return sorted(pairs, key=lambda pair: KINDS.index(pair.kind))


def _options(arguments: Sequence[str]) -> Options:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=Path, help="pairs with scores as STS has them, tab-separated")
    parser.add_argument("--locomo", type=Path, help="LoCoMo's conversations, whose observations are swapped")
    parser.add_argument("--mrpc", type=Path, help="paraphrases with labels, tab-separated")
    parser.add_argument("--tags", type=Path, help="other names of tags: CSV with the columns source and target")
    return Options(**vars(parser.parse_args(arguments)))


if __name__ == "__main__":
    main()
