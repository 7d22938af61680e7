"""Checks and describes the facts of `training/data`: `python -m training.facts [--against FILE …]`.

With `--against` it names the texts of the facts that share eight words in a row with other files, such as a
benchmark's.
"""

import argparse
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

FOLDER = Path(__file__).parent / "data"
LABELS = ("same", "more", "changes", "contradicts", "near", "unrelated")
NEAR_KINDS = frozenset(
    {"number", "date", "environment", "person", "project", "thing", "time", "place", "negation", "unit", "version"}
)
WHYS = frozenset(
    {
        "outdated", "other-project", "other-thing", "other-person", "number", "environment", "topic", "scrap", "former",
    }
)  # fmt: skip
LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl")
DOMAINS = ("software", "operations", "people", "households", "sales", "research")

_QUOTED = re.compile(r"[\"“”«»„`'][^\"“”«»`']{1,60}[\"“”«»`']")
_WITH_DIGIT = re.compile(r"\S*\d\S*")
_WORD = re.compile(r"\w+")
_FRAME_WORDS = 4
_SHARED_WORDS = 8
_MAX_PRINTED = 20

Row = dict[str, Any]


def read_rows(kind: str, folder: Path = FOLDER) -> list[Row]:
    """Return the rows of a kind: pairs, questions or texts."""
    lines = (folder / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def texts_of(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield every text of a row."""
    if "a" in row:
        yield from (row["a"]["text"], row["b"]["text"])
    elif "question" in row:
        yield from (row["question"], *(fact["text"] for fact in (*row["answers"], *row["lookalikes"])))
    else:
        yield row["text"]


def find_faults(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a row."""
    if row["language"] not in LANGUAGES or row["domain"] not in DOMAINS:
        yield "unknown language or domain"
    if not all(text.strip() == text and text for text in texts_of(row)):
        yield "an empty text, or spaces around one"
    facts: list[Mapping[str, Any]] = []
    if "a" in row:
        facts = [row["a"], row["b"]]
        if row["label"] not in LABELS or (row["kind"] in NEAR_KINDS) != (row["label"] == "near"):
            yield "unknown label or kind"
        later = "b" if row["b"]["date"] >= row["a"]["date"] else "a"
        if row.get("current", "") != (later if row["label"] == "changes" else ""):
            yield "the later statement of a change, and only of a change, is current"
        if row["label"] == "changes" and row["a"]["date"] == row["b"]["date"]:
            yield "a change has two dates"
    elif "question" in row:
        facts = [*row["answers"], *row["lookalikes"]]
        if not row["lookalikes"] or not all(fact["why"] in WHYS for fact in row["lookalikes"]):
            yield "a question has look-alikes, each with a reason"
        if any(fact["date"] > row["asked"] for fact in row["answers"]):
            yield "answered before it was known"
    for fact in facts:
        try:
            date.fromisoformat(fact["date"])
        except ValueError:
            yield f"no date: {fact['date']}"


def frame_of(text: str) -> str:
    """Return a text without its names, numbers and quotations: two texts of one template have the same."""
    words = _WITH_DIGIT.sub("N", _QUOTED.sub("Q", text)).split()
    return " ".join(
        "X" if at and word[:1].isupper() else word.lower().strip(".,;:!?") for at, word in enumerate(words)
    )  # fmt: skip


def repeated_frames(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the texts of several rows that have one frame; within a row statements look alike on purpose."""
    rows_of: defaultdict[str, dict[int, str]] = defaultdict(dict)
    for number, row in enumerate(rows):
        for text in texts_of(row):
            if len(text.split()) >= _FRAME_WORDS:
                rows_of[frame_of(text)][number] = text
    return {frame: list(texts.values()) for frame, texts in rows_of.items() if len(texts) > 1}


def shared_texts(rows: Iterable[Mapping[str, Any]], others: Iterable[str]) -> list[str]:
    """Return the texts that share a run of words with others; shorter texts must be a whole part of one."""
    texts = list(dict.fromkeys(text for row in rows for text in texts_of(row)))
    texts_by_run: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for text in texts:
        for run in _runs(text):
            texts_by_run[run].add(text)
    found: set[str] = set()
    for run in chain.from_iterable(map(_runs, others)):
        found |= texts_by_run.get(run, set())
    return [text for text in texts if text in found]


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = [word.casefold() for word in _WORD.findall(text)]
    for start in range(len(words) - _SHARED_WORDS + 1):
        yield tuple(words[start : start + _SHARED_WORDS])


def _describe(rows: Sequence[Row], kind: str) -> Iterator[str]:
    yield f"{kind}: {len(rows):,}"
    for field in ("language", "domain", "label"):
        counts = Counter(row[field] for row in rows if field in row)
        if counts:
            yield f"  {field}: " + ", ".join(f"{name} {count:,}" for name, count in counts.most_common())
    lengths = [len(text.split()) for row in rows for text in texts_of(row)]
    yield f"  words of a text: median {median(lengths):.0f}, longest {max(lengths)}"
    if kind == "pairs":
        for label in LABELS:
            pairs = [row for row in rows if row["label"] == label]
            days = [
                abs((date.fromisoformat(row["a"]["date"]) - date.fromisoformat(row["b"]["date"])).days) for row in pairs
            ]
            later = sum(row["a"]["date"] > row["b"]["date"] for row in pairs)
            yield f"  {label}: median {median(days):.0f} days apart, the later one first in {later / len(pairs):.0%}"
    if kind == "questions":
        yield f"  without an answer: {sum(not row['answers'] for row in rows)}"
        whys = Counter(fact["why"] for row in rows for fact in row["lookalikes"])
        yield "  look-alikes: " + ", ".join(f"{why} {count:,}" for why, count in whys.most_common())


def main() -> None:
    """Print what the facts are, and fail if some are faulty."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--against", type=Path, nargs="*", default=(), help="files that must share no text")
    options = parser.parse_args()
    by_kind = {kind: read_rows(kind, options.folder) for kind in ("pairs", "questions", "texts")}
    for kind, rows in by_kind.items():
        print("\n".join(_describe(rows, kind)))
    rows = [row for kind_rows in by_kind.values() for row in kind_rows]
    faults = [f"{fault}: {next(texts_of(row))}" for row in rows for fault in find_faults(row)]
    faults += [f"one frame: {' / '.join(texts)}" for texts in repeated_frames(rows).values()]
    others = (file.read_text(encoding="utf-8", errors="replace") for file in options.against)
    faults += [f"is in another file too: {text}" for text in shared_texts(rows, others)]
    print(f"faults: {len(faults)}", *faults[:_MAX_PRINTED], sep="\n  ")
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
