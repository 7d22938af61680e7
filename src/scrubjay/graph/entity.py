"""Entities as memories, without loss.

The name of a memory is a handle: one line, not too long, never empty. The name of an entity may be any text, and so may
its type and its observations. The metadata of a memory has the exact form of whatever the memory cannot hold.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime

from scrubjay.lazy import dataclass
from scrubjay.model.draft import Draft
from scrubjay.model.identity import is_id
from scrubjay.model.labels import mark_of_all
from scrubjay.model.memory import Flag, Json, Memory, Source, State, Trust
from scrubjay.model.relation import Relation
from scrubjay.model.requests import Edit

# The kind of a memory that represents an entity which relations mention and which was never created.
MENTION = "mention"
_KEY = "kg"
_MAX_LENGTH = 200
_DEFAULT_KIND = "note"
_DIGITS = 16
_EARLIEST = datetime.min.replace(tzinfo=UTC)
# A name that looks like a handle gets a handle itself, so that no two names ever share one.
_HANDLE = re.compile(f"~[0-9a-f]{{{_DIGITS}}}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A named thing with a type and observations."""

    name: str
    type: str
    observations: tuple[str, ...] = ()
    # Whose word it is, unless it is an agent's or the user's own.
    mark: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityRelation:
    """A relation by the names of its ends; `created_at` orders relations and is not part of their identity."""

    source: str
    target: str
    type: str
    created_at: datetime | None = field(default=None, compare=False)


def entity_of(memory: Memory) -> Entity:
    """Return a memory as an entity; content from another tool becomes its first observation."""
    blanks = _exact(memory.metadata)
    return Entity(
        name=name_of(memory),
        type=kind_label(memory),
        observations=(
            *_content(memory),
            *_insert_blanks([observation.text for observation in memory.observations], blanks),
        ),
        mark=_mark(memory),
    )


def _mark(memory: Memory) -> str:
    # Agents use the knowledge graph: their own word needs no mark there.
    sources = (memory.source, *(observation.source for observation in memory.observations))
    is_agent = all(source is None or source.trust in (Trust.USER, Trust.AGENT) for source in sources)
    return "" if is_agent and Flag.SUSPICIOUS not in memory.flags else mark_of_all(memory)


def name_of(memory: Memory) -> str:
    """Return the name of the entity: that of the memory, unless it is a handle."""
    name = _exact(memory.metadata).get("name")
    return name if isinstance(name, str) and handle_of(name) == memory.name else memory.name


def kind_label(memory: Memory) -> str:
    """Return the type of the entity: the kind of the memory, as its writer spelled it."""
    kind = _exact(memory.metadata).get("type")
    return kind if isinstance(kind, str) and _kind_of(kind) == memory.kind else memory.kind


