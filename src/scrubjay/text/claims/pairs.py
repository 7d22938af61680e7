"""The seam of conflict detection: from two statements and their dates to a label with a probability.

Three things stand behind `judge_pair`: the rules of `compare`, which find values that exclude each other; a small
linear model over a few general features, which finds what is said in other words; and, where it has read both, a
trained model, which adds what the two do not see, and says where they take a repetition for a change. The features
count in every language that `changes.toml` knows: how near the two are in meaning, the words that they share, values of
the same sort that differ, and words by which the newer one says that something has changed.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from difflib import SequenceMatcher
from enum import Enum, StrEnum
from functools import lru_cache

from scrubjay.lazy import dataclass, regex
from scrubjay.model.conflict import ConflictType, DatedStatement, PairShares
from scrubjay.text.claims.compare import SAME, Finding, compare, may_be_duplicate
from scrubjay.text.related_words import related_terms
from scrubjay.text.tokens import running_terms_of
from scrubjay.text.word_lists import WordLists

__all__ = [
    "MAX_TEXT", "Closeness", "DatedStatement", "PairJudgement", "PairLabel", "PairShares", "PastQuestion",
    "are_statements", "asks_about_past", "judge_pair", "may_be_change_or_same", "may_change", "must_differ",
    "value_differences", "words_without_change", "written_pair",
]  # fmt: skip

_LISTS = WordLists("changes")
# As many as the parsed statements that are kept.
_CACHE_SIZE = 4_096
# A longer text is a document, which says too many things to be compared as one.
MAX_TEXT = 800
# From these probabilities on a label is given.
_CHANGES_FROM = 0.5
_SAME_FROM = 0.5
_READ_FROM = 0.6
# From this probability on, what a model calls the same is no change, whatever words for one it has.
_REPEATS_FROM = 0.8
_MAX_SAME_VALUES = 2
# In statements of one pattern, so many words at most stand in a place where others stand.
_MAX_SLOT = 3
_PARALLEL = 0.9
# From this closeness on two words mean the same.
_SYNONYMOUS = 0.75
# Weights of logistic regressions on pairs of development data, rounded. That something changes must be said: without
# such a word, two values that differ are at most a contradiction.
_CHANGE_WEIGHTS = {"closeness": 3.1, "overlap": 6.7, "nearest": 2.5, "clear": 1.5, "new_value": 3.7}
_CHANGE_BIAS = -11.3
_SAME_WEIGHTS = {
    "closeness": 4.5, "overlap": 4.0, "nearest": 2.4, "clear": -4.5, "covered": 2.0, "same_values": 2.0,
}  # fmt: skip
_SAME_BIAS = -11.2
# Beside the log odds of a model that has read both: most of what a memory holds has nothing to do with a new statement,
# however alike the two look to that model, and the nearer they are, the more likely they have. Rounded; found with the
# development parts of lived stories and of our own facts.
_READ_WEIGHTS = {"closeness": 3.5, "nearest": 1.0}
_READ_BIAS = -5.0
_WORD = regex(r"\w+")
_MONTHS = "January February March April May June July August September October November December".split()
_YEAR = regex(r"(?:19|20)\d\d")
_CHAT = frozenset("?!\u00bf\u00a1")
_VALUE = regex(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:[-'\u2019][^\W\d_]+)*")
# A figure in groups of three digits, which languages separate by different signs: 1,800 is 1.800 and 1800.
_GROUPED = regex(r"\d{1,3}(?:[.,]\d{3})+")


# A name, except at the beginning of a sentence; and an identifier, such as a version or a path, which has such a sign.
_NAME = regex(r"(?<=[\w,;] )[A-Z\u00c0-\u00de][\w-]+")
_NAME_OR_IDENTIFIER = regex(rf"{_NAME.pattern}|[\w-]*[\w/_.-]+[/_.:-]\w+")
_IN_IDENTIFIERS = regex(r"[\w/_.-][/_.:-]\w")


class PairLabel(StrEnum):
    """What a statement is to an earlier one."""

    SAME = "same"
    CHANGES = "changes"
    CONTRADICTS = "contradicts"
    COMPATIBLE = "compatible"


class PastQuestion(Enum):
    """Whether a question is about the past: what no longer holds, or perhaps."""

    NO = 0
    PERHAPS = 1
    FORMER = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Closeness:
    """How near two statements are by an embedding model, and where that model's scale begins and ends.

    `same` is the model's cosine for two texts that say the same, `related` the one for two texts of the same topic.
    `is_nearest`: of all that is stored, nothing is nearer to the newer statement.
    """

    cosine: float | None = None
    same: float = SAME
    related: float = 0.0
    is_nearest: bool = False

    def scaled(self, otherwise: float) -> float:
        """Return the cosine on a scale that is the same for all models: 0 is unrelated, 1 says the same."""
        if self.cosine is None or self.same <= self.related:
            return otherwise
        return max(0.0, min(1.2, (self.cosine - self.related) / (self.same - self.related)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PairJudgement:
    """A label with its probability; `finding` is what the rules say of the two, if anything."""

    label: PairLabel
    probability: float
    differs: tuple[str, ...] = ()
    finding: Finding | None = None


def written_pair(older: DatedStatement, newer: DatedStatement) -> tuple[str, str]:
    """Return two statements as such a model reads them, each with what is known of it; the newer one says so."""
    is_later = newer.date > older.date
    return _written(older), ("later " if is_later else "") + _written(newer)


def written(text: str, *, date: datetime, who: str = "") -> str:
    """Return a text as such a model reads it: after its date, and who says it or which project it is of."""
    day = f"({date.day} {_MONTHS[date.month - 1]} {date.year})"
    return " ".join(filter(None, (day, f"{who}:" if who else "", text)))


def _written(statement: DatedStatement) -> str:
    """Return a statement with its date and project; an entity would say too much, as its other facts share it."""
    return written(statement.text, date=statement.date, who=statement.project)


def judge_pair(
    older: DatedStatement, newer: DatedStatement, *, closeness: Closeness, shares: PairShares | None = None
) -> PairJudgement:
    """Return what the newer statement is to the older one; with `shares`, a model has read both."""
    if older.project and newer.project and older.project.casefold() != newer.project.casefold():
        return PairJudgement(label=PairLabel.COMPATIBLE, probability=1.0)
    is_short = max(len(older.text), len(newer.text)) <= MAX_TEXT
    is_sure = shares is not None and shares.replaces >= _PARALLEL
    if is_short and not is_sure and _are_parallel(older.text, newer.text):
        return PairJudgement(label=PairLabel.COMPATIBLE, probability=_PARALLEL)
    by_rules = _judge_by_rules(older, newer, closeness)
    if shares is None:
        return by_rules
    if by_rules.finding is None and by_rules.label is PairLabel.CHANGES:
        is_same = shares.repeats >= _REPEATS_FROM and not must_differ(older.text, newer.text)
        return PairJudgement(label=PairLabel.SAME, probability=round(shares.repeats, 2)) if is_same else by_rules
    if by_rules.finding is not None or by_rules.label is PairLabel.SAME:
        return by_rules
    return _judge_by_model(older.text, newer.text, shares, closeness)


def _judge_by_rules(older: DatedStatement, newer: DatedStatement, closeness: Closeness) -> PairJudgement:
    finding = compare(older.text, newer.text, cosine=closeness.cosine, same=closeness.same)
    if finding is not None and finding.type is ConflictType.DUPLICATE and must_differ(older.text, newer.text):
        finding = None
    features = _features(older.text, newer.text, closeness) if are_statements(older.text, newer.text) else None
    says_so = bool(features and (features["clear"] or features["faint"])) and not _are_two_things(
        older.text, newer.text
    )
    change = _probability(features, _CHANGE_WEIGHTS, _CHANGE_BIAS) if features and says_so else 0.0
    if finding is not None and finding.type is ConflictType.CONTRADICTION:
        label = PairLabel.CHANGES if change >= _CHANGES_FROM else PairLabel.CONTRADICTS
        return PairJudgement(
            label=label, probability=max(change, finding.confidence), differs=finding.differs, finding=finding
        )
    if change >= _CHANGES_FROM:
        differs = value_differences(older.text, newer.text)
        return PairJudgement(label=PairLabel.CHANGES, probability=round(change, 2), differs=differs, finding=finding)
    if finding is not None:
        label = PairLabel.SAME if finding.type is ConflictType.DUPLICATE else PairLabel.COMPATIBLE
        return PairJudgement(label=label, probability=finding.confidence, finding=finding)
    is_same = features is not None and not must_differ(older.text, newer.text)
    same = _probability(features, _SAME_WEIGHTS, _SAME_BIAS) if features and is_same else 0.0
    if same >= _SAME_FROM:
        return PairJudgement(label=PairLabel.SAME, probability=round(same, 2))
    return PairJudgement(label=PairLabel.COMPATIBLE, probability=round(1 - max(change, same), 2))


def _judge_by_model(older: str, newer: str, shares: PairShares, closeness: Closeness) -> PairJudgement:
    """Return the label of a model's probabilities; what says the same must have the same figures, days and names."""
    replaces, repeats = (_read_probability(share, closeness) for share in (shares.replaces, shares.repeats))
    if replaces >= _READ_FROM and not _are_two_things(older, newer):
        says_so = shares.changes >= shares.contradicts and may_change(newer)
        label = PairLabel.CHANGES if says_so else PairLabel.CONTRADICTS
        differs = value_differences(older, newer)
        return PairJudgement(label=label, probability=round(replaces, 2), differs=differs)
    if repeats >= _READ_FROM and not must_differ(older, newer):
        return PairJudgement(label=PairLabel.SAME, probability=round(repeats, 2))
    return PairJudgement(label=PairLabel.COMPATIBLE, probability=round(1 - max(replaces, repeats), 2))


