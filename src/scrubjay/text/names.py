"""Names in a text: of people and firms, handles and projects; and which of two names are one firm's."""

import re

from scrubjay.text.words import STOP_WORDS

__all__ = ["bare_name", "names_in", "phrases_in", "spellings_of"]

_LOOKED_AT = 4_000
_MOST_NAMES = 20
_MOST_WORDS = 200
_LONGEST_PHRASE = 4
# What follows the name of a firm; the short ones only as firms write them.
_SUFFIXES = frozenset(
    """
    inc incorporated corp corporation ltd limited llc llp plc gmbh ug kg sarl sas spa srl pty pte company oyj kgaa
    """.split()
)
_SHORT_SUFFIXES = frozenset("AG SE SA BV NV AB AS Oy OY Co CO KK S.A. B.V. N.V. S.A B.V N.V".split())
_SPACES = re.compile(r"\s+")

_UPPER = (
    "A-Z\u00c0-\u00d6\u00d8-\u00de\u0100\u0106\u010c\u0112\u0118"
    "\u0141\u0143\u015a\u0160\u0179\u017b\u017d\u0391-\u03a9\u0410-\u042f"
)
_NAME_WORD = rf"[{_UPPER}][\w\u2019'&-]{{0,40}}+"
_PROPER = re.compile(
    rf"(?<![\w@#./-])({_NAME_WORD}(?: (?:(?:of|the|de|van|von|der|di|da) ){{0,2}}{_NAME_WORD}){{0,4}})"
)
_HANDLE = re.compile(r"(?<![\w@./+-])@[A-Za-z0-9_][\w-]{1,38}+")
_QUOTED = re.compile(r"`([A-Za-z][\w./-]{1,60})`")
_IDENTIFIER = re.compile(
    # camelCase and snake_case; with hyphens only what is called a project or the like.
    r"(?<![\w@./-])(?:[A-Za-z][a-z0-9]*+(?:[A-Z][a-z0-9]++)++|[a-z][a-z0-9]*+(?:_[a-z0-9]++)++"
    r"|[a-z][a-z0-9]*+(?:-[a-z0-9]++)++(?= (?:project|repo|repository|package|library|service|app|module|tool|branch"
    r"|server|plugin|crate)\b)|(?<=project )[a-z][a-z0-9]*+(?:-[a-z0-9]++)++)(?![\w/-])"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:\n\"\u201c(*>-]\s{0,3})$")
