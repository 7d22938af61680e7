"""Claims of a text that must not change or get lost: figures, days, names, addresses, code, negations and states."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import lru_cache

from scrubjay.lazy import dataclass
from scrubjay.text.claims.pieces import (
    ENDS_SENTENCE,
    TextPiece,
    find_days,
    normalize_day,
    normalize_figure,
    normalize_time,
    pieces_of,
)
from scrubjay.text.claims.words import AXES, NEGATING_PREFIXES, NEGATIONS, NEVER_NAMES, NUMBER_WORDS, PLACES

__all__ = ["Claims", "added_claims", "claims_of", "count_extra_figures", "find_differences", "lost_claims"]

_CACHE_SIZE = 2_048
# Thousands of longer texts would fill the memory: they are read again each time.
_MAX_CACHED_TEXT = 1_000
_CACHED_WORDS = 20_000
# So many claims are compared with claims of more or fewer parts: a text with more claims is a list.
_MAX_COMPARED = 100
_WHITE = re.compile(r"\s+")
# The first word of a sentence may be a name or a verb: its first letters must return, in any form.
_STEM = 4
# A negation negates at most so many words after it.
_MAX_NEGATED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """All claims of a text, in order and with repetition, each in a normal form of one or several parts.

    Two claims of a kind agree if one has all parts of the other: `May 2023` with `7 May 2023`. A negation is given by
    the words that it negates. `openings` begin a sentence with a capital letter and may be names. `words` are all words
    in lower case.
    """

    numbers: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()
    negations: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    openings: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


_KINDS = tuple(field.name for field in fields(Claims))
_CLAIMING = frozenset((*NUMBER_WORDS, *NEGATIONS, *AXES))
_LABELS = {
    "numbers": "number", "dates": "date", "versions": "version", "names": "name", "links": "link",
    "identifiers": "identifier", "quotes": "quotation",
}  # fmt: skip


def claims_of(text: str) -> Claims:
    """Return the claims of a text."""
    return _cached_claims(text) if len(text) <= _MAX_CACHED_TEXT else _read_claims(text)


def find_differences(first: Claims, second: Claims) -> tuple[str, ...]:
    """Describe in what two texts contradict each other, or do not mean the same thing.

    More claims in one of them are no difference: each text must have a claim that the other has not.
    """
    differences = [
        f"{label}: {_list_claims(left)} or {_list_claims(right)}"
        for kind, label in _LABELS.items()
        # Most texts have no claims of most kinds; a name may be among the openings.
        if kind == "names" or (getattr(first, kind) and getattr(second, kind))
        for left, right in [_unmatched(first, second, kind)]
        if left and right
    ]
    if len(first.negations) != len(second.negations):
        more = max(first.negations, second.negations, key=len)
        differences.append(f"negation: one says not {more[0]}".rstrip())
    differences += [f"negation: {left} or {right}" for left, right in _negated_by_affix(first, second)]
    differences += [f"state: {left} or {right}" for left, right in _opposite_states(first, second)]
    return tuple(differences) or _different_order(first, second)


def count_extra_figures(first: Claims, second: Claims) -> int:
    """Return how many figures and days only one of two texts has, not counting the figure 1."""
    unmatched = [_unmatched(first, second, kind) for kind in ("numbers", "dates")]
    return sum(claim != "1" for left, right in unmatched if not (left and right) for claim in left or right)


def lost_claims(inputs: Sequence[str], output: str) -> tuple[str, ...]:
    """Describe the claims of the inputs that the output does not have."""
    after = claims_of(output)
    index = _ClaimIndex([output], [after])
    lost = [claim for text in inputs for claim in index.find_missing(claims_of(text))]
    for text in inputs:
        lost += [f"state: {left} became {right}" for left, right in _opposite_states(claims_of(text), after)]
    return tuple(dict.fromkeys(lost))


def added_claims(inputs: Sequence[str], output: str) -> tuple[str, ...]:
    """Describe the claims of the output that none of the inputs has."""
    index = _ClaimIndex(inputs, [claims_of(text) for text in inputs])
    return tuple(dict.fromkeys(index.find_missing(claims_of(output))))


def _read_claims(text: str) -> Claims:
    pieces = pieces_of(text)
    claims: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    words, days = claims["words"], find_days(pieces)
    for at, piece in enumerate(pieces):
        if at in days:
            if days[at]:
                claims["dates"].append(days[at])
        elif piece.kind == "word":
            words.append(piece.low)
            # Most words claim nothing.
            if piece.capital or piece.low in _CLAIMING or piece.low.endswith("n't"):
                _add_word(pieces, at, claims)
        elif piece.kind != "sign":
            for kind, claim in _read_piece(piece):
                claims[kind].append(claim)
    return Claims(**{kind: tuple(its) for kind, its in claims.items()})


@lru_cache(maxsize=_CACHE_SIZE)
def _cached_claims(text: str) -> Claims:
    return _read_claims(text)


def _add_word(pieces: Sequence[TextPiece], at: int, claims: dict[str, list[str]]) -> None:
    piece = pieces[at]
    word = piece.low
    if word in NUMBER_WORDS:
        claims["numbers"].append(NUMBER_WORDS[word])
    if word in NEGATIONS or word.endswith("n't"):
        following = [after.low for after in pieces[at + 1 : at + 8] if after.kind == "word"]
        claims["negations"].append(" ".join([word for word in following if word not in NEVER_NAMES][:_MAX_NEGATED]))
    elif word in AXES:
        claims["states"].append(word)
    if piece.capital and (word not in NEVER_NAMES or (word in PLACES and piece.text.isupper())):
        opens = at == 0 or pieces[at - 1].text in ENDS_SENTENCE
        if not opens or (len(word) > 1 and piece.text.isupper()):
            claims["names"].append(word)
        elif at + 1 == len(pieces) or pieces[at + 1].text != ":":
            # A word before a colon is a heading.
            claims["openings"].append(word)


def _read_piece(piece: TextPiece) -> list[tuple[str, str]]:
    """Return the claims of a piece that is not a plain word."""
    match piece.kind:
        case "number":
            return [normalize_figure(piece.text)]
        case "day":
            return [("dates", normalize_day(piece.text))]
        case "clock":
            return [("dates", normalize_time(piece.text))]
        case "code":
            return [("identifiers", _collapse_space(piece.text.strip("`")))]
        case "quote":
            inner = piece.text.strip("\"'`\u201c\u201d\u00ab\u00bb")
            quoted = claims_of(inner)
            also = [(kind, claim) for kind in ("numbers", "dates", "words") for claim in getattr(quoted, kind)]
            return [("quotes", " ".join(quoted.words) or _collapse_space(inner).casefold()), *also]
        case "versions":
            return [("versions", piece.text.lstrip("v"))]
        case kind:
            return [(kind, piece.text)]


def _collapse_space(text: str) -> str:
    return _WHITE.sub(" ", text).strip()


def _unmatched(first: Claims, second: Claims, kind: str) -> tuple[list[str], list[str]]:
    """Return the claims that only the first text has, and those that only the second has."""
    if kind == "names":
        return _unmatched_names(first, second), _unmatched_names(second, first)
    claims: tuple[str, ...] = getattr(first, kind)
    others: tuple[str, ...] = getattr(second, kind)
    # Most texts have no claims of most kinds.
    if claims == others:
        return [], []
    left, right = _without(claims, others), _without(others, claims)
    for claim in left[:_MAX_COMPARED]:
        agreeing = next((other for other in right[:_MAX_COMPARED] if _agree(claim, other)), None)
        if agreeing is not None:
            left.remove(claim)
            right.remove(agreeing)
    if kind == "quotes":
        # A quotation in one text may be plain words in the other.
        return _not_among(left, second.words), _not_among(right, first.words)
    return left, right


def _without(claims: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return the claims that others do not have as often, equal ones together."""
    if len(claims) <= 1:
        return [claim for claim in claims if claim not in others]
    return list((Counter(claims) - Counter(others)).elements())


