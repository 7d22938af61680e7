"""What somebody wants an entity to be, as records spell it."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import require_flag, require_fraction, require_text, require_texts, wrong_type
from scrubjay.model.memory import Json, Method

Record = Mapping[str, Json]

NEW = (
    "name", "entityType", "observations", "always_include", "source_session", "extraction_method", "relevance_score",
    "tags", "metadata",
)  # fmt: skip
CHANGES = (*NEW, "add_observations", "remove_observations", "tier")
# What an extracted fact tells besides: it may be handed on as it is.
_OF_A_FACT = (
    "type", "statement", "subject", "speaker", "turn", "confidence", "at", "action", "id", "conflict", "conflicts",
)  # fmt: skip
# They tell of observations, and change nothing by themselves.
_BESIDE = ("source_session", "extraction_method")
_NEEDED = ("name", "entityType", "observations")
METHODS = (Method.MANUAL, Method.AUTO, Method.IMPORT, Method.AGENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityInput:
    """What is wanted of an entity; None where nothing was said."""

    name: str | None = None
    type: str | None = None
    observations: tuple[str, ...] | None = None
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    pinned: bool | None = None
    relevance: float | None = None
    session: str = ""
    method: Method = Method.MANUAL
    tags: tuple[str, ...] | None = None
    metadata: Mapping[str, Json] | None = None
    tier: str | None = None


def wish_for_new(record: object) -> EntityInput:
    """The entity that a record describes; raises InvalidInput naming the field."""
    given = _object(record)
    _require_known(given, NEW, also=_OF_A_FACT)
    for name in _NEEDED:
        if given.get(name) is None:
            raise InvalidInput(f"an entity needs {name}", hint=f"Give {', '.join(_NEEDED)}", field=name)
    wish = _wish(given)
    if not (wish.name or "").strip():
        raise InvalidInput("an entity needs a name", field="name")
    return wish


def wish_for_change(record: object) -> EntityInput:
    """What is to change of an entity; raises InvalidInput naming the field."""
    given = _object(record)
    _require_known(given, CHANGES)
    if not any(value is not None and name not in _BESIDE for name, value in given.items()):
        raise InvalidInput("say what to change", hint=f"One of {', '.join(CHANGES)}", field="changes")
    wish = _wish(given)
    if wish.observations is not None and (wish.added or wish.removed):
        raise InvalidInput(
            "observations replaces them all", hint="Give it, or add_observations and remove_observations",
            field="observations",
        )  # fmt: skip
    if wish.name is not None and not wish.name.strip():
        raise InvalidInput("an entity needs a name", field="name")
    return wish


def _wish(given: Record) -> EntityInput:
    return EntityInput(
        name=_optional_text(given, "name"),
        type=_optional_text(given, "entityType"),
        observations=None if given.get("observations") is None else _said(given, "observations"),
        added=_said(given, "add_observations"),
        removed=_said(given, "remove_observations"),
        pinned=None if (pinned := given.get("always_include")) is None else _flag(pinned),
        relevance=None
        if (score := given.get("relevance_score")) is None
        else require_fraction(score, field="relevance_score"),
        session=_optional_text(given, "source_session") or "",
        method=_method(_optional_text(given, "extraction_method")),
        tags=None if given.get("tags") is None else require_texts(given["tags"], field="tags"),
        metadata=_metadata(given.get("metadata")),
        tier=_optional_text(given, "tier"),
    )


def _object(record: object) -> Record:
    if not isinstance(record, Mapping):
        raise wrong_type("an entity", "an object", record)
    return cast("Record", record)


def _require_known(given: Record, known: Sequence[str], *, also: Iterable[str] = ()) -> None:
    for name in given:
        if name not in known and name not in also:
            near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
            hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(known)}"
            raise InvalidInput(f"an entity has no field {str(name)[:60]!r}", hint=hint, field=str(name)[:60])


def _said(given: Record, name: str) -> tuple[str, ...]:
    """A list of texts, each once; what is blank says nothing."""
    value = given.get(name)
    texts = () if value is None else require_texts(value, field=name)
    return tuple(dict.fromkeys(text for text in texts if text.strip()))


def _optional_text(given: Record, name: str) -> str | None:
    value = given.get(name)
    return None if value is None else require_text(value, field=name)


def _flag(value: Json) -> bool:
    # The tables that this dialect comes from keep 0 and 1.
    return bool(value) if value in (0, 1) else require_flag(value, field="always_include")


def _method(name: str | None) -> Method:
    if name is not None and name not in METHODS:
        known = ", ".join(METHODS[:3])
        raise InvalidInput(
            f"extraction_method must be one of {known}, not {name[:60]!r}", hint="Leave it out for manual",
            field="extraction_method",
        )  # fmt: skip
    return Method(name or Method.MANUAL)


def _metadata(value: Json) -> Mapping[str, Json] | None:
    if value is not None and not isinstance(value, dict):
        raise wrong_type("metadata", "an object", value)
    return value
