"""What is remembered and asked: real sentences from files that the user names, else sentences made here."""

import json
import os
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from benchmarks.invented import invented_question, invented_sentence

DATA_VARIABLE = "SCRUBJAY_BENCH_DATA"
SEED = 20
SHORTEST, LONGEST = 25, 400
_TEXT_KEYS = {"text", "content"}
_QUESTION_KEY = "question"
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\s*\n+\s*")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Distinct sentences in random order, questions that are not among them, and where they come from."""

    origin: str
    sentences: tuple[str, ...]
    questions: tuple[str, ...]


def load_corpus(*, sentences: int, questions: int, environment: Mapping[str, str] | None = None) -> Corpus:
    """As many sentences and questions as asked for, the same at every run."""
    named = (os.environ if environment is None else environment).get(DATA_VARIABLE, "")
    paths = [Path(part).expanduser() for part in named.split(os.pathsep) if part]
    source, asking = random.Random(SEED), random.Random(SEED + 1)
    if not paths:
        return Corpus(
            origin=f"sentences made by the benchmark ({DATA_VARIABLE} names none)",
            sentences=_distinct(sentences, lambda: invented_sentence(source)),
            questions=_distinct(questions, lambda: invented_question(asking)),
        )
    real, request = _read(paths)
    source.shuffle(real)
    source.shuffle(request)
    count = len(real)
    if len(request) < questions:
        # Held-out sentences ask for what is near them.
        real, request = real[questions:], request + real[:questions]
    origin = f"{count:,} distinct sentences of {', '.join(path.name for path in paths)}"
    if len(real) < sentences:
        origin += ", and two of them joined where more were needed"
    return Corpus(origin=origin, sentences=_enough(real, sentences, source), questions=tuple(request[:questions]))


def _read(paths: Iterable[Path]) -> tuple[list[str], list[str]]:
    sentences: dict[str, None] = {}
    questions: dict[str, None] = {}
    for path in paths:
        text = path.read_text(encoding="utf-8")
        if path.suffix.lower() != ".json":
            sentences |= dict.fromkeys(_sentences(text))
            continue
        for key, value in _strings(json.loads(text)):
            if key in _TEXT_KEYS:
                sentences |= dict.fromkeys(_sentences(value))
            elif key == _QUESTION_KEY and SHORTEST <= len(value) <= LONGEST:
                questions[value] = None
    return [sentence for sentence in sentences if sentence not in questions], list(questions)


def _strings(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a JSON value, with the key it stands under."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, inner in cast("dict[str, object]", value).items():
            yield from _strings(inner, name)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _strings(inner, key)


def _sentences(text: str) -> Iterator[str]:
    for part in _SENTENCE_END.split(text):
        sentence = _SPACE.sub(" ", part.replace("\x00", " ")).strip()
        if SHORTEST <= len(sentence) <= LONGEST:
            yield sentence


def _enough(real: list[str], count: int, source: random.Random) -> tuple[str, ...]:
    """The real ones first; when they run out, two that somebody might have said together."""
    if len(real) >= count:
        return tuple(real[:count])
    results = dict.fromkeys(real)
    while len(results) < count:
        joined = f"{source.choice(real)} {source.choice(real)}"
        if len(joined) <= LONGEST:
            results[joined] = None
    return tuple(results)


def _distinct(count: int, make: Callable[[], str]) -> tuple[str, ...]:
    results: dict[str, None] = {}
    while len(results) < count:
        results[make()] = None
    return tuple(results)
