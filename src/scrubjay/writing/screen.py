"""Screening: secrets are redacted, and texts that give orders to agents are flagged and trusted less."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import cast

from scrubjay.model.draft import Draft
from scrubjay.model.memory import AGENT_METHODS, Flag, Json, Memory, Source, State, Tier, Trust
from scrubjay.model.relation import Relation
from scrubjay.model.requests import Edit
from scrubjay.model.rules import Rules
from scrubjay.model.version import MemoryHistory
from scrubjay.text.screening.secrets import REDACTED, redact, redact_named
from scrubjay.writing.density import thinness
from scrubjay.writing.deny import deny, draft_texts, memory_texts, source_texts, strings_in

__all__ = [
    "deny_or_screen", "hold_edited_pin", "hold_pin", "redact_label", "redact_text", "screen", "screen_edit",
    "screen_history", "screen_relation", "update_flags",
]  # fmt: skip

_LABELS = ("title", "name", "kind", "category", "project", "scope", "session_hint")
_MEMORY_LABELS = ("title", "name", "kind", "category", "project", "scope")
_SOURCE_FIELDS = ("session", "conversation", "agent", "tool")
_PROMOTED_TIERS = (Tier.SEMANTIC, Tier.PROCEDURAL)
_NOT_PINNED = "it was not pinned: its text seems to give orders to agents"
_NOT_APPROVED = (
    "it was not pinned: it comes from a document or an unknown source. The user approves it by pinning it: "
    "`scrubjay revise NAME --pin`"
)
_NOT_PROMOTED = "it was not promoted: its text seems to give orders to agents"
_MAX_DEPTH = 100
# The fields of an edit that are texts, apart from lists and metadata.
_EDITED_TEXTS = ("content", "text", "entity", *_LABELS)


def deny_or_screen(draft: Draft, rules: Rules) -> Draft:
    """Reject a draft that must not be stored, or else redact and flag it."""
    draft = deny(draft, rules=rules)
    return draft if draft.rejected else hold_pin(screen(draft, rules=rules))


def screen(draft: Draft, *, rules: Rules) -> Draft:
    """Redact the secrets of a draft; flag, distrust and unpin one that seems to give orders."""
    if rules.secrets != "off":
        draft = _redact_draft(draft)
    return _flag_orders(draft) if rules.injection != "off" else draft


def hold_pin(draft: Draft) -> Draft:
    """Unpin a draft of a document or an unknown source: a person must approve what every answer shows."""
    trust = draft.source.trust
    if not draft.pinned or trust.is_own or (trust is Trust.UNKNOWN and not draft.is_attributed):
        return draft
    return replace(draft, pinned=False).with_warning(_NOT_APPROVED).with_decision("pin", "held", trust.value)


def hold_edited_pin(before: Memory, after: Memory, edit: Edit) -> tuple[Memory, tuple[str, ...]]:
    """Leave out a pin that an agent gives to the word of a document or an unknown source; return warnings.

    A pinned memory that is rewritten by a document loses its pin. A caller that is not an agent approves by pinning.
    """
    if not after.pinned or after.source.trust.is_own:
        return after, ()
    is_agent = edit.source is not None and edit.source.method in AGENT_METHODS
    is_rewritten = before.source.trust.is_own and edit.fields.get("pinned") is not True
    if not is_rewritten and not (is_agent and not before.pinned):
        return after, ()
    return replace(after, pinned=False), (_NOT_APPROVED,)


def screen_edit(edit: Edit, *, rules: Rules) -> tuple[Edit, tuple[str, ...], tuple[str, ...]]:
    """Screen an edit; return it with warnings for the caller and the flags it causes."""
    warnings: list[str] = []
    flags: list[str] = []
    if rules.secrets != "off":
        redactor = _Redactor()
        added = edit.add_observations
        edit = replace(
            edit,
            fields={name: _redact_field(name, value, redactor) for name, value in edit.fields.items()},
            # Anything but a list of texts is refused later, with its own message.
            add_observations=redactor.texts(added) if added and _are_texts(added) else added,
            message=redactor.text(edit.message),
        )
        if redactor.kinds:
            warnings.append(redactor.warning)
            flags.append(Flag.REDACTED)
    if rules.injection != "off" and (suspicions := _suspicions(_edit_texts(edit))):
        warnings.append(_injection_warning(suspicions))
        flags.append(Flag.SUSPICIOUS)
        if edit.fields.get("pinned") is True:
            edit = replace(edit, fields={**edit.fields, "pinned": False})
            warnings.append(_NOT_PINNED)
    return edit, tuple(warnings), tuple(flags)


def redact_text(text: str, *, rules: Rules) -> str:
    """Redact the secrets of a text that is used for a lookup before it is written."""
    return text if rules.secrets == "off" else redact(text)[0]


@lru_cache(maxsize=1_000)
def redact_label(name: str) -> str:
    """Redact the secrets of an agent's or run's name, which the change log of every space shows."""
    return redact(name)[0] if isinstance(name, str) else name


def screen_relation(relation: Relation, *, rules: Rules) -> Relation:
    """Redact the secrets of a relation."""
    if rules.secrets == "off":
        return relation
    redactor = _Redactor()
    metadata = cast("Mapping[str, Json]", redactor.value(dict(relation.metadata)))
    return replace(relation, type=redactor.text(relation.type), text=redactor.text(relation.text), metadata=metadata)


def screen_history(history: MemoryHistory, *, rules: Rules) -> MemoryHistory:
    """Screen a memory that a token imports, in all its versions, like a new one of unknown origin.

    Where a person approves what others write, it waits in the inbox.
    """
    versions = tuple(
        replace(
            version,
            memory=_screen_imported(version.memory, rules=rules),
            agent=redact_label(version.agent),
            run=redact_label(version.run),
            message=redact_text(version.message, rules=rules),
        )
        for version in history.versions
    )
    memory = _screen_imported(history.memory, rules=rules)
    if rules.review == "none" or memory.state is not State.LIVE:
        return replace(history, memory=memory, versions=versions)
    memory = replace(memory, state=State.WAITING, flags=tuple(dict.fromkeys((*memory.flags, Flag.UNAPPROVED))))
    newest = history.memory.version
    return replace(
        history,
        memory=memory,
        versions=tuple(replace(entry, memory=memory) if entry.number == newest else entry for entry in versions),
    )


def _screen_imported(memory: Memory, *, rules: Rules) -> Memory:
    redactor = _Redactor()
    if rules.secrets != "off":
        memory = replace(
            memory,
            content=redactor.text(memory.content),
            entity=redactor.text(memory.entity),
            observations=tuple(
                replace(entry, text=redactor.text(entry.text), source=entry.source and redactor.source(entry.source))
                for entry in memory.observations
            ),
            tags=redactor.texts(memory.tags, any_case=True),
            metadata=cast("Mapping[str, Json]", redactor.value(dict(memory.metadata))),
            source=redactor.source(memory.source),
            merged=tuple(
                replace(part, source=redactor.source(part.source), statements=redactor.texts(part.statements))
                for part in memory.merged
            ),
            **{name: redactor.text(getattr(memory, name)) for name in _MEMORY_LABELS},
        )
    is_suspicious = rules.injection != "off" and bool(_suspicions(memory_texts(memory)))
    flags = (*([Flag.REDACTED] if redactor.kinds else ()), *([Flag.SUSPICIOUS] if is_suspicious else ()))
    source = replace(memory.source, trust=_imported_trust(memory.source))
    return replace(
        memory,
        source=_distrust(source) if is_suspicious else source,
        observations=tuple(
            replace(entry, source=entry.source and replace(entry.source, trust=_imported_trust(entry.source)))
            for entry in memory.observations
        ),
        merged=tuple(
            replace(part, source=replace(part.source, trust=_imported_trust(part.source))) for part in memory.merged
        ),
        flags=tuple(dict.fromkeys((*memory.flags, *flags))),
        pinned=False,
        tier=Tier.WORKING if is_suspicious and memory.tier in _PROMOTED_TIERS else memory.tier,
    )


def _imported_trust(source: Source) -> Trust:
    """Return the trust of a source that an import claims: it is unknown here, but may admit to be a document."""
    return Trust.DOCUMENT if source.trust is Trust.DOCUMENT else Trust.UNKNOWN


def update_flags(before: Memory, after: Memory, *, rules: Rules) -> tuple[Memory, tuple[str, ...]]:
    """Give an edited memory the flags of its new text; return it with warnings of refused changes."""
    texts = list(memory_texts(after))
    is_redacted = any(REDACTED in text for text in (*texts, *source_texts(after)))
    # With the rule off no memory gets the flag, but one that has it keeps it as long as its text deserves it.
    is_checked = rules.injection != "off"
    is_suspicious = (is_checked or Flag.SUSPICIOUS in before.flags) and bool(_suspicions(texts))
    # An edit that shortens a memory does not make it thin; an addition may end its being thin.
    text = " ".join([after.content, *(observation.text for observation in after.observations)])
    is_thin = Flag.THIN in after.flags and bool(thinness(text, rules=rules, about=(after.entity, after.title)))
    current: dict[str, bool] = {Flag.REDACTED: is_redacted, Flag.SUSPICIOUS: is_suspicious, Flag.THIN: is_thin}
    flags = tuple(flag for flag in after.flags if current.get(flag, True))
    flags = tuple(dict.fromkeys((*flags, *(flag for flag, is_set in current.items() if is_set))))
    if not (is_suspicious and is_checked):
        return replace(after, flags=flags), ()
    warnings: list[str] = []
    if after.pinned:
        after = replace(after, pinned=False)
        warnings.append(_NOT_PINNED)
    if after.tier in _PROMOTED_TIERS and before.tier is not after.tier:
        after = replace(after, tier=before.tier)
        warnings.append(_NOT_PROMOTED)
    is_new = Flag.SUSPICIOUS not in before.flags
    return replace(after, flags=flags, source=_distrust(after.source) if is_new else after.source), tuple(warnings)


@dataclass
class _Redactor:
    """Redacts texts and collects the kinds of secrets found."""

    kinds: list[str] = field(default_factory=list[str])

    def text(self, text: str, *, any_case: bool = False) -> str:
        if not text:
            return text
        redacted, kinds = redact(text, any_case=any_case)
        self.kinds += kinds
        return redacted

    def source(self, source: Source) -> Source:
        return replace(source, **{name: self.text(getattr(source, name)) for name in _SOURCE_FIELDS})

    def texts(self, texts: Iterable[str], *, any_case: bool = False) -> tuple[str, ...]:
        return tuple(self.text(text, any_case=any_case) for text in texts)

    def value(self, value: Json, *, name: str = "", depth: int = 0) -> Json:
        if isinstance(value, str):
            redacted, kinds = redact_named(name, value)
            self.kinds += kinds
            return redacted
        if isinstance(value, list | dict) and depth > _MAX_DEPTH:
            return self._deep_value(value)
        if isinstance(value, list):
            return [self.value(item, name=name, depth=depth + 1) for item in value]
        if isinstance(value, dict):
            return {self.text(key): self.value(item, name=key, depth=depth + 1) for key, item in value.items()}
        return value

    def _deep_value(self, value: Json) -> Json:
        """Redact a value that is nested too deeply for recursion, as one text."""
        try:
            return json.loads(self.text(json.dumps(value, ensure_ascii=False)))
        except (TypeError, ValueError, RecursionError):
            # Validation refuses it later, or the redaction broke its syntax.
            return value if not self.kinds else f"{REDACTED}metadata]"

    @property
    def summary(self) -> str:
        """The kinds of secrets and their number, never the secrets."""
        counts = Counter(self.kinds)
        return ", ".join(f"{count} x {kind}" if count > 1 else kind for kind, count in counts.items())

    @property
    def warning(self) -> str:
        return f"secrets were redacted before anything was stored: {self.summary}"


def _redact_draft(draft: Draft) -> Draft:
    redactor = _Redactor()
    labels = {name: label for name in _LABELS if (label := getattr(draft, name))}
    redacted: dict[str, object] = {
        "text": redactor.text(draft.text),
        "observations": redactor.texts(draft.observations),
        "entities": tuple(dict.fromkeys(redactor.texts(draft.entities))),
        # Validation has made them lower case.
        "tags": tuple(dict.fromkeys(redactor.texts(draft.tags, any_case=True))),
        "metadata": redactor.value(dict(draft.metadata)),
        **{name: redactor.text(label) for name, label in labels.items()},
    }
    source = {name: redactor.text(label) for name in _SOURCE_FIELDS if (label := getattr(draft.source, name))}
    if not redactor.kinds:
        # The caller may have redacted it already. No redaction is longer than a line.
        is_redacted = REDACTED in "\n".join((*draft_texts(draft), *source_texts(draft)))
        return (draft.with_flag(Flag.REDACTED) if is_redacted else draft).with_decision("secrets", "none")
    screened = replace(draft, **redacted, source=replace(draft.source, **source))
    screened = screened.with_flag(Flag.REDACTED).with_warning(redactor.warning)
    return screened.with_decision("secrets", "redacted", redactor.summary)


def _flag_orders(draft: Draft) -> Draft:
    suspicions = _suspicions(draft_texts(draft))
    if not suspicions:
        return draft.with_decision("injection", "none")
    draft = (
        replace(draft, source=_distrust(draft.source))
        .with_flag(Flag.SUSPICIOUS)
        .with_warning(_injection_warning(suspicions))
    )
    if draft.pinned:
        draft = replace(draft, pinned=False).with_warning(_NOT_PINNED)
    return draft.with_decision("injection", Flag.SUSPICIOUS, ", ".join(suspicions))


def _distrust(source: Source) -> Source:
    # The lowest trust.
    return replace(source, trust=Trust.DOCUMENT)


def _injection_warning(suspicions: Iterable[str]) -> str:
    return f"the text seems to contain {', '.join(suspicions)}: it is stored as data, flagged and trusted less"


def _suspicions(texts: Iterable[str]) -> tuple[str, ...]:
    # Its rules take as long to load as a hundredth of the start, and only writes need them.
    from scrubjay.text.screening.injection import find_injections  # noqa: PLC0415

    return tuple(dict.fromkeys(suspicion for text in texts if text for suspicion in find_injections(text)))


def _are_texts(values: object) -> bool:
    return isinstance(values, list | tuple) and all(isinstance(item, str) for item in cast("Sequence[object]", values))


def _redact_field(name: str, value: Json, redactor: _Redactor) -> Json:
    if isinstance(value, str):
        return redactor.text(value) if name in _EDITED_TEXTS else value
    if name == "metadata":
        return redactor.value(value)
    if name in ("tags", "observations") and _are_texts(value):
        return list(redactor.texts(cast("list[str]", value), any_case=name == "tags"))
    return value


def _edit_texts(edit: Edit) -> Iterator[str]:
    if _are_texts(edit.add_observations):
        yield from edit.add_observations
    yield from (text for _, text in strings_in(dict(edit.fields)))
