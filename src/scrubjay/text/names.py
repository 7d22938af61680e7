"""Names in a text: people, companies, handles and projects; and which names are spellings of one company."""

import re
from functools import lru_cache

from scrubjay.lazy import regex
from scrubjay.text.languages import language_of, stop_words_of
from scrubjay.text.scripts import fold
from scrubjay.text.tokens import STOP_WORDS
from scrubjay.text.word_lists import WordLists

__all__ = ["bare_name", "names_in", "phrases_in", "spellings_of"]

_MAX_TEXT = 4_000
_MAX_NAMES = 20
_MAX_WORDS = 200
_MAX_PHRASE_WORDS = 4
_WORDS = WordLists("names")
_SUFFIXES = _WORDS.words("company_suffixes")
_SHORT_SUFFIXES = _WORDS.words("short_company_suffixes")
_DAYS = _WORDS.words("days") | {f"{day}s" for day in _WORDS.words("days")}
_OPENERS = _WORDS.words("openers")
_NO_FIRST_WORDS = _OPENERS | STOP_WORDS
_NO_NAMES = STOP_WORDS | _DAYS
_SPACES = regex(r"\s+")

_UPPER = (
    "A-Z\u00c0-\u00d6\u00d8-\u00de\u0100\u0106\u010c\u0112\u0118"
    "\u0141\u0143\u015a\u0160\u0179\u017b\u017d\u0391-\u03a9\u0410-\u042f"
)
_NAME_WORD = rf"[{_UPPER}][\w\u2019'&-]{{0,40}}+"
_PROPER = regex(rf"(?<![\w@#./-])({_NAME_WORD}(?: (?:(?:of|the|de|van|von|der|di|da) ){{0,2}}{_NAME_WORD}){{0,4}})")
_HANDLE = regex(r"(?<![\w@./+-])@[A-Za-z0-9_][\w-]{1,38}+")
_QUOTED = regex(r"`([A-Za-z][\w./-]{1,60})`")
_IDENTIFIER = regex(
    # camelCase and snake_case; with hyphens only before or after a word such as project.
    r"(?<![\w@./-])(?:[A-Za-z][a-z0-9]*+(?:[A-Z][a-z0-9]++)++|[a-z][a-z0-9]*+(?:_[a-z0-9]++)++"
    r"|[a-z][a-z0-9]*+(?:-[a-z0-9]++)++(?= (?:project|repo|repository|package|library|service|app|module|tool|branch"
    r"|server|plugin|crate)\b)|(?<=project )[a-z][a-z0-9]*+(?:-[a-z0-9]++)++)(?![\w/-])"
)
# A capital letter inside a word.
_HUMP = regex("[A-Za-z0-9][A-Z][a-z0-9]")
_SENTENCE_START = regex(r"(?:^|[.!?:\n\"\u201c(*>-]\s{0,3})$")
# Actions of people: the word before one of them at the beginning of a sentence is a name.
_ACTION = regex(
    r"(?:'s|\u2019s| (?:said|says|told|asked|asks|likes|liked|loves|loved|prefers|preferred|hates|wants|wanted"
    r"|works|worked|lives|lived|moved|joined|thinks|believes|decided|suggested|agreed|fixed|wrote|reviewed|owns|manages"
    r"|leads|bought|went|plans|plays|studies|visited|met|called|mentioned|recommended|approved|quit|resigned|married))(?![\w])"
)
_WORD = regex(r"[\w@][\w.'\u2019&+#-]{0,60}+")
_CAMEL = regex("[a-z][A-Z]|^[A-Z]{2,}")


def names_in(text: str, *, limit: int = _MAX_NAMES) -> tuple[str, ...]:
    """Return the names that a text seems to mention, in order."""
    return _names_in(text[:_MAX_TEXT])[:limit]


# The stages of one write ask for the names of the same text.
@lru_cache(maxsize=128)
def _names_in(text: str) -> tuple[str, ...]:
    matches = [(match.start(), match[1]) for match in _QUOTED.finditer(text)] if "`" in text else []
    # Most texts have none of the signs of a handle or an identifier.
    patterns = [_HANDLE] if "@" in text else []
    if "_" in text or "-" in text or _HUMP.search(text):
        patterns.append(_IDENTIFIER)
    matches += [(match.start(), match[0]) for pattern in patterns for match in pattern.finditer(text)]
    language = language_of(text)
    frequent = stop_words_of(language)
    for match in _PROPER.finditer(text):
        name = _drop_edges(_proper_name(text, match), frequent)
        # German writes every noun with a capital letter: one word, or two with an article, are no hint of a name.
        if name and not (language == "german" and (" " not in name or " der " in name)):
            matches.append((match.start(), name))
    unique: dict[str, str] = {}
    for _, name in sorted(matches):
        unique.setdefault(bare_name(name) or name.casefold(), name)
    names = list(unique.values())
    # Of Sarah and Sarah Miller the longer one is the name.
    return tuple(name for name in names if not any(name != other and f" {name} " in f" {other} " for other in names))


