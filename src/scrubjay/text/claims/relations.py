"""Relations with one value at a time: where a person lives, whom a person works for, what a person likes best."""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from scrubjay.lazy import dataclass
from scrubjay.text.claims.differences import are_same_name, exclude_each_other, may_contain
from scrubjay.text.claims.parse import (
    ATTRIBUTES,
    DATE,
    LABEL,
    NUMBER,
    RELATION_WORDS,
    ROLES,
    WORD,
    StatementToken,
    normalize_statement,
    parse_statement,
)
from scrubjay.text.claims.words import CHANGES, PRONOUNS, are_opposites, is_quality

__all__ = [
    "CHANGE", "CHANGE_HINTS", "ENDED_PATTERNS", "HELD_PATTERNS", "SINGLE_VALUED_PATTERNS", "RelationPattern",
    "alternative_words", "find_relation_conflict", "relation_keys",
]  # fmt: skip

_MAX_TEXT = 400
_CACHE_SIZE = 2_048
_OCCUPATIONS = RELATION_WORDS.words("occupations")
_RELATIVES = RELATION_WORDS.words("relatives")
_SETTLED = RELATION_WORDS.words("settled")
# Of each of these there is one at a time: a new one replaces it.
_REPLACEABLE = ROLES | RELATION_WORDS.words("replaceable")
# A statement need not name the user.
_USER = frozenset({"user"})


def find_relation_conflict(first: str, second: str) -> str:
    """Describe the two values that statements give for one relation; empty if they do not."""
    statement, other = normalize_statement(first)[:_MAX_TEXT], normalize_statement(second)[:_MAX_TEXT]
    relation = _single_valued(statement)
    # Most statements have no such relation: then the other need not be read.
    conflict = _compare_values(relation, _single_valued(other)) if relation else ""
    if conflict:
        return conflict
    if not _changes_relation(statement) and not _changes_relation(other):
        return ""
    return (
        _find_change(statement, other)
        or _find_change(other, statement)
        or _find_ending(statement, other)
        or _find_ending(other, statement)
    )


# One statement is compared with many, and each of those with several.
@lru_cache(maxsize=_CACHE_SIZE)
def _changes_relation(text: str) -> bool:
    return bool(_match_change(text) or _ended_relations(text))


@lru_cache(maxsize=_CACHE_SIZE)
def alternative_words(text: str) -> tuple[str, ...] | None:
    """Return words of statements that give another value for the same relation; None without such a relation.

    The text itself need not have them: a move to Rome ends a life in Paris.
    """
    plain = normalize_statement(text)[:_MAX_TEXT]
    relation = _single_valued(plain) or next(iter(_ended_relations(plain)), None)
    if relation is not None:
        return (*sorted(relation.who), *_WORDS_OF_RELATIONS.get(relation.name, ()))
    change = _match_change(plain)
    return (_old_value(change),) if change else None


@lru_cache(maxsize=_CACHE_SIZE)
def relation_keys(text: str) -> tuple[str, ...]:
    """Return the relations of a statement without their values; a statement that contradicts it has one of them."""
    plain = normalize_statement(text)[:_MAX_TEXT]
    single, held = _single_valued(plain), _current_relation(plain)
    keys = [] if single is None else [(single.name, single.how, *sorted(single.who))]
    # An end is compared with what it ends by these keys only.
    lasting = (*_ended_relations(plain), *([] if held is None else [held]))
    keys += [(relation.name, "until", *sorted(relation.who)) for relation in lasting]
    return tuple(dict.fromkeys("\n".join(key) for key in keys))


@dataclass(frozen=True, slots=True)
class _Relation:
    """A relation in a statement: its subject, its value, its times, and the rest of the statement."""

    name: str
    who: frozenset[str]
    how: str
    value: str
    tokens: tuple[StatementToken, ...]
    times: frozenset[str]
    rest: frozenset[str]
    loose: bool

    @property
    def label(self) -> str:
        """The relation in words."""
        if "favorit" in self.who:
            return "favourite"
        return f"{self.name} {self.how}".strip()

    @property
    def keys(self) -> frozenset[str]:
        """The keys by which values are compared."""
        return frozenset(token.key for token in self.tokens)


