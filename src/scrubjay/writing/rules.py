"""The rules of a space: read for every write, and changed by the space's owner."""

from collections.abc import Mapping
from datetime import datetime

from scrubjay.errors import InvalidInput, StaleVersion
from scrubjay.lazy import dataclass
from scrubjay.model.document import Document
from scrubjay.model.memory import Json
from scrubjay.model.rules import COLLECTION, TAGS, WRITING, Rules
from scrubjay.ports import DocumentStore

# The collection has one document of each sort.
_MAX_DOCUMENTS = 10
_MAX_ATTEMPTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveRules:
    """The rules in force in a space; `tags` is the document of its synonyms."""

    rules: Rules
    tags: Document | None = None


async def load_rules(space: str, *, default: Rules, documents: DocumentStore) -> EffectiveRules:
    """Return the rules of a space on top of the default ones, with one read."""
    by_key = {document.key: document for document in await documents.documents(space, COLLECTION, limit=_MAX_DOCUMENTS)}
    own = by_key.get(WRITING)
    rules = default if own is None else default.with_changes(own.value)
    return EffectiveRules(rules=rules, tags=by_key.get(TAGS))


async def set_rules(
    changes: Mapping[str, Json], *, space: str, now: datetime, default: Rules, documents: DocumentStore
) -> Rules:
    """Change rules of a space; null resets one to its default. Raises InvalidInput and then changes nothing."""
    if not isinstance(changes, Mapping) or not changes:
        raise InvalidInput("name the rules to change", hint="For example gate=report", field="changes")
    for _ in range(_MAX_ATTEMPTS):
        stored = await documents.document(space, COLLECTION, WRITING)
        changed = {**(stored.value if stored else {}), **changes}
        own = {name: value for name, value in changed.items() if value is not None}
        rules = default.with_changes(own)
        document = Document(space=space, collection=COLLECTION, key=WRITING, value=own, at=now)
        try:
            await documents.put_document(document, base=stored.version if stored else None)
        except StaleVersion:
            continue
        return rules
    raise StaleVersion("the rules keep changing", hint="Try again", space=space)
