"""Tag synonyms: those of a space, before those that come with Scrubjay."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Self, cast

from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.lazy import dataclass
from scrubjay.model.document import Document
from scrubjay.model.memory import Json
from scrubjay.model.tags import TagSynonyms
from scrubjay.text.tags.spelling import TAG_WORDS, normalize_tag, tag_key

__all__ = ["Synonyms", "TagMapping", "builtin_synonyms", "synonyms_from"]

# Keys of the document in which a space keeps them.
_OWN, _OFF = "synonyms", "off"
_MAX_VARIANTS = 5_000

# A primary tag and its variants, which it replaces.
_SYNONYMS = {primary: tuple(variants.split()) for primary, variants in TAG_WORDS.table("synonyms").items()}
# Particular things: their primary comes before them, and they stay.
_SPECIFIC = {primary: tuple(variants.split()) for primary, variants in TAG_WORDS.table("specific").items()}
# Names of one thing: the name that a space uses already is taken, else the first.
_NAMES = tuple(tuple(line.split()) for line in TAG_WORDS.lines("names"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TagMapping:
    """The primary tag that replaces a variant; `own` if the space itself says so.

    `keeps_variant` if the variant says more than its primary, so that a memory has both.
    """

    primary: str
    keeps_variant: bool
    own: bool


@dataclass(frozen=True, kw_only=True)
class Synonyms:
    """The synonyms that hold in a space: its own, and those of Scrubjay that it has not switched off."""

    own: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    off: tuple[str, ...] = ()

    def knows(self, tag: str) -> bool:
        """Return whether a tag is a primary, a variant, or one of several names."""
        return self.knows_key(tag_key(tag))

    def knows_key(self, key: str) -> bool:
        """Return the same of a tag with a key."""
        return key in _KNOWN or key in self._own_primaries or key in self._own_variants

    def primary(self, tag: str) -> TagMapping | None:
        """Return the mapping of a tag, if it is a variant of another."""
        key = tag_key(tag)
        if key in self._own_primaries:
            return None
        if (own := self._own_variants.get(key)) is not None:
            # A particular thing keeps its tag, also under a primary of the space.
            keeps_variant = key in _BUILTIN and _BUILTIN[key].keeps_variant
            return TagMapping(primary=own, keeps_variant=keeps_variant, own=True)
        if key in self._off:
            return None
        keys = [key, *(tag_key(name) for name in _NAMES_BY_KEY.get(key, ()))]
        mapping = next((_BUILTIN[other] for other in keys if other in _BUILTIN), None)
        return None if mapping is None or key == tag_key(mapping.primary) else self._rename(mapping, key)

    def spelling(self, tag: str) -> str | None:
        """Return the spelling of a primary tag; None for another tag."""
        key = tag_key(tag)
        if key in self._own_primaries:
            return self._own_spelling(tag)
        return None if key in self._own_variants else _PRIMARIES.get(key)

    def names(self, tag: str) -> tuple[str, ...]:
        """Return all common names of what a tag names, with the tag itself; none where the space has its own rule."""
        key = tag_key(tag)
        if key in self._own_primaries or key in self._own_variants or key in self._off:
            return ()
        return tuple(name for name in _NAMES_BY_KEY.get(key, ()) if tag_key(name) not in self._off)

    def add(self, tag: str, variants: Sequence[str]) -> Self:
        """Return the synonyms with more variants of a tag; raise InvalidInput for a circle or a chain."""
        primary = _check_tag(tag, field="tag")
        additions = [_check_tag(variant) for variant in variants]
        if not additions:
            raise InvalidInput("name at least one variant", field="variants")
        if (above := self._own_variants.get(tag_key(primary))) is not None:
            raise InvalidInput(
                f"{primary!r} itself stands for {above!r}",
                hint=f"Add the variants to {above!r}, or remove {primary!r} from its variants first",
                field="tag",
            )
        for variant in additions:
            if tag_key(variant) == tag_key(primary):
                raise InvalidInput(
                    f"{variant!r} is {primary!r} in another spelling, which needs no entry", field="variants"
                )
            if tag_key(variant) in self._own_primaries:
                raise InvalidInput(
                    f"{variant!r} has variants of its own, so it cannot stand for {primary!r}",
                    hint=f"Remove its variants first: {', '.join(self.own[self._own_spelling(variant)][:5])}",
                    field="variants",
                )
        name = self._own_spelling(primary)
        every = (*self.own.get(name, ()), *additions)
        keys = {tag_key(variant) for variant in additions}
        own = {other: tuple(each for each in its if tag_key(each) not in keys) for other, its in self.own.items()}
        own[name] = tuple({tag_key(variant): variant for variant in reversed(every)}.values())[::-1]
        off = tuple(variant for variant in self.off if tag_key(variant) not in keys)
        return self._change(own, off)

    def remove(self, variants: Sequence[str]) -> Self:
        """Return the synonyms without some variants, with those of Scrubjay switched off.

        Raise InvalidInput for an unknown variant.
        """
        if not variants:
            raise InvalidInput("name at least one variant", field="variants")
        own, off = dict(self.own), list(self.off)
        for variant in map(_check_tag, variants):
            key = tag_key(variant)
            if key in self._own_variants:
                name = self._own_variants[key]
                own[name] = tuple(other for other in own[name] if tag_key(other) != key)
            elif key in _BUILTIN or key in _NAMES_BY_KEY:
                off += [] if key in self._off else [variant]
            else:
                raise InvalidInput(
                    f"{variant!r} stands for no other tag", hint="`scrubjay tags synonyms` lists those that do",
                    field="variants",
                )  # fmt: skip
        return self._change(own, tuple(off))

    @property
    def as_json(self) -> dict[str, Json]:
        """The value of the document in which a space keeps them."""
        return {_OWN: {name: list(its) for name, its in self.own.items()}, _OFF: list(self.off)}

    @property
    def entries(self) -> tuple[TagSynonyms, ...]:
        """The synonyms of the space, in order."""
        return tuple(TagSynonyms(tag=name, variants=its) for name, its in sorted(self.own.items()))

    @cached_property
    def _own_variants(self) -> Mapping[str, str]:
        return {tag_key(variant): name for name, its in self.own.items() for variant in its}

    @cached_property
    def _own_primaries(self) -> frozenset[str]:
        return frozenset(map(tag_key, self.own))

    @cached_property
    def _off(self) -> frozenset[str]:
        return frozenset(map(tag_key, self.off))

    def _rename(self, mapping: TagMapping, key: str) -> TagMapping | None:
        """Use the name that the space has for a primary tag of Scrubjay."""
        own = self._own_variants.get(tag_key(mapping.primary))
        if own is None:
            return mapping
        return None if key == tag_key(own) else replace(mapping, primary=own)

    def _own_spelling(self, primary: str) -> str:
        return next((name for name in self.own if tag_key(name) == tag_key(primary)), primary)

    def _change(self, own: Mapping[str, tuple[str, ...]], off: tuple[str, ...]) -> Self:
        if sum(map(len, own.values())) + len(off) > _MAX_VARIANTS:
            raise TooLarge(f"a space keeps up to {_MAX_VARIANTS:,} variants of tags", limit=_MAX_VARIANTS)
        return replace(self, own={name: its for name, its in own.items() if its}, off=off)


def synonyms_from(document: Document | None) -> Synonyms:
    """Return the synonyms of a space from its document, without those that cannot be read."""
    if document is None:
        return Synonyms()
    own, off = document.value.get(_OWN), document.value.get(_OFF)
    entries = {name: _strings(its) for name, its in own.items()} if isinstance(own, dict) else {}
    return Synonyms(own={name: its for name, its in entries.items() if its}, off=_strings(off))


def builtin_synonyms() -> tuple[TagSynonyms, ...]:
    """Return the synonyms that come with Scrubjay, in order."""
    maps = [
        TagSynonyms(tag=primary, variants=_SYNONYMS.get(primary, ()), named=_SPECIFIC.get(primary, ()))
        for primary in dict.fromkeys((*_SYNONYMS, *_SPECIFIC))
    ]
    names = (TagSynonyms(tag=names[0], variants=names[1:]) for names in _NAMES)
    return tuple(sorted((*maps, *names), key=lambda entry: entry.tag))


def _check_tag(tag: str, *, field: str = "variants") -> str:
    normal = normalize_tag(tag)
    if not normal:
        raise InvalidInput("a tag cannot be empty", field=field)
    return normal


def _strings(value: Json) -> tuple[str, ...]:
    return tuple(item for item in cast("list[Json]", value) if isinstance(item, str)) if isinstance(value, list) else ()


_BUILTIN: Mapping[str, TagMapping] = {
    tag_key(variant): TagMapping(primary=primary, keeps_variant=keeps_variant, own=False)
    for table, keeps_variant in ((_SYNONYMS, False), (_SPECIFIC, True))
    for primary, variants in table.items()
    for variant in variants
}
_NAMES_BY_KEY: Mapping[str, tuple[str, ...]] = {tag_key(name): names for names in _NAMES for name in names}
_PRIMARIES: Mapping[str, str] = {tag_key(primary): primary for primary in (*_SYNONYMS, *_SPECIFIC)}
_KNOWN = frozenset((*_BUILTIN, *_NAMES_BY_KEY, *_PRIMARIES))
