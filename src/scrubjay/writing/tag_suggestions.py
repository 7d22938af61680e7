"""Tags for a text that was given too few: those of the space that it speaks of, and things that have a name."""

from collections.abc import Sequence

from scrubjay.model.draft import Draft
from scrubjay.model.memory import State
from scrubjay.model.query import Facet, facet
from scrubjay.ports import RecordStore
from scrubjay.text.dates.tokens import MONTHS, WEEKDAYS
from scrubjay.text.names import names_in
from scrubjay.text.tags.spelling import fold_tag, normalize_tag, tag_key
from scrubjay.text.tags.suggest import TagPhrase, find_phrases, is_common, is_name
from scrubjay.text.tags.synonyms import Synonyms
from scrubjay.text.tokens import running_terms_of

__all__ = ["suggested_tags"]

# A word that stands in every fifth passage tells none of them from the others.
_COMMON = 0.2
_FEW_PASSAGES = 50
_OFTEN = 2
_MOST_NAMES = 60
_SHORTEST_NAME = 3
_CALENDAR = frozenset((*WEEKDAYS, *MONTHS))


async def suggested_tags(
    draft: Draft, tags: Sequence[str], *, synonyms: Synonyms, space: str, store: RecordStore
) -> list[tuple[str, str]]:
    """Tags that a draft could have besides, the best first, and why; none rather than poor ones."""
    text = "\n".join((draft.text, *draft.observations[:20]))
    phrases = find_phrases(text, title=draft.title)
    taken = {tag_key(one) for one in (*tags, *draft.entities)}
    phrases = [phrase for phrase in phrases if tag_key(phrase.tag) not in taken]
    if not phrases:
        return []
    counts = await _counts(phrases, space=space, store=store)
    used = [phrase for phrase in phrases if counts.get(facet("tag", _used(phrase, counts)))]
    names = [phrase for phrase in phrases[:_MOST_NAMES] if is_name(phrase)]
    rare = await _rare(list(dict.fromkeys((*used, *names))), space=space, store=store)
    found = [(_used(one, counts), "a tag of this space that the text speaks of") for one in used if one in rare]
    found += [(tag, "what the text speaks of") for phrase in phrases for tag in _standing(phrase, synonyms)]
    # Those that come again first; one that stands there once is still more than nothing.
    names.sort(key=lambda one: one.times < _OFTEN)
    found += [(name.tag, "a name that stands in the text") for name in names if name in rare]
    found += [
        (normalize_tag(name), "somebody or something that the text names") for name in names_in(text) if _is_tag(name)
    ]
    return _distinct(found, taken)


async def _counts(phrases: Sequence[TagPhrase], *, space: str, store: RecordStore) -> dict[Facet, int]:
    asked = [facet("tag", spelling) for phrase in phrases for spelling in (phrase.tag, fold_tag(phrase.tag).key)]
    return await store.known_facets(space, list(dict.fromkeys(asked)), state=State.LIVE)


def _used(phrase: TagPhrase, counts: dict[Facet, int]) -> str:
    """The tag as the space has it: as it stands in the text, or in the singular."""
    return phrase.tag if counts.get(facet("tag", phrase.tag)) else fold_tag(phrase.tag).key


async def _rare(phrases: Sequence[TagPhrase], *, space: str, store: RecordStore) -> list[TagPhrase]:
    """Those that tell this text from others: by their own words, and by those of the space."""
    telling = [phrase for phrase in phrases if phrase.in_title or phrase.times >= _OFTEN or not is_common(phrase.tag)]
    terms = {one.tag: running_terms_of(one.tag) for one in telling}
    asked = sorted({term for found in terms.values() for term in found})
    if not asked:
        return telling
    known = await store.term_statistics(space, asked, state=State.LIVE)
    if known.passages < _FEW_PASSAGES:
        return telling
    most = known.passages * _COMMON
    return [
        one for one in telling if min((known.frequencies.get(term, 0) for term in terms[one.tag]), default=0) <= most
    ]


def _standing(phrase: TagPhrase, synonyms: Synonyms) -> tuple[str, ...]:
    """A thing that Scrubjay or the space has a primary tag or a name for; plain words may mean anything."""
    if is_common(phrase.tag):
        return ()
    standing = synonyms.primary(phrase.tag)
    if standing is not None:
        return (standing.primary, phrase.tag) if standing.keeps_variant else (standing.primary,)
    spelling = synonyms.spelling(phrase.tag)
    return synonyms.names(phrase.tag)[:1] if spelling is None else (spelling,)


def _is_tag(name: str) -> bool:
    """Whether a name is one word, as tags are, and no date or figure."""
    is_day = name.casefold().removesuffix("s") in _CALENDAR
    return name.isalpha() and len(name) >= _SHORTEST_NAME and not is_day


def _distinct(found: Sequence[tuple[str, str]], taken: set[str]) -> list[tuple[str, str]]:
    kept: dict[str, tuple[str, str]] = {}
    for tag, why in found:
        key = tag_key(tag)
        # `oauth-token` and `oauth` would be one suggestion too many.
        if key not in taken and not any(key in other or other in key for other in kept):
            kept[key] = (tag, why)
    return list(kept.values())
