"""What a text claims that must not be changed or lost: figures, days, names, addresses, code, negations and states."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache

from scrubjay.text.claims.claim_words import AFFIXES, AXES, NEGATIONS, NEVER_NAMES, NUMBER_WORDS, PLACES
from scrubjay.text.claims.days import find_days, normalize_day, normalize_time
from scrubjay.text.claims.pieces import ENDS_SENTENCE, TextPiece, normalize_figure, pieces_of

__all__ = ["Claims", "added_claims", "claims_of", "count_extra_figures", "find_differences", "lost_claims"]

_REMEMBERED = 512
# What is longer is read anew each time: kept by the hundred, it would fill the memory of the machine.
_LONGEST_REMEMBERED = 4_000
# So many claims are looked at for one that has more or fewer parts: who lists more of them, lists them.
_MOST_MATCHED = 100
_WHITE = re.compile(r"\s+")
# A word that opens a sentence may be a name or a verb: its beginning must come back, in any form.
_STEM = 4
# So many words after a negation may be what it negates.
_REACH = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """All that a text claims, in its order and as often as it says it, each in a normal form of one or several parts.

    Of two claims of a kind one agrees with the other if it has all its parts: `May 2023` with `7 May 2023`.
    A negation is what it negates. `openings` begin a sentence with a capital letter: names, perhaps. `words` are all
    words in lower case.
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


_KINDS = {
    "numbers": "number", "dates": "date", "versions": "version", "names": "name", "links": "link",
    "identifiers": "identifier", "quotes": "quotation",
}  # fmt: skip


def claims_of(text: str) -> Claims:
    """What a text claims."""
    return _remembered_claims_of(text) if len(text) <= _LONGEST_REMEMBERED else _claims_of(text)


def _claims_of(text: str) -> Claims:
    pieces = pieces_of(text)
    found: dict[str, list[str]] = {field.name: [] for field in fields(Claims)}
    days = find_days(pieces)
    for at, piece in enumerate(pieces):
        if at in days:
            if days[at]:
                found["dates"].append(days[at])
        elif piece.kind == "word":
            _take_word(pieces, at, piece, found)
        elif piece.kind != "sign":
            for kind, claim in _read(piece):
                found[kind].append(claim)
    return Claims(**{kind: tuple(claims) for kind, claims in found.items()})


@lru_cache(maxsize=_REMEMBERED)
def _remembered_claims_of(text: str) -> Claims:
    return _claims_of(text)


def find_differences(first: Claims, second: Claims) -> tuple[str, ...]:
    """In what two texts cannot both be right, or do not mean the same thing; in words for people.

    That one claims more than the other is no difference: each of them must have what the other has not.
    """
    found = [
        f"{name}: {_told(left)} or {_told(right)}"
        for kind, name in _KINDS.items()
        for left, right in [_apart(first, second, kind)]
        if left and right
    ]
    if len(first.negations) != len(second.negations):
        more = max(first.negations, second.negations, key=len)
        found.append(f"negation: one says not {more[0]}".rstrip())
    found += [f"negation: {one} or {other}" for one, other in _affixed(first, second)]
    found += [f"state: {one} or {other}" for one, other in _opposite(first, second)]
    return tuple(found) or _in_other_order(first, second)


def count_extra_figures(first: Claims, second: Claims) -> int:
    """How many figures and days one of two texts has besides; that there is one of something says nothing."""
    apart = [_apart(first, second, kind) for kind in ("numbers", "dates")]
    return sum(claim != "1" for left, right in apart if not (left and right) for claim in left or right)


def lost_claims(inputs: Sequence[str], output: str) -> tuple[str, ...]:
    """What the inputs claim and the output does not, in words for people."""
    after = claims_of(output)
    told = _Told([output], [after])
    found = [miss for text in inputs for miss in told.misses(claims_of(text))]
    found += [f"state: {one} became {other}" for text in inputs for one, other in _opposite(claims_of(text), after)]
    return tuple(dict.fromkeys(found))


def added_claims(inputs: Sequence[str], output: str) -> tuple[str, ...]:
    """What the output claims and none of the inputs does, in words for people."""
    told = _Told(inputs, [claims_of(text) for text in inputs])
    return tuple(dict.fromkeys(told.misses(claims_of(output))))