def phrases_in(text: str) -> tuple[str, ...]:
    """Return up to four words in a row, as names have them, that begin and end with no stop word."""
    words = [word.rstrip(".'\u2019-") for word in _WORD.findall(text[:_MAX_TEXT])[:_MAX_WORDS]]
    edges = [at for at, word in enumerate(words) if word and word.casefold() not in STOP_WORDS]
    is_edge = frozenset(edges)
    return tuple(
        dict.fromkeys(
            " ".join(words[at : at + size])
            for size in range(1, _MAX_PHRASE_WORDS + 1)
            for at in edges
            if at + size - 1 in is_edge
        )
    )


def bare_name(name: str) -> str:
    """Return a name in lower case without a company's legal form: Acme Corp. and ACME are both acme."""
    words = [word for word in _SPACES.split(name.replace(",", " ").strip()) if word]
    while len(words) > 1 and _is_suffix(words[-1]):
        words.pop()
    return " ".join(word.strip(".") or word for word in words).casefold()


def spellings_of(name: str) -> tuple[str, ...]:
    """Return other spellings of a name in lower case: Acme as Acme Corp. and Acme, Inc., and Acme Corp as Acme."""
    bare, own = bare_name(name), " ".join(name.casefold().split())
    if not bare:
        return ()
    endings = sorted(_SUFFIXES | {suffix.casefold() for suffix in _SHORT_SUFFIXES})
    # Two names that differ in their legal form are two companies.
    others = (f"{bare}{gap}{ending}{dot}" for ending in endings for gap in (" ", ", ") for dot in ("", "."))
    spellings = dict.fromkeys((bare, *(others if own == bare else ())))
    return tuple(spelling for spelling in spellings if spelling != own)


def _is_suffix(word: str) -> bool:
    plain = word.strip(".")
    return plain.casefold().replace(".", "") in _SUFFIXES or plain in _SHORT_SUFFIXES or word in _SHORT_SUFFIXES


def _proper_name(text: str, match: re.Match[str]) -> str:
    words = match[1].split(" ")
    # At the start of a sentence every word has a capital letter: a single word is a name only with other evidence.
    if _SENTENCE_START.search(text[max(0, match.start() - 4) : match.start()]):
        if words[0].casefold() in _NO_FIRST_WORDS:
            words = words[1:]
        elif len(words) == 1 and not _is_name(words[0], text, match):
            return ""
    while words and words[0].casefold() in _NO_NAMES:
        words = words[1:]
    while words and words[-1].casefold() in _NO_NAMES:
        words = words[:-1]
    name = " ".join(words).removesuffix("'s").removesuffix("\u2019s").rstrip("'\u2019-&")
    return name if len(name) > 1 and not name.isdigit() and name.casefold() not in _OPENERS else ""


def _drop_edges(name: str, frequent: frozenset[str]) -> str:
    """Return a name without frequent words before and after it: Der Code, La Panadería."""
    words = name.split(" ")
    while words and fold(words[0]) in frequent:
        words = words[1:]
    while words and fold(words[-1]) in frequent:
        words = words[:-1]
    return " ".join(words)


def _is_name(word: str, text: str, match: re.Match[str]) -> bool:
    if _CAMEL.search(word) or _is_capital_elsewhere(word, text, match):
        return True
    acts = _ACTION.match(text, match.end()) or word.endswith(("'s", "\u2019s"))
    # A plural is no name.
    return bool(acts) and not word.removesuffix("'s").removesuffix("\u2019s").endswith("s")


def _is_capital_elsewhere(word: str, text: str, match: re.Match[str]) -> bool:
    """Return whether a word has its capital letter in the middle of a sentence, too."""
    again = text.find(f" {word}", match.end())
    return again > 0 and not _SENTENCE_START.search(text[max(0, again - 3) : again + 1])
