"""Which tags stand for which: what a space says of its own, before what comes with Scrubjay."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self, cast

from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.model.document import Document
from scrubjay.model.memory import Json
from scrubjay.model.tags import TagSynonyms
from scrubjay.text.tags.builtin import NAMED, NAMES, SYNONYMS
from scrubjay.text.tags.spelling import normalize_tag, tag_key

__all__ = ["Synonyms", "TagMapping", "builtin_synonyms", "synonyms_from"]

_OWN, _OFF = "synonyms", "off"
_MOST_VARIANTS = 5_000


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
    """The synonyms that hold in a space: its own, and those of Scrubjay that are not switched off."""

    own: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    off: tuple[str, ...] = ()

    def primary(self, tag: str) -> TagMapping | None:
        """What a tag stands for, if it is one that stands for another."""
        key = tag_key(tag)
        if key in self._own_primaries:
            return None
        if (mine := self._own_variants.get(key)) is not None:
            # What is known to be a thing of its own keeps_variant, whoever says what it belongs to.
            return TagMapping(primary=mine, keeps_variant=key in _BUILT_IN and _BUILT_IN[key].keeps_variant, own=True)
        if key in self._off:
            return None
        known = [key, *(tag_key(name) for name in _NAMES.get(key, ()))]
        found = next((_BUILT_IN[one] for one in known if one in _BUILT_IN), None)
        return None if found is None or key == tag_key(found.primary) else self._renamed(found, key)

    def spelling(self, tag: str) -> str | None:
        """How a tag is spelt that others stand for; None when none do."""
        key = tag_key(tag)
        if key in self._own_primaries:
            return self._spelling(tag)
        return None if key in self._own_variants else _PRIMARIES.get(key)

    def names(self, tag: str) -> tuple[str, ...]:
        """All common names of what a tag names, itself among them; none where the space has its own opinion."""
        key = tag_key(tag)
        if key in self._own_primaries or key in self._own_variants or key in self._off:
            return ()
        return tuple(one for one in _NAMES.get(key, ()) if tag_key(one) not in self._off)

    def add(self, tag: str, variants: Sequence[str]) -> Self:
        """With some variants of a tag more; raises InvalidInput for a circle or a chain."""
        primary = _checked(tag, field="tag")
        wanted = [_checked(variant) for variant in variants]
        if not wanted:
            raise InvalidInput("name at least one variant", field="variants")
        if (above := self._own_variants.get(tag_key(primary))) is not None:
            raise InvalidInput(
                f"{primary!r} itself stands for {above!r}",
                hint=f"Add the variants to {above!r}, or remove {primary!r} from its variants first",
                field="tag",
            )
        for one in wanted:
            self._refuse_if_bound(one, primary)
        mine = (*self.own.get(self._spelling(primary), ()), *wanted)
        keys = {tag_key(one) for one in wanted}
        own = {name: tuple(one for one in its if tag_key(one) not in keys) for name, its in self.own.items()}
        own[self._spelling(primary)] = tuple({tag_key(one): one for one in reversed(mine)}.values())[::-1]
        off = tuple(one for one in self.off if tag_key(one) not in keys)
        return self._changed(own, off)

    def remove(self, variants: Sequence[str]) -> Self:
        """Without some variants; what comes with Scrubjay is switched off. Raises InvalidInput for an unknown one."""
        if not variants:
            raise InvalidInput("name at least one variant", field="variants")
        own, off = dict(self.own), list(self.off)
        for variant in map(_checked, variants):
            key = tag_key(variant)
            if key in self._own_variants:
                name = self._own_variants[key]
                own[name] = tuple(one for one in own[name] if tag_key(one) != key)
            elif key in _BUILT_IN or key in _NAMES:
                off += [] if key in self._off else [variant]
            else:
                raise InvalidInput(
                    f"{variant!r} stands for no other tag", hint="`scrubjay tags synonyms` lists those that do",
                    field="variants",
                )  # fmt: skip
        return self._changed(own, tuple(off))

    @property
    def as_json(self) -> dict[str, Json]:
        """As a space keeps them."""
        return {_OWN: {name: list(its) for name, its in self.own.items()}, _OFF: list(self.off)}

    @property
    def entries(self) -> tuple[TagSynonyms, ...]:
        """Those of the space, in order."""
        return tuple(TagSynonyms(tag=name, variants=its) for name, its in sorted(self.own.items()))

    @cached_property
    def _own_variants(self) -> Mapping[str, str]:
        return {tag_key(one): name for name, its in self.own.items() for one in its}

    @cached_property
    def _own_primaries(self) -> frozenset[str]:
        return frozenset(map(tag_key, self.own))

    @cached_property
    def _off(self) -> frozenset[str]:
        return frozenset(map(tag_key, self.off))

    def _renamed(self, found: TagMapping, key: str) -> TagMapping | None:
        """The space may call by another name what Scrubjay maps to."""
        mine = self._own_variants.get(tag_key(found.primary))
        if mine is None:
            return found
        return None if key == tag_key(mine) else replace(found, primary=mine)

    def _spelling(self, primary: str) -> str:
        return next((name for name in self.own if tag_key(name) == tag_key(primary)), primary)

    def _refuse_if_bound(self, variant: str, primary: str) -> None:
        if tag_key(variant) == tag_key(primary):
            raise InvalidInput(
                f"{variant!r} is {primary!r} in another spelling, which needs no entry", field="variants"
            )
        if tag_key(variant) in self._own_primaries:
            raise InvalidInput(
                f"{variant!r} has variants of its own, so it cannot stand for {primary!r}",
                hint=f"Remove its variants first: {', '.join(self.own[self._spelling(variant)][:5])}",
                field="variants",
            )

    def _changed(self, own: Mapping[str, tuple[str, ...]], off: tuple[str, ...]) -> Self:
        if sum(map(len, own.values())) + len(off) > _MOST_VARIANTS:
            raise TooLarge(f"a space keeps up to {_MOST_VARIANTS:,} variants of tags", limit=_MOST_VARIANTS)
        return replace(self, own={name: its for name, its in own.items() if its}, off=off)


def synonyms_from(document: Document | None) -> Synonyms:
    """The synonyms of a space, from the paper they are on; what cannot be read there is as if it were not."""
    if document is None:
        return Synonyms()
    own, off = document.value.get(_OWN), document.value.get(_OFF)
    mine = {name: _texts(its) for name, its in own.items()} if isinstance(own, dict) else {}
    return Synonyms(own={name: its for name, its in mine.items() if its}, off=_texts(off))


def builtin_synonyms() -> tuple[TagSynonyms, ...]:
    """What comes with Scrubjay, in order."""
    named = dict.fromkeys((*SYNONYMS, *NAMED))
    maps = [TagSynonyms(tag=one, variants=SYNONYMS.get(one, ()), named=NAMED.get(one, ())) for one in named]
    return tuple(sorted((*maps, *(TagSynonyms(tag=names[0], variants=names[1:]) for names in NAMES)), key=_tag))


def _checked(tag: str, *, field: str = "variants") -> str:
    tidy = normalize_tag(tag)
    if not tidy:
        raise InvalidInput("a tag cannot be empty", field=field)
    return tidy


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(one for one in cast("list[Json]", value) if isinstance(one, str)) if isinstance(value, list) else ()


def _tag(one: TagSynonyms) -> str:
    return one.tag


_BUILT_IN: Mapping[str, TagMapping] = {
    tag_key(variant): TagMapping(primary=primary, keeps_variant=keeps_variant, own=False)
    for table, keeps_variant in ((SYNONYMS, False), (NAMED, True))
    for primary, variants in table.items()
    for variant in variants
}
_NAMES: Mapping[str, tuple[str, ...]] = {tag_key(name): names for names in NAMES for name in names}
_PRIMARIES: Mapping[str, str] = {tag_key(primary): primary for primary in (*SYNONYMS, *NAMED)}
