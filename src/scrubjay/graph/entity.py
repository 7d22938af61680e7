"""Entities and memories: one is the other, to the letter.

A memory's name is a handle: one line, not too long, never empty. An entity's name may be any text, and so may its
type and its observations. What a memory cannot hold as it is stands in its metadata and comes back unchanged.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from scrubjay.model.draft import Draft, Edit
from scrubjay.model.identity import is_id
from scrubjay.model.memory import Json, Memory, Source, State
from scrubjay.model.relation import Relation

# The kind of a memory that stands for an entity which relations mention and nobody has created.
MENTION = "mention"
_KEY = "kg"
_LONGEST = 200
_DEFAULT_KIND = "note"
_DIGITS = 16
_BEGINNING = datetime.min.replace(tzinfo=UTC)
# A name that looks like one of our handles gets a handle itself: so no two names ever share one.
_LIKE_A_HANDLE = re.compile(f"~[0-9a-f]{{{_DIGITS}}}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A thing, its type, and what is known about it."""

    name: str
    type: str
    observations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A relation, by the names of its ends; `made` puts it in order and does not make it another one."""

    source: str
    target: str
    type: str
    made: datetime | None = field(default=None, compare=False)


def entity_of(memory: Memory) -> Entity:
    """The entity that a memory is; content that another tool wrote is its first observation."""
    exact = _exact(memory.metadata)
    kind = exact.get("type")
    return Entity(
        name=name_of(memory),
        type=kind if isinstance(kind, str) and _kind_of(kind) == memory.kind else memory.kind,
        observations=(
            *_content(memory),
            *_with_blanks([observation.text for observation in memory.observations], exact),
        ),
    )


def name_of(memory: Memory) -> str:
    """The entity's name, which is the memory's unless that is a handle for it."""
    name = _exact(memory.metadata).get("name")
    return name if isinstance(name, str) and handle_of(name) == memory.name else memory.name


def handle_of(name: str) -> str:
    """What a memory is named that has this name: the name itself whenever a memory can have it."""
    tidy = " ".join(name.split())
    if name == tidy and 0 < len(name) <= _LONGEST and not is_id(name) and not _LIKE_A_HANDLE.search(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{tidy[:_LONGEST].rstrip() or 'unnamed'}~{digest}"


def draft_of(entity: Entity, *, source: Source, project: str = "") -> Draft:
    """The memory to be made of an entity."""
    solid, blanks = _without_blanks(entity.observations)
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


def edit_to(memory: Memory, observations: Sequence[str]) -> Edit:
    """The edit after which an entity has these observations."""
    content = _content(memory)
    keeps = bool(content) and tuple(observations[:1]) == content
    solid, blanks = _without_blanks(observations[1:] if keeps else observations)
    exact = {name: value for name, value in _exact(memory.metadata).items() if name != "blank"}
    if blanks:
        exact["blank"] = blanks
    metadata = {name: value for name, value in memory.metadata.items() if name != _KEY}
    fields: dict[str, Json] = {"observations": [*solid], "metadata": {**metadata, _KEY: exact} if exact else metadata}
    return Edit(fields=fields if keeps or not content else {**fields, "content": ""}, may_empty=True)


def relabelled(
    memory: Memory, *, name: str | None = None, type: str | None = None, metadata: Mapping[str, Json] | None = None
) -> dict[str, Json]:
    """The fields of an edit that gives an entity another name, type or metadata; None leaves one as it is."""
    fields: dict[str, Json] = {}
    exact = dict(_exact(memory.metadata))
    if name is not None:
        fields["name"] = handle_of(name)
        exact = {key: value for key, value in exact.items() if key != "name"} | _exact_name(name)
    if type is not None:
        fields["kind"] = kind = _kind_of(type)
        exact = {key: value for key, value in exact.items() if key != "type"}
        exact |= {} if kind == type else {"type": type}
    given = memory.metadata if metadata is None else metadata
    after: dict[str, Json] = {key: value for key, value in given.items() if key != _KEY}
    if exact:
        after[_KEY] = exact
    return fields if after == dict(memory.metadata) else {**fields, "metadata": after}


def mention_of(name: str, *, source: Source) -> Draft:
    """The memory that stands for an entity which relations mention and nobody has created."""
    exact: dict[str, Json] = {**_exact_name(name), "mention": True}
    return Draft(
        text="", name=handle_of(name), kind=MENTION, intent="new", source=source, metadata={_KEY: exact}
    )  # fmt: skip


def is_mention(memory: Memory) -> bool:
    """Whether a memory only stands for an entity that is mentioned."""
    return memory.state is State.ARCHIVED and _exact(memory.metadata).get("mention") is True


def relation_of(link: Link, *, source: str, target: str, made: datetime) -> Relation:
    """The edge of a link between two memories."""
    type_ = handle_of(link.type)
    metadata: dict[str, Json] = {} if type_ == link.type else {_KEY: {"type": link.type}}
    return Relation(source=source, target=target, type=type_, metadata=metadata, created_at=made)


def type_of(relation: Relation) -> str:
    """The type of a relation as it was given."""
    exact = _exact(relation.metadata).get("type")
    return exact if isinstance(exact, str) and handle_of(exact) == relation.type else relation.type


def in_order(links: Iterable[Link]) -> list[Link]:
    """Links in the order in which they were made."""
    return sorted(links, key=lambda one: one.made or _BEGINNING)


def _exact(metadata: Mapping[str, Json]) -> dict[str, Json]:
    found = metadata.get(_KEY)
    return found if isinstance(found, dict) else {}


def _exact_name(name: str) -> dict[str, Json]:
    return {} if handle_of(name) == name else {"name": name}


def _kind_of(type_: str) -> str:
    return " ".join(type_.split())[:_LONGEST].rstrip() or _DEFAULT_KIND


def _content(memory: Memory) -> tuple[str, ...]:
    return (memory.content,) if memory.content.strip() else ()


def _without_blanks(observations: Sequence[str]) -> tuple[list[str], list[Json]]:
    """The observations that say something, and where the others stood: a memory keeps none that are blank."""
    blanks: list[Json] = [[at, text] for at, text in enumerate(observations) if not text.strip()]
    return [text for text in observations if text.strip()], blanks


def _with_blanks(solid: list[str], exact: Mapping[str, Json]) -> list[str]:
    found = list(solid)
    blanks = exact.get("blank")
    for one in blanks if isinstance(blanks, list) else []:
        match one:
            case [int(at), str(text)]:
                found.insert(at, text)
            case _:
                continue
    return found