def _read_probability(share: float, closeness: Closeness) -> float:
    """Return how likely a label is by what a model has read and by how near the two are."""
    share = min(max(share, 1e-6), 1 - 1e-6)
    features = {"closeness": closeness.scaled(0.0), "nearest": float(closeness.is_nearest)}
    return _probability(features, _READ_WEIGHTS, _READ_BIAS + math.log(share / (1 - share)))


def must_differ(older: str, newer: str) -> bool:
    """Check whether two statements cannot say the same, however near they are: another value, thing or single word."""
    return bool(value_differences(older, newer)) or _are_two_things(older, newer) or _exchanges_word(older, newer)


def may_be_change_or_same(older: str, newer: str, *, closeness: Closeness) -> bool:
    """Check whether `judge_pair` can find a change or the same: for most pairs it cannot, which is quick to see."""
    # First by what is known of the newer one, which is compared with several: the other's words and values add no more.
    if are_statements(older, newer) and _are_likely(_most_features(newer, closeness)):
        by_words = _word_features(older, newer, closeness)
        if _are_likely(by_words | _most_by_values(newer)) and _are_likely(by_words | _value_features(older, newer)):
            return True
    return may_be_duplicate(older, newer, cosine=closeness.cosine, same=closeness.same)


def may_change(text: str) -> bool:
    """Check whether a statement has a word for a change."""
    return any(_change_words(text[:MAX_TEXT]))