def handle_of(name: str) -> str:
    """Return the memory name for an entity name: the same wherever possible."""
    tidy = " ".join(name.split())
    if name == tidy and 0 < len(name) <= _MAX_LENGTH and not is_id(name) and not _HANDLE.search(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{tidy[:_MAX_LENGTH].rstrip() or 'unnamed'}~{digest}"


def draft_of(entity: Entity, *, source: Source, project: str = "") -> Draft:
    """Return the draft of the memory for an entity."""
    solid, blanks = _split_blanks(entity.observations)
    exact: dict[str, Json] = {**_exact_name(entity.name)}
    kind = _kind_of(entity.type)
    if kind != entity.type:
        exact["type"] = entity.type
    if blanks:
        exact["blank"] = blanks
    return Draft(
        text="", name=handle_of(entity.name), kind=kind, observations=tuple(solid), intent="new", project=project,
        source=source, metadata={_KEY: exact} if exact else {},
    )  # fmt: skip


def edit_observations(memory: Memory, observations: Sequence[str]) -> Edit:
    """Return the edit that gives an entity these observations."""
    content = _content(memory)
    keeps_content = bool(content) and tuple(observations[:1]) == content
    solid, blanks = _split_blanks(observations[1:] if keeps_content else observations)
    exact = {name: value for name, value in _exact(memory.metadata).items() if name != "blank"}
    if blanks:
        exact["blank"] = blanks
    metadata = {name: value for name, value in memory.metadata.items() if name != _KEY}
    fields: dict[str, Json] = {"observations": [*solid], "metadata": {**metadata, _KEY: exact} if exact else metadata}
    return Edit(fields=fields if keeps_content or not content else {**fields, "content": ""}, may_empty=True)


def edit_identity(
    memory: Memory, *, name: str | None = None, type: str | None = None, metadata: Mapping[str, Json] | None = None
) -> dict[str, Json]:
    """Return the fields of an edit that sets name, type or metadata of an entity; None leaves one unchanged."""
    fields: dict[str, Json] = {}
    exact = dict(_exact(memory.metadata))
    if name is not None:
        fields["name"] = handle_of(name)
        exact = {key: value for key, value in exact.items() if key != "name"} | _exact_name(name)
    if type is not None:
        fields["kind"] = kind = _kind_of(type)
        exact = {key: value for key, value in exact.items() if key != "type"}
        exact |= {} if kind == type else {"type": type}
    source = memory.metadata if metadata is None else metadata
    after: dict[str, Json] = {key: value for key, value in source.items() if key != _KEY}
    if exact:
        after[_KEY] = exact
    return fields if after == dict(memory.metadata) else {**fields, "metadata": after}


def mention_of(name: str, *, source: Source) -> Draft:
    """Return the draft of a memory for an entity that is only mentioned."""
    exact: dict[str, Json] = {**_exact_name(name), "mention": True}
    return Draft(
        text="", name=handle_of(name), kind=MENTION, intent="new", source=source, metadata={_KEY: exact}
    )  # fmt: skip


def is_mention(memory: Memory) -> bool:
    """Return whether a memory represents an entity that is only mentioned."""
    return memory.state is State.ARCHIVED and _exact(memory.metadata).get("mention") is True


def relation_of(relation: EntityRelation, *, source: str, target: str, created_at: datetime) -> Relation:
    """Return the relation between two memories, by id."""
    type_ = handle_of(relation.type)
    metadata: dict[str, Json] = {} if type_ == relation.type else {_KEY: {"type": relation.type}}
    return Relation(source=source, target=target, type=type_, metadata=metadata, created_at=created_at)


def type_of(relation: Relation) -> str:
    """Return the exact type of a relation."""
    exact = _exact(relation.metadata).get("type")
    return exact if isinstance(exact, str) and handle_of(exact) == relation.type else relation.type


def sort_by_creation(relations: Iterable[EntityRelation]) -> list[EntityRelation]:
    """Return relations in the order of their creation."""
    return sorted(relations, key=lambda relation: relation.created_at or _EARLIEST)


def _exact(metadata: Mapping[str, Json]) -> dict[str, Json]:
    exact = metadata.get(_KEY)
    return exact if isinstance(exact, dict) else {}


def _exact_name(name: str) -> dict[str, Json]:
    return {} if handle_of(name) == name else {"name": name}


def _kind_of(type_: str) -> str:
    return " ".join(type_.split())[:_MAX_LENGTH].rstrip() or _DEFAULT_KIND


def _content(memory: Memory) -> tuple[str, ...]:
    return (memory.content,) if memory.content.strip() else ()


def _split_blanks(observations: Sequence[str]) -> tuple[list[str], list[Json]]:
    """Return the non-blank observations, and the positions of blank ones, which a memory cannot hold."""
    blanks: list[Json] = [[at, text] for at, text in enumerate(observations) if not text.strip()]
    return [text for text in observations if text.strip()], blanks


def _insert_blanks(solid: list[str], exact: Mapping[str, Json]) -> list[str]:
    observations = list(solid)
    blanks = exact.get("blank")
    for blank in blanks if isinstance(blanks, list) else []:
        match blank:
            case [int(at), str(text)]:
                observations.insert(at, text)
            case _:
                continue
    return observations