def _compare_values(relation: _Relation, other: _Relation | None) -> str:
    if other is None or (relation.name, relation.how, relation.who) != (other.name, other.how, other.who):
        return ""
    # Values of different times or in different cases go together.
    if relation.times and other.times and relation.times != other.times:
        return ""
    if not relation.loose and relation.rest != other.rest and relation.rest and other.rest:
        return ""
    is_more_exact = relation.keys <= other.keys or other.keys <= relation.keys
    return (
        f"{relation.label}: {relation.value} or {other.value}"
        if not is_more_exact and _are_alternatives(relation, other)
        else ""
    )


def _are_alternatives(relation: _Relation, other: _Relation) -> bool:
    """Return whether two values are of one sort, and not two names of one value."""
    first, second = relation.tokens[0], other.tokens[0]
    figures = (NUMBER, DATE, LABEL)
    if first.kind in figures or second.kind in figures:
        return exclude_each_other(first, second)
    if may_contain(relation.value, other.value) or are_same_name(relation.value, other.value):
        return False
    if relation.name in ("prefers", "wants"):
        return _are_rivals(relation, other)
    if relation.label == "favourite" or relation.loose or relation.name == "is family":
        return True
    words = [token.text for token in (*relation.tokens, *other.tokens) if token.kind == WORD]
    return are_opposites(first.text, second.text) or not any(map(is_quality, words))


def _are_rivals(relation: _Relation, other: _Relation) -> bool:
    """Return whether two wishes exclude each other: tabs or spaces, short answers or long answers."""
    if relation.keys & other.keys:
        return relation.tokens[-1].key == other.tokens[-1].key
    single = len(relation.tokens) == len(other.tokens) == 1 and relation.tokens[0].kind == other.tokens[0].kind
    return single and relation.name == "prefers" and relation.rest == other.rest


def _find_ending(ended: str, other: str) -> str:
    """Describe a relation that one statement ends and the other still has."""
    endings = _ended_relations(ended)
    held = _current_relation(other) if endings else None
    if held is None:
        return ""
    for ending in endings:
        same = (ending.name, ending.who) == (held.name, held.who)
        if same and ending.keys <= held.keys and not ending.times:
            return f"{ending.name}: no more {ending.value}"
    return ""


def _find_change(changed: str, other: str) -> str:
    """Describe a change in one statement from a value that the other still has."""
    change = _match_change(changed)
    if not change:
        return ""
    old = _old_value(change)
    new = change["new"] or change["instead"] or change["chosen"]
    statement, context = parse_statement(other), set(parse_statement(changed[: change.start()]).counted)
    keys = statement.counted.keys()
    before, after = parse_statement(old.lower()).counted.keys(), parse_statement(new.lower()).counted.keys()
    if statement.denials or not before or not before <= keys or after & keys or _match_change(other):
        return ""
    return f"state: {old} or {new}" if context <= keys and len(keys) > len(before) else ""


def _old_value(change: re.Match[str]) -> str:
    return change["old"] or change["gone"] or change["left"]


@lru_cache(maxsize=_CACHE_SIZE)
def _match_change(text: str) -> re.Match[str] | None:
    if text.isascii() and not _has_one_of(CHANGE_HINTS, text.lower()):
        return None
    return CHANGE.search(text)


@lru_cache(maxsize=_CACHE_SIZE)
def _single_valued(text: str) -> _Relation | None:
    relation = next(_read_relations(text, _SINGLE_VALUED_LIST), None)
    return None if relation is None or parse_statement(text).denials else relation


@lru_cache(maxsize=_CACHE_SIZE)
def _current_relation(text: str) -> _Relation | None:
    relation = next(_read_relations(text, _HELD_LIST), None)
    return None if relation is None or parse_statement(text).denials else relation


@lru_cache(maxsize=_CACHE_SIZE)
def _ended_relations(text: str) -> tuple[_Relation, ...]:
    # To leave Rome may end a residence or a job.
    return tuple(_read_relations(text, _ENDED_LIST))


def _read_relations(text: str, listed: "_PatternList") -> Iterator[_Relation]:
    """Return the relation of a statement by each pattern that it matches."""
    plain = _simplify(text)
    # Letters of other scripts may be equal to a hint only after folding: then all patterns are tried.
    low = plain.lower() if plain.isascii() else ""
    # Several patterns have the same hints: each is looked for once.
    present, words = {hint for hint in listed.hints if hint in low}, low.split(" ")
    for pattern in listed.patterns:
        if low and (present.isdisjoint(pattern.hints) or (pattern.words and pattern.words.isdisjoint(words))):
            continue
        match = pattern.compiled.match(plain)
        relation = _read_match(pattern.relation, match, loose=pattern.loose) if match else None
        if relation is not None:
            yield relation


