"""What texts name, and the links that came of a text alone: they go when no text names them any more."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from scrubjay.model.memory import Json, Memory
from scrubjay.model.relation import Relation
from scrubjay.notes.markdown.aliases import aliases_of
from scrubjay.notes.markdown.naming import id_in, link_target
from scrubjay.notes.markdown.wiki import key_of, mentions
from scrubjay.notes.sync.mapping import Linked

__all__ = [
    "is_attachment", "is_typed", "keys_of", "mentions_any", "named_in", "stem_of", "targets_in", "typed_as",
    "typed_by",
]  # fmt: skip

_TYPED = "typed"
_LONGEST = 300


def is_typed(relation: Relation) -> bool:
    """Whether a relation came of a link in a text, and of nothing else."""
    return bool(typed_by(relation))


def typed_by(relation: Relation) -> str:
    """What the text of its source called the target of a relation that came of it, or nothing."""
    return str(relation.metadata.get(_TYPED) or "")


def typed_as(target: str, metadata: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """The metadata of a relation that a text made by naming a target; of one that was set otherwise for no target."""
    rest = {name: value for name, value in (metadata or {}).items() if name != _TYPED}
    return rest | {_TYPED: target[:_LONGEST]} if target else rest


def targets_in(content: str) -> tuple[str, ...]:
    """The notes that a text links, or embeds."""
    found = (
        mention.target for mention in mentions(content) if mention.target.strip() and not is_attachment(mention.target)
    )
    return tuple(dict.fromkeys(found))


def named_in(content: str, linked: Sequence[Linked]) -> frozenset[str]:
    """Those of the linked that a text itself names by their files."""
    if not linked or "[[" not in content:
        return frozenset()
    keys = {key_of(target) for target in targets_in(content)}
    return frozenset(one.id for one in linked if keys & {key_of(one.target), key_of(stem_of(one.target))})


def mentions_any(content: str, keys: set[str], *, memory_id: str) -> bool:
    """Whether a text names a note, which has these keys."""
    if "[[" not in content:
        return False
    named = ((key_of(target), key_of(stem_of(target)), id_in(target)) for target in targets_in(content))
    return any(key in keys or stem in keys or own == memory_id for key, stem, own in named)


def keys_of(memory: Memory, path: str) -> set[str]:
    """All that a link may call a note by."""
    names: Iterable[str] = (
        memory.label, memory.name, memory.id, link_target(path), stem_of(path), *aliases_of(memory.metadata)
    )  # fmt: skip
    return {key for name in names if (key := key_of(name))}


def stem_of(target: str) -> str:
    """A target without the folders before it."""
    return PurePosixPath(link_target(target)).name


def is_attachment(target: str) -> bool:
    """Whether a target is a file that is no note, by its ending."""
    return PurePosixPath(target).suffix.lower() in _MEDIA


_MEDIA = frozenset(
    f".{one}"
    for one in (
        "png jpg jpeg gif webp svg bmp avif tif tiff heic mp3 wav m4a ogg flac webm 3gp mp4 mov mkv ogv avi pdf docx "
        "odt xlsx pptx txt html htm csv json canvas base zip"
    ).split()
)
