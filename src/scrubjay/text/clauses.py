"""What somebody looks for, taken apart: words, beginnings of words, exact phrases, and what must not be there."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from scrubjay.text.folding import fold
from scrubjay.text.identifiers import DOT
from scrubjay.text.scripts import WORD, is_unspaced
from scrubjay.text.tokens import running_terms_of, terms_of
from scrubjay.text.words import IRREGULAR

__all__ = ["Clause", "ParsedSearch", "parse_clauses", "phrase_pattern", "stems_with_prefix"]

# More than these are a text, not a search.
_MOST_CLAUSES = 32
_MOST_TOKENS = 500
_LONGEST_CLAUSE = 300
_MOST_PHRASE_WORDS = 40
_QUOTES = str.maketrans(dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u300c\u300d\u300e\u300f", '"'))
_TOKEN = re.compile(r'(?P<not>(?<!\S)-(?!-))?(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))')
# No word is cut to less.
_SHORTEST_STEM = 3
_SAYS_SOMETHING = re.compile(r"[^\W_]")
# Signs between the words of a phrase: those of Markdown are none of its words.
_BETWEEN = r"[\W_]{1,8}"
_OUTSIDE, _LETTERS = r"(?<![^\W_])", r"[^\W_]*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One thing that is looked for; all of its terms are in whatever has it.

    A word is known by its terms alone, a beginning or a phrase by its pattern in the folded text.
    """

    text: str
    folded: str
    terms: tuple[str, ...] = ()
    # Of a phrase, its terms as they follow each other.
    running: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    is_beginning: bool = False
    # Whether signs are a part of it, as in `c++`: no word of a text by itself is it.
    is_signed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedSearch:
    """What is included, what is not, and what was passed over because it says nothing by itself."""

    included: tuple[Clause, ...] = ()
    excluded: tuple[Clause, ...] = ()
    ignored: tuple[str, ...] = ()
    too_many: bool = False
    words: str = ""
    terms: tuple[str, ...] = field(default=())


def parse_clauses(query: str) -> ParsedSearch:
    """Take a query apart; any text is one, and what is no sign of ours is a word."""
    included: dict[tuple[str, bool, bool], Clause] = {}
    excluded: dict[tuple[str, bool, bool], Clause] = {}
    ignored: list[str] = []
    too_many = False
    seen: set[str] = set()
    for found in _TOKEN.finditer(query.translate(_QUOTES)):
        if found[0] in seen:
            continue
        seen.add(found[0])
        if max(len(included), len(excluded)) > _MOST_CLAUSES or len(seen) > _MOST_TOKENS:
            too_many = True
            break
        several, passed = _read(found)
        ignored += passed
        into = excluded if found["not"] else included
        for clause in several:
            into.setdefault((clause.folded, clause.pattern is None, clause.is_beginning), clause)
    if not included and ignored and not excluded:
        # Nothing but words that every text has: then they are looked for as they stand.
        whole = _phrase(" ".join(ignored))
        included, ignored = {("", False, False): whole} if whole else {}, []
    kept = list(included.values())
    return ParsedSearch(
        included=tuple(kept[:_MOST_CLAUSES]),
        excluded=tuple(list(excluded.values())[:_MOST_CLAUSES]),
        ignored=tuple(dict.fromkeys(ignored)),
        too_many=too_many or len(kept) > _MOST_CLAUSES,
        words=" ".join(clause.text for clause in kept[:_MOST_CLAUSES]),
        terms=tuple(dict.fromkeys(term for clause in kept for term in clause.terms)),
    )


def _read(found: re.Match[str]) -> tuple[list[Clause], list[str]]:
    """The clauses of a token, and what of it says nothing."""
    if found["phrase"] is not None:
        clause = _phrase(found["phrase"][:_LONGEST_CLAUSE])
        return ([clause] if clause else []), []
    raw = found["word"][:_LONGEST_CLAUSE]
    bare = raw.strip("*")
    if not _SAYS_SOMETHING.search(bare) and not terms_of(bare):
        return [], []
    if raw == f"{bare}*":
        clause = _beginning(bare)
        return ([clause] if clause else []), []
    terms = _word_terms(bare)
    if not terms:
        clause = _phrase(bare) if found["not"] else None
        return ([clause], []) if clause else ([], [bare])
    parts = {term for word in WORD.findall(bare) for term in terms_of(word)}
    clause = Clause(
        text=bare,
        folded=fold(bare).strip(".,;:!?()[]{}<>"),
        terms=tuple(dict.fromkeys(terms)),
        is_signed=not parts.issuperset(terms),
    )
    return [clause], []


def _word_terms(word: str) -> tuple[str, ...]:
    """What stands for a word: a version or an address as a whole, else its parts, else signs."""
    terms = terms_of(word)
    return tuple(term for term in terms if DOT in term) or running_terms_of(word) or terms


def _phrase(text: str) -> Clause | None:
    text = " ".join(text.split())
    pattern = phrase_pattern(WORD.findall(fold(text).replace("_", " ")))
    running = running_terms_of(text)
    terms = tuple(dict.fromkeys(running or terms_of(text)))
    if pattern is None:
        # Nothing but signs: those themselves.
        return Clause(text=text, folded=fold(text), terms=terms, pattern=re.compile(re.escape(text))) if text else None
    return Clause(text=text, folded=fold(text), terms=terms, running=running, pattern=pattern)


def _beginning(text: str) -> Clause | None:
    """A word by its first letters; of several that are joined by signs the last."""
    words = WORD.findall(fold(text).replace("_", " "))
    if not words:
        return None
    *before, last = words
    start, rest = ("", "") if is_unspaced(last) else (_OUTSIDE, _LETTERS)
    pattern = re.compile(f"{start}{_joined([*before, last])}{rest}")
    terms = tuple(dict.fromkeys(term for word in before for term in running_terms_of(word)))
    return Clause(text=f"{text}*", folded=last, terms=terms, pattern=pattern, is_beginning=True)


def phrase_pattern(words: Iterable[str]) -> re.Pattern[str] | None:
    """What finds words one after the other in a folded text, whatever signs stand between them."""
    several = [word for word in words if word][:_MOST_PHRASE_WORDS]
    if not several:
        return None
    start = "" if is_unspaced(several[0][:1]) else _OUTSIDE
    end = "" if is_unspaced(several[-1][-1:]) else r"(?![^\W_])"
    return re.compile(f"{start}{_joined(several)}{end}")


def _joined(words: Iterable[str]) -> str:
    return _BETWEEN.join(re.escape(word) for word in words)


def stems_with_prefix(prefix: str) -> tuple[str, ...]:
    """Terms that a word with such a beginning may have become though they do not begin with it.

    Of `runn` that is `run`, of `story` it is `stori`: endings are cut off, and some letters before them change.
    """
    shorter = [prefix[:end] for end in range(_SHORTEST_STEM, len(prefix))]
    irregular = [form for form in IRREGULAR if form.startswith(prefix)]
    return tuple(dict.fromkeys((*terms_of(f"{prefix} {' '.join(irregular)}"), *reversed(shorter))))
