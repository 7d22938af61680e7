"""Texts that are never stored: those that say so themselves, and those that the rules of a space name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import cast

from scrubjay.lazy import dataclass, regex
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Json, Memory
from scrubjay.model.relation import Relation
from scrubjay.model.rules import Rules, rejection
from scrubjay.text.scripts import fold_script
from scrubjay.text.wildcards import Glob, Wildcard

__all__ = [
    "deny", "draft_texts", "memory_texts", "require_allowed", "require_allowed_edit",
    "require_allowed_memory", "require_allowed_relation", "source_texts", "strings_in",
]  # fmt: skip

_THIS = "(?:this|that|it|any of this|any of that|the following|this (?:message|conversation|chat|text|note|part|one))"
_KEEP = "(?:remember|store|save|keep|record|memorize|memorise|log|persist|write down|retain|note)"
# The words that may follow an order about this very text; with any others the order is about something else.
_END = (
    "(?= ?(?:$|[.!?;:)\\]\n\u3002]|please\\b|anywhere\\b|for later\\b|(?:in|to) (?:your |the "
    "|long-term )?memory\\b"
    "|in (?:your|the) notes\\b|permanently\\b|bitte\\b))"
)
# Where an order begins. After a quote, in reported speech, in a list or under a heading it is about something else.
_START = "(?:^(?:[:-] ?)?|[.!?;(\\[\n\u3002] ?|(?<![:\"'-] )\\b(?:please,?|bitte) )"
_ORDERS = regex(
    f"{_START}(?:please,? |so,? |and |but |also )?(?:(?:do not|don't|dont) (?:ever )?{_KEEP} {_THIS}{_END}"
    # "Never store it" describes a practice.
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
_BLANKS, _LINES = regex(r"[^\S\n]+"), regex(r" ?\n[ \n]*")
# Such an order is at the beginning or the end of a text; in the middle of a page it is about something else.
_MAX_CHECKED = 2_000
_PATH = regex(r"[^\s\"'`<>()|,;*?\[\]{}]{1,400}+")
_PATH_FIELDS = ("path", "file", "filename", "file_path", "filepath", "source", "uri", "url", "location")


_labels_of = attrgetter("title", "name", "kind", "category", "project", "scope")
_labels_of_source = attrgetter("session", "conversation", "agent", "tool")
# More than metadata can have.
_MAX_VALUES = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked:
    """The texts that may give an order about themselves, all texts, and all file names."""

    orders: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    paths: frozenset[str] = frozenset()


def deny(draft: Draft, *, rules: Rules) -> Draft:
    """Reject a draft that must not be stored, with the reason."""
    reason = _reason(_check_draft(draft, rules), rules)
    if not reason:
        return draft.with_decision("refuse", "allowed")
    return replace(draft, rejected=reason).with_decision("refuse", "rejected", reason)


def require_allowed(draft: Draft, *, rules: Rules) -> None:
    """Raise Rejected for a draft that must not be stored."""
    _require(_reason(_check_draft(draft, rules), rules))


def require_allowed_memory(memory: Memory, *, rules: Rules) -> None:
    """Raise Rejected for a memory that must not be stored."""
    _require(_reason(_check_memory(memory, rules), rules))


def require_allowed_edit(before: Memory, after: Memory, *, rules: Rules) -> None:
    """Raise Rejected for an edit that adds a text that must not be stored; existing texts may stay."""
    _require(_reason(_check_memory(after, rules), rules, existing=_check_memory(before, rules)))


def require_allowed_relation(relation: Relation, *, rules: Rules, before: Relation | None = None) -> None:
    """Raise Rejected for a relation with a text that must not be stored; texts that it has already may stay."""
    existing = _NOTHING if before is None else _check_relation(before, rules)
    _require(_reason(_check_relation(relation, rules), rules, existing=existing))


def draft_texts(draft: Draft, *, split: bool = False) -> Iterator[str]:
    """Return the texts of a draft. `split`: each item of a list by itself; else a list is one text."""
    yield draft.text
    yield from map(str, _labels_of(draft))
    for texts in (draft.observations, draft.entities, draft.tags):
        yield from texts if split else ("\n".join(texts),)
    yield from (text for _, text in strings_in(dict(draft.metadata)))


def memory_texts(memory: Memory, *, split: bool = False) -> Iterator[str]:
    """Return the texts of a memory, in the same way."""
    yield memory.content
    yield from map(str, _labels_of(memory))
    yield memory.entity
    for texts in (tuple(observation.text for observation in memory.observations), memory.tags):
        yield from texts if split else ("\n".join(texts),)
    yield from (text for _, text in strings_in(dict(memory.metadata)))


def source_texts(record: Draft | Memory) -> Iterator[str]:
    """Return the texts of the source."""
    return map(str, _labels_of_source(record.source))


def strings_in(value: Json) -> Iterator[tuple[str, str]]:
    """Return the strings and keys in a value, each with the key it belongs to; it may be deep, or refer to itself."""
    pending: list[tuple[str, object]] = [("", value)]
    for _ in range(_MAX_VALUES):
        if not pending:
            return
        name, item = pending.pop()
        if isinstance(item, str):
            yield name, item
        elif isinstance(item, dict):
            fields = cast("dict[str, object]", item)
            yield from (("", key) for key in fields)
            pending += fields.items()
        elif isinstance(item, list | tuple):
            pending += ((name, element) for element in cast("Sequence[object]", item))


def _require(reason: str) -> None:
    if reason:
        raise rejection(reason)


def _check_draft(draft: Draft, rules: Rules) -> _Checked:
    orders = (draft.text, draft.title, *draft.observations)
    return _check_texts(orders, draft_texts(draft, split=True), source_texts(draft), draft.metadata, rules)


def _check_memory(memory: Memory, rules: Rules) -> _Checked:
    orders = (memory.content, memory.title, *(observation.text for observation in memory.observations))
    return _check_texts(orders, memory_texts(memory, split=True), source_texts(memory), memory.metadata, rules)


def _check_relation(relation: Relation, rules: Rules) -> _Checked:
    texts = (relation.type, relation.text, *(text for _, text in strings_in(dict(relation.metadata))))
    return _check_texts((relation.text,), iter(texts), iter(()), relation.metadata, rules)


def _check_texts(
    orders: tuple[str, ...], texts: Iterator[str], source: Iterator[str], metadata: Mapping[str, Json], rules: Rules
) -> _Checked:
    return _Checked(
        orders=frozenset(orders),
        texts=frozenset(" ".join(text.casefold().split()) for text in texts) if rules.never else frozenset(),
        paths=frozenset(_paths(orders, source, metadata)) if rules.never_paths else frozenset(),
    )


_NOTHING = _Checked()


def _reason(checked: _Checked, rules: Rules, *, existing: _Checked = _NOTHING) -> str:
    if any(map(_forbids_storing, checked.orders - existing.orders)):
        return "the text itself says that it must not be remembered"
    # The reasons quote neither the words nor the pattern: they may be secret.
    for number, pattern in enumerate(rules.never, 1):
        matches = Wildcard(pattern.casefold()).matches
        if any(map(matches, checked.texts - existing.texts)) and not any(map(matches, existing.texts)):
            return f"pattern {number} of this space's rule `never` matches it"
    for number, pattern in enumerate(rules.never_paths, 1):
        matches = Glob(pattern).matches
        if any(map(matches, checked.paths - existing.paths)) and not any(map(matches, existing.paths)):
            return f"pattern {number} of this space's rule `never_paths` matches a file that it names or comes from"
    return ""


def _forbids_storing(text: str) -> bool:
    parts = (text,) if len(text) <= 2 * _MAX_CHECKED else (text[:_MAX_CHECKED], text[-_MAX_CHECKED:])
    return any(_has_order(part) for part in parts)


def _has_order(text: str) -> bool:
    if not text:
        return False
    folded = text.replace("\u2019", "'")
    folded = (folded if folded.isascii() else fold_script(folded)).lower()
    # With `any` it takes twice as long.
    for hint in _HINTS:
        if hint in folded:
            return bool(_ORDERS.search(_LINES.sub("\n", _BLANKS.sub(" ", folded.strip()))))
    return False


def _paths(orders: tuple[str, ...], source: Iterator[str], metadata: Mapping[str, Json]) -> Iterator[str]:
    yield from source
    yield from (text for name, text in strings_in(dict(metadata)) if name.casefold() in _PATH_FIELDS)
    for text in orders:
        for path in _PATH.findall(text):
            if "." in path or "/" in path or "\\" in path:
                yield path.rstrip(".:!")
