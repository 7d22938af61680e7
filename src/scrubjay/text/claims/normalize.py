"""A statement as it is compared with another: without who said it, and with the small words of German in English."""

import re
from functools import lru_cache

from scrubjay.text.claims.opposites import BEINGS, DENIALS, MODALS, VERBS
from scrubjay.text.claims.relation_words import ATTRIBUTES, ROLES
from scrubjay.text.fact_words import PAST
from scrubjay.text.tokens import STOP_WORDS

__all__ = ["has_no_subject", "names_its_subject", "normalize_statement"]

_LONGEST = 2_000
_REMEMBERED = 4_096
_BULLET = re.compile(r"^[\s*+\u2022-]+(?=\w)")
_SPEAKER = re.compile(r"(?P<who>\w[\w.-]{0,30}(?: [A-Z][\w.-]{0,30})?): +(?=\S)")
# Whose memory it is: what they say of themselves is what the memory says of them.
_SELVES = frozenset("user human me myself customer client owner ich nutzer".split())
_FIRST = {"I": "", "I'm": " is", "I've": " has", "I'll": " will", "I'd": " would", "My": "'s", "Mine": "'s"}
_FIRST_WORD = re.compile(r"(?:I(?:'(?:m|ve|ll|d))?|My|Mine)\b")
_OPENING = re.compile(
    r"(?:(?:no longer|never|not|always|currently|now|also|does not|doesn't|is|was|has|had) )?([a-z]+)"
)
_BARE = frozenset("is was has had no does doesn't did didn't never located based born married allergic".split())
_CANNOT_STAND = re.compile(
    r"\bcan(?:'t|not| not) stand(?= )(?! (?:up|still|in|on|at|by|for|there|here|straight|alone)\b)", re.IGNORECASE
)
_OF_SELF = re.compile(r"(?:the )?user\b|(?:i|my|mine)\b", re.IGNORECASE)
# A name or two, and what comes after: Ada's, Ada Stern lives.
_NAMED = re.compile(
    r"(?P<who>[A-Z][\w.-]*)(?P<owner>'s?(?= ))?(?: [A-Z][\w.-]*)*(?P<owners>'s?(?= ))? (?P<does>[\w']+)"
)
_DOES = BEINGS | MODALS | DENIALS | frozenset("has have had and no now also always often does did".split())
# What has such a subject is of whatever the record is about: she, the deadline, birthday.
_NOBODY = STOP_WORDS | ATTRIBUTES | ROLES
# German that does not look like English; one of these is enough.
_GERMAN_WORDS = (
    r"\b(?:ich|und|der|das|ist|sind|nicht|niemals|kein\w{0,2}|ein|eine[mnr]?|mein\w{0,2}|unser\w{0,2}|wir|bei|auf|f\u00fcr|mit"
    r"|hei(?:ss|\u00df)[et]|wohn(?:e|t|en)|arbeitet?|l\u00e4uft|haben|seit|jetzt|nie|mag|hat (?:ein|zwei|drei)\w*)\b"
)
_GERMAN = re.compile(_GERMAN_WORDS, re.IGNORECASE)
# The same in lower case, which is found in a third of the time.
_GERMAN_IN_LOWER_CASE = re.compile(_GERMAN_WORDS)
_GLOSSARY = """
    ich: I
    wir: we
    er: he
    sie: she
    mein meine meinen meinem meiner: my
    unser unsere unseren unserem unserer: our
    sein seine seinen seinem seiner: his
    ihr ihre ihren ihrem ihrer: her
    der die das den dem des: the
    ein eine einen einem einer eines: a
    und: and
    oder: or
    ist: is
    sind: are
    bin: am
    war waren: was
    hat: has
    habe haben: have
    im in: in
    am auf: on
    an: on
    aus: off
    bei: at
    f\u00fcr: for
    mit: with
    nach: to
    seit: since
    nicht: not
    kein keine keinen keinem keiner keines: no
    nie niemals: never
    ohne: without
    immer: always
    jetzt nun aktuell derzeit inzwischen mittlerweile: now
    hei\u00dfe hei\u00dft heisse heisst: is called
    wohne wohnt wohnen lebe lebt leben: lives
    arbeite arbeitet arbeiten: works
    bevorzuge bevorzugt bevorzugen: prefers
    verheiratet: married
    ledig: single
    geschieden: divorced
    offen: open
    geschlossen: closed
    montag: Monday
    dienstag: Tuesday
    mittwoch: Wednesday
    donnerstag: Thursday
    freitag: Friday
    samstag sonnabend: Saturday
    sonntag: Sunday
    januar: January
    februar: February
    m\u00e4rz: March
    mai: May
    juni: June
    juli: July
    oktober: October
    dezember: December
    eins: one
    zwei: two
    drei: three
    vier: four
    f\u00fcnf: five
    sechs: six
    sieben: seven
    acht: eight
    neun: nine
    zehn: ten
    zw\u00f6lf: twelve
    uhr: o'clock
    rot: red
    gr\u00fcn: green
    blau: blue
    gelb: yellow
    schwarz: black
    wei\u00df: white
    mag: likes
    hasse hasst: hates
    aktiv: active
    inaktiv: inactive
"""
_IN_ENGLISH = {
    form: line.split(":", 1)[1].strip()
    for line in reversed(_GLOSSARY.strip().splitlines())
    for form in line.split(":", 1)[0].split()
}
# What is more than a word for a word.
_PHRASES = tuple(
    (re.compile(pattern, re.IGNORECASE), english)
    for pattern, english in (
        (r"\b(nicht|kein\w{0,2})\b(.{0,60}?) mehr\b", r"\1\2"),
        (r"\b(?:bin|ist|sind) nach (\w+) (?:um)?gezogen\b", r"moved to \1"),
        (r"\b(?:komme|kommt|kommen|stamme|stammt) aus\b", "is from"),
        (r"\bLieblings(\w+)", r"favourite \1"),
        (r"(\d{1,2})\. (?=[A-Z])", r"\1 "),
        (r"\bnutz(?:e|t|en)\b|\bverwende[tn]?\b", "uses"),
    )
)
_WORD = re.compile(r"[^\W\d_]+")


