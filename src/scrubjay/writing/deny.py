"""What is never remembered: texts that say so themselves, and what the rules of a space name."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from scrubjay.errors import InvalidInput
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Json, Memory
from scrubjay.model.rules import Rules
from scrubjay.text.scripts import folded_script
from scrubjay.text.wildcards import Glob, Wildcard
from scrubjay.writing.texts import draft_texts, memory_texts, source_texts, strings_in

__all__ = ["refuse", "require_allowed", "require_allowed_edit"]

_THIS = "(?:this|that|it|any of this|any of that|the following|this (?:message|conversation|chat|text|note|part|one))"
_KEEP = "(?:remember|store|save|keep|record|memorize|memorise|log|persist|write down|retain|note)"
# What may follow an order that is about this very text; with anything else it is about something else.
_END = (
    "(?= ?(?:$|[.!?;:)\\]\n\u3002]|please\\b|anywhere\\b|for later\\b|(?:in|to) (?:your |the "
    "|long-term )?memory\\b"
    "|in (?:your|the) notes\\b|permanently\\b|bitte\\b))"
)
# Where an order begins. What is quoted, told of others, a point of a list or after a heading is about something else.
_START = "(?:^(?:[:-] ?)?|[.!?;(\\[\n\u3002] ?|(?<![:\"'-] )\\b(?:please,?|bitte) )"
_ORDERS = re.compile(
    f"{_START}(?:please,? |so,? |and |but |also )?(?:(?:do not|don't|dont) (?:ever )?{_KEEP} {_THIS}{_END}"
    # What is never done to "it" is how things are done there.
    f"|never (?:ever )?{_KEEP} (?:any of )?(?:this|the following){_END}"
    f"|forget (?:this|the following|this (?:message|conversation|chat|text|note)){_END}"
    "|(?:this|the following) (?:is )?(?:not to be|must not be|should not be|shall not be) (?:remembered|stored"
    "|saved|recorded)"
    "|(?:strictly )?(?:off the record|not for the record)(?= ?(?:$|[.!,;:)\\]\n]))"
    "|(?:merk|merke|merken sie sich|speicher|speichere|speichern sie) (?:dir )?(?:das|dies|dieses) (?:bitte )?nicht\\b"
    "|(?:das |dies )?(?:bitte )?nicht (?:merken|speichern|aufschreiben)(?= ?(?:$|[.!,:)]))"
    "|(?:ne |n')(?:retiens|retenez|memorise|memorisez|enregistre|enregistrez|sauvegarde|sauvegardez"
    "|garde) pas (?:ca|ceci|cela)\\b"
    "|no (?:recuerdes|guardes|memorices|almacenes|recuerde|guarde|registres) (?:esto|eso)\\b"
    "|non (?:ricordare|salvare|memorizzare|registrare) (?:questo|cio)\\b"
    "|nao (?:lembre|guarde|salve|memorize|registre) (?:isto|isso)\\b"
    "|onthoud dit niet\\b|sla dit niet op\\b|nie zapamietuj tego\\b"
    "|\u043d\u0435 (?:\u0437\u0430\u043f\u043e\u043c\u0438\u043d\u0430\u0439"
    "|\u0441\u043e\u0445\u0440\u0430\u043d\u044f\u0439)(?:\u0442\u0435)? \u044d\u0442\u043e"
    "|(?:\u8bf7)?(?:\u4e0d\u8981|\u522b|\u8bf7\u52ff)(?:\u8bb0\u4f4f|\u8bb0\u5f55|\u4fdd\u5b58"
    "|\u5b58\u50a8)(?:\u8fd9|\u6b64|\u672c|\u4ee5\u4e0b)"
    "|(?:\u3053\u308c|\u3053\u306e\u5185\u5bb9)(?:\u306f|\u3092)(?:\u899a\u3048|\u8a18\u61b6\u3057"
    "|\u4fdd\u5b58\u3057)\u306a\u3044\u3067)"
)
_HINTS = (
    "remember", "store", "save", "keep", "record", "memori", "log", "persist", "write", "retain", "note", "forget",
    "merk", "speicher", "retiens", "retenez", "enregistre", "sauvegarde", "garde", "recuerd", "guard", "almacen",
    "registr", "ricordare", "salvare", "lembre", "salve", "onthoud", "sla dit", "zapamietuj",
    "\u0437\u0430\u043f\u043e\u043c\u0438\u043d\u0430\u0439", "\u0441\u043e\u0445\u0440\u0430\u043d\u044f\u0439",
    "\u8bb0", "\u4fdd\u5b58", "\u5b58\u50a8", "\u899a\u3048", "\u8a18\u61b6",
)  # fmt: skip
_BLANKS, _LINES = re.compile(r"[^\S\n]+"), re.compile(r" ?\n[ \n]*")
# A text says at its beginning or its end that it is not to be kept; what is in the midst of a page is about others.
_LOOKED_AT = 2_000
_PATH = re.compile(r"[^\s\"'`<>()|,;*?\[\]{}]{1,400}+")
_PATH_FIELDS = ("path", "file", "filename", "file_path", "filepath", "source", "uri", "url", "location")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What is looked at: texts that may give an order about themselves, all texts, and all names of files."""

    orders: frozenset[str]
    texts: frozenset[str]
    paths: frozenset[str]