# Days have a capital letter and are no names …
_DAYS = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
    october november december
    """.split()
)
# … and these have one where they begin a sentence.
_OPENERS = frozenset(
    """
    today tomorrow yesterday please thanks thank yes ok okay note todo fixed fix added add removed updated update
    meeting decided decision remember user agent assistant hello hi hey dear use used using new never always after
    before when while since because however also first second third next last then there here everyone someone nobody
    everybody somebody team management customer client
    """.split()
)
# What people do: whoever does it at the beginning of a sentence is named.
_DOES = re.compile(
    r"(?:'s|\u2019s| (?:said|says|told|asked|asks|likes|liked|loves|loved|prefers|preferred|hates|wants|wanted"
    r"|works|worked|lives|lived|moved|joined|thinks|believes|decided|suggested|agreed|fixed|wrote|reviewed|owns|manages"
    r"|leads|bought|went|plans|plays|studies|visited|met|called|mentioned|recommended|approved|quit|resigned|married))(?![\w])"
)
_WORD = re.compile(r"[\w@][\w.'\u2019&+#-]{0,60}+")


def names_in(text: str, *, limit: int = _MOST_NAMES) -> tuple[str, ...]:
    """Names that a text seems to mention, in the order in which they come."""
    text = text[:_LOOKED_AT]
    found = [(one.start(), one[1]) for one in _QUOTED.finditer(text)]
    found += [(one.start(), one[0]) for look in (_HANDLE, _IDENTIFIER) for one in look.finditer(text)]
    for one in _PROPER.finditer(text):
        name = _proper(text, one)
        if name:
            found.append((one.start(), name))
    named: dict[str, str] = {}
    for _, name in sorted(found):
        named.setdefault(bare_name(name) or name.casefold(), name)
    whole = list(named.values())
    # Of Sarah and Sarah Miller the longer is the name.
    return tuple(one for one in whole if not any(one != other and f" {one} " in f" {other} " for other in whole))[
        :limit
    ]


def phrases_in(text: str) -> tuple[str, ...]:
    """Up to four words in a row, as names are made of; those that begin and end with a word of meaning."""
    words = [word.rstrip(".'\u2019-") for word in _WORD.findall(text[:_LOOKED_AT])[:_MOST_WORDS]]
    spans = (
        words[at : at + size] for size in range(1, _LONGEST_PHRASE + 1) for at in range(max(0, len(words) - size + 1))
    )
    return tuple(
        dict.fromkeys(
            " ".join(span)
            for span in spans
            if all(one and one.casefold() not in STOP_WORDS for one in (span[0], span[-1]))
        )
    )


def bare_name(name: str) -> str:
    """A name without what says of which kind a firm is, in lower case: Acme Corp. and ACME are both acme."""
    words = [word for word in _SPACES.split(name.replace(",", " ").strip()) if word]
    while len(words) > 1 and _is_suffix(words[-1]):
        words.pop()
    return " ".join(word.strip(".") or word for word in words).casefold()


def spellings_of(name: str) -> tuple[str, ...]:
    """How else a name may be written, in lower case: Acme as Acme Corp. and Acme, Inc., and Acme Corp as Acme."""
    bare, own = bare_name(name), " ".join(name.casefold().split())
    if not bare:
        return ()
    endings = sorted(_SUFFIXES | {suffix.casefold() for suffix in _SHORT_SUFFIXES})
    # Of two that are told apart by what they are, neither is the other.
    others = (f"{bare}{gap}{ending}{dot}" for ending in endings for gap in (" ", ", ") for dot in ("", "."))
    return tuple(fromkey for fromkey in dict.fromkeys((bare, *(others if own == bare else ()))) if fromkey != own)


def _is_suffix(word: str) -> bool:
    plain = word.strip(".")
    return plain.casefold().replace(".", "") in _SUFFIXES or plain in _SHORT_SUFFIXES or word in _SHORT_SUFFIXES


def _proper(text: str, one: re.Match[str]) -> str:
    words = one[1].split(" ")
    # At the start of a sentence every word has a capital letter: alone it is no name, unless something tells so.
    if _SENTENCE_START.search(text[max(0, one.start() - 4) : one.start()]):
        if words[0].casefold() in _OPENERS | STOP_WORDS:
            words = words[1:]
        elif len(words) == 1 and not _is_named(words[0], text, one):
            return ""
    while words and words[0].casefold() in STOP_WORDS | _DAYS:
        words = words[1:]
    while words and words[-1].casefold() in STOP_WORDS | _DAYS:
        words = words[:-1]
    name = " ".join(words).removesuffix("'s").removesuffix("\u2019s").rstrip("'\u2019-&")
    return name if len(name) > 1 and not name.isdigit() and name.casefold() not in _OPENERS else ""


_CAMEL = re.compile("[a-z][A-Z]|^[A-Z]{2,}")


def _is_named(word: str, text: str, one: re.Match[str]) -> bool:
    if _CAMEL.search(word) or _stands_elsewhere(word, text, one):
        return True
    does = _DOES.match(text, one.end()) or word.endswith(("'s", "\u2019s"))
    # Several do it, and they are no name.
    return bool(does) and not word.removesuffix("'s").removesuffix("\u2019s").endswith("s")


def _stands_elsewhere(word: str, text: str, one: re.Match[str]) -> bool:
    """Whether a word has its capital letter also in the midst of a sentence."""
    again = text.find(f" {word}", one.end())
    return again > 0 and not _SENTENCE_START.search(text[max(0, again - 3) : again + 1])