def _take_word(pieces: Sequence[TextPiece], at: int, piece: TextPiece, found: dict[str, list[str]]) -> None:
    word = piece.low
    found["words"].append(word)
    if word in NUMBER_WORDS:
        found["numbers"].append(NUMBER_WORDS[word])
    if word in NEGATIONS or word.endswith("n't"):
        found["negations"].append(" ".join(_next_words(pieces, at)))
    elif word in AXES:
        found["states"].append(word)
    if piece.capital and (word not in NEVER_NAMES or (word in PLACES and piece.text.isupper())):
        opens = at == 0 or pieces[at - 1].text in ENDS_SENTENCE
        if not opens or (len(word) > 1 and piece.text.isupper()):
            found["names"].append(word)
        elif at + 1 == len(pieces) or pieces[at + 1].text != ":":
            # What stands before a colon is a heading.
            found["openings"].append(word)


def _next_words(pieces: Sequence[TextPiece], at: int) -> list[str]:
    following = [piece.low for piece in pieces[at + 1 : at + 8] if piece.kind == "word"]
    return [word for word in following if word not in NEVER_NAMES][:_REACH]


def _read(piece: TextPiece) -> list[tuple[str, str]]:
    """The claims of a piece that is not a plain word."""
    match piece.kind:
        case "number":
            return [normalize_figure(piece.text)]
        case "day":
            return [("dates", normalize_day(piece.text))]
        case "clock":
            return [("dates", normalize_time(piece.text))]
        case "code":
            return [("identifiers", _plain(piece.text.strip("`")))]
        case "quote":
            inner = piece.text.strip("\"'`\u201c\u201d\u00ab\u00bb")
            within = claims_of(inner)
            also = [(kind, one) for kind in ("numbers", "dates", "words") for one in getattr(within, kind)]
            return [("quotes", " ".join(within.words) or _plain(inner).casefold()), *also]
        case "versions":
            return [("versions", piece.text.lstrip("v"))]
        case kind:
            return [(kind, piece.text)]


def _plain(text: str) -> str:
    return _WHITE.sub(" ", text).strip()


def _apart(first: Claims, second: Claims, kind: str) -> tuple[list[str], list[str]]:
    """What only the first and what only the second claims."""
    if kind == "names":
        return _names_apart(first, second)
    claims: tuple[str, ...] = getattr(first, kind)
    its: tuple[str, ...] = getattr(second, kind)
    # Most texts claim nothing of most kinds.
    if claims == its:
        return [], []
    mine, others = Counter(claims), Counter(its)
    left, right = list((mine - others).elements()), list((others - mine).elements())
    for claim in left[:_MOST_MATCHED]:
        other = next((one for one in right[:_MOST_MATCHED] if _agree(claim, one)), None)
        if other is not None:
            left.remove(claim)
            right.remove(other)
    if kind == "quotes":
        # What is a quotation in one text may be plain words in the other.
        left, right = _unsaid(left, second.words), _unsaid(right, first.words)
    return left, right


def _names_apart(first: Claims, second: Claims) -> tuple[list[str], list[str]]:
    left, right = (_without([*one.names, *one.openings], other) for one, other in ((first, second), (second, first)))
    return left, right


def _without(names: list[str], other: Claims) -> list[str]:
    """The names that do not stand among the words of another text as often, not even shortened."""
    rest = Counter(map(_root, other.words))
    initials = "".join(name[0] for name in (*other.openings, *other.names)[:_MOST_MATCHED])
    apart: list[str] = []
    for name in names:
        root = _root(name)
        if rest[root] > 0:
            rest[root] -= 1
        elif len(name) > _STEM or name not in initials:
            apart.append(name)
    return apart


def _root(word: str) -> str:
    """A name whatever its form: the Syrians are of Syria."""
    word = PLACES.get(word, word)
    return word[:-1] if len(word) > _STEM and word.endswith("s") else word


def _unsaid(quotes: list[str], words: Sequence[str]) -> list[str]:
    said = set(words)
    return [quote for quote in quotes if not said.issuperset(quote.split())]


def _agree(one: str, other: str) -> bool:
    parts, others = set(one.split()), set(other.split())
    return parts <= others or others <= parts


