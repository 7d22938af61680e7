"""Sentences of a turn, the classes of words in each, why a sentence states no fact, and its subject."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from scrubjay.extraction.explicit_patterns import (
    GERMAN_HEDGE,
    GERMAN_HYPOTHETICAL,
    GERMAN_POLITE,
    GERMAN_REPORTED,
)
from scrubjay.text.claims.statements import statements_of
from scrubjay.text.tokens import PAST_TENSE, STOP_WORDS
from scrubjay.text.word_lists import WordLists

__all__ = [
    "DATA", "FACT_WORDS", "ORDER", "PRAISE", "Sentence", "attribute_to", "rejection_reason", "split_sentences",
    "subject_of",
]  # fmt: skip

DATA = Path(__file__).parent / "data"
FACT_WORDS = WordLists("fact_words", folder=DATA)
ORDER = "order"
# A longer sentence is a document that was pasted.
_MAX_LENGTH = 600
_MIN_WORDS = 3
_NO_SENTENCE = ">|#`<{$"
# A reaction of so many words says nothing else.
_FEW_WORDS = 6
_PLAIN = STOP_WORDS | FACT_WORDS.words("plain_german")
_WORD = re.compile(r"[\w']+")
_QUOTED = re.compile(r"\"[^\"\n]*\"|\u201c[^\u201d\n]*\u201d|\u00ab[^\u00bb\n]*\u00bb")
_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_MARK = re.compile(r"\s*(?:[-*+\u2022]|\d{1,3}[.)])\s+")
_MARKUP = re.compile(r"\*\*|__")
_SENTENCE_END = re.compile(r"[.!?\u2026][\"')\]]?(\s+)(?=[^a-z\s,;:)\]])")
_ABBREVIATION = re.compile(r"\b(?:Mrs?|Ms|Dr|St|[A-Z]|e\.g|z\. ?B)\.$")
_MAX_ABBREVIATION = 5
# Signs that may follow a question mark.
_CLOSING = " \"')]*!."
# A question without a question mark.
_ASKS = re.compile(
    r"(?:so |and |but |ok |okay |hey )?(?:what|when|where|who|why|how|which|do|does|did|is|are|can|could|would|will|"
    r"should"
    r"|have|has|any) (?:about|is|are|you|your|the|i|we|it|there|that|this|do|does|did|if|to)\b"
)
_HEDGE = re.compile(
    r"\b(?:i|we)(?:'m| am|'re| are)? (?:(?:think|guess|suppose|believe) (?:i|we) )?(?:just |also |still )?(?:might|may|"
    r"could|would maybe|should probably|not sure|unsure|guess|wonder|suppose)\b"
    r"|^(?:\w+ )?(?:maybe|perhaps|possibly|probably|hopefully|presumably)\b"
    r"|\b(?:i|we)(?:'ll|'d| will| would)? (?:maybe|perhaps|possibly|probably)\b|\bi(?:'m| am) not (?:so |really |"
    r"entirely )?sure\b"
    rf"|\bi don't know\b|\bno idea\b|\bnot certain\b|{GERMAN_HEDGE}"
)
_HYPOTHETICAL = re.compile(
    r"^(?:and |but |so |even )?(?:if|suppose|imagine|assuming|what if|unless) "
    r"|\bif (?:i|we|you|he|she|they|it) (?:were|was|had|could|would|ever|won|got|did)\b"
    r"|\b(?:would|'d) be (?:so |really |very )?(?:nice|great|cool|good|fun|awesome|amazing|lovely|better|ideal|"
    r"interesting)\b"
    r"|\b(?:i|we) wish\b|\b(?:i|we) (?:would|could|should|might) have\b|\b(?:i|we)'d have\b|\bif only\b"
    rf"|{GERMAN_HYPOTHETICAL}"
)
_REPORTED = re.compile(
    r"(?!(?:i|we|my|our)\b)(?:\w+ ){1,4}?(?:says?|said|claims?|claimed|told me|tells me|thinks|believes|asked|wrote)"
    rf"(?: that)? (?:i|we|he|she|they|it|you)\b|{GERMAN_REPORTED}"
)
# Some words, and then another clause.
_EARLIER_CLAUSE = re.compile(r"(?:\S+ ){5,}?(?:but|so|and|though|although|which)\b")
_POLITE = re.compile(
    r"(?:please|can you|could you|would you|will you|i(?:'d| would) like you to|i (?:want|need) you to|"
    rf"let's see|let me|{GERMAN_POLITE})\b"
)
# An instruction that holds from now on is a requirement, not a single order.
_LASTING = re.compile(
    r"\b(?:always|never|ever|from now on|every time|in future|in the future|going forward|remember|immer|nie|niemals|"
    r"ab jetzt|ab sofort|von nun an|in zukunft)\b"
)


def _read_classes() -> dict[str, frozenset[str]]:
    """Return the words of each class, English and German together."""
    tables = [FACT_WORDS.table("english"), {"past": " ".join(PAST_TENSE)}, FACT_WORDS.table("german")]
    classes: dict[str, frozenset[str]] = {}
    for table in tables:
        for name, words in table.items():
            classes[name] = classes.get(name, frozenset()) | frozenset(words.split())
    return classes


_CLASSES = _read_classes()
PRAISE = frozenset(FACT_WORDS.table("english")["praise"].split())
# The classes of each word.
_CLASSES_OF = {
    word: tuple(name for name, words in _CLASSES.items() if word in words)
    for word in frozenset[str]().union(*_CLASSES.values())
}
_CLASSIFIED = frozenset(_CLASSES_OF)


class Sentence(NamedTuple):
    """One sentence: its text in one line, the same in lower case without quotations, and its words.

    `length` is its number of words, `shows` the classes of its words, `opens` those of the first one, and `content` its
    words without function words.
    """

    text: str
    low: str
    words: set[str]
    length: int
    shows: set[str]
    opens: tuple[str, ...]
    content: set[str]
    # Whether it is about the speaker, alone or with others; whether it is about the person spoken to.
    is_own: bool
    to_other: bool

    @property
    def points_back(self) -> bool:
        """Whether it needs the sentence before it to be understood."""
        return "back" in self.opens


def split_sentences(text: str, *, questions: bool = True) -> Iterator[Sentence]:
    """Return the sentences of a turn, without code, tables and quoted lines; questions only if wanted."""
    for statement in _split_statements(text):
        if len(statement) > _MAX_LENGTH or statement[0] in _NO_SENTENCE or (statement[-1] == "?" and not questions):
            continue
        low, is_ascii = statement.lower(), statement.isascii()
        if not is_ascii:
            low = low.replace("\u2019", "'")
        if '"' in low or (not is_ascii and ("\u201c" in low or "\u00ab" in low)):
            low = _QUOTED.sub("", low)
        words = [low] if low.isalpha() else _WORD.findall(low)
        if words:
            unique = set(words)
            shows = set[str]()
            for word in unique & _CLASSIFIED:
                shows.update(_CLASSES_OF[word])
            own = "first" in shows or "plural" in shows
            opens = _CLASSES_OF.get(words[0], ())
            yield Sentence(
                statement, low, unique, len(words), shows, opens, unique - _PLAIN, own, "second" in shows
            )  # fmt: skip


def rejection_reason(sentence: Sentence) -> str:
    """Return why a sentence states no fact, in a word; empty if it may state one."""
    low, shows, opens = sentence.low, sentence.shows, sentence.opens
    if low.rstrip(_CLOSING).endswith("?") or (low[-1] not in ".!" and _ASKS.match(low)):
        return "question"
    if sentence.length < _MIN_WORDS and not sentence.is_own:
        return "small talk" if low == sentence.text.lower() else "quotation"
    if "guess" in shows and _covers_sentence(_HEDGE.search(low)):
        return "hedge"
    if "case" in shows and _covers_sentence(_HYPOTHETICAL.search(low)):
        return "hypothetical"
    if "reports" in shows and "first" not in opens and _REPORTED.match(low):
        return "quotation"
    if _is_order(sentence):
        return ORDER
    return "small talk" if _is_small_talk(sentence) else ""


def _split_statements(text: str) -> Iterator[str]:
    if "\n" not in text and "`" not in text and "*" not in text:
        # The common case: one line of plain words.
        yield from filter(None, map(str.strip, _split_line(text)))
        return
    for statement in statements_of(_CODE.sub("\n", text)):
        if statement.isalnum():
            yield statement
            continue
        mark = None if statement[0].isalpha() else _MARK.match(statement)
        bare = statement[mark.end() :] if mark else statement
        plain = " ".join((_MARKUP.sub("", bare) if "**" in bare or "__" in bare else bare).split())
        if plain:
            yield plain


def _split_line(line: str) -> Iterator[str]:
    start = 0
    for end in _SENTENCE_END.finditer(line):
        at = end.start() + 1
        if not _ABBREVIATION.search(line, max(start, at - _MAX_ABBREVIATION), at):
            yield line[start : end.start(1)]
            start = end.end()
    yield line[start:]


def _covers_sentence(match: re.Match[str] | None) -> bool:
    """Return whether a guess covers the whole sentence: a clause before it may state a fact."""
    return match is not None and not _EARLIER_CLAUSE.match(match.string, 0, match.start())


def _is_order(sentence: Sentence) -> bool:
    if "standing" in sentence.shows and _LASTING.search(sentence.low):
        return False
    return ("polite" in sentence.opens and bool(_POLITE.match(sentence.low))) or (
        "imperative" in sentence.opens and not sentence.is_own
    )


def _is_small_talk(sentence: Sentence) -> bool:
    """Return whether a sentence only reacts, greets or thanks."""
    reacts = "praise" in sentence.opens or "greeting" in sentence.opens or "thanks" in sentence.opens
    if reacts and not sentence.is_own and sentence.length <= _FEW_WORDS:
        return True
    return "thanks" in sentence.opens and sentence.length <= 2 * _FEW_WORDS and "first" not in sentence.shows


# A sentence that begins with a word of one of these classes begins with no name.
_NO_NAMES = frozenset(("praise", "greeting", "time", "imperative", "back", "family"))
# Adverbs before the verb.
_ADVERBS = r"(?:(?:now|currently|also|still|always|usually|never|just|recently|no longer) )*"
_NAMED = re.compile(
    r"(?:(?:The|A|An|This|That|Our|Their|Der|Die|Das) )?((?:[A-Z][\w&'.-]*[\w]|[A-Z]{2,})(?: (?:[A-Z][\w&'.-]*[\w]|"
    rf"[A-Z]))*)(?:'s)? {_ADVERBS}([a-z]+)",
)
_THING = re.compile(
    rf"(?:the|this|that|our|their|each|every|all) ((?:[\w.-]+ ){{0,2}}?[\w.-]+) {_ADVERBS}"
    r"(?:is|are|was|were|has|have|had|uses?|used|runs?|must|should|needs?|will|can|cannot|can't|went|got|works?|lives?|"
    r"goes|supports?|requires?|moved|failed|broke|starts?|started|ends?|ended)\b"
)
_VERBS = frozenset("is are was were has had does will can must should went got works lives likes loves prefers".split())


def subject_of(sentence: Sentence, *, speaker: str) -> str:
    """Return the subject of a sentence: its speaker in the first person, else a name or a thing, else its speaker."""
    if sentence.is_own:
        return speaker
    named = _NAMED.match(sentence.text)
    if named and _is_name(named[1]) and (named[2] in PAST_TENSE or named[2] in _VERBS or named[2].endswith("s")):
        return named[1]
    thing = _THING.match(sentence.low)
    return thing[1] if thing else speaker


def attribute_to(speaker: str, text: str) -> str:
    """Return a text with its speaker, so that it can be understood alone."""
    return f"{speaker}: {text}" if speaker else text


def _is_name(text: str) -> bool:
    low = text.lower()
    plain = low in STOP_WORDS or low.endswith("ing") or not _NO_NAMES.isdisjoint(_CLASSES_OF.get(low, ()))
    return not plain or " " in text
