"""The engine's verbs as they are called from afar: which there are, what they take and what they answer."""

from collections.abc import Callable, Mapping
from functools import cache
from inspect import signature
from typing import cast

from rapidfuzz import process

from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput
from scrubjay.model.draft import Caller
from scrubjay.model.memory import Json
from scrubjay.remote.shapes import built, hints_of

READS = frozenset(
    {
        "recall", "read", "history", "diff", "status", "outcome", "tokens",
        "rules", "tags", "preview_tags", "inbox", "jobs", "branches", "graph", "path", "conflicts", "probe_conflicts",
        "context", "search_nodes", "get_memory_status",
    }
)  # fmt: skip
WRITES = frozenset(
    {
        "remember", "revise", "forget", "restore", "relate", "unrelate", "revert", "undo",
        "create_token", "revoke_token", "set_rules", "add_synonyms", "remove_synonyms", "approve", "decline",
        "retry_job", "cancel_job", "commit", "branch", "switch", "drop_branch", "merge_branch", "resolve_conflict",
        "scan_later", "create_entities", "update_entity",
    }
)  # fmt: skip
# These tell how far they are instead of being held to the time of an ordinary call.
LONG = frozenset({"purge", "doctor", "backup", "embed_missing", "export", "import_", "scan_conflicts", "extract"})
VERBS = READS | WRITES | LONG
# These lead out of the store, or into it: for the owner alone, whatever a token opens.
OWN = frozenset({"backup", "create_token", "tokens", "revoke_token"})
# These are about the whole store: for those to whom every space is open.
WHOLE = frozenset({"doctor", "embed_missing"})
_BESIDE = frozenset({"self", "who", "progress", "return", "lines"})


def arguments_of(verb: str, given: Mapping[str, Json]) -> dict[str, object]:
    """The arguments of a verb from their JSON; what it does not take is named."""
    hints = {name: hint for name, hint in hints_of(_method(verb)).items() if name not in _BESIDE}
    unknown = [name for name in given if name not in hints]
    if unknown:
        raise InvalidInput(
            f"{verb} takes no argument {unknown[0][:100]!r}",
            hint=f"It takes {', '.join(hints)}",
            field=unknown[0][:100],
        )
    missing = [name for name in _needed(verb) if name not in given]
    if missing:
        raise InvalidInput(f"{verb} needs the argument {missing[0]}", field=missing[0])
    return {name: built(hints[name], value) for name, value in given.items()}


def caller_from(given: Json) -> Caller:
    """Who calls, from its JSON."""
    return cast("Caller", built(Caller, {} if given is None else given))


def takes(verb: str, argument: str) -> bool:
    """Whether a verb takes an argument such as `who` or `progress`."""
    return argument in hints_of(_method(verb))


@cache
def _needed(verb: str) -> tuple[str, ...]:
    parameters = signature(cast("Callable[..., object]", _method(verb))).parameters.values()
    return tuple(one.name for one in parameters if one.default is one.empty and one.name not in _BESIDE)


def _method(verb: str) -> object:
    if verb not in VERBS:
        near = process.extractOne(verb[:100], sorted(VERBS), score_cutoff=60)
        hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(sorted(VERBS))}"
        raise InvalidInput(f"there is no verb {verb[:100]!r}", hint=hint, field="verb")
    return getattr(Engine, verb)