def words_without_change(text: str) -> list[str]:
    """Return the words of a text without those for a change, so that they can be compared with what was said before."""
    # First the single words: the verb of "is now" stays.
    for phrases in (_FAINT, _CLEAR):
        if phrases.may_be_among(_WORD.findall(_plain(text))):
            text = phrases.pattern.sub(" ", text)
    return _WORD.findall(text)


def asks_about_past(question: str) -> PastQuestion:
    """Tell whether a question is about what is no longer so, or at least in the past tense."""
    plain = _plain(question[:MAX_TEXT])
    if _FORMER.pattern.search(plain):
        return PastQuestion.FORMER
    if not _PAST_TENSE.pattern.search(plain):
        return PastQuestion.NO
    return PastQuestion.FORMER if _BOUNDED.pattern.search(plain) else PastQuestion.PERHAPS


def are_statements(*texts: str) -> bool:
    """Check that texts are short and state something: a turn of a chat that asks or exclaims is none."""
    return all(map(_is_statement, texts))


@lru_cache(maxsize=_CACHE_SIZE)
def _is_statement(text: str) -> bool:
    return 0 < len(text) <= MAX_TEXT and _CHAT.isdisjoint(text)


def _probability(features: dict[str, float], weights: dict[str, float], bias: float) -> float:
    return 1 / (1 + math.exp(-bias - sum([weight * features[name] for name, weight in weights.items()])))


def _are_likely(features: dict[str, float]) -> bool:
    """Check whether a change or the same is as likely as not."""
    if (features["clear"] or features["faint"]) and (
        _probability(features, _CHANGE_WEIGHTS, _CHANGE_BIAS) >= _CHANGES_FROM
    ):
        return True
    return _probability(features, _SAME_WEIGHTS, _SAME_BIAS) >= _SAME_FROM


def _word_features(older: str, newer: str, closeness: Closeness) -> dict[str, float]:
    terms, new_terms = _terms(older), _terms(newer)
    return _features_of_overlap(len(terms & new_terms) / max(1, min(len(terms), len(new_terms))), newer, closeness)


