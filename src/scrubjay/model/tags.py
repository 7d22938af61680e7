"""Tags of a space: how often each is used, which words stand for them, and what becomes of those somebody gives."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TagCount:
    """A tag and how many live memories have it."""

    tag: str
    memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TagSynonyms:
    """A primary tag, the variants that it replaces, and those that stay beside it because they say more."""

    tag: str
    variants: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TagTable:
    """The tags of a space, the most used first, and the synonyms that hold in it.

    `built_in` come with Scrubjay; of their variants those in `off` are left alone in this space. `more`: there are more
    tags than are listed.
    """

    tags: tuple[TagCount, ...] = ()
    synonyms: tuple[TagSynonyms, ...] = ()
    built_in: tuple[TagSynonyms, ...] = ()
    off: tuple[str, ...] = ()
    more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TagReason:
    """What became of one tag, and why."""

    tag: str
    becomes: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TagPreview:
    """What would become of some tags."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    suggested: tuple[str, ...] = ()
    why: tuple[TagReason, ...] = ()
