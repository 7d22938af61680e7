"""What must not be kept as it is: secrets are taken out, and orders to agents are labelled and trusted less."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import cast

from scrubjay.model.draft import Draft, Edit
from scrubjay.model.memory import Flag, Json, Memory, Source, Tier, Trust
from scrubjay.model.relation import Relation
from scrubjay.model.rules import Rules
from scrubjay.text.screening.injection import find_injections
from scrubjay.text.screening.secrets import REDACTED, redact, redact_named
from scrubjay.writing.density import thinness
from scrubjay.writing.texts import draft_texts, memory_texts, source_texts, strings_in

__all__ = ["clean", "label", "mark", "screen", "screen_edit", "screen_relation"]

_LABELS = ("title", "name", "kind", "category", "project", "scope", "session_hint")
_SOURCE = ("session", "conversation", "agent", "tool")
_SETTLED = (Tier.SEMANTIC, Tier.PROCEDURAL)
_NOT_PINNED = "it was not pinned: its text seems to give orders to agents"
_NOT_PROMOTED = "it was not promoted: its text seems to give orders to agents"
_DEEPEST = 100
# Fields of an edit that are texts, besides lists and metadata.
_EDITED = ("content", "text", "entity", *_LABELS)


def screen(draft: Draft, *, rules: Rules) -> Draft:
    """A draft without secrets; one that seems to give orders is flagged, trusted less and not pinned."""
    if rules.secrets != "off":
        draft = _without_secrets(draft)
    return _labelled(draft) if rules.injection != "off" else draft


def screen_edit(edit: Edit, *, rules: Rules) -> tuple[Edit, tuple[str, ...], tuple[str, ...]]:
    """The same for an edit: the edit as it may be made, what the caller should know, and what to flag."""
    warnings: list[str] = []
    flags: list[str] = []
    if rules.secrets != "off":
        cleaner = _Cleaner()
        edit = replace(
            edit,
            fields={name: _edited(name, value, cleaner) for name, value in edit.fields.items()},
            # What is no list of texts is refused later, in its own words.
            add_observations=cleaner.texts(added) if (added := edit.add_observations) and _are_texts(added) else added,
            message=cleaner.text(edit.message),
        )
        if cleaner.kinds:
            warnings.append(cleaner.told)
            flags.append(Flag.REDACTED)
    if rules.injection != "off" and (found := _suspicions(_edit_texts(edit))):
        warnings.append(_suspected(found))
        flags.append(Flag.SUSPICIOUS)
        if edit.fields.get("pinned") is True:
            edit = replace(edit, fields={**edit.fields, "pinned": False})
            warnings.append(_NOT_PINNED)
    return edit, tuple(warnings), tuple(flags)


def clean(text: str, *, rules: Rules) -> str:
    """A text without secrets: for names by which something is looked up before it is written."""
    return text if rules.secrets == "off" else redact(text)[0]


@lru_cache(maxsize=1_000)
def label(name: str) -> str:
    """What somebody calls himself or what he does, without secrets: it stands in the log of every space."""
    return redact(name)[0] if isinstance(name, str) else name


def screen_relation(relation: Relation, *, rules: Rules) -> Relation:
    """A relation without secrets."""
    if rules.secrets == "off":
        return relation
    cleaner = _Cleaner()
    metadata = cast("Mapping[str, Json]", cleaner.value(dict(relation.metadata)))
    return replace(relation, type=cleaner.text(relation.type), text=cleaner.text(relation.text), metadata=metadata)


def mark(before: Memory, after: Memory, *, rules: Rules) -> tuple[Memory, tuple[str, ...]]:
    """A memory after an edit with the flags that its text deserves now, and what of the edit was not done."""
    texts = list(memory_texts(after))
    is_redacted = any(REDACTED in text for text in (*texts, *source_texts(after)))
    # Where nothing new is labelled, a label is still not taken from what earned it.
    is_judged = rules.injection != "off"
    is_suspicious = (is_judged or Flag.SUSPICIOUS in before.flags) and bool(_suspicions(texts))
    # Nobody calls a memory thin for what was taken from it on purpose; what was added to one may be enough.
    said = " ".join([after.content, *(observation.text for observation in after.observations)])
    is_thin = Flag.THIN in after.flags and bool(thinness(said, rules=rules))
    settled: dict[str, bool] = {Flag.REDACTED: is_redacted, Flag.SUSPICIOUS: is_suspicious, Flag.THIN: is_thin}
    flags = tuple(flag for flag in after.flags if settled.get(flag, True))
    flags = tuple(dict.fromkeys((*flags, *(flag for flag, holds in settled.items() if holds))))
    if not (is_suspicious and is_judged):
        return replace(after, flags=flags), ()
    warnings: list[str] = []
    if after.pinned:
        after = replace(after, pinned=False)
        warnings.append(_NOT_PINNED)
    if after.tier in _SETTLED and before.tier is not after.tier:
        after = replace(after, tier=before.tier)
        warnings.append(_NOT_PROMOTED)
    is_new = Flag.SUSPICIOUS not in before.flags
    return replace(after, flags=flags, source=_distrusted(after.source) if is_new else after.source), tuple(warnings)


@dataclass
class _Cleaner:
    """Takes secrets out of texts and remembers of what kinds they were."""

    kinds: list[str] = field(default_factory=list[str])

    def text(self, text: str, *, any_case: bool = False) -> str:
        found, kinds = redact(text, any_case=any_case)
        self.kinds += kinds
        return found

    def texts(self, texts: Iterable[str], *, any_case: bool = False) -> tuple[str, ...]:
        return tuple(self.text(text, any_case=any_case) for text in texts)

    def value(self, value: Json, *, name: str = "", depth: int = 0) -> Json:
        if isinstance(value, str):
            found, kinds = redact_named(name, value)
            self.kinds += kinds
            return found
        if isinstance(value, list | dict) and depth > _DEEPEST:
            return self._deep(value)
        if isinstance(value, list):
            return [self.value(one, name=name, depth=depth + 1) for one in value]
        if isinstance(value, dict):
            return {self.text(key): self.value(one, name=key, depth=depth + 1) for key, one in value.items()}
        return value

    def _deep(self, value: Json) -> Json:
        """What is nested too deeply to go into it, as a text."""
        try:
            return json.loads(self.text(json.dumps(value, ensure_ascii=False)))
        except (TypeError, ValueError, RecursionError):
            # It is refused later for what it is, or it cannot be told where in it the secret was.
            return value if not self.kinds else f"{REDACTED}metadata]"

    @property
    def told(self) -> str:
        """How many secrets of what kinds, never the secrets."""
        counts = Counter(self.kinds)
        several = ", ".join(f"{count} x {kind}" if count > 1 else kind for kind, count in counts.items())
        return f"secrets were redacted before anything was stored: {several}"


def _without_secrets(draft: Draft) -> Draft:
    cleaner = _Cleaner()
    screened = replace(
        draft,
        text=cleaner.text(draft.text),
        observations=cleaner.texts(draft.observations),
        entities=tuple(dict.fromkeys(cleaner.texts(draft.entities))),
        # They are in lower case by now.
        tags=tuple(dict.fromkeys(cleaner.texts(draft.tags, any_case=True))),
        metadata=cast("Mapping[str, Json]", cleaner.value(dict(draft.metadata))),
        source=replace(draft.source, **{name: cleaner.text(getattr(draft.source, name)) for name in _SOURCE}),
        **{name: cleaner.text(getattr(draft, name)) for name in _LABELS},
    )
    if not cleaner.kinds:
        # Whoever handed it in may have cut them out already.
        is_cut = any(REDACTED in text for text in (*draft_texts(draft), *source_texts(draft)))
        return (draft.with_flag(Flag.REDACTED) if is_cut else draft).with_decision("secrets", "none")
    why = cleaner.told.rpartition(": ")[2]
    return screened.with_flag(Flag.REDACTED).with_warning(cleaner.told).with_decision("secrets", "redacted", why)


def _labelled(draft: Draft) -> Draft:
    found = _suspicions(draft_texts(draft))
    if not found:
        return draft.with_decision("injection", "none")
    draft = replace(draft, source=_distrusted(draft.source)).with_flag(Flag.SUSPICIOUS).with_warning(_suspected(found))
    if draft.pinned:
        draft = replace(draft, pinned=False).with_warning(_NOT_PINNED)
    return draft.with_decision("injection", Flag.SUSPICIOUS, ", ".join(found))


def _distrusted(source: Source) -> Source:
    # Nobody's word counts less.
    return replace(source, trust=Trust.DOCUMENT)


def _suspected(found: Iterable[str]) -> str:
    return f"the text seems to hold {', '.join(found)}: it is kept as data, labelled and trusted less"


def _suspicions(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(suspicion for text in texts if text for suspicion in find_injections(text)))


def _are_texts(values: object) -> bool:
    return isinstance(values, list | tuple) and all(isinstance(one, str) for one in cast("Sequence[object]", values))


def _edited(name: str, value: Json, cleaner: _Cleaner) -> Json:
    if isinstance(value, str):
        return cleaner.text(value) if name in _EDITED else value
    if name == "metadata":
        return cleaner.value(value)
    if name in ("tags", "observations") and _are_texts(value):
        return list(cleaner.texts(cast("list[str]", value), any_case=name == "tags"))
    return value


def _edit_texts(edit: Edit) -> Iterator[str]:
    if _are_texts(edit.add_observations):
        yield from edit.add_observations
    yield from (text for _, text in strings_in(dict(edit.fields)))
