"""The training data as numbers, so that each draw only joins tokens: `python -m training.corpus --data D --out C`."""

import argparse
import multiprocessing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrubjay.embedding.wordpiece import WordPiece, load_vocabulary
from training.data import TrainingData, add_facts, read_public
from training.forms import NAMES, random_date, split_at_person

MAX_TOKENS = 256
QUESTION_PARTS = 5
START, END = 101, 102
"""The ids of [CLS] and [SEP] in BERT's vocabulary."""

# Only there the author is a person who could have told a memory.
_NAMED_SOURCES = frozenset({"squadshifts-reddit", "squadshifts-amazon", "cosmosqa", "circa"})
_DATES = 4000
_SEED = 1


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different lengths in one array."""

    values: NDArray[Any]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Iterable[Sequence[float] | NDArray[Any]], dtype: type[np.generic]) -> "Ragged":
        """Join rows."""
        arrays = [np.asarray(row, dtype=dtype) for row in rows]
        starts = np.zeros(len(arrays) + 1, dtype=np.int64)
        np.cumsum([len(array) for array in arrays], out=starts[1:])
        return cls(np.concatenate(arrays) if arrays else np.empty(0, dtype=dtype), starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, row: int) -> NDArray[Any]:
        return self.values[self.starts[row] : self.starts[row + 1]]


@dataclass(slots=True)
class Corpus:
    """The prepared data. A question has `QUESTION_PARTS` rows, most only the first: see `split_at_person`.

    `texts` of a group are numbers of texts, first the positive ones, then negatives, then mined ones; `scores` are the
    teacher's for these, NaN where there is none.
    """

    sources: NDArray[np.str_]
    texts: Ragged
    by: Ragged
    questions: Ragged
    source: NDArray[np.int32]
    candidates: Ragged
    scores: Ragged
    positives: NDArray[np.int32]
    negatives: NDArray[np.int32]
    triples: Ragged
    pairs: Ragged
    pair_source: NDArray[np.str_]
    pair_score: NDArray[np.float32]
    names: Ragged
    dates: Ragged
    marks: Ragged

    def save(self, file: Path) -> None:
        """Write everything into one file."""
        arrays: dict[str, NDArray[np.generic]] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Ragged):
                arrays[f"{each.name}.values"], arrays[f"{each.name}.starts"] = value.values, value.starts
            else:
                arrays[each.name] = value
        np.savez(file, allow_pickle=False, **arrays)

    @classmethod
    def load(cls, file: Path) -> "Corpus":
        """Read what `save` wrote."""
        with np.load(file) as arrays:
            values: dict[str, Any] = {
                each.name: arrays[each.name]
                if each.name in arrays
                else Ragged(arrays[f"{each.name}.values"], arrays[f"{each.name}.starts"])
                for each in fields(cls)
            }
        return cls(**values)


def prepare(data: TrainingData, *, processes: int = 1) -> Corpus:
    """Tokenise all of it."""
    sources = sorted({group.source for group in data.groups})
    numbers = {source: number for number, source in enumerate(sources)}
    split = [_split(group.question, group.source) for group in data.groups]
    random = Random(_SEED)
    strings = {
        "texts": [text.text for text in data.texts],
        "by": [text.by for text in data.texts],
        "questions": [part for parts in split for part in parts],
        "triples": [text for triple in data.triples for text in triple],
        "pairs": [text for pair in data.pairs for text in (pair.first, pair.second)],
        "names": list(NAMES),
        "dates": [random_date(random) for _ in range(_DATES)],
        "marks": [":"],
    }
    tokens = {kind: Ragged.of(_tokenise(texts, processes), np.uint16) for kind, texts in strings.items()}
    rows = [(*group.positive, *group.negative, *group.mined) for group in data.groups]
    scores = [
        [np.nan if score is None else score for score in group.scores]
        if len(group.scores) == len(row)
        else [np.nan] * len(row)
        for group, row in zip(data.groups, rows, strict=True)
    ]
    return Corpus(
        sources=np.array(sources),
        source=np.array([numbers[group.source] for group in data.groups], dtype=np.int32),
        candidates=Ragged.of(rows, np.int32),
        scores=Ragged.of(scores, np.float32),
        positives=np.array([len(group.positive) for group in data.groups], dtype=np.int32),
        negatives=np.array([len(group.negative) for group in data.groups], dtype=np.int32),
        pair_source=np.array([pair.source for pair in data.pairs]),
        pair_score=np.array([pair.score for pair in data.pairs], dtype=np.float32),
        **tokens,
    )


def tokenizer() -> WordPiece:
    """Return the product's own tokenizer."""
    return WordPiece(load_vocabulary(), max_tokens=MAX_TOKENS)


def _split(question: str, source: str) -> tuple[str, ...]:
    parts = split_at_person(question) if source in _NAMED_SOURCES else None
    return parts or (question, *[""] * (QUESTION_PARTS - 1))


def _tokenise(texts: Sequence[str], processes: int) -> list[list[int]]:
    parts = [texts[start : start + 4000] for start in range(0, len(texts), 4000)]
    if processes < 2 or len(parts) < 2:
        return [row for part in parts for row in _tokenise_part(part)]
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        return [row for rows in pool.imap(_tokenise_part, parts) for row in rows]


def _tokenise_part(texts: Sequence[str]) -> list[list[int]]:
    wordpiece = tokenizer()
    return [wordpiece.encode(text)[1:-1] for text in texts]


def main() -> None:
    """Prepare the data sets that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder with texts, groups, triples and pairs")
    parser.add_argument("--facts", type=Path, help="a folder with this project's facts")
    parser.add_argument("--out", type=Path, required=True, help="the file to write, .npz")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    data = read_public(options.data)
    if options.facts:
        add_facts(data, options.facts)
    corpus = prepare(data, processes=options.processes)
    corpus.save(options.out)
    print(
        f"{len(corpus.texts):,} texts, {len(corpus.positives):,} groups, {len(corpus.triples) // 3:,} triples, "
        f"{len(corpus.pair_score):,} pairs"
    )


if __name__ == "__main__":
    main()
