"""Tags of a space: their counts, their synonyms, and the normalization of new ones."""

from scrubjay.lazy import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TagCount:
    """A tag and the number of live memories that have it."""

    tag: str
    memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TagSynonyms:
    """A primary tag, the variants that it replaces, and `named`: more specific tags that stay next to it."""

    tag: str
    variants: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TagTable:
    """The tags of a space, the most used first, and its synonyms.

    `built_in` synonyms come with Scrubjay; the space switches the variants in `off` off. `more`: the list is cut.
    """

    tags: tuple[TagCount, ...] = ()
    synonyms: tuple[TagSynonyms, ...] = ()
    built_in: tuple[TagSynonyms, ...] = ()
    off: tuple[str, ...] = ()
    more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TagReason:
    """The change of a tag, and its reason."""

    tag: str
    becomes: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TagPreview:
    """A preview of the normalization of tags."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    suggested: tuple[str, ...] = ()
    why: tuple[TagReason, ...] = ()