def refuse(draft: Draft, *, rules: Rules) -> Draft:
    """A draft that is rejected, with the reason, if it is not to be kept."""
    reason = _reason(_of_draft(draft, rules), rules)
    if not reason:
        return draft.with_decision("refuse", "allowed")
    return replace(draft, rejected=reason).with_decision("refuse", "rejected", reason)


def require_allowed(draft: Draft, *, rules: Rules) -> None:
    """Raise InvalidInput for a draft that is not to be kept, where there is no other way to say so."""
    _require(_reason(_of_draft(draft, rules), rules))


def require_allowed_edit(before: Memory, after: Memory, *, rules: Rules) -> None:
    """Raise InvalidInput for an edit that brings in what is not to be kept; what was there already may stay."""
    _require(_reason(_of_memory(after, rules), rules, known=_of_memory(before, rules)))


def _require(reason: str) -> None:
    if reason:
        raise InvalidInput(f"nothing was stored: {reason}", hint="`rules` shows what this space never keeps")


def _of_draft(draft: Draft, rules: Rules) -> _Said:
    orders = (draft.text, draft.title, *draft.observations)
    return _said(orders, draft_texts(draft, apart=True), source_texts(draft), draft.metadata, rules)


def _of_memory(memory: Memory, rules: Rules) -> _Said:
    orders = (memory.content, memory.title, *(observation.text for observation in memory.observations))
    return _said(orders, memory_texts(memory, apart=True), source_texts(memory), memory.metadata, rules)


def _said(
    orders: tuple[str, ...], texts: Iterator[str], source: Iterator[str], metadata: Mapping[str, Json], rules: Rules
) -> _Said:
    return _Said(
        orders=frozenset(orders),
        texts=frozenset(" ".join(text.casefold().split()) for text in texts) if rules.never else frozenset(),
        paths=frozenset(_paths(orders, source, metadata)) if rules.never_paths else frozenset(),
    )


_NOTHING = _Said(orders=frozenset(), texts=frozenset(), paths=frozenset())


def _reason(said: _Said, rules: Rules, *, known: _Said = _NOTHING) -> str:
    if any(map(_says_so, said.orders - known.orders)):
        return "the text itself says that it is not to be remembered"
    for number, pattern in enumerate(rules.never, 1):
        expected = Wildcard(pattern.casefold()).matches
        if any(map(expected, said.texts - known.texts)) and not any(map(expected, known.texts)):
            # Neither the words nor the pattern are told: they may be what nobody should read.
            return f"pattern {number} of this space's rule `never` fits it"
    for number, pattern in enumerate(rules.never_paths, 1):
        fits = Glob(pattern).matches
        if any(map(fits, said.paths - known.paths)) and not any(map(fits, known.paths)):
            return f"pattern {number} of this space's rule `never_paths` fits a file that it names or comes from"
    return ""


def _says_so(text: str) -> bool:
    parts = (text,) if len(text) <= 2 * _LOOKED_AT else (text[:_LOOKED_AT], text[-_LOOKED_AT:])
    return any(_orders(part) for part in parts)


def _orders(text: str) -> bool:
    folded = text.replace("\u2019", "'")
    folded = (folded if folded.isascii() else folded_script(folded)).lower()
    if not any(hint in folded for hint in _HINTS):
        return False
    return bool(_ORDERS.search(_LINES.sub("\n", _BLANKS.sub(" ", folded.strip()))))


def _paths(orders: tuple[str, ...], source: Iterator[str], metadata: Mapping[str, Json]) -> Iterator[str]:
    yield from source
    yield from (text for name, text in strings_in(dict(metadata)) if name.casefold() in _PATH_FIELDS)
    for text in orders:
        for found in _PATH.findall(text):
            if "." in found or "/" in found or "\\" in found:
                yield found.rstrip(".:!")