def _has_one_of(words: Iterable[str], text: str) -> bool:
    for word in words:  # noqa: SIM110 - with `any` it takes twice as long
        if word in text:
            return True
    return False


_ADVERBS = re.compile(
    r"\b(?:now|currently|recently|just|already|still|also|actually|finally|nowadays|officially|right now"
    r"|at the moment|these days) (?=\w)|,? (?:now|nowadays|these days|at the moment|right now|again|yet)(?=\.?$)",
    re.IGNORECASE,
)
# Each of the adverbs has one of these, in lower case.
_ADVERB_HINTS = (
    "now", "currently", "recently", "just", "already", "still", "also", "actually", "finally", "officially", "moment",
    "these days", "again", "yet",
)  # fmt: skip
_LABELLED = re.compile(r"^([\w' -]{2,40}?) ?[:=] ?(?=\w)")
_CONTRACTED = re.compile(r"\b(I|[Hh]e|[Ss]he|[Ii]t|[Ww]e|[Tt]hey)'(?:m|s|re)\b")
_NEW = re.compile(r"\b(?:new|current) ", re.IGNORECASE)


@lru_cache(maxsize=_CACHE_SIZE)
def _simplify(text: str) -> str:
    """Return a statement without adverbs of time, and with a verb in place of a colon."""
    if ":" in text or "=" in text:
        text = _LABELLED.sub(r"\1 is ", text)
    if not text.isascii() or _has_one_of(_ADVERB_HINTS, text.lower()):
        text = _ADVERBS.sub("", text)
    return (_CONTRACTED.sub(r"\1 is", text) if "'" in text else text).rstrip(".! ")


def _read_match(name: str, match: re.Match[str], *, loose: bool) -> _Relation | None:
    parts = match.groupdict()
    value, who, rest = (parts.get(group) or "" for group in ("value", "who", "rest"))
    value = value.rstrip(".,")
    # With a word before the value, its first word has no capital letter because of its place.
    tokens = parse_statement(f"is {value}").tokens
    if not tokens or (name == "works as" and tokens[-1].text.lower() not in _OCCUPATIONS):
        return None
    if name in ("lives in", "works for", "is married to", "comes from") and tokens[0].kind == DATE:
        return None
    after = parse_statement(f"is {match.string[match.end('value') :]}").tokens
    # A new boss or a new address replaces the old one.
    is_replaced = name == "is" and not _REPLACEABLE.isdisjoint(who.lower().split()[-1:])
    return _Relation(
        name=name,
        who=_read_subject(_NEW.sub("", who) if is_replaced else who),
        # Is on Monday, was moved to Friday.
        how="" if tokens[0].kind == DATE else (parts.get("how") or "").strip(),
        value=value,
        tokens=tokens,
        times=frozenset(token.key for token in after if token.kind == DATE),
        rest=frozenset(token.key for token in parse_statement(f"is {rest}").tokens),
        loose=loose,
    )


def _read_subject(text: str) -> frozenset[str]:
    pronouns = {PRONOUNS[word] for word in text.lower().split() if word in PRONOUNS}
    return (frozenset(parse_statement(f"is {text.lower()}").counted) | pronouns) - _USER


class RelationPattern(NamedTuple):
    """A relation, a regular expression for it, and whether the rest of the statement may differ (`loose`).

    The expression has a `value`, and may have `who`, `how` and `rest`. All texts that match have one of the `hints`, in
    lower case, and one of the `words`, if any, between spaces: both are cheap to test.
    """

    relation: str
    expression: str
    loose: bool
    hints: tuple[str, ...]
    words: frozenset[str] = frozenset()

    @property
    def compiled(self) -> re.Pattern[str]:
        """The expression, compiled on first use: all of them take longer than some processes live."""
        return _compile(self.expression)


