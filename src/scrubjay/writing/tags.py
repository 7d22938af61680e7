"""Tags become those of the space: variants their primary, other spellings the one in use, too few a few more."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

from scrubjay import telemetry
from scrubjay.model.draft import Draft
from scrubjay.model.memory import State
from scrubjay.model.query import facet
from scrubjay.model.rules import Rules
from scrubjay.model.tags import TagPreview, TagReason
from scrubjay.ports import Embedder, RecordStore
from scrubjay.text.tags.matching import TagMatch, TagRelation, best_match, relate_tags
from scrubjay.text.tags.spelling import is_foldable, normalize_tag, tag_key
from scrubjay.text.tags.synonyms import Synonyms
from scrubjay.text.tags.vocabulary import TagVocabulary
from scrubjay.writing.tag_suggestions import suggested_tags
from scrubjay.writing.tag_vectors import cosines

__all__ = ["normalise", "normalised"]

_OFF = "off"
_CANDIDATES = 8
_MOST_TAGS = 5_000
_MOST_SPACES = 32
# To take in more at once takes long enough that others should not wait for it.
_MANY_NEW = 300
_vocabularies: WeakKeyDictionary[RecordStore, dict[str, TagVocabulary]] = WeakKeyDictionary()


async def normalise(
    draft: Draft,
    *,
    space: str,
    rules: Rules,
    synonyms: Synonyms,
    store: RecordStore,
    embedder: Embedder,
    binding: bool = True,
) -> Draft:
    """A draft with the tags of its space; unless that is `binding`, it only says what they would be."""
    if rules.tags == _OFF:
        return draft
    with telemetry.stage("write.tags"):
        found = await normalised(draft, space=space, rules=rules, synonyms=synonyms, store=store, embedder=embedder)
    why = "; ".join(_line(one, is_new=one.tag in found.suggested) for one in found.why)
    if not binding:
        is_same = found.after == draft.tags
        told = (
            draft if is_same else draft.with_warning(f"the tags of this space would be {', '.join(found.after)}: {why}")
        )
        return told.with_decision("tags", "kept" if is_same else "reported", why)
    dropped = [one.tag for one in found.why if not one.becomes]
    if dropped:
        draft = draft.with_warning(f"a memory has up to {rules.most_tags} tags here; left out: {', '.join(dropped)}")
    outcome = "kept" if found.after == draft.tags else "normalised"
    if found.suggested:
        outcome += f", {len(found.suggested)} suggested"
    return replace(draft, tags=found.after, suggested_tags=found.suggested).with_decision("tags", outcome, why)


async def normalised(
    draft: Draft, *, space: str, rules: Rules, synonyms: Synonyms, store: RecordStore, embedder: Embedder
) -> TagPreview:
    """What becomes of the tags of a draft, and which the text gives it besides."""
    if rules.tags == _OFF:
        return TagPreview(before=draft.tags, after=draft.tags)
    settling = _Settling(space=space, synonyms=synonyms, store=store, embedder=embedder)
    after, why = await settling.settled(draft.tags, most=rules.most_tags)
    room = rules.least_tags - len(after)
    more = await suggested_tags(draft, after, synonyms=synonyms, space=space, store=store) if room > 0 else []
    suggested = await settling.suggested(more, beside=after, room=room)
    reasons = [TagReason(tag=one, becomes=(one,), why=reason) for one, reason in suggested.items()]
    return TagPreview(before=draft.tags, after=after, suggested=tuple(suggested), why=(*why, *reasons))


@dataclass(kw_only=True)
class _Settling:
    """The tags of one draft on their way; `known` is how many memories have each that was asked about."""

    space: str
    synonyms: Synonyms
    store: RecordStore
    embedder: Embedder
    known: dict[str, int] = field(default_factory=dict[str, int])

    async def settled(self, tags: Sequence[str], *, most: int) -> tuple[tuple[str, ...], list[TagReason]]:
        """The tags as they should be, in order, and why those that change do."""
        given = tuple(dict.fromkeys(one for one in (tag.strip().lstrip("# ").lower() for tag in tags) if one))
        await self._learn(given)
        found: dict[str, str] = {}
        why: list[TagReason] = []
        for tag in given:
            if len(found) >= most:
                why.append(TagReason(tag=tag, becomes=(), why=f"there are {most} already"))
                continue
            becomes, reason = await self._resolved(tag)
            for become in becomes:
                found.setdefault(tag_key(become), become)
            if becomes != (tag,):
                why.append(TagReason(tag=tag, becomes=becomes, why=reason))
        return tuple(found.values())[:most], why

    async def suggested(self, found: Sequence[tuple[str, str]], *, beside: Sequence[str], room: int) -> dict[str, str]:
        """Suggestions as they should be, as many as there is room for, each with its reason."""
        taken = set(map(tag_key, beside))
        kept: dict[str, str] = {}
        for tag, why in found:
            if len(kept) >= room:
                break
            settled, _ = await self.settled((tag,), most=room - len(kept))
            kept |= {one: why for one in settled if tag_key(one) not in taken}
            taken |= set(map(tag_key, settled))
        return kept

    async def _resolved(self, tag: str) -> tuple[tuple[str, ...], str]:
        plain = normalize_tag(tag)
        if (mapped := self._by_table(plain)) is not None:
            return mapped
        for one in (tag, plain):
            if self.known.get(one):
                return (one,), "as the space spells it"
        match = await self._match(plain) if is_foldable(plain) else None
        if match is None:
            return (plain,), "spelling"
        await self._learn((match.tag,))
        base = self._by_table(match.tag)
        becomes = base[0] if base else (match.tag,)
        return (becomes if match.replaces else (*becomes, plain)), _told(match)

    def _by_table(self, tag: str) -> tuple[tuple[str, ...], str] | None:
        """By what is known of it whatever the space has: its names, and what it stands for."""
        name = self._name(tag)
        standing = self.synonyms.primary(name) or self.synonyms.primary(tag)
        if standing is None and name != tag:
            return (name,), "another name of it"
        if standing is None:
            spelling = None if self.known.get(tag) else self.synonyms.spelling(tag)
            return None if spelling in (None, tag) else ((spelling,), "spelling")
        whose = "a synonym in this space" if standing.own else "a synonym"
        if not standing.keeps_variant:
            return (standing.primary,), whose
        return (standing.primary, name), f"{whose}; it says more, and stays"

    def _name(self, tag: str) -> str:
        """The name that the space uses most for what a tag names; the usual one if it uses none."""
        names = self.synonyms.names(tag)
        if not names:
            return tag
        return max(names, key=lambda one: (self.known.get(one, 0), -names.index(one)))

    async def _learn(self, tags: Sequence[str]) -> None:
        """Ask how often tags are used, as they are and by their other names, at one go."""
        asked = {name for tag in tags for one in (tag, normalize_tag(tag)) for name in (one, *self.synonyms.names(one))}
        asked -= set(self.known)
        if asked:
            facets = {facet("tag", one): one for one in sorted(asked)}
            counts = await self.store.known_facets(self.space, list(facets), state=State.LIVE)
            self.known |= {one: counts.get(its, 0) for its, one in facets.items()}

    async def _match(self, tag: str) -> TagMatch | None:
        vocabulary = await _vocabulary(self.space, store=self.store)
        candidates = vocabulary.nearest(tag, limit=_CANDIDATES)
        sure = best_match(tag, candidates)
        if sure is not None and sure.relation is not TagRelation.VERSION:
            return sure
        if all(relate_tags(tag, candidate) is None for candidate in candidates):
            return None
        near = await cosines(tag, candidates, embedder=self.embedder)
        return best_match(tag, candidates, cosines=near)


async def _vocabulary(space: str, *, store: RecordStore) -> TagVocabulary:
    """The tags of a space, from what was made of them before."""
    labels = await store.labels(space, "tag", prefix="", limit=_MOST_TAGS)
    spaces = _vocabularies.setdefault(store, {})
    vocabulary = spaces.pop(space, None) or TagVocabulary()
    if len(labels) > len(vocabulary) + _MANY_NEW:
        vocabulary = await asyncio.to_thread(TagVocabulary, labels)
    else:
        vocabulary.follow(labels)
    spaces[space] = vocabulary
    while len(spaces) > _MOST_SPACES:
        spaces.pop(next(iter(spaces)), None)
    return vocabulary


def _line(reason: TagReason, *, is_new: bool) -> str:
    before = "" if is_new else f"{reason.tag} "
    return f"{before}-> {', '.join(reason.becomes) or 'left out'}: {reason.why}"


def _told(match: TagMatch) -> str:
    near = "" if match.similarity is None else f" ({match.similarity:.2f})"
    return f"{match.relation.value}: {match.tag}{near}"
