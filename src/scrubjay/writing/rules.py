"""The rules of a space: looked up for every write, and changed by whoever owns it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from scrubjay.errors import InvalidInput, StaleVersion
from scrubjay.model.document import Document
from scrubjay.model.memory import Json
from scrubjay.model.rules import COLLECTION, TAGS, WRITING, Rules
from scrubjay.ports import DocumentStore

# A drawer of rules has one paper of each sort.
_MOST = 10
_TRIES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveRules:
    """All that a space has laid down for what is written into it; `tags` is the paper of its synonyms."""

    rules: Rules
    tags: Document | None = None


async def effective_rules_of(space: str, *, default: Rules, documents: DocumentStore) -> EffectiveRules:
    """The rules of a space over the default ones, in one look."""
    found = {document.key: document for document in await documents.documents(space, COLLECTION, limit=_MOST)}
    own = found.get(WRITING)
    rules = default if own is None else default.with_changes(own.value)
    return EffectiveRules(rules=rules, tags=found.get(TAGS))


async def set_rules(
    changes: Mapping[str, Json], *, space: str, now: datetime, default: Rules, documents: DocumentStore
) -> Rules:
    """Change rules of a space; null gives one back to the default. Raises InvalidInput, and then changes nothing."""
    if not isinstance(changes, Mapping) or not changes:
        raise InvalidInput("say which rules to change", hint="For example gate=report", field="changes")
    for _ in range(_TRIES):
        known = await documents.document(space, COLLECTION, WRITING)
        value = {**(known.value if known else {}), **changes}
        kept = {name: one for name, one in value.items() if one is not None}
        rules = default.with_changes(kept)
        document = Document(space=space, collection=COLLECTION, key=WRITING, value=kept, at=now)
        try:
            await documents.put_document(document, base=known.version if known else None)
        except StaleVersion:
            continue
        return rules
    raise StaleVersion("the rules are being changed too fast", hint="Try again", space=space)
