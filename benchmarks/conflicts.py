"""Measures the detection of contradictions: `python -m benchmarks.conflicts --locomo FILE --latency 10000`.

Without files it measures generated pairs. It always measures short everyday facts, compared directly and remembered.
See benchmarks/README.md.
"""

import argparse
import asyncio
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.conflicts_changes import CHANGED, CHANGED_KIND, UNCHANGED, UNCHANGED_KIND
from benchmarks.conflicts_everyday import ONE_VALUE, EverydayPair, detect_on_write, everyday_pairs
from benchmarks.conflicts_latency import measure_latency, measure_scan
from benchmarks.conflicts_pairs import AT_LEAST, AT_MOST, Pair, facts_in, made_pairs, pairs_of_facts, paraphrases_in
from benchmarks.tables import Table, rows_of
from scrubjay.app import make_embedder
from scrubjay.model.conflict import ConflictDetails, ConflictType
from scrubjay.model.passage import Vector
from scrubjay.ports import Embedder
from scrubjay.settings import Settings
from scrubjay.text.claims.compare import Finding, compare

_BATCH = 64
_NONE = "none"
_COLUMNS = (*(conflict_type.value for conflict_type in ConflictType), _NONE)
_NEIGHBOURS = 4
# From this confidence on `auto` acts.
_SURE = 0.6
_REMEMBERED = "remembered: "
_LEAST = AT_LEAST | {ONE_VALUE: 0.8}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The inputs; without any file, the benchmark generates its pairs."""

    locomo: Path | None = None
    pairs: Path | None = None
    mrpc: Path | None = None
    latency: tuple[int, ...] = ()
    scan: tuple[int, ...] = ()
    examples: int = 0


@dataclass(kw_only=True)
class Tally:
    """Counts of the findings for each kind of pair, and the pairs with a wrong finding."""

    counts: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    sure: Counter[str] = field(default_factory=Counter[str])
    wrong: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def note(self, pair: Pair, finding: Finding | ConflictDetails | None) -> None:
        """Count one pair."""
        self.counts[pair.kind][finding.type.value if finding else _NONE] += 1
        contradicts = finding is not None and finding.type is ConflictType.CONTRADICTION
        self.sure[pair.kind] += finding is not None and contradicts and finding.confidence >= _SURE
        kind = pair.kind.removeprefix(_REMEMBERED)
        is_noticed = contradicts or (
            finding is not None and finding.type is ConflictType.UPDATE and kind in (CHANGED_KIND, UNCHANGED_KIND)
        )
        if is_noticed != (kind in _LEAST or kind == CHANGED_KIND):
            reason = f" ({'; '.join(finding.differs)}, {finding.confidence})" if finding else ""
            self.wrong[pair.kind].append(f"- {pair.kind}{reason}: {pair.first} / {pair.second}")

    def table(self, title: str) -> Table:
        """Return a table with a row for each kind."""
        rows = tuple(
            (kind, f"{counts.total():,}", *(f"{counts[column] / counts.total():.1%}" for column in _COLUMNS),
             f"{self.sure[kind] / counts.total():.1%}", _target(kind))
            for kind, counts in self.counts.items()
        )  # fmt: skip
        head = ("pairs", "count", *_COLUMNS, f"contradiction from {_SURE} on", "target for contradictions")
        return Table(title=title, head=head, rows=rows)


def main() -> None:
    """Measure the inputs that the arguments name, and print Markdown."""
    options = _options(sys.argv[1:])
    if not (options.latency or options.scan) or options.locomo or options.pairs or options.mrpc:
        title, tally = asyncio.run(measure(options))
        _print(tally.table(title))
        for lines in tally.wrong.values():
            print("\n".join(lines[: options.examples]), end="\n" if options.examples else "")
    if options.latency:
        _print(asyncio.run(measure_latency(options.latency)))
    if options.scan:
        _print(asyncio.run(measure_scan(options.scan)))


async def measure(options: Options) -> tuple[str, Tally]:
    """Compare all pairs that the options name."""
    embedder = make_embedder(Settings.load())
    tally = Tally()
    try:
        profile = await embedder.profile()
        for pair, cosine in await _with_cosines(options, embedder=embedder):
            tally.note(pair, compare(pair.first, pair.second, cosine=cosine))
    finally:
        await embedder.close()
    for pair, conflict in await detect_on_write([*everyday_pairs(), *_written_pairs()]):
        # The same short facts from end to end: the search must find candidates before it can compare them.
        tally.note(Pair(kind=f"{_REMEMBERED}{pair.kind}", first=pair.first, second=pair.second), conflict)
    return f"Findings for two statements, {profile.model}", tally


def _written_pairs() -> Iterator[EverydayPair]:
    """Return the pairs that were written before the rules: a change is noticed as a contradiction or an update."""
    for kind, pairs in ((CHANGED_KIND, CHANGED), (UNCHANGED_KIND, UNCHANGED)):
        yield from (EverydayPair(kind, first, second) for first, second in pairs)


async def _with_cosines(options: Options, *, embedder: Embedder) -> list[tuple[Pair, float]]:
    pairs = list(paraphrases_in(options.pairs, options.mrpc))
    facts = facts_in(options.locomo) if options.locomo else []
    if not facts and not pairs:
        pairs, facts = list(made_pairs()), []
    pairs += pairs_of_facts(facts)
    pairs += (Pair(kind=pair.kind, first=pair.first, second=pair.second) for pair in everyday_pairs())
    vectors = await _embed([*facts, *(text for pair in pairs for text in (pair.first, pair.second))], embedder=embedder)
    pairs += _neighbours(facts, vectors)
    return [(pair, float(np.dot(vectors[pair.first], vectors[pair.second]))) for pair in pairs]


def _neighbours(facts: Sequence[str], vectors: dict[str, Vector]) -> list[Pair]:
    """Pair each fact with its nearest neighbours, which are different facts except for a few repetitions."""
    if len(facts) <= _NEIGHBOURS:
        return []
    rows = np.stack([vectors[fact] for fact in facts])
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -1)
    chosen = {
        frozenset((number, int(near))) for number, row in enumerate(cosines) for near in np.argsort(-row)[:_NEIGHBOURS]
    }
    return [
        Pair(kind="unrelated, nearest", first=facts[number], second=facts[other])
        for number, other in sorted(sorted(pair) for pair in chosen)
    ]


async def _embed(texts: Sequence[str], *, embedder: Embedder) -> dict[str, Vector]:
    distinct = list(dict.fromkeys(texts))
    vectors: dict[str, Vector] = {}
    for start in range(0, len(distinct), _BATCH):
        batch = distinct[start : start + _BATCH]
        vectors.update(zip(batch, await embedder.embed(batch), strict=True))
    return vectors


def _target(kind: str) -> str:
    kind = kind.removeprefix(_REMEMBERED)
    if kind == CHANGED_KIND:
        return "none; updates count too"
    return f">= {_LEAST[kind]:.0%}" if kind in _LEAST else f"<= {AT_MOST:.0%}"


def _print(table: Table) -> None:
    print(f"## {table.title}\n")
    print("\n".join(rows_of(table)), end="\n\n")


def _options(arguments: Sequence[str]) -> Options:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--locomo", type=Path, help="LoCoMo's conversations, whose observations are changed")
    parser.add_argument("--pairs", type=Path, help="pairs with scores as STS has them, tab-separated")
    parser.add_argument("--mrpc", type=Path, help="paraphrases with labels, tab-separated")
    parser.add_argument("--latency", type=int, nargs="+", default=(), help="measure detection at these sizes")
    parser.add_argument("--scan", type=int, nargs="+", default=(), help="measure a whole store at these sizes")
    parser.add_argument("--examples", type=int, default=0, help="print this many wrong pairs of each kind")
    inputs = parser.parse_args(arguments)
    inputs.latency, inputs.scan = tuple(inputs.latency), tuple(inputs.scan)
    return Options(**vars(inputs))


if __name__ == "__main__":
    main()
