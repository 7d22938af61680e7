"""What the pair model learns from: two statements and what one does to the other, a question and whether texts answer.

Both are written alike: a date, who or what it is about and the project stand before a text, as far as they are known.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Dataset

from training.batches import BatchPlan, BatchSource
from training.corpus import Corpus, tokenizer
from training.data import FACTS, read_facts
from training.forms import NAMES
from training.teacher import Pair, PairChunk, chunk_pairs

Tensor = Any
LABELS = ("same", "more", "changes", "contradicts", "near", "unrelated")
"""What the later of two statements does to the earlier one; the last two are one class for who merges."""

MAX_FIRST = 127
"""The tokens of a pair's first text; the second has what is left of 256."""

_SAME, _MORE, _DIFFERENT = ("same",), ("same", "more"), ("changes", "contradicts", "near", "unrelated")
_BOTH_HOLD, _REPLACES = ("near", "unrelated"), ("changes", "contradicts")
# Statements of different rows that are less alike than this do not speak of one fact.
_FAR = 0.58
_NEIGHBOURS = 24
_SAME_PLACE, _NEAREST = 8, 96
_LONGER_SHARE = 0.2
_CHUNK_TOKENS = 16_384
_SUBJECT_SHARE, _PROJECT_SHARE, _DATE_SHARE = 0.3, 0.8, 0.8
_STATUS_SHARE, _UNMARKED_SHARE, _SPEAKER_SHARE = 0.6, 0.4, 0.15
_DUPLICATE, _DISTINCT, _UNRELATED = 0.9, 0.6, 0.2
_NUMBER = re.compile(r"\d+")
# Words of which one may stand in the other's place: the statement then says something else.
_EXCHANGED = tuple(
    tuple(words.split())
    for words in (
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
        "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
        "lunes martes miércoles jueves viernes sábado domingo",
        "January February March April May June July August September October November December",
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "staging production development",
        "north south east west",
        "red green blue black white yellow",
        "before after",
        "minimum maximum",
        "always never",
        "morning evening",
        "enabled disabled",
        "allowed forbidden",
        "can cannot",
        "two three four five six seven eight nine ten",
        "zwei drei vier fünf sechs sieben acht neun zehn",
        " ".join(NAMES),
    )
)
_OTHERS = {word: words for words in _EXCHANGED for word in words}
_WORD = re.compile(r"[^\W\d_]+")
_VERB = re.compile(r"\b(is|are|was|has|does|will|should|must|ist|sind|wird|est|es|è|é)\b")
_NEGATION = re.compile(r"\b(not|n't|nicht|pas|no|non|não|niet|never|nie) ?")


@dataclass(frozen=True, slots=True)
class Statement:
    """A text and what is known of it; `mark` is "later" or "former" where the product knows that."""

    text: str
    date: str = ""
    about: str = ""
    project: str = ""
    mark: str = ""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Statement":
        """Read a statement of the facts."""
        return cls(row["text"], row["date"], row["subject"], row["project"])

    @property
    def written(self) -> str:
        """The text as the model reads it."""
        names = " | ".join(filter(None, (self.about, self.project)))
        shown = f"({written_date(self.date)})" if self.date else ""
        return " ".join(filter(None, (self.mark, shown, f"{names}:" if names else "", self.text)))


