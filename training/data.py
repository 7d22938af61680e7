"""Reads the data sets: groups of a question and its texts, triples, scored pairs, and the facts of this project."""

import gzip
import hashlib
import json
import lzma
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TextIO, cast

FACTS = "facts"
"""The source of the groups and pairs that come from this project's own data set."""

# LongMemEval measures; posts of users are not trained on.
LEFT_OUT = frozenset({"longmemeval-dev", "ict-longmemeval", "tweetqa"})
# How alike two statements are. Only the order counts: a near miss must lie below all that may be merged, and what
# changed still belongs to the same topic.
LIKENESS = {"same": 1.0, "more": 0.75, "changes": 0.5, "contradicts": 0.5, "near": 0.4, "unrelated": 0.0}
# Why a look-alike does not answer, where the text itself shows it. What is outdated or belongs to another project
# reads like an answer: dates and projects decide that, not the vector.
_TELLING = frozenset({"other-thing", "other-person", "number", "environment", "topic", "scrap"})
_KEPT_ASIDE = 10


@dataclass(frozen=True, slots=True)
class Text:
    """A text to find, and who said it or the title of its page."""

    text: str
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A question and the numbers of its texts; `scores` are a teacher's, of positive, negative and mined, or None."""

    source: str
    question: str
    positive: tuple[int, ...]
    negative: tuple[int, ...] = ()
    mined: tuple[int, ...] = ()
    scores: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """Two texts and how alike they are, from 0 to 1."""

    source: str
    first: str
    second: str
    score: float


@dataclass(slots=True)
class TrainingData:
    """All that is trained on."""

    texts: list[Text] = field(default_factory=list[Text])
    groups: list[Group] = field(default_factory=list[Group])
    triples: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    pairs: list[ScoredPair] = field(default_factory=list[ScoredPair])


def read_public(folder: Path, *, left_out: frozenset[str] = LEFT_OUT) -> TrainingData:
    """Read `texts`, `groups`, `triples` and `pairs` of a folder, without the sources that are left out."""
    data = TrainingData()
    numbers: dict[int, int] = {}
    for row in _rows(folder, "texts"):
        numbers[row["id"]] = len(data.texts)
        data.texts.append(Text(row["text"], row.get("by") or ""))
    for row in _rows(folder, "groups"):
        if row["source"] not in left_out:
            data.groups.append(_group(row, numbers))
    data.triples = [(row["text"], row["same"], row["other"]) for row in _rows(folder, "triples")]
    data.pairs = [ScoredPair(row["source"], row["a"], row["b"], row["score"]) for row in _rows(folder, "pairs")]
    return data


def add_facts(data: TrainingData, folder: Path) -> None:
    """Add the facts that are not kept aside: pairs by their labels, questions with answers and look-alikes."""
    for row in read_facts(folder, "pairs", kept_aside=False):
        data.pairs.append(ScoredPair(FACTS, row["a"]["text"], row["b"]["text"], LIKENESS[row["label"]]))
        if row["label"] == "same":
            data.groups.append(Group(source=FACTS, question=row["a"]["text"], positive=(_add(data, row["b"]["text"]),)))
    for row in read_facts(folder, "questions", kept_aside=False):
        if row["answers"]:
            data.groups.append(
                Group(
                    source=FACTS,
                    question=row["question"],
                    positive=tuple(_add(data, fact["text"]) for fact in row["answers"]),
                    negative=tuple(_add(data, fact["text"]) for fact in row["lookalikes"] if fact["why"] in _TELLING),
                )
            )


def read_facts(folder: Path, kind: str, *, kept_aside: bool) -> Iterator[dict[str, Any]]:
    """Yield the rows of the project's own data set: those to train on, or those that are kept aside for testing."""
    for row in _rows(folder, kind):
        if is_held_out(row) == kept_aside:
            yield row


def is_held_out(row: Mapping[str, Any]) -> bool:
    """Say whether a row of the facts is for testing: a tenth, for ever.

    Whole projects are, since the facts of a project occur in several rows; without a project its own text decides.
    """
    own = row["question"] if "question" in row else row["a"]["text"] if "a" in row else row["text"]
    project = row["a"]["project"] if "a" in row else row.get("project", "")
    return hashlib.sha256((project or own).encode()).digest()[0] % _KEPT_ASIDE == 0


def _group(row: Mapping[str, Any], numbers: Mapping[int, int]) -> Group:
    def texts(kind: str) -> tuple[int, ...]:
        return tuple(numbers[id_] for id_ in row.get(kind) or ())

    return Group(
        source=row["source"],
        question=row["question"],
        positive=texts("positive"),
        negative=texts("negative"),
        mined=texts("mined"),
        scores=tuple(row.get("teacher") or ()),
    )


def _add(data: TrainingData, text: str) -> int:
    data.texts.append(Text(text))
    return len(data.texts) - 1


def _rows(folder: Path, kind: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of all files of a kind: `groups.0.jsonl.gz`, `w1.pairs.jsonl`."""
    files = sorted(file for file in folder.iterdir() if kind in file.name.split("."))
    for file in files:
        with _open(file) as lines:
            for number, line in zip(count(1), lines, strict=False):
                try:
                    yield cast("dict[str, Any]", json.loads(line))
                except ValueError as error:
                    raise SystemExit(f"{file}, line {number}: {error}") from error


def _open(file: Path) -> TextIO:
    if file.suffix == ".gz":
        return gzip.open(file, "rt", encoding="utf-8")
    if file.suffix == ".xz":
        return lzma.open(file, "rt", encoding="utf-8")
    return file.open(encoding="utf-8")