def _unmatched_names(claims: Claims, other: Claims) -> list[str]:
    """Return the names that another text does not have as often among its words, not even as initials."""
    counts, matched = _count_roots(other.words), dict[str, int]()
    unmatched: list[str] = []
    for name in (*claims.names, *claims.openings):
        root = _root(name)
        if matched.get(root, 0) < counts.get(root, 0):
            matched[root] = matched.get(root, 0) + 1
        elif len(name) > _STEM or name not in _initials(other):
            unmatched.append(name)
    return unmatched


# Each text is compared with several.
@lru_cache(maxsize=_CACHE_SIZE)
def _count_roots(words: tuple[str, ...]) -> Counter[str]:
    return Counter(map(_root, words))


def _initials(claims: Claims) -> str:
    return "".join(name[0] for name in (*claims.openings, *claims.names)[:_MAX_COMPARED])


def _root(word: str) -> str:
    """Return a name without regard to its form: Syrians belong to Syria."""
    word = PLACES.get(word, word)
    return word[:-1] if len(word) > _STEM and word.endswith("s") else word


def _not_among(quotes: list[str], words: Sequence[str]) -> list[str]:
    unique = set(words)
    return [quote for quote in quotes if not unique.issuperset(quote.split())]


def _agree(claim: str, other: str) -> bool:
    parts, others = set(claim.split()), set(other.split())
    return parts <= others or others <= parts