@dataclass(frozen=True, slots=True)
class Judged:
    """Two statements and the labels that are possible."""

    first: Statement
    second: Statement
    labels: tuple[str, ...]
    shows_project: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, what answers it, and what does not with the reason."""

    question: Statement
    answers: tuple[Statement, ...]
    others: tuple[tuple[Statement, str], ...]


def written_date(iso: str) -> str:
    """Return 2025-02-21 as 21 February 2025."""
    day = date.fromisoformat(iso[:10])
    return f"{day.day} {day:%B} {day.year}"


def two_statements(first: Statement, second: Statement) -> tuple[str, str]:
    """Return what the model reads of two statements: the later one says so."""
    if first.date[:10] == second.date[:10] or not first.date or not second.date:
        return first.written, second.written
    is_later = first.date > second.date
    return replace(first, mark="later" * is_later).written, replace(second, mark="later" * (not is_later)).written


def is_development(row: Mapping[str, Any]) -> bool:
    """Say whether a row of the facts is for choosing and calibrating: neither trained on nor kept aside."""
    own = row["question"] if "question" in row else row["a"]["text"]
    project = row["a"]["project"] if "a" in row else row["project"]
    return hashlib.sha256((project or own).encode()).digest()[0] % 10 == 1


def fact_rows(folder: Path, kind: str, part: str) -> list[dict[str, Any]]:
    """Return the rows of a part: `train`, `development`, or `kept-aside`."""
    if part == "kept-aside":
        return list(read_facts(folder, kind, kept_aside=True))
    wanted = part == "development"
    return [row for row in read_facts(folder, kind, kept_aside=False) if is_development(row) == wanted]


def swapped(text: str, random: np.random.Generator) -> str | None:
    """Return the text with another number, day, name or the opposite: what must never be merged with it."""
    ways = [way for way in (_other_number, _other_word, _negated) if way(text, random)]
    return ways[int(random.integers(len(ways)))](text, random) if ways else None


def _other_number(text: str, random: np.random.Generator) -> str | None:
    found = list(_NUMBER.finditer(text))
    if not found:
        return None
    match = found[int(random.integers(len(found)))]
    digits = list(match[0])
    place = int(random.integers(len(digits)))
    digits[place] = str((int(digits[place]) + int(random.integers(1, 10))) % 10)
    return text[: match.start()] + "".join(digits) + text[match.end() :]


def _other_word(text: str, random: np.random.Generator) -> str | None:
    found = [match for match in _WORD.finditer(text) if match[0] in _OTHERS]
    if not found:
        return None
    match = found[int(random.integers(len(found)))]
    others = [word for word in _OTHERS[match[0]] if word != match[0]]
    return text[: match.start()] + others[int(random.integers(len(others)))] + text[match.end() :]


def _negated(text: str, _random: np.random.Generator) -> str | None:
    if _NEGATION.search(text):
        return _NEGATION.sub("", text, count=1)
    return _VERB.sub(r"\1 not", text, count=1) if _VERB.search(text) else None


class FactData:
    """The facts to train on, with the neighbours of each statement by an encoder's vectors."""

    def __init__(self, folder: Path, part: str = "train") -> None:
        self.pairs = [
            Judged(Statement.of(row["a"]), Statement.of(row["b"]), (row["label"],), row["label"] == "near")
            for row in fact_rows(folder, "pairs", part)
        ]
        self.asked = [_asked(row) for row in fact_rows(folder, "questions", part)]
        self.lookalikes = [
            Judged(
                answer, other, _REPLACES if why in {"outdated", "former"} else _BOTH_HOLD, shows_project=True
            )
            for each in self.asked
            for answer in each.answers
            for other, why in each.others
        ]  # fmt: skip
        of_pairs = {statement for pair in self.pairs for statement in (pair.first, pair.second)}
        of_questions = {
            statement for each in self.asked for statement in (*each.answers, *(other for other, _ in each.others))
        }
        self.statements = sorted(of_pairs | of_questions, key=lambda each: (each.text, each.date, each.project))
        self.neighbours: list[Judged] = []
        self.same_place: list[Judged] = []
        self.beside_changes: list[Judged] = []
        self._changing = {
            each for pair in self.pairs if pair.labels == ("changes",) for each in (pair.first, pair.second)
        }
        self._rows = _rows_of(self.pairs, self.asked)
        self.near_questions: list[list[int]] = [[] for _ in self.asked]

    def add_neighbours(self, statements: NDArray[np.float32], questions: NDArray[np.float32]) -> None:
        """Find what is near each statement and each question and has nothing to do with it, by their vectors."""
        for number, row in enumerate(statements @ statements.T):
            first = self.statements[number]
            for other in _nearest(row, _NEIGHBOURS):
                if number < other and _are_apart(first, self.statements[other]):
                    self.neighbours.append(Judged(first, self.statements[other], _BOTH_HOLD, shows_project=True))
            # What a store mostly has beside a new statement: other facts of the same project, near in meaning or not.
            near = sorted(_nearest(row, _NEAREST), key=lambda other: -row[other])
            others = [
                other
                for other in near
                if row[other] < _FAR and self._rows[first].isdisjoint(self._rows[self.statements[other]])
            ]
            for other in others[:_SAME_PLACE]:
                second = replace(self.statements[other], project=first.project)
                pair = Judged(first, second, _BOTH_HOLD)
                self.same_place.append(pair)
                # What says that something has changed says so of one thing only.
                if first in self._changing or self.statements[other] in self._changing:
                    self.beside_changes.append(pair)
        for number, row in enumerate(questions @ statements.T):
            question = self.asked[number].question
            near = [each for each in _nearest(row, _NEIGHBOURS) if _are_apart(question, self.statements[each])]
            self.near_questions[number] = near