def _most_features(newer: str, closeness: Closeness) -> dict[str, float]:
    return _features_of_overlap(1.0, newer, closeness) | _most_by_values(newer)


def _features_of_overlap(overlap: float, newer: str, closeness: Closeness) -> dict[str, float]:
    clear, faint = _change_words(newer)
    return {
        "closeness": closeness.scaled(overlap),
        "nearest": float(closeness.is_nearest),
        "overlap": overlap,
        "clear": float(clear),
        "faint": float(faint),
    }


def _features(older: str, newer: str, closeness: Closeness) -> dict[str, float]:
    return _word_features(older, newer, closeness) | _value_features(older, newer)


def _value_features(older: str, newer: str) -> dict[str, float]:
    values, new_values = _values(older), _values(newer)
    return {
        "new_value": float(bool(new_values.all - values.all)),
        "covered": float(new_values.numbers <= values.numbers and new_values.days <= values.days),
        "same_values": min(
            _MAX_SAME_VALUES, len(values.numbers & new_values.numbers) + len(values.days & new_values.days)
        ),
    }


@lru_cache(maxsize=64)
def _most_by_values(newer: str) -> dict[str, float]:
    """Return the most that the values of a newer statement can add, whatever those of the older one are."""
    values = _values(newer)
    return {
        "new_value": float(bool(values.all)),
        "covered": 1.0,
        "same_values": min(_MAX_SAME_VALUES, len(values.numbers) + len(values.days)),
    }


@dataclass(frozen=True, slots=True)
class _Values:
    numbers: frozenset[str]
    days: frozenset[str]
    months: frozenset[str]
    names: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        return self.numbers | self.days | self.names


# One statement is compared with several in a row.
@lru_cache(maxsize=_CACHE_SIZE)
def _change_words(text: str) -> tuple[bool, bool]:
    """Tell whether a text has a clear word for a change, and a faint one."""
    plain = _plain(text)
    words = set(_WORD.findall(plain))
    return _CLEAR.is_in(plain, words), _FAINT.is_in(plain, words)


@lru_cache(maxsize=_CACHE_SIZE)
def _values(text: str) -> _Values:
    values: list[str] = _VALUE.findall(text.casefold())
    tokens = [_NUMBERS.get(token, token) for token in values]
    names = _NAME_OR_IDENTIFIER if _IN_IDENTIFIERS.search(text) else _NAME
    return _Values(
        frozenset(_plain_figure(token) for token in tokens if token[0].isdigit()),
        frozenset(_DAYS[token] for token in tokens if token in _DAYS),
        frozenset(_MONTH_NAMES[token] for token in tokens if token in _MONTH_NAMES),
        frozenset(map(str.casefold, names.findall(text))),
    )


def _plain_figure(token: str) -> str:
    figure = token.lstrip("0") or "0"
    return figure.replace(",", "").replace(".", "") if _GROUPED.fullmatch(figure) else figure


@lru_cache(maxsize=_CACHE_SIZE)
def _terms(text: str) -> frozenset[str]:
    """Return the terms of what a statement is about: without figures, days and words of change."""
    plain = _plain(text)
    about = _CLEAR.pattern.sub(" ", plain) if _CLEAR.may_be_among(_WORD.findall(plain)) else plain
    return frozenset(term for term in running_terms_of(about) if not term[0].isdigit())


def _are_two_things(older: str, newer: str) -> bool:
    """Check for words that tell things of a kind apart, such as staging and production, and for events of two years."""
    words, new_words = set(_WORD.findall(_plain(older))), set(_WORD.findall(_plain(newer)))
    for alternatives in _ALTERNATIVES:
        ours, theirs = words & alternatives, new_words & alternatives
        if ours and theirs and ours.isdisjoint(theirs):
            return True
    years, new_years = ({word for word in those if _YEAR.fullmatch(word)} for those in (words, new_words))
    return bool(years and new_years) and years.isdisjoint(new_years)


def _exchanges_word(older: str, newer: str) -> bool:
    """Check whether one word has another in its place, where all else is the same: staging, production."""
    words, new_words = words_without_change(older), words_without_change(newer)
    if len(words) == len(new_words):
        older, newer = " ".join(words), " ".join(new_words)
    terms, new_terms = _terms(older), _terms(newer)
    left, right = tuple(terms - new_terms), tuple(new_terms - terms)
    if len(left) != 1 or len(right) != 1:
        return False
    closeness = (dict(related_terms(left[0])).get(right[0], 0.0), dict(related_terms(right[0])).get(left[0], 0.0))
    return max(closeness) < _SYNONYMOUS