@cache
def _compile(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


def _first_words(phrases: Iterable[str]) -> frozenset[str]:
    return frozenset(phrase.split()[0] for phrase in phrases)


def _alternatives(words: frozenset[str]) -> str:
    return f"(?:{'|'.join(sorted(words, key=lambda word: (-len(word), word)))})"


_SUBJECT = r"(?:(?P<who>[\w'./ -]{1,50}?) )?"
_THING = r"(?P<who>[\w'./ -]{1,50}?)"
_NAME = r"[A-Z][\w'.&+#-]*(?:,? (?:of |the |and |de )?(?:[A-Z][\w'.&+#-]*|\d[\w.]*)){0,3}"
_NAMED = rf"(?P<value>{_NAME})"
# A name, or a word that can only be an address, a version or a file.
_MARKED = rf"(?P<value>{_NAME}|[\w./:-]*[\d_/@][\w./:@-]*)"
_ANY = r"(?P<value>[\w'.@/+#-]+(?: [\w'.@/+#:-]+){0,3}?)"
_REST = (
    r"(?P<rest>(?:[,;(]| (?:in|on|at|for|with|since|because|and|but|when|while|during|over|from|as|to|by|after|before"
    r"|near|last|this|next|every|if|of|instead|until|unless|who|which|that)\b).*)?$"
)
_DOES = rf"^{_SUBJECT}(?i:(?:has|have|had|is|are|am) )?"
_IS = r"(?i:is|are|am|will be|has become|became)"
_A = r"(?:an? |the |our |my )?"
_THEIR = r"(?:my|his|her|their|our|the)"
_TO = rf"(?:(?:was|were|is|has been|have been|got|will be) )?{_alternatives(CHANGES)}(?: \w+){{0,2}}? to"
_BECOMES = rf"(?:{_IS}|=|{_TO})"
_QUALIFIERS = (
    "favourite", "favorite", "preferred", "default", "main", "primary", "current", "maximum", "minimum", "max", "min",
    "official", "chosen",
)  # fmt: skip
_QUALIFIED = f"(?:{'|'.join(_QUALIFIERS)})"
_OF = r"(?: (?:of|for|in|on) (?:the |our |my |this )?[\w'-]+(?: [\w'-]+)?)?"
_ATTRIBUTE = rf"(?:[\w'./-]+ ){{0,5}}?(?i:{_QUALIFIED} [\w-]+(?: [\w-]+)?|{_alternatives(ATTRIBUTES | ROLES)}){_OF}"
_OWNED = r"(?i:the|my|our|this|his|her|their|[\w-]+'s)"
_OWNED_THING = rf"(?P<who>{_OWNED} [\w' -]{{2,40}}?)"
_PLACED = r"(?P<how>(?:in|at|on|from|by|with) )?"
_ROLE = rf"(?P<who>the [\w' -]{{2,50}}?|{_OWNED} (?:[\w-]+ )?{_alternatives(ROLES)}{_OF})"
_JOB = r"(?:started|(?:started|got|took|has|accepted) an? (?:new )?(?:job|position|role)) (?:at|with)"
_LEFT = r"(?:left|quit|resigned from|was fired from|was laid off (?:by|from)|retired from)"
_NEXT = r"(?:and|to|for) (?:joined |join |started at |work at |work for )?"
_LOSES = r"(?:sold|lost|gave away|got rid of|cancell?ed|returned|closed|deleted|removed)"
_STYLE = r"(?:indent|write|format|document|comment|answer|reply|respond|speak|sign|encode)(?: [\w-]+)?"
_END = r"[.!]?$"
# Things that have a place, and may move as people do.
_SEATS = (
    "office", "headquarters", "shop", "store", "school", "studio", "laboratory", "lab", "warehouse", "factory",
    "clinic", "bakery", "restaurant", "data center", "data centre",
)  # fmt: skip
_PASTIMES = r"plays?|drinks?|eats?|smokes?|takes?|uses?|does|do|practi[cs]es?|studies|study|learns?"
_IN_IS = (" is ", " are ", " am ", " will be ", " has become ", " became ")
_IN_BECOMES = (*_IN_IS, " = ", " to ")

_SEATED = rf"^(?P<who>{_OWNED} (?:[\w-]+ )?(?:{'|'.join(_SEATS)})) {_IS} in {_NAMED}"
_IS_SETTLED = rf"^{_THING} {_IS} (?P<how>{_alternatives(_SETTLED)} (?:in|on|at|with|by|to|for)) {_A}{_ANY}{_REST}"
_HAS_VALUE = rf"^(?P<who>{_ATTRIBUTE}) {_BECOMES} {_PLACED}{_A}{_ANY}{_REST}"
# What a text must have to match, where that says more than the hints.
_NEEDED_WORDS = {
    _SEATED: _first_words(_SEATS),
    _IS_SETTLED: _first_words(_SETTLED),
    _HAS_VALUE: _first_words((*_QUALIFIERS, *ATTRIBUTES, *ROLES)),
}

_RESIDENCE = (
    (
        "lives in",
        rf"{_DOES}(?i:lives?|living|resides?|residing|based|located|stays)(?: back)? (?:in|at) {_NAMED}",
        True,
        ("live", "living", "resid", "based", "located", "stays"),
    ),
    ("lives in", rf"{_DOES}(?i:moved|relocated)(?: back)? (?:to|into) {_NAMED}", True, ("moved", "relocated")),
    ("lives in", _SEATED, True, _IN_IS),
    ("works for", rf"{_DOES}(?i:works?|working|employed) (?:at|for|by) {_NAMED}", True, ("work", "employed")),
    ("works for", rf"{_DOES}(?i:{_JOB}) {_NAMED}", True, ("started", "job", "position", "role")),
    ("works for", rf"{_DOES}(?i:left|quit) [\w'&. -]{{1,30}}? {_NEXT}{_NAMED}", True, ("left ", "quit ")),
    ("works for", rf"{_DOES}(?i:joined) {_NAMED}(?: (?:as|in|last|this)\b.*)?{_END}", True, ("joined",)),
)
_SINGLE_VALUED = (
    *_RESIDENCE,
    ("lives in a", rf"{_DOES}(?i:lives?|living) in an? {_ANY}{_REST}", True, ("live", "living")),
    (
        "works as",
        rf"^{_SUBJECT}(?i:is|are|am|works? as|became) an? {_ANY}{_REST}",
        True,
        ("is a", "are a", "am a", "as a", "became a"),
    ),
    ("works from", rf"{_DOES}(?i:works?|working) from (?:the |my |his |her )?{_ANY}{_REST}", False, ("work",)),
    ("studies at", rf"{_DOES}(?i:studies|study|studying|enrolled) (?:at|in) {_NAMED}", True, ("stud", "enrolled")),
    ("drives", rf"{_DOES}(?i:drives?) an? {_ANY}{_REST}", False, ("drive",)),
    ("is married to", rf"{_DOES}(?i:married|engaged|dating)(?: to)? {_NAMED}", True, ("married", "engaged", "dating")),
    ("comes from", rf"^{_SUBJECT}(?i:is|are|am|comes?) from {_NAMED}", True, (" from ",)),
    ("was born in", rf"{_DOES}(?i:was |were )?(?i:born) (?:in|at) {_NAMED}", True, ("born",)),
    (
        "is called",
        rf"^{_THING}(?: name)? (?:is|are|was) (?:called|named|renamed to) {_ANY}{_REST}",
        False,
        ("called", "named"),
    ),
    ("is called", rf"^{_THING}(?:'s)? name is {_ANY}{_REST}", False, (" name is ",)),
    (
        "uses",
        rf"^(?:[\w'. -]{{1,40}}? )?(?i:uses?|using) {_ANY} (?P<how>for|as) (?P<who>[\w' -]{{2,50}}?){_END}",
        False,
        ("use", "using"),
    ),
    ("is", _IS_SETTLED, False, _IN_IS),
    ("is", _HAS_VALUE, False, _IN_BECOMES),
    ("is", rf"^(?P<value>[A-Z][\w'-]+(?: [A-Z][\w'-]+)?) {_IS} {_ROLE}{_END}", False, _IN_IS),
    ("is", rf"^{_OWNED_THING} {_BECOMES} {_PLACED}{_A}{_MARKED}{_REST}", False, _IN_BECOMES),
    ("is", rf"^{_OWNED_THING} {_BECOMES} (?P<how>in )(?P<value>\w+ [A-Z0-9]\w*){_END}", False, _IN_BECOMES),
    ("is", rf"^(?P<who>[A-Z][\w'-]+) {_IS} (?P<how>in|at) {_NAMED}{_REST}", False, _IN_IS),
    (
        "is family",
        rf"^(?P<who>[A-Z]\w+ {_IS} (?:my|our|his|her|[\w-]+'s)) (?P<value>{_alternatives(_RELATIVES)}){_END}",
        False,
        _IN_IS,
    ),
    ("prefers", rf"^{_SUBJECT}(?i:prefers?) {_ANY}{_REST}", False, ("prefer",)),
    ("wants", rf"^{_SUBJECT}(?i:wants?|expects?) {_ANY}{_REST}", False, ("want", "expect")),
    ("does", rf"^(?P<who>(?i:{_STYLE})) (?P<how>with|in) {_ANY}{_END}", False, (" with ", " in ")),
)
_ENDED = (
    (
        "works for",
        rf"{_DOES}(?i:{_LEFT}) (?:{_THEIR} (?:job|position|role) (?:at|with) )?{_NAMED}{_END}",
        True,
        ("left ", "quit ", "resigned ", "fired ", "laid off ", "retired "),
    ),
    ("lives in", rf"{_DOES}(?i:left|moved (?:away from|out of)) {_NAMED}{_END}", True, ("left ", "moved ")),
    (
        "has",
        rf"{_DOES}(?i:{_LOSES}) {_THEIR} {_ANY}{_END}",
        True,
        ("sold ", "lost ", "gave ", "got rid", "cancel", "returned ", "closed ", "deleted ", "removed "),
    ),
    ("is in", rf"{_DOES}(?i:left|quit) the {_ANY}{_END}", True, ("left the ", "quit the ")),
    ("does", rf"{_DOES}(?i:quit|gave up|given up) {_ANY}{_END}", True, ("quit ", "gave up ", "given up ")),
)
_HELD = (
    *_RESIDENCE,
    (
        "has",
        rf"^{_SUBJECT}(?i:has|have|owns?|got|drives?|rides?) an? {_ANY}{_REST}",
        True,
        ("has a", "have a", "own a", "owns a", "got a", "drive", "ride"),
    ),
    (
        "is in",
        rf"^{_SUBJECT}(?i:plays?|sings?|is|are|am|works?) (?:in|on) (?:an?|the) {_ANY}{_REST}",
        True,
        (" in ", " on "),
    ),
    (
        "is in",
        rf"^{_SUBJECT}(?i:is|are|am) (?:a )?(?:part|member) of (?:an?|the) {_ANY}{_REST}",
        True,
        ("part of ", "member of "),
    ),
    (
        "does",
        rf"^{_SUBJECT}(?i:{_PASTIMES}) {_ANY}{_REST}",
        True,
        ("play", "drink", "eat", "smoke", "take", "use", "does ", "do ", "practi", "stud", "learn"),
    ),
)
# Relations with one value, the ends of relations, and the relations that such an end contradicts.
SINGLE_VALUED_PATTERNS, ENDED_PATTERNS, HELD_PATTERNS = (
    tuple(RelationPattern(*row, words=_NEEDED_WORDS.get(row[1], frozenset())) for row in rows)
    for rows in (_SINGLE_VALUED, _ENDED, _HELD)
)


class _PatternList(NamedTuple):
    """Patterns, and all of their hints."""

    patterns: tuple[RelationPattern, ...]
    hints: tuple[str, ...]

    @classmethod
    def of(cls, patterns: tuple[RelationPattern, ...]) -> "_PatternList":
        return cls(patterns, tuple(dict.fromkeys(hint for pattern in patterns for hint in pattern.hints)))


_SINGLE_VALUED_LIST, _ENDED_LIST, _HELD_LIST = map(
    _PatternList.of, (SINGLE_VALUED_PATTERNS, ENDED_PATTERNS, HELD_PATTERNS)
)
CHANGE = re.compile(
    r"\b(?:switch\w*|mov\w+|migrat\w+|chang\w+|convert\w*|transition\w*|upgrad\w+|downgrad\w+) (?:\w+ ){0,3}?"
    r"from (?P<old>[\w.-]*\w) to (?P<new>[\w.-]*\w)"
    r"|\breplac\w+ (?P<gone>[\w.-]*\w) (?:with|by) (?P<instead>[\w.-]*\w)"
    r"|(?P<chosen>[\w.-]*\w) (?:instead of|rather than) (?P<left>[\w.-]*\w)",
    re.IGNORECASE,
)
# All texts that match have one of these, in lower case.
CHANGE_HINTS = ("from ", "replac", "instead of", "rather than")
# Words of relations whose wordings have none in common.
_WORDS_OF_RELATIONS = {
    "lives in": "live lives living moved relocated resides based located wohne wohnt gezogen".split(),
    "works for": "work works working joined employed started job arbeite arbeitet".split(),
    "prefers": "prefer prefers".split(),
}