def _nearest(cosines: NDArray[np.float32], count: int) -> list[int]:
    return np.argpartition(-cosines, min(count, len(cosines) - 1))[:count].tolist()


def _rows_of(pairs: Sequence[Judged], asked: Sequence[Asked]) -> dict[Statement, set[int]]:
    """Return the rows of the facts in which each statement occurs."""
    rows = [(pair.first, pair.second) for pair in pairs]
    rows += [(*each.answers, *(other for other, _ in each.others)) for each in asked]
    found: dict[Statement, set[int]] = {}
    for number, statements in enumerate(rows):
        for statement in statements:
            found.setdefault(statement, set()).add(number)
    return found


def _asked(row: Mapping[str, Any]) -> Asked:
    return Asked(
        Statement(row["question"], row["asked"], "", row["project"]),
        tuple(Statement.of(fact) for fact in row["answers"]),
        tuple((Statement.of(fact), str(fact["why"])) for fact in row["lookalikes"]),
    )


def _are_apart(first: Statement, second: Statement) -> bool:
    return bool(first.project and second.project and first.project != second.project)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairPlan:
    """How many of each kind a batch has."""

    seed: int
    steps: int
    lists: int = 24
    texts: int = 8
    fact_lists: int = 8
    facts: int = 20
    lookalikes: int = 12
    neighbours: int = 8
    same_place: int = 24
    beside_changes: int = 20
    swaps: int = 20
    triples: int = 16
    scored: int = 12


@dataclass(slots=True, kw_only=True)
class PairBatch:
    """Pairs in chunks: first those with labels, then the texts of each question, all of one count.

    `possible` has a column for each label, `weights` how much a row counts. Of the lists, `answers` says what answers,
    `counted` what counts at all, and `scores` has a teacher's, NaN where there is none.
    """

    chunks: list[PairChunk]
    order: Tensor
    possible: Tensor
    weights: Tensor
    answers: Tensor
    counted: Tensor
    scores: Tensor

    def to(self, device: str) -> "PairBatch":
        """Move all but the chunks, which move one by one."""
        moved = {name: getattr(self, name).to(device) for name in ("order", "possible", "weights", "answers")}
        return PairBatch(chunks=self.chunks, counted=self.counted.to(device), scores=self.scores.to(device), **moved)


@dataclass(slots=True)
class _TextList:
    pairs: list[Pair]
    answers: list[bool]
    counted: list[bool]
    scores: list[float]