def _are_parallel(older: str, newer: str) -> bool:
    """Check whether two statements of one pattern are about two things: the gym closes on Mondays, the pool on Fridays.

    A change has another value in one place. Where two places differ, and one of them is no figure or day, it is
    another subject that has another value.
    """
    words, new_words = words_without_change(_plain(older)), words_without_change(_plain(newer))
    slots: list[tuple[list[str], list[str]]] = []
    for tag, start, end, new_start, new_end in SequenceMatcher(None, words, new_words, autojunk=False).get_opcodes():
        place = words[start:end], new_words[new_start:new_end]
        if tag == "equal":
            continue
        if tag != "replace" or max(map(len, place)) > _MAX_SLOT:
            return False
        slots.append(place)
    changed = sum(len(place) for place, _ in slots)
    has_subject = any(not all(map(_is_value, (*place, *new_place))) for place, new_place in slots)
    return len(slots) > 1 and has_subject and 2 * changed <= len(words)


def _is_value(word: str) -> bool:
    return word[0].isdigit() or word in _DAYS or word in _NUMBERS


def value_differences(older: str, newer: str) -> tuple[str, ...]:
    """Describe the values of the same sort that differ."""
    values, new_values = _values(older), _values(newer)
    kinds = (
        ("number", values.numbers, new_values.numbers),
        ("day", values.days, new_values.days),
        ("month", values.months, new_values.months),
    )
    return tuple(
        f"{kind}: {', '.join(sorted(first - second))} or {', '.join(sorted(second - first))}"
        for kind, first, second in kinds
        if first - second and second - first
    )


@lru_cache(maxsize=1_024)
def _plain(text: str) -> str:
    return " ".join(text.casefold().replace("\u2019", "'").split())


@dataclass(frozen=True, slots=True)
class _Phrases:
    """Phrases as a pattern, and by the longest word of each: without any of these, quick to see, none is there."""

    pattern: re.Pattern[str]
    by_word: Mapping[str, re.Pattern[str]]
    # Of each of these phrases, a part that is in every text with it.
    parts: Mapping[str, tuple[str, ...]]

    def may_be_among(self, words: Iterable[str]) -> bool:
        return not self.by_word.keys().isdisjoint(words)

    def is_in(self, plain: str, words: AbstractSet[str]) -> bool:
        for word in self.by_word.keys() & words:
            # Letters of other scripts may be equal only where case does not count.
            may_be_in = not plain.isascii() or any(part in plain for part in self.parts[word])
            if may_be_in and self.by_word[word].search(plain):
                return True
        return False


def _read_phrases(name: str) -> _Phrases:
    """Compile a list of phrases; a star stands for one word."""
    phrases = [" ".join(phrase.split()) for phrase in _LISTS.text(name).split("/")]
    phrases = [phrase for phrase in phrases if phrase]
    by_word: defaultdict[str, list[str]] = defaultdict(list)
    for phrase in phrases:
        by_word[max(_WORD.findall(phrase), key=len)].append(phrase)
    parts = {word: tuple([max(each.split("*"), key=len) for each in having]) for word, having in by_word.items()}
    return _Phrases(_any_of(phrases), {word: _any_of(having) for word, having in by_word.items()}, parts)


def _any_of(phrases: Iterable[str]) -> re.Pattern[str]:
    patterns = [re.escape(phrase).replace(r"\*", r"\w+") for phrase in phrases]
    return regex(rf"(?<!\w)(?:{'|'.join(sorted(patterns, key=len, reverse=True))})(?!\w)", re.IGNORECASE)


def _read_lines(name: str) -> dict[str, str]:
    """Return the first word of the line of each word, and of its plural, in which each part may have an s."""
    lines = [line.split() for line in _LISTS.lines(name)]
    return {
        form: words[0]
        for words in lines
        for word in words
        for form in (word, f"{word}s", f"{word.replace('-', 's-')}s")
    }


_CLEAR, _FAINT = _read_phrases("clear"), _read_phrases("faint")
_FORMER, _PAST_TENSE, _BOUNDED = (_read_phrases(name) for name in ("former", "past_tense", "bounded"))
_DAYS, _MONTH_NAMES = _read_lines("weekdays"), _read_lines("months")
_ALTERNATIVES = tuple(frozenset(line.split()) for line in _LISTS.lines("alternatives"))
_NUMBERS = {
    word: str(number)
    for line in _LISTS.lines("numbers")
    for number, word in enumerate(line.split(), 2)
}  # fmt: skip
