"""The tags of a draft: variants become their primary tag, spellings the one in use, and too few get suggestions."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

from scrubjay import telemetry
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.draft import Draft
from scrubjay.model.memory import State
from scrubjay.model.passage import Vector
from scrubjay.model.query import facet
from scrubjay.model.requests import RememberRequest
from scrubjay.model.results import Remembered
from scrubjay.model.rules import Rules
from scrubjay.model.tags import TagPreview, TagReason
from scrubjay.ports import Embedder, RecordStore
from scrubjay.text.dates.tokens import MONTHS, WEEKDAYS
from scrubjay.text.names import names_in
from scrubjay.text.tags.matching import TagMatch, TagRelation, TagVocabulary, best_match, relate_tags
from scrubjay.text.tags.spelling import is_foldable, normalize_tag, tag_key
from scrubjay.text.tags.suggest import TagPhrase, find_phrases, is_common, is_name, remark_few_tags
from scrubjay.text.tags.synonyms import Synonyms
from scrubjay.text.tokens import running_terms_of
from scrubjay.workers import offload

__all__ = ["SpaceTags", "is_day", "normalise_tags", "preview_tags", "tag_cosines", "warn_few_tags"]

_OFF = "off"
_CANDIDATES = 8
_MAX_TAGS = 5_000
_CACHED_SPACES = 32
_CACHED_VECTORS = 4_096
# More new tags are indexed in a thread, so that other callers need not wait.
_MANY_NEW = 300
# A word in every fifth passage does not distinguish one text from another.
_MAX_FREQUENCY = 0.2
_FEW_PASSAGES = 50
_OFTEN = 2
_MAX_NAMES = 60
_MIN_NAME_LENGTH = 3
_CALENDAR = frozenset((*WEEKDAYS, *MONTHS))

_vocabularies: WeakKeyDictionary[RecordStore, dict[str, TagVocabulary]] = WeakKeyDictionary()
# By model and tag, the one used last at the end.
_vectors: dict[tuple[str, str], Vector] = {}


@dataclass(kw_only=True)
class SpaceTags:
    """The tags of a space, as they are looked up for one draft; `counts` are the memories of each tag asked so far."""

    space: str
    synonyms: Synonyms
    store: RecordStore
    embedder: Embedder
    counts: dict[str, int] = field(default_factory=dict[str, int])
    # Read once for all tags of the draft.
    _vocabulary: TagVocabulary | None = field(default=None, init=False)

    async def resolve(self, tags: Sequence[str], *, most: int) -> tuple[tuple[str, ...], list[TagReason]]:
        """Return the tags to use, in order, and why some differ from those given."""
        tidy = (tag.strip().lstrip("# ").lower() for tag in tags)
        distinct = tuple(dict.fromkeys(tag for tag in tidy if tag))
        await self._count(distinct)
        resolved: dict[str, str] = {}
        reasons: list[TagReason] = []
        for tag in distinct:
            if len(resolved) >= most:
                reasons.append(TagReason(tag=tag, becomes=(), why=f"there are {most} already"))
                continue
            replacements, why = await self._resolve_tag(tag)
            for replacement in replacements:
                resolved.setdefault(tag_key(replacement), replacement)
            if replacements != (tag,):
                reasons.append(TagReason(tag=tag, becomes=replacements, why=why))
        return tuple(resolved.values())[:most], reasons

    async def suggest(self, draft: Draft, tags: Sequence[str], *, most: int) -> dict[str, str]:
        """Return tags that the draft could have besides, each with the reason."""
        taken = set(map(tag_key, tags))
        chosen: dict[str, str] = {}
        for tag, why in await self._suggestions(draft, tags):
            if len(chosen) >= most:
                break
            resolved, _ = await self.resolve((tag,), most=most - len(chosen))
            chosen |= {suggestion: why for suggestion in resolved if tag_key(suggestion) not in taken}
            taken |= set(map(tag_key, resolved))
        return chosen

    async def _count(self, tags: Sequence[str]) -> None:
        """Count the memories of tags, of their plain spellings and of their other names, in one query."""
        names = {
            name
            for tag in tags
            for spelling in {tag, normalize_tag(tag)}
            for name in (spelling, *self.synonyms.names(spelling))
        }  # fmt: skip
        names -= set(self.counts)
        if names:
            by_facet = {facet("tag", name): name for name in sorted(names)}
            counts = await self.store.known_facets(self.space, list(by_facet), state=State.LIVE)
            self.counts |= {name: counts.get(tag_facet, 0) for tag_facet, name in by_facet.items()}

    async def _resolve_tag(self, tag: str) -> tuple[tuple[str, ...], str]:
        plain = normalize_tag(tag)
        if (resolved := self._resolve_by_table(plain)) is not None:
            return resolved
        for spelling in (tag, plain):
            if self.counts.get(spelling):
                return (spelling,), "as the space spells it"
        match = await self._match(plain) if is_foldable(plain) else None
        if match is None:
            return (plain,), "spelling"
        await self._count((match.tag,))
        base = self._resolve_by_table(match.tag)
        replacements = base[0] if base else (match.tag,)
        cosine = "" if match.similarity is None else f" ({match.similarity:.2f})"
        why = f"{match.relation.value}: {match.tag}{cosine}"
        return (replacements if match.replaces else (*replacements, plain)), why

    def _resolve_by_table(self, tag: str) -> tuple[tuple[str, ...], str] | None:
        """Resolve a tag by synonyms and names, whatever tags the space has."""
        name = self._preferred_name(tag)
        synonym = self.synonyms.primary(name) or self.synonyms.primary(tag)
        if synonym is None and name != tag:
            return (name,), "another name of it"
        if synonym is None:
            spelling = None if self.counts.get(tag) else self.synonyms.spelling(tag)
            return None if spelling in (None, tag) else ((spelling,), "spelling")
        why = "a synonym in this space" if synonym.own else "a synonym"
        if not synonym.keeps_variant:
            return (synonym.primary,), why
        return (synonym.primary, name), f"{why}; it is more specific, and stays"

    def _preferred_name(self, tag: str) -> str:
        """Return the name of the same thing that the space uses most; the usual one if it uses none."""
        names = self.synonyms.names(tag)
        if not names:
            return tag
        return max(names, key=lambda name: (self.counts.get(name, 0), -names.index(name)))

    async def _match(self, tag: str) -> TagMatch | None:
        if self._vocabulary is None:
            self._vocabulary = await _load_vocabulary(self.space, store=self.store)
        candidates = self._vocabulary.nearest(tag, limit=_CANDIDATES)
        match = best_match(tag, candidates)
        if match is not None and match.relation is not TagRelation.VERSION:
            return match
        if all(relate_tags(tag, candidate) is None for candidate in candidates):
            return None
        return best_match(tag, candidates, cosines=await tag_cosines(tag, candidates, embedder=self.embedder))

    async def _suggestions(self, draft: Draft, tags: Sequence[str]) -> list[tuple[str, str]]:
        """Return suggestions with their reasons, the best first: tags in use, known things, names."""
        text = "\n".join((draft.text, *draft.observations[:20]))
        taken = {tag_key(tag) for tag in (*tags, *draft.entities)}
        all_phrases = await offload(len(text), find_phrases, text, title=draft.title)
        keys = {phrase.tag: tag_key(phrase.tag) for phrase in all_phrases}
        phrases = [phrase for phrase in all_phrases if keys[phrase.tag] not in taken]
        if not phrases:
            return []
        spellings = dict.fromkeys([tag for phrase in phrases for tag in (phrase.tag, keys[phrase.tag])])
        facets = {tag: facet("tag", tag) for tag in spellings}
        in_use = await self.store.known_facets(self.space, list(dict.fromkeys(facets.values())), state=State.LIVE)
        counts = {tag: in_use[tag_facet] for tag, tag_facet in facets.items() if tag_facet in in_use}
        # So that the suggestions need not be looked up again.
        self.counts |= dict.fromkeys(spellings, 0) | counts
        used = [phrase for phrase in phrases if counts.get(phrase.tag) or counts.get(keys[phrase.tag])]
        names = [phrase for phrase in phrases[:_MAX_NAMES] if is_name(phrase)]
        rare = await self._rare(list(dict.fromkeys((*used, *names))))
        # The spelling of the text, or the singular.
        suggestions = [
            (phrase.tag if counts.get(phrase.tag) else keys[phrase.tag], "a tag of this space that the text mentions")
            for phrase in used
            if phrase in rare
        ]
        suggestions += [
            (tag, "a thing that the text mentions")
            for phrase in phrases
            if self.synonyms.knows_key(keys[phrase.tag])
            for tag in self._table_tags(phrase)
        ]
        # Repeated names first; one that occurs once is better than none.
        names.sort(key=lambda name: name.times < _OFTEN)
        suggestions += [(name.tag, "a name in the text") for name in names if name in rare]
        suggestions += [
            (normalize_tag(name), "a person or thing that the text names") for name in names_in(text) if _is_tag(name)
        ]  # fmt: skip
        return _distinct(suggestions, taken)

    async def _rare(self, phrases: Sequence[TagPhrase]) -> list[TagPhrase]:
        """Return the phrases that distinguish this text from the others of the space."""
        telling = [
            phrase for phrase in phrases if phrase.in_title or phrase.times >= _OFTEN or not is_common(phrase.tag)
        ]  # fmt: skip
        terms = {phrase.tag: running_terms_of(phrase.tag) for phrase in telling}
        all_terms = sorted({term for phrase_terms in terms.values() for term in phrase_terms})
        if not all_terms:
            return telling
        statistics = await self.store.term_statistics(self.space, all_terms, state=State.LIVE)
        if statistics.passages < _FEW_PASSAGES:
            return telling
        most = statistics.passages * _MAX_FREQUENCY
        return [
            phrase
            for phrase in telling
            if min((statistics.frequencies.get(term, 0) for term in terms[phrase.tag]), default=0) <= most
        ]

    def _table_tags(self, phrase: TagPhrase) -> tuple[str, ...]:
        """Return the tags of a thing that the synonyms know; common words may mean anything."""
        if is_common(phrase.tag):
            return ()
        synonym = self.synonyms.primary(phrase.tag)
        if synonym is not None:
            return (synonym.primary, phrase.tag) if synonym.keeps_variant else (synonym.primary,)
        spelling = self.synonyms.spelling(phrase.tag)
        return self.synonyms.names(phrase.tag)[:1] if spelling is None else (spelling,)


async def normalise_tags(draft: Draft, *, rules: Rules, tags: SpaceTags, is_binding: bool = True) -> Draft:
    """Give a draft the tags of its space; unless `is_binding`, only warn about the difference."""
    if rules.tags == _OFF:
        return draft
    with telemetry.stage("write.tags"):
        preview = await preview_tags(draft, rules=rules, tags=tags)
    why = "; ".join(_describe(reason, is_new=reason.tag in preview.suggested) for reason in preview.why)
    is_same = preview.after == draft.tags
    if not is_binding:
        if not is_same:
            draft = draft.with_warning(f"the tags of this space would be {', '.join(preview.after)}: {why}")
        return draft.with_decision("tags", "kept" if is_same else "reported", why)
    dropped = [reason.tag for reason in preview.why if not reason.becomes]
    if dropped:
        draft = draft.with_warning(f"a memory has up to {rules.most_tags} tags here; left out: {', '.join(dropped)}")
    outcome = "kept" if is_same else "normalised"
    if preview.suggested:
        outcome += f", {len(preview.suggested)} suggested"
    tagged = draft.with_fields(tags=preview.after, suggested_tags=preview.suggested)
    return tagged.with_decision("tags", outcome, why)


async def preview_tags(draft: Draft, *, rules: Rules, tags: SpaceTags) -> TagPreview:
    """Return what becomes of the tags of a draft, and the suggestions for it."""
    if rules.tags == _OFF:
        return TagPreview(before=draft.tags, after=draft.tags)
    after, reasons = await tags.resolve(draft.tags, most=rules.most_tags)
    room = rules.least_tags - len(after)
    suggested = await tags.suggest(draft, after, most=room) if room > 0 else dict[str, str]()
    reasons += [TagReason(tag=tag, becomes=(tag,), why=why) for tag, why in suggested.items()]
    return TagPreview(before=draft.tags, after=after, suggested=tuple(suggested), why=tuple(reasons))


def warn_few_tags(done: Remembered, request: RememberRequest, *, rules: Rules) -> Remembered:
    """Return the answer to a write with a warning if it gave fewer tags than a memory of the space should have."""
    if rules.tags == _OFF or done.action not in ("created", "merged"):
        return done
    remark = remark_few_tags(
        done.tags, provided=len(request.tags), least=rules.least_tags, text=request.text, title=request.title
    )  # fmt: skip
    return replace(done, warnings=(*done.warnings, remark)) if remark else done


async def tag_cosines(tag: str, others: Sequence[str], *, embedder: Embedder) -> dict[str, float] | None:
    """Return how near tags are to one in meaning; None without a model."""
    try:
        model = (await embedder.profile()).model
        vectors = {name: vector for name in (tag, *others) if (vector := _cached_vector(model, name)) is not None}
        missing = [name for name in dict.fromkeys((tag, *others)) if name not in vectors]
        if missing:
            made = await embedder.embed([name.replace("-", " ").replace("_", " ") for name in missing])
            vectors |= dict(zip(missing, made, strict=True))
    except EmbeddingUnavailable:
        return None
    for name in missing:
        _vectors[model, name] = vectors[name].copy()
    while len(_vectors) > _CACHED_VECTORS:
        _vectors.pop(next(iter(_vectors)), None)
    return {other: float(vectors[tag] @ vectors[other]) for other in others}


def _cached_vector(model: str, tag: str) -> Vector | None:
    vector = _vectors.pop((model, tag), None)
    if vector is not None:
        _vectors[model, tag] = vector
    return vector


async def _load_vocabulary(space: str, *, store: RecordStore) -> TagVocabulary:
    """Return the tags of a space; update the cached vocabulary instead of building it again."""
    labels = await store.labels(space, "tag", prefix="", limit=_MAX_TAGS)
    by_space = _vocabularies.setdefault(store, {})
    vocabulary = by_space.pop(space, None) or TagVocabulary()
    if len(labels) > len(vocabulary) + _MANY_NEW:
        vocabulary = await asyncio.to_thread(TagVocabulary, labels)
    else:
        vocabulary.follow(labels)
    by_space[space] = vocabulary
    while len(by_space) > _CACHED_SPACES:
        by_space.pop(next(iter(by_space)), None)
    return vocabulary


def _describe(reason: TagReason, *, is_new: bool) -> str:
    before = "" if is_new else f"{reason.tag} "
    return f"{before}-> {', '.join(reason.becomes) or 'left out'}: {reason.why}"


def _is_tag(name: str) -> bool:
    """Check that a name is one word, as tags are, and no date or number."""
    is_day_or_short = name.casefold().removesuffix("s") in _CALENDAR
    return name.isalpha() and len(name) >= _MIN_NAME_LENGTH and not is_day_or_short


def is_day(word: str) -> bool:
    """Check whether a word is the name of a weekday or a month: Friday, Fridays, Friday's; but Jan is a person too."""
    plain = word.casefold().replace("\u2019", "'").removesuffix("s").removesuffix("'")
    return len(plain) > _MIN_NAME_LENGTH and plain in _CALENDAR


def _distinct(suggestions: Sequence[tuple[str, str]], taken: set[str]) -> list[tuple[str, str]]:
    distinct: dict[str, tuple[str, str]] = {}
    for tag, why in suggestions:
        key = tag_key(tag)
        # With `oauth-token`, `oauth` is one suggestion too many.
        if key not in taken and not any(key in other or other in key for other in distinct):
            distinct[key] = (tag, why)
    return list(distinct.values())
