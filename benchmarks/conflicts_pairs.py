"""Pairs of statements: contradictions, paraphrases, and unrelated ones."""

import csv
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import cast

from benchmarks.writing_swaps import KINDS, made_facts, names_in, swaps_of
from benchmarks.writing_swaps import made_pairs as made_paraphrases

__all__ = ["AT_LEAST", "AT_MOST", "Pair", "facts_in", "made_pairs", "pairs_of_facts", "paraphrases_in"]

AT_LEAST = dict.fromkeys(KINDS, 0.8)
AT_MOST = 0.05
_SEED = 7
_UNRELATED = "unrelated"
_DUPLICATE = 4.5
_STS_COLUMNS = 7
# Words that can replace each other in any sentence about people.
_SYNONYMS = {
    "kids": "children", "enjoys": "likes", "started": "began", "bought": "purchased", "grateful": "thankful",
    "talked": "spoke", "amazing": "wonderful", "big": "large", "finished": "completed", "assists": "helps",
    "attended": "went to", "photo": "picture", "is planning to": "plans to", "glad": "happy", "job": "work",
    "wants to": "would like to", "helped": "assisted", "mentions that": "says that", "loves": "adores",
}  # fmt: skip
_MONTH = "January|February|March|April|June|July|August|September|October|November|December"
_NEAR = r"(?:last|next|this) (?:week|month|year|weekend|summer|winter|\w+day)"
_WHEN = rf"{_NEAR}|yesterday|recently|in (?:{_MONTH})(?: \d{{4}})?"
_TIME = re.compile(rf"^(?P<what>[A-Z].+?),? (?P<when>{_WHEN})\.$")
_DONE = r"(?P<did>\w+ed|made|bought|built|won) (?P<what>(?:a|an|the) \w+(?: \w+)?)"
_ACTIVE = re.compile(rf"^(?P<who>[A-Z]\w+) {_DONE}(?P<rest> (?:for|in|at|with|on) .+)?\.$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two statements and their kind: the changed detail, or the reason why they do not contradict each other."""

    kind: str
    first: str
    second: str


def facts_in(file: Path) -> list[str]:
    """Return the distinct facts of LoCoMo's conversations, grouped by speaker."""
    conversations = cast("list[dict[str, dict[str, dict[str, list[list[str]]]]]]", json.loads(file.read_bytes()))
    rows = [
        (number, speaker, fact[0])
        for number, conversation in enumerate(conversations)
        for session in conversation["observation"].values()
        for speaker, facts in session.items()
        for fact in facts
    ]
    return list(dict.fromkeys(fact for _, _, fact in sorted(rows)))


def made_pairs() -> Iterator[Pair]:
    """Generate all kinds of pairs without data."""
    yield from (Pair(kind="paraphrase, judged", first=text, second=other) for text, other in made_paraphrases())
    facts = made_facts()
    yield from (pair for pair in pairs_of_facts(facts) if not pair.kind.startswith(_UNRELATED))
    # Of one person only: the facts of the others are the same.
    same = [fact for fact in facts if facts[0].split()[0] in fact]
    yield from (pair for pair in pairs_of_facts(same) if pair.kind.startswith(_UNRELATED))


def pairs_of_facts(facts: Sequence[str]) -> Iterator[Pair]:
    """Pair facts with a changed copy, with random other facts, and with a paraphrase."""
    random, names = Random(_SEED), names_in(facts)
    for kind in KINDS:
        for fact in facts:
            for changed, text in swaps_of(fact, names=names, random=random):
                if changed == kind and text != fact:
                    yield Pair(kind=kind, first=fact, second=text)
    for place, fact in enumerate(facts):
        yield Pair(
            kind=f"{_UNRELATED}, by chance", first=fact, second=random.choice([*facts[:place], *facts[place + 1 :]])
        )
        same = [
            other
            for other in facts[max(0, place - 60) : place + 60]
            if other != fact and other.split()[0] == fact.split()[0]
        ]
        if same:
            yield Pair(kind=f"{_UNRELATED}, same speaker", first=fact, second=random.choice(same))
        for text in _in_other_words(fact):
            yield Pair(kind="paraphrase, mechanical", first=fact, second=text)


def paraphrases_in(sts: Path | None, mrpc: Path | None) -> Iterator[Pair]:
    """Read the pairs that people have judged to say the same."""
    if sts is not None:
        rows = [line.split("\t") for line in sts.read_text(encoding="utf-8").splitlines()]
        for row in rows:
            if len(row) >= _STS_COLUMNS and float(row[4]) >= _DUPLICATE:
                yield Pair(kind="paraphrase, judged (STS)", first=row[5], second=row[6])
    if mrpc is not None:
        with mrpc.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                if row["label"] == "1":
                    yield Pair(kind="paraphrase, news (MRPC)", first=row["sentence1"], second=row["sentence2"])


def _in_other_words(fact: str) -> Iterator[str]:
    """Paraphrase a fact: one word replaced, its time first, in the passive voice, and shortened."""
    for word, other in _SYNONYMS.items():
        for old, new in ((word, other), (other, word)):
            if re.search(rf"\b{old}\b", fact):
                yield re.sub(rf"\b{old}\b", new, fact, count=1)
    if match := _TIME.match(fact):
        yield f"{match['when'].capitalize()}, {match['what']}."
    if match := _ACTIVE.match(fact):
        what = match["what"][0].upper() + match["what"][1:]
        yield f"{what} was {match['did']} by {match['who']}{match['rest'] or ''}."
    for long, short in (
        (" is not ", " isn't "),
        (" does not ", " doesn't "),
        (" did not ", " didn't "),
        ("'s ", " is "),
    ):
        if long in fact and (long != "'s " or re.match(r"(?:It|He|She|There)'s ", fact)):
            yield fact.replace(long, short, 1)