def normalize_statement(text: str) -> str:
    """A statement without its bullet and its speaker, in whose place stands who is meant; German word by word."""
    return _said(text[:_LONGEST])


def has_no_subject(text: str) -> bool:
    """Whether a statement begins with what somebody does, as one writes of an entity: lives in Rome."""
    found = _OPENING.match(normalize_statement(text).casefold())
    if found is None:
        return False
    first, word = found[0].split()[0], found[1]
    return first in _BARE or word in _BARE or word in PAST or _is_third_person(word)


def names_its_subject(text: str) -> bool:
    """Whether a statement says whom it is about, wherever it stands: I, the user, somebody by name, a speaker."""
    plain, whole = normalize_statement(text), _BULLET.sub("", text.strip())
    spoken = _SPEAKER.match(whole)
    if _OF_SELF.match(plain) or (spoken and _is_speaker(spoken["who"], whole[spoken.end() :])):
        return True
    found = _NAMED.match(plain)
    if found is None or has_no_subject(plain) or found["who"].casefold() in _NOBODY:
        return False
    if found["owner"] or found["owners"]:
        return True
    does = found["does"].casefold()
    return does in _DOES or does in PAST or does.endswith(("n't", "ed")) or _is_third_person(does)


def _is_speaker(who: str, rest: str) -> bool:
    """Whether what stands before a colon is who said the rest: it may be a heading as well."""
    return who.casefold() in _SELVES or _FIRST_WORD.match(rest) is not None


def _is_third_person(word: str) -> bool:
    return word.endswith("s") and (word[:-1] in VERBS or word.removesuffix("es") in VERBS)


@lru_cache(maxsize=_REMEMBERED)
def _said(text: str) -> str:
    text = _BULLET.sub("", text.strip()).replace("\u2019", "'")
    found = _SPEAKER.match(text)
    if found:
        text = _of_speaker(found["who"], text[found.end() :], whole=text)
    if "stand" in text:
        text = _CANNOT_STAND.sub("hates", text)
    return _englished(text) if _is_german(text) else text


def _is_german(text: str) -> bool:
    if text.isascii() and not _GERMAN_IN_LOWER_CASE.search(text.lower()):
        return False
    return any(not one[0].isupper() for one in _GERMAN.finditer(text))


def _of_speaker(who: str, rest: str, *, whole: str) -> str:
    if who.casefold() in _SELVES:
        return rest
    first = _FIRST_WORD.match(rest)
    # What stands before a colon may be a heading as well.
    return f"{who[0].upper()}{who[1:]}{_FIRST[first[0]]}{rest[first.end() :]}" if first else whole


def _englished(text: str) -> str:
    for pattern, english in _PHRASES:
        text = pattern.sub(english, text)
    return _WORD.sub(_word, text)


def _word(found: re.Match[str]) -> str:
    word = found[0]
    english = _IN_ENGLISH.get(word.casefold(), word)
    opens = found.start() == 0
    return english[0].upper() + english[1:] if opens and word[0].isupper() else english