def _negated_by_affix(first: Claims, second: Claims) -> list[tuple[str, str]]:
    """Return words that one text has plain and the other with a negating affix: legal, illegal."""
    words, others = set(first.words), set(second.words)
    left, right = words - others, others - words
    pairs = [(word, plain) for word in left for plain in _without_affix(word) if plain in right]
    pairs += [(plain, word) for word in right for plain in _without_affix(word) if plain in left]
    return sorted(pairs)


@lru_cache(maxsize=_CACHED_WORDS)
def _without_affix(word: str) -> tuple[str, ...]:
    plain = [word[len(prefix) :] for prefix in NEGATING_PREFIXES if word.startswith(prefix)]
    if word.endswith("less"):
        plain += [word[:-4], f"{word[:-4]}ful"]
    return tuple(form for form in plain if len(form) >= _STEM)


def _opposite_states(first: Claims, second: Claims) -> list[tuple[str, str]]:
    """Return the states in which the texts are at different ends of an axis."""
    if not (first.states and second.states):
        return []
    left, right = _ends_of(first), _ends_of(second)
    return [
        (next(iter(ends.values())), next(iter(right[axis].values())))
        for axis, ends in left.items()
        if axis in right and not (ends.keys() <= right[axis].keys() or right[axis].keys() <= ends.keys())
    ]


def _ends_of(claims: Claims) -> dict[int, dict[int, str]]:
    axes: dict[int, dict[int, str]] = {}
    for word in claims.states:
        axis, end = AXES[word]
        axes.setdefault(axis, {})[end] = word
    return axes


def _different_order(first: Claims, second: Claims) -> tuple[str, ...]:
    """Describe the same words with exchanged names or figures: John helps Maria, Maria helps John."""
    if first.words == second.words and first.numbers == second.numbers:
        return ()
    if len(first.words) != len(second.words) or sorted(first.words) != sorted(second.words):
        return ()
    names = {*first.names, *first.openings, *second.names, *second.openings}
    for left, right in (
        ([word for word in first.words if word in names], [word for word in second.words if word in names]),
        (list(first.numbers), list(second.numbers)),
    ):
        if left != right:
            return (f"order: {_list_claims(left)} or {_list_claims(right)}",)
    return ()


def _list_claims(claims: Sequence[str]) -> str:
    return ", ".join(claims[:3]) or "none"


class _ClaimIndex:
    """The claims of some texts together, to find the claims of another text that they do not have."""

    def __init__(self, texts: Sequence[str], claims: Sequence[Claims]) -> None:
        values = {kind: {value for each in claims for value in getattr(each, kind)} for kind in ("numbers", "dates")}
        # Version 1.2 may be written as the number 1.2.
        values["versions"] = values["numbers"].union(*(each.versions for each in claims))
        self._claims = values
        self._parts = {kind: _index_parts(its) for kind, its in values.items()}
        self._negated = [{word[:_STEM] for word in negation.split()} for each in claims for negation in each.negations]
        self._words = {word for each in claims for word in each.words}
        self._stems = {word[:_STEM] for word in self._words}
        self._exact = _collapse_space("\n".join(texts))
        self._spoken = " ".join(word for each in claims for word in each.words)

    def find_missing(self, claims: Claims) -> list[str]:
        """Describe the claims that are not in the index."""
        missing = [
            f"{_LABELS[kind]}: {claim}"
            for kind in self._claims
            for claim in getattr(claims, kind)
            if not self._has(kind, claim)
        ]
        missing += [f"name: {name}" for name in claims.names if name not in self._words]
        missing += [f"name: {opening}" for opening in claims.openings if opening[:_STEM] not in self._stems]
        for kind in ("links", "identifiers"):
            unique = dict.fromkeys(getattr(claims, kind))
            missing += [f"{_LABELS[kind]}: {claim}" for claim in unique if claim not in self._exact]
        # A quotation without words, such as a figure, is in the text as it is written.
        spoken = (self._spoken, self._exact.casefold())
        quotes = dict.fromkeys(claims.quotes)
        missing += [f"quotation: {quote}" for quote in quotes if not any(quote in text for text in spoken)]
        negations = dict.fromkeys(claims.negations)
        return missing + [f"negation: not {negated}" for negated in negations if not self._negates(negated)]

    def _has(self, kind: str, claim: str) -> bool:
        if claim in self._claims[kind]:
            return True
        parts = self._parts[kind]
        first, *rest = (parts.get(part, frozenset[str]()) for part in claim.split() or [""])
        return bool(first.intersection(*rest))

    def _negates(self, negated: str) -> bool:
        parts = {word[:_STEM] for word in negated.split()}
        return any(not parts or parts & stems for stems in self._negated)


def _index_parts(claims: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the claims that have each part."""
    index: dict[str, set[str]] = {}
    for claim in claims:
        for part in claim.split():
            index.setdefault(part, set()).add(claim)
    return {part: frozenset(its) for part, its in index.items()}
