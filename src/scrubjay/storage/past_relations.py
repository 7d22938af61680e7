"""Which relations there were at a moment, told from those of today and the log of all that were set and removed."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from scrubjay.model.change import Action
from scrubjay.model.relation import Relation
from scrubjay.model.timestamps import to_micros
from scrubjay.storage.rows import id_bytes, id_text, relation_from_text

Logged = tuple[str, int, str]
"""What was done, when, and to which relation, as the log has it."""


def relations_then(current: Iterable[Relation], logged: Sequence[Logged], *, at: datetime) -> list[Relation]:
    """The relations of a moment, from those that are there now and the entries of the log in their order."""
    moment = to_micros(at)
    known: set[tuple[str, str, str]] = set()
    there: dict[tuple[str, str, str], Relation] = {}
    for action, when, told in logged:
        relation = _canonical(relation_from_text(told))
        # One that was brought along from elsewhere is as old as it says, unless it is known what was in its place.
        since = when if relation.key in known else min(when, to_micros(relation.created_at))
        if action == Action.RELATED and since <= moment:
            there[relation.key] = relation
        elif action == Action.UNRELATED and when <= moment:
            there.pop(relation.key, None)
        elif action == Action.UNRELATED and since <= moment:
            # The log does not tell how it came: it was there before.
            there.setdefault(relation.key, relation)
        known.add(relation.key)
    for relation in current:
        if relation.key not in known and relation.created_at <= at:
            there[relation.key] = relation
    return sorted(there.values(), key=lambda one: (one.created_at, one.type, one.target))


def _canonical(relation: Relation) -> Relation:
    """Ids may have been given in another spelling."""
    source, target = (id_text(id_bytes(one)) for one in (relation.source, relation.target))
    return replace(relation, source=source, target=target)