class PairSource(Dataset[PairBatch]):
    """The batches by number: a batch depends on the seed and its number alone."""

    def __init__(self, corpus: Corpus, facts: FactData, plan: PairPlan) -> None:
        self._corpus, self._facts, self._plan = corpus, facts, plan
        drawn = BatchPlan(seed=plan.seed, steps=plan.steps, blocks=1, block=plan.lists, negatives=plan.texts - 1)
        self._groups = BatchSource(corpus, drawn)
        self._public = [number for number, name in enumerate(corpus.sources) if str(name) != FACTS]
        self._scored = np.flatnonzero(corpus.pair_source != FACTS)

    def __len__(self) -> int:
        return self._plan.steps

    def __getitem__(self, number: int) -> PairBatch:
        random = np.random.default_rng([self._plan.seed, 11, number])
        judged = [*self._own(random), *self._public_pairs(random)]
        lists = [self._public_list(random) for _ in range(self._plan.lists)]
        lists += [self._fact_list(random) for _ in range(self._plan.fact_lists)]
        pairs = [pair for pair, _, _ in judged] + [pair for each in lists for pair in each.pairs]
        chunks, order = chunk_pairs(pairs, max_first=MAX_FIRST, tokens=_CHUNK_TOKENS)
        possible = [[label in labels for label in LABELS] for _, labels, _ in judged]
        return PairBatch(
            chunks=chunks,
            order=order,
            possible=torch.tensor(possible),
            weights=torch.tensor([weight for _, _, weight in judged]),
            answers=torch.tensor([each.answers for each in lists]),
            counted=torch.tensor([each.counted for each in lists]),
            scores=torch.tensor([each.scores for each in lists], dtype=torch.float32),
        )

    def _own(self, random: np.random.Generator) -> list[tuple[Pair, tuple[str, ...], float]]:
        plan, facts = self._plan, self._facts
        kinds = ((facts.pairs, plan.facts, 1.0), (facts.lookalikes, plan.lookalikes, 0.5))
        kinds = (*kinds, (facts.neighbours, plan.neighbours, 0.5), (facts.same_place, plan.same_place, 0.5))
        kinds = (*kinds, (facts.beside_changes, plan.beside_changes, 0.5))
        chosen = [(each, weight) for of, count, weight in kinds for each in _choose(of, count, random)]
        longer = [(self._longer(each, random), weight) for each, weight in chosen]
        rows = [(self._varied(each, random), each.labels, weight) for each, weight in longer]
        for each in _choose(facts.pairs, plan.swaps, random):
            # Both of a pair that says the same, or a text and itself: only what was swapped differs.
            second = each.second if each.labels == _SAME and random.random() < 0.6 else each.first
            text = swapped(second.text, random)
            labels = _SAME if text is None else _DIFFERENT
            pair = Judged(each.first, replace(second, text=text or second.text, date=each.second.date), labels)
            rows.append((self._varied(pair, random), labels, 0.7))
        return rows

    def _public_pairs(self, random: np.random.Generator) -> list[tuple[Pair, tuple[str, ...], float]]:
        corpus, rows = self._corpus, list[tuple[Pair, tuple[str, ...], float]]()
        for triple in random.integers(max(1, len(corpus.triples) // 3), size=self._plan.triples).tolist():
            texts = [corpus.triples[3 * triple + place] for place in range(3)]
            rows += [((texts[0], texts[1]), _MORE, 0.3), ((texts[0], texts[2]), _DIFFERENT, 0.3)]
        for pair in random.choice(self._scored, size=self._plan.scored).tolist():
            labels = scored_labels(str(corpus.pair_source[pair]), float(corpus.pair_score[pair]))
            if labels:
                rows.append(((corpus.pairs[2 * pair], corpus.pairs[2 * pair + 1]), labels, 0.5))
        return [
            (pair if random.random() < 0.5 else (pair[1], pair[0]), labels, weight) for pair, labels, weight in rows
        ]

    def _varied(self, pair: Judged, random: np.random.Generator) -> Pair:
        """Write a pair in one of its forms: either order, and only some of what is known."""
        left_out = dict[str, str]()
        if random.random() >= _SUBJECT_SHARE:
            left_out["about"] = ""
        if not pair.shows_project and random.random() >= _PROJECT_SHARE:
            left_out["project"] = ""
        if random.random() >= _DATE_SHARE:
            left_out["date"] = ""
        both = [replace(each, **left_out) for each in (pair.first, pair.second)]
        if random.random() < 0.5:
            both.reverse()
        first, second = two_statements(*both)
        return tokens_of(first), tokens_of(second)

    def _longer(self, pair: Judged, random: np.random.Generator) -> Judged:
        """Let one of the two say something else too, in some of the draws: what is stored often says two things."""
        if random.random() >= _LONGER_SHARE:
            return pair
        more = self._facts.statements[int(random.integers(len(self._facts.statements)))].text
        both = [pair.first, pair.second]
        place = int(random.integers(2))
        text = both[place].text
        both[place] = replace(both[place], text=f"{text} {more}" if random.random() < 0.5 else f"{more} {text}")
        labels = ("more",) if pair.labels in {("same",), ("more",)} else pair.labels
        if pair.labels == ("more",):
            labels = ("more", "near", "unrelated")
        return Judged(both[0], both[1], labels, pair.shows_project)

    def _public_list(self, random: np.random.Generator) -> _TextList:
        drawn = self._groups.draw_from(self._public, random)
        question = drawn.question[1:-1]
        count = len(drawn.texts)
        counted = [place == 0 or text != drawn.ids[0] for place, text in enumerate(drawn.ids)]
        pairs: list[Pair] = [(question, text[1:-1]) for text in drawn.texts]
        return _TextList(pairs, [place == 0 for place in range(count)], counted, drawn.scores)

    def _fact_list(self, random: np.random.Generator) -> _TextList:
        facts, count = self._facts, self._plan.texts
        number = int(random.integers(len(facts.asked)))
        asked = facts.asked[number]
        shows_status, shows_date = random.random() < _STATUS_SHARE, random.random() < _DATE_SHARE
        is_past = any(why == "former" for _, why in asked.others)
        chosen: list[tuple[Statement, bool]] = []
        if asked.answers:
            answer = asked.answers[int(random.integers(len(asked.answers)))]
            chosen.append((replace(answer, mark="former" if shows_status and is_past else ""), True))
        for other, why in asked.others:
            mark = "former" if shows_status and why == "outdated" else ""
            # Which of two was replaced is not seen in one of them alone.
            if why not in {"outdated", "former"} or shows_status or random.random() < _UNMARKED_SHARE:
                chosen.append((replace(other, mark=mark), False))
        near = facts.near_questions[number]
        while len(chosen) < count:
            any_ = int(random.integers(len(facts.statements)))
            other = facts.statements[near[int(random.integers(len(near)))] if near and random.random() < 0.7 else any_]
            chosen.append((other, other in asked.answers))
        left_out = {"about": ""} if shows_date else {"about": "", "date": ""}
        question = tokens_of(replace(asked.question, **left_out).written)
        texts = [tokens_of(self._told(replace(each, **left_out), random).written) for each, _ in chosen[:count]]
        answers = [is_answer for _, is_answer in chosen[:count]]
        return _TextList([(question, text) for text in texts], answers, [True] * count, [float("nan")] * count)

    def _told(self, statement: Statement, random: np.random.Generator) -> Statement:
        if random.random() >= _SPEAKER_SHARE:
            return statement
        return replace(statement, about=NAMES[int(random.integers(len(NAMES)))])


def scored_labels(source: str, score: float) -> tuple[str, ...]:
    """Return the labels that people's score of likeness leaves possible."""
    if source == "paws":
        return _MORE if score > 0.5 else _DIFFERENT
    if score >= _DUPLICATE:
        return _SAME
    if score <= _UNRELATED:
        return _BOTH_HOLD
    return LABELS[1:] if score <= _DISTINCT else ()


def _choose(rows: Sequence[Judged], count: int, random: np.random.Generator) -> list[Judged]:
    return [rows[number] for number in random.integers(len(rows), size=count).tolist()] if rows else []


@lru_cache(maxsize=200_000)
def tokens_of(text: str) -> NDArray[np.int64]:
    """Return the tokens of a text, without those that stand around it."""
    return np.array(_wordpiece().encode(text)[1:-1], dtype=np.int64)


@lru_cache(maxsize=1)
def _wordpiece() -> Any:
    return tokenizer()
