"""What is never remembered: texts that say so themselves, and what the rules of a space name."""

import re
from collections.abc import Iterator
from dataclasses import replace

from scrubjay.model.draft import Draft
from scrubjay.model.memory import Json
from scrubjay.model.rules import Rules
from scrubjay.text.scripts import folded_script
from scrubjay.text.wildcards import Glob, Wildcard

__all__ = ["refuse"]

_THIS = "(?:this|that|it|any of this|any of that|the following|this (?:message|conversation|chat|text|note|part|one))"
_KEEP = "(?:remember|store|save|keep|record|memorize|memorise|log|persist|write down|retain|note)"
# What may follow an order that is about this very text; with anything else it is about something else.
_END = (
    "(?= ?(?:$|[.!?,;:)\\]\n\u3002\uff0c]|please\\b|anywhere\\b|for later\\b|(?:in|to) (?:your |the "
    "|long-term )?memory\\b"
    "|in (?:your|the) notes\\b|permanently\\b|bitte\\b))"
)
# Where an order begins: what is quoted or told of others is none.
_START = "(?:^|[.!?;:(\\[\n\u2014\u3002-] ?|\\bplease,? |\\bbitte )"
_ORDERS = re.compile(
    f"{_START}(?:please,? |so,? |and |but |also )?(?:(?:do not|don't|dont|never) (?:ever )?{_KEEP} {_THIS}{_END}"
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


def refuse(draft: Draft, *, rules: Rules) -> Draft:
    """A draft that is rejected, with the reason, if it is not to be kept."""
    reason = _reason(draft, rules)
    if not reason:
        return draft.decided("refuse", "allowed")
    return replace(draft, rejected=reason).decided("refuse", "rejected", reason)


def _reason(draft: Draft, rules: Rules) -> str:
    if any(_says_so(text) for text in (draft.text, draft.title, *draft.observations)):
        return "the text itself says that it is not to be remembered"
    if rules.never:
        texts = [" ".join(text.casefold().split()) for text in _texts(draft)]
        for number, pattern in enumerate(rules.never, 1):
            if any(map(Wildcard(pattern.casefold()).stands_in, texts)):
                # Neither the words nor the pattern are told: they may be what nobody should read.
                return f"pattern {number} of this space's rule `never` fits it"
    if rules.never_paths:
        paths = list(dict.fromkeys(_paths(draft)))
        for number, pattern in enumerate(rules.never_paths, 1):
            if any(map(Glob(pattern).fits, paths)):
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


def _texts(draft: Draft) -> Iterator[str]:
    yield from (draft.text, draft.title, draft.name, draft.category, draft.project, draft.kind)
    yield from draft.observations
    yield from draft.entities
    yield from draft.tags
    yield from (text for _, text in _strings(dict(draft.metadata)))


def _paths(draft: Draft) -> Iterator[str]:
    yield from (draft.source.tool, draft.source.conversation, draft.source.session)
    yield from (text for name, text in _strings(dict(draft.metadata)) if name.casefold() in _PATH_FIELDS)
    for text in (draft.text, draft.title, *draft.observations):
        for found in _PATH.findall(text):
            if "." in found or "/" in found or "\\" in found:
                yield found.rstrip(".:!")


def _strings(value: Json) -> Iterator[tuple[str, str]]:
    """The texts in a value with the names they stand under, without going down into it: it may be deep."""
    waiting: list[tuple[str, Json]] = [("", value)]
    while waiting:
        name, one = waiting.pop()
        if isinstance(one, str):
            yield name, one
        elif isinstance(one, list):
            waiting += ((name, each) for each in one)
        elif isinstance(one, dict):
            waiting += one.items()