def _affixed(first: Claims, second: Claims) -> list[tuple[str, str]]:
    """The words that one text has and the other with a negation before or after them: legal, illegal."""
    mine, others = set(first.words), set(second.words)
    left, right = mine - others, others - mine
    found = [(word, plain) for word in left for plain in _without_affix(word) if plain in right]
    found += [(plain, word) for word in right for plain in _without_affix(word) if plain in left]
    return sorted(found)


def _without_affix(word: str) -> list[str]:
    plain = [word[len(affix) :] for affix in AFFIXES if word.startswith(affix)]
    if word.endswith("less"):
        plain += [word[:-4], f"{word[:-4]}ful"]
    return [one for one in plain if len(one) >= _STEM]


def _opposite(first: Claims, second: Claims) -> list[tuple[str, str]]:
    """The states in which one text is at one end and the other at another."""
    left, right = _ends(first), _ends(second)
    return [
        (next(iter(ends.values())), next(iter(right[axis].values())))
        for axis, ends in left.items()
        if axis in right and not (ends.keys() <= right[axis].keys() or right[axis].keys() <= ends.keys())
    ]


def _ends(claims: Claims) -> dict[int, dict[int, str]]:
    found: dict[int, dict[int, str]] = {}
    for word in claims.states:
        axis, end = AXES[word]
        found.setdefault(axis, {})[end] = word
    return found


def _in_other_order(first: Claims, second: Claims) -> tuple[str, ...]:
    """The same words, but of others: John helps Maria, Maria helps John."""
    if first.words == second.words and first.numbers == second.numbers:
        return ()
    if sorted(first.words) != sorted(second.words):
        return ()
    names = {*first.names, *first.openings, *second.names, *second.openings}
    for left, right in (
        ([word for word in first.words if word in names], [word for word in second.words if word in names]),
        (list(first.numbers), list(second.numbers)),
    ):
        if left != right:
            return (f"order: {_told(left)} or {_told(right)}",)
    return ()


def _told(claims: Sequence[str]) -> str:
    return ", ".join(claims[:3]) or "none"


class _Told:
    """What some texts tell together, asked whether it has what another claims."""

    def __init__(self, texts: Sequence[str], claims: Sequence[Claims]) -> None:
        told = {kind: {one for each in claims for one in getattr(each, kind)} for kind in ("numbers", "dates")}
        # Version 1.2 is written 1.2, too.
        told["versions"] = told["numbers"].union(*(each.versions for each in claims))
        self._claims = told
        # Of claims of several parts each part, and in which of them it stands.
        self._parts = {kind: _by_part(known) for kind, known in told.items()}
        self._negated = [{word[:_STEM] for word in negation.split()} for each in claims for negation in each.negations]
        self._words = {word for each in claims for word in each.words}
        self._stems = {word[:_STEM] for word in self._words}
        self._exact = _plain("\n".join(texts))
        self._spoken = " ".join(word for each in claims for word in each.words)

    def misses(self, claims: Claims) -> list[str]:
        """What of some claims is not told, in words for people."""
        found = [
            f"{_KINDS[kind]}: {one}"
            for kind in self._claims
            for one in getattr(claims, kind)
            if not self._has(kind, one)
        ]
        found += [f"name: {name}" for name in claims.names if name not in self._words]
        found += [f"name: {opening}" for opening in claims.openings if opening[:_STEM] not in self._stems]
        found += [
            f"{_KINDS[kind]}: {fromkey}"
            for kind in ("links", "identifiers")
            for fromkey in dict.fromkeys(getattr(claims, kind))
            if fromkey not in self._exact
        ]
        found += [f"quotation: {fromkey}" for fromkey in dict.fromkeys(claims.quotes) if fromkey not in self._spoken]
        return found + [
            f"negation: not {fromkey}" for fromkey in dict.fromkeys(claims.negations) if not self._negates(fromkey)
        ]

    def _has(self, kind: str, claim: str) -> bool:
        if claim in self._claims[kind]:
            return True
        parts = self._parts[kind]
        first, *rest = (parts.get(part, frozenset[str]()) for part in claim.split() or [""])
        return bool(first.intersection(*rest))

    def _negates(self, negated: str) -> bool:
        parts = {word[:_STEM] for word in negated.split()}
        return any(not parts or parts & one for one in self._negated)


def _by_part(claims: Iterable[str]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for claim in claims:
        for part in claim.split():
            found.setdefault(part, set()).add(claim)
    return {part: frozenset(its) for part, its in found.items()}
