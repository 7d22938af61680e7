"""What somebody said, sentence by sentence, and why some of it is no fact."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from scrubjay.extraction import german
from scrubjay.text.claims.statements import statements_of
from scrubjay.text.fact_words import PLAIN_GERMAN, SHOWN_BY, shown_by
from scrubjay.text.tokens import STOP_WORDS

__all__ = ["ORDER", "Sentence", "rejection_reason", "split_sentences"]

ORDER = "order"
# What is longer is a document that somebody pasted.
_LONGEST = 600
_FEWEST_WORDS = 3
_NO_SENTENCE = ">|#`<{$"
# So many words at the beginning may be a reaction, and the rest still tells nothing.
_FEW_WORDS = 6
_PLAIN = STOP_WORDS | PLAIN_GERMAN
_WORD = re.compile(r"[\w']+")
_QUOTED = re.compile(r"\"[^\"\n]*\"|\u201c[^\u201d\n]*\u201d|\u00ab[^\u00bb\n]*\u00bb")
_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_MARK = re.compile(r"\s*(?:[-*+\u2022]|\d{1,3}[.)])\s+")
_MARKUP = re.compile(r"\*\*|__")
_WHITE = re.compile(r"\s+")
_SENTENCE_END = re.compile(r"[.!?\u2026][\"')\]]?(\s+)(?=[^a-z\s,;:)\]])")
_SHORTENED = re.compile(r"\b(?:Mrs?|Ms|Dr|St|[A-Z]|e\.g|z\. ?B)\.$")
_LONGEST_SHORTENED = 5
# What may stand behind a question mark.
_CLOSING = " \"')]*!."
# A question that was written without its sign.
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
    rf"|\bi don't know\b|\bno idea\b|\bnot certain\b|{german.HEDGE}"
)
_HYPOTHETICAL = re.compile(
    r"^(?:and |but |so |even )?(?:if|suppose|imagine|assuming|what if|unless) "
    r"|\bif (?:i|we|you|he|she|they|it) (?:were|was|had|could|would|ever|won|got|did)\b"
    r"|\b(?:would|'d) be (?:so |really |very )?(?:nice|great|cool|good|fun|awesome|amazing|lovely|better|ideal|"
    r"interesting)\b"
    r"|\b(?:i|we) wish\b|\b(?:i|we) (?:would|could|should|might) have\b|\b(?:i|we)'d have\b|\bif only\b"
    rf"|{german.HYPOTHETICAL}"
)
_REPORTED = re.compile(
    r"(?!(?:i|we|my|our)\b)(?:\w+ ){1,4}?(?:says?|said|claims?|claimed|told me|tells me|thinks|believes|asked|wrote)"
    rf"(?: that)? (?:i|we|he|she|they|it|you)\b|{german.REPORTED}"
)
# So many words, and then another clause.
_SAID_BEFORE = re.compile(r"(?:\S+ ){5,}?(?:but|so|and|though|although|which)\b")
_POLITE = re.compile(
    r"(?:please|can you|could you|would you|will you|i(?:'d| would) like you to|i (?:want|need) you to|"
    rf"let's see|let me|{german.POLITE})\b"
)
# What is to hold from now on is more than one order.
_STANDING = re.compile(
    r"\b(?:always|never|ever|from now on|every time|in future|in the future|going forward|remember|immer|nie|niemals|"
    r"ab jetzt|ab sofort|von nun an|in zukunft)\b"
)


class Sentence(NamedTuple):
    """One sentence: its text in one line, that in lower case without what it quotes, its words and what they show.

    `length` is how many words it has, `opens` what the first of them shows, `content` are those that say something by
    themselves.
    """

    text: str
    low: str
    words: set[str]
    length: int
    shows: set[str]
    opens: tuple[str, ...]
    content: set[str]
    # Whether the speaker tells of himself or herself, alone or with others; whether it is about whoever is spoken to.
    is_own: bool
    to_other: bool

    @property
    def points_back(self) -> bool:
        """Whether it needs what stands before it to be understood."""
        return "back" in self.opens


def split_sentences(text: str, *, asked: bool = True) -> Iterator[Sentence]:
    """The sentences of a turn; code, tables and what is quoted line by line are none. Questions come if `asked`."""
    for statement in _statements(text):
        if len(statement) > _LONGEST or statement[0] in _NO_SENTENCE or (statement[-1] == "?" and not asked):
            continue
        low = statement.replace("\u2019", "'").lower()
        if '"' in low or "\u201c" in low or "\u00ab" in low:
            low = _QUOTED.sub("", low)
        words = _WORD.findall(low)
        if words:
            known = set(words)
            shows = shown_by(known)
            own = "first" in shows or "plural" in shows
            opens = SHOWN_BY.get(words[0], ())
            yield Sentence(statement, low, known, len(words), shows, opens, known - _PLAIN, own, "second" in shows)


def rejection_reason(said: Sentence) -> str:
    """Why a sentence states no fact, in a word; empty for one that may."""
    low, shows, opens = said.low, said.shows, said.opens
    if low.rstrip(_CLOSING).endswith("?") or (low[-1] not in ".!" and _ASKS.match(low)):
        return "question"
    if said.length < _FEWEST_WORDS and not said.is_own:
        return "small talk" if low == said.text.lower() else "quotation"
    if "guess" in shows and _is_all(_HEDGE.search(low)):
        return "hedge"
    if "case" in shows and _is_all(_HYPOTHETICAL.search(low)):
        return "hypothetical"
    if "reports" in shows and "first" not in opens and _REPORTED.match(low):
        return "quotation"
    if _is_order(said):
        return ORDER
    return "small talk" if _is_small_talk(said) else ""


def _statements(text: str) -> Iterator[str]:
    if "\n" not in text and "`" not in text and "*" not in text:
        # The common case: one line of plain words.
        yield from filter(None, map(str.strip, _sentences(text)))
        return
    for statement in statements_of(_CODE.sub("\n", text)):
        mark = _MARK.match(statement)
        plain = _WHITE.sub(" ", _MARKUP.sub("", statement[mark.end() if mark else 0 :])).strip()
        if plain:
            yield plain


def _sentences(line: str) -> Iterator[str]:
    start = 0
    for end in _SENTENCE_END.finditer(line):
        at = end.start() + 1
        if not _SHORTENED.search(line, max(start, at - _LONGEST_SHORTENED), at):
            yield line[start : end.start(1)]
            start = end.end()
    yield line[start:]


def _is_all(found: re.Match[str] | None) -> bool:
    """Whether what makes a guess of a sentence makes one of all of it: something may have been said before."""
    return found is not None and not _SAID_BEFORE.match(found.string, 0, found.start())


def _is_order(said: Sentence) -> bool:
    if "standing" in said.shows and _STANDING.search(said.low):
        return False
    return ("polite" in said.opens and bool(_POLITE.match(said.low))) or (
        "imperative" in said.opens and not said.is_own
    )


def _is_small_talk(said: Sentence) -> bool:
    """Whether it only reacts, greets or thanks."""
    reacts = "praise" in said.opens or "greeting" in said.opens or "thanks" in said.opens
    if reacts and not said.is_own and said.length <= _FEW_WORDS:
        return True
    return "thanks" in said.opens and said.length <= 2 * _FEW_WORDS and "first" not in said.shows
