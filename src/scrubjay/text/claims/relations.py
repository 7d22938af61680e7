"""Relations that have one value at a time: where somebody lives, whom they work for, what they like best."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from scrubjay.text.claims.normalize import normalize_statement
from scrubjay.text.claims.opposites import OTHERS, is_quality, opposite
from scrubjay.text.claims.pairing import clash, lies_in, same_name
from scrubjay.text.claims.reading import DATE, LABEL, NUMBER, WORD, StatementToken, parse_statement
from scrubjay.text.claims.relation_patterns import CHANGED, ENDED, HELD, IN_CHANGED, SINGLE, WAYS, RelationPattern
from scrubjay.text.claims.relation_words import OCCUPATIONS, ROLES

__all__ = ["alternative_words", "find_relation_conflict", "relation_keys"]

_LONGEST = 400
_REMEMBERED = 2_048
_ADVERBS = re.compile(
    r"\b(?:now|currently|recently|just|already|still|also|actually|finally|nowadays|officially|right now"
    r"|at the moment|these days) (?=\w)|,? (?:now|nowadays|these days|at the moment|right now|again|yet)(?=\.?$)",
    re.IGNORECASE,
)
# One of these is in each of them, in lower case.
_IN_ADVERBS = (
    "now", "currently", "recently", "just", "already", "still", "also", "actually", "finally", "officially", "moment",
    "these days", "again", "yet",
)  # fmt: skip
_LABELLED = re.compile(r"^([\w' -]{2,40}?) ?[:=] ?(?=\w)")
_AM = re.compile(r"\b(I|[Hh]e|[Ss]he|[Ii]t|[Ww]e|[Tt]hey)'(?:m|s|re)\b")
_NEW = re.compile(r"\b(?:new|current) ", re.IGNORECASE)
# Of a version, a plan or a model the new one is mostly one more.
_ONE_AT_A_TIME = ROLES | frozenset("address phone email mail number job password home salary rent".split())
# Whose memory it is, needs not be said.
_SELF = frozenset({"user"})


@dataclass(frozen=True, slots=True)
class _Slot:
    """A relation as it was told: of whom, which value, at what times, and what else was said."""

    relation: str
    who: frozenset[str]
    how: str
    value: str
    tokens: tuple[StatementToken, ...]
    times: frozenset[str]
    rest: frozenset[str]
    loose: bool

    @property
    def told(self) -> str:
        """The relation in words."""
        if "favorit" in self.who:
            return "favourite"
        return f"{self.relation} {self.how}".strip()

    @property
    def keys(self) -> frozenset[str]:
        """What the value is compared by."""
        return frozenset(token.key for token in self.tokens)


def find_relation_conflict(first: str, second: str) -> str:
    """What two statements give as the one value of the same relation, in words; nothing if they do not."""
    one, other = normalize_statement(first)[:_LONGEST], normalize_statement(second)[:_LONGEST]
    slot = _slot(one)
    # Most statements tell of nothing of the kind: then the other need not be read.
    found = _values(slot, _slot(other)) if slot else ""
    return found or _change(one, other) or _change(other, one) or _over(one, other) or _over(other, one)


@lru_cache(maxsize=_REMEMBERED)
def alternative_words(text: str) -> tuple[str, ...] | None:
    """The words by which another value of the same relation may be told; None if it has more than one value at a time.

    They need not stand in the text itself: who moved to Rome does not live in Paris any more.
    """
    plain = normalize_statement(text)[:_LONGEST]
    slot = _slot(plain) or next(iter(_ended(plain)), None)
    if slot is not None:
        return (*sorted(slot.who), *WAYS.get(slot.relation, ()))
    changed = _changed(plain)
    return (_left(changed),) if changed else None


@lru_cache(maxsize=_REMEMBERED)
def relation_keys(text: str) -> tuple[str, ...]:
    """What a statement tells of, without the value: a relation and of whom, spelled as in whatever contradicts it."""
    plain = normalize_statement(text)[:_LONGEST]
    single, held = _slot(plain), _held(plain)
    keys = [] if single is None else [(single.relation, single.how, *sorted(single.who))]
    # Of an end and of what it ends only these are compared.
    lasting = (*_ended(plain), *([] if held is None else [held]))
    keys += [(one.relation, "until", *sorted(one.who)) for one in lasting]
    return tuple(dict.fromkeys("\n".join(key) for key in keys))


def _values(one: _Slot, other: _Slot | None) -> str:
    if other is None or (one.relation, one.how, one.who) != (other.relation, other.how, other.who):
        return ""
    # What was so at another time, or is so in another case, goes with it.
    if one.times and other.times and one.times != other.times:
        return ""
    if not one.loose and one.rest != other.rest and one.rest and other.rest:
        return ""
    told_further = one.keys <= other.keys or other.keys <= one.keys
    return f"{one.told}: {one.value} or {other.value}" if not told_further and _alternatives(one, other) else ""


def _alternatives(one: _Slot, other: _Slot) -> bool:
    """Whether two values are of a sort, and not two ways to tell one."""
    mine, its = one.tokens[0], other.tokens[0]
    figures = (NUMBER, DATE, LABEL)
    if mine.kind in figures or its.kind in figures:
        return clash(mine, its)
    if lies_in(one.value, other.value) or same_name(one.value, other.value):
        return False
    if one.relation in ("prefers", "wants"):
        return _sorts_of_one_thing(one, other)
    if one.told == "favourite" or one.loose or one.relation == "is kin":
        return True
    words = [token.said for token in (*one.tokens, *other.tokens) if token.kind == WORD]
    return opposite(mine.said, its.said) or not any(map(is_quality, words))


def _sorts_of_one_thing(one: _Slot, other: _Slot) -> bool:
    """Tabs or spaces, short answers or long answers; not what both may be wished for."""
    if one.keys & other.keys:
        return one.tokens[-1].key == other.tokens[-1].key
    single = len(one.tokens) == len(other.tokens) == 1 and one.tokens[0].kind == other.tokens[0].kind
    return single and one.relation == "prefers" and one.rest == other.rest


def _over(ended: str, other: str) -> str:
    """That one tells of the end of what the other still says."""
    endings = _ended(ended)
    held = _held(other) if endings else None
    if held is None:
        return ""
    for over in endings:
        same = (over.relation, over.who) == (held.relation, held.who)
        if same and over.keys <= held.keys and not over.times:
            return f"{over.relation}: no more {over.value}"
    return ""


@lru_cache(maxsize=_REMEMBERED)
def _slot(text: str) -> _Slot | None:
    found = _read(text, SINGLE)
    return None if found is None or parse_statement(text).denials else found


@lru_cache(maxsize=_REMEMBERED)
def _held(text: str) -> _Slot | None:
    found = _read(text, HELD)
    return None if found is None or parse_statement(text).denials else found


@lru_cache(maxsize=_REMEMBERED)
def _ended(text: str) -> tuple[_Slot, ...]:
    # Who left Rome may have lived there, or worked for it.
    return tuple(_readings(text, ENDED))


def _read(text: str, tellings: tuple[RelationPattern, ...]) -> _Slot | None:
    return next(_readings(text, tellings), None)


def _readings(text: str, tellings: tuple[RelationPattern, ...]) -> Iterator[_Slot]:
    """What a statement tells of, in all ways in which it can be read."""
    plain = _plain(text)
    # The letters of other scripts may be what is meant by one of these.
    low = plain.lower() if plain.isascii() else ""
    for telling in tellings:
        if low and not _has_one_of(telling.words, low):
            continue
        found = telling.pattern.match(plain)
        slot = _filled(telling.relation, found, loose=telling.loose) if found else None
        if slot is not None:
            yield slot


def _has_one_of(words: Iterable[str], text: str) -> bool:
    for word in words:  # noqa: SIM110 - with `any` it takes twice as long
        if word in text:
            return True
    return False


@lru_cache(maxsize=_REMEMBERED)
def _plain(text: str) -> str:
    """A statement without what says only since when it holds, and with the verb of what stands before a colon."""
    if ":" in text or "=" in text:
        text = _LABELLED.sub(r"\1 is ", text)
    if not text.isascii() or _has_one_of(_IN_ADVERBS, text.lower()):
        text = _ADVERBS.sub("", text)
    return (_AM.sub(r"\1 is", text) if "'" in text else text).rstrip(".! ")


def _filled(relation: str, found: re.Match[str], *, loose: bool) -> _Slot | None:
    parts = found.groupdict()
    value, who, rest = (parts.get(name) or "" for name in ("value", "who", "rest"))
    value = value.rstrip(".,")
    # A word before it, so that the first one is not taken for a name because it is the first.
    tokens = parse_statement(f"is {value}").tokens
    if not tokens or (relation == "works as" and tokens[-1].said.lower() not in OCCUPATIONS):
        return None
    if relation in ("lives in", "works for", "is married to", "comes from") and tokens[0].kind == DATE:
        return None
    after = parse_statement(f"is {found.string[found.end('value') :]}").tokens
    return _Slot(
        relation=relation,
        who=_who(_NEW.sub("", who) if relation == "is" and _is_one_at_a_time(who) else who),
        # Is on Monday, was moved to Friday.
        how="" if tokens[0].kind == DATE else (parts.get("how") or "").strip(),
        value=value,
        tokens=tokens,
        times=frozenset(token.key for token in after if token.kind == DATE),
        rest=frozenset(token.key for token in parse_statement(f"is {rest}").tokens),
        loose=loose,
    )


def _is_one_at_a_time(who: str) -> bool:
    """Whether there is one of it, so that a new one takes its place: the boss, the address."""
    return not _ONE_AT_A_TIME.isdisjoint(who.lower().split()[-1:])


def _who(text: str) -> frozenset[str]:
    words = text.lower().split()
    others = {OTHERS[word] for word in words if word in OTHERS}
    keys = frozenset(parse_statement(f"is {text.lower()}").counted) | others
    return keys - _SELF


def _left(changed: re.Match[str]) -> str:
    """What was given up."""
    return changed["old"] or changed["gone"] or changed["left"]


@lru_cache(maxsize=_REMEMBERED)
def _changed(text: str) -> re.Match[str] | None:
    """Where a change is told of."""
    if text.isascii() and not _has_one_of(IN_CHANGED, text.lower()):
        return None
    return CHANGED.search(text)


def _change(changed: str, other: str) -> str:
    """That one tells of a change from what the other still says."""
    found = _changed(changed)
    if not found:
        return ""
    old = _left(found)
    new = found["new"] or found["instead"] or found["chosen"]
    reading, before_it = parse_statement(other), set(parse_statement(changed[: found.start()]).counted)
    keys = reading.counted.keys()
    before, after = parse_statement(old.lower()).counted.keys(), parse_statement(new.lower()).counted.keys()
    if reading.denials or not before or not before <= keys or after & keys or _changed(other):
        return ""
    return f"state: {old} or {new}" if before_it <= keys and len(keys) > len(before) else ""
