"""Consolidation of the tags in use: which of them mean one thing, and how much order that brings."""

import math
from collections.abc import Collection, Mapping, Sequence

from scrubjay.lazy import dataclass
from scrubjay.text.tags.matching import TagVocabulary, best_match
from scrubjay.text.tags.synonyms import Synonyms

__all__ = ["TagCluster", "TagPlan", "plan_tags", "tag_entropy"]

# A tag is compared with so many that share letters or words with it.
_NEAREST = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class TagCluster:
    """Tags that mean one thing: the one that remains, and those that it replaces."""

    tag: str
    variants: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TagPlan:
    """The proposal: the clusters, the count of each tag before and after, and the entropy of both in bits."""

    clusters: tuple[TagCluster, ...]
    before: Mapping[str, int]
    after: Mapping[str, int]

    @property
    def entropies(self) -> tuple[float, float]:
        """The entropy of the tags before and after."""
        return tag_entropy(self.before), tag_entropy(self.after)

    @property
    def replaced(self) -> dict[str, str]:
        """The tag that replaces each variant."""
        return {variant: cluster.tag for cluster in self.clusters for variant in cluster.variants}

    def apply(self, tags: Sequence[str]) -> tuple[str, ...]:
        """Return the tags of a memory after the consolidation, in their order."""
        replaced = self.replaced
        return tuple(dict.fromkeys(replaced.get(tag, tag) for tag in tags))


def tag_entropy(counts: Mapping[str, int]) -> float:
    """Return the entropy of a distribution of tags, in bits: how many yes-or-no questions a tag answers on average."""
    total = sum(counts.values())
    shares = [count / total for count in counts.values() if count > 0] if total else []
    return -sum(share * math.log2(share) for share in shares)


def plan_tags(counts: Mapping[str, int], *, synonyms: Synonyms) -> TagPlan:
    """Propose which tags become one: variants and names of one thing by the synonyms, and spellings that prove it.

    The tag in more use remains, unless the synonyms name another; of names in equal use, the usual one. A more specific
    tag is no variant.
    """
    ordered = sorted(counts, key=lambda tag: (-counts[tag], _place_among_names(tag, synonyms), tag))
    vocabulary, remaining = TagVocabulary(ordered), dict[str, None]()
    variants: dict[str, list[str]] = {}
    for tag in [*_primaries(ordered, synonyms), *ordered]:
        if tag in remaining:
            continue
        target = _target(tag, vocabulary, remaining, synonyms)
        if target is None:
            remaining[tag] = None
        else:
            variants.setdefault(target, []).append(tag)
    clusters = tuple(TagCluster(tag=tag, variants=tuple(own)) for tag, own in variants.items())
    replaced = {variant: cluster.tag for cluster in clusters for variant in cluster.variants}
    after: dict[str, int] = {}
    for tag, count in counts.items():
        after[replaced.get(tag, tag)] = after.get(replaced.get(tag, tag), 0) + count
    return TagPlan(clusters=clusters, before=dict(counts), after=after)


def _primaries(tags: Sequence[str], synonyms: Synonyms) -> list[str]:
    """Return the tags that replace others by the synonyms: they remain, however rare they are."""
    primaries = [mapping.primary for tag in tags if (mapping := synonyms.primary(tag)) and not mapping.keeps_variant]
    return list(dict.fromkeys(primaries))


def _place_among_names(tag: str, synonyms: Synonyms) -> int:
    names = synonyms.names(tag)
    return names.index(tag) if tag in names else 0


def _target(
    tag: str, vocabulary: TagVocabulary, remaining: Collection[str], synonyms: Synonyms
) -> str | None:  # fmt: skip
    mapping = synonyms.primary(tag)
    if mapping is not None:
        return None if mapping.keeps_variant or mapping.primary == tag else mapping.primary
    if synonyms.knows(tag):
        return next((name for name in synonyms.names(tag) if name in remaining), None)
    match = best_match(tag, [other for other in vocabulary.nearest(tag, limit=_NEAREST) if other in remaining])
    return match.tag if match is not None and match.replaces else None
