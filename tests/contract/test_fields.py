"""Every place that must know the fields of a draft, an edit or a memory knows all of them.

The tests run each place instead of reading its source: they vary one field, and the place handles the field if its
result differs. A table per place lists the fields that it may ignore, with the reason. A field that is neither handled
nor listed fails by name, and so does a listed field that is handled.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import fields, replace
from datetime import timedelta
from inspect import signature
from typing import Any, cast

import pytest

from scrubjay.client import MemoryClient
from scrubjay.conflicts.strategies import ConflictCase, apply_strategy
from scrubjay.detection.statement import DisputedStatement
from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput, KeyReused
from scrubjay.model.caller import Caller
from scrubjay.model.conflict import ConflictRecord, ConflictType, Strategy
from scrubjay.model.draft import Draft, Limits
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Flag, Json, Memory, Merged, Observation, Source, State, Tier, Trust
from scrubjay.model.requests import Edit
from scrubjay.model.results import Decision, Remembered
from scrubjay.model.snapshot import as_json, from_body, to_body
from scrubjay.rpc.codec import to_json
from scrubjay.surfaces.cli import verbs
from scrubjay.surfaces.mcp.tool import ToolContext
from scrubjay.surfaces.mcp.toolsets import core
from scrubjay.surfaces.rest.requests import REMEMBER
from scrubjay.surfaces.rest.schemas import MemorySchema
from scrubjay.versions.history import diff
from scrubjay.versions.merge_fields import merge_records
from scrubjay.writing.compose import compose
from scrubjay.writing.results import request_of
from scrubjay.writing.revise import apply_edit
from tests.fakes.build import START, a_memory
from tests.new_files import new_stores
from tests.unit.harness import PLAIN, Harness

TEXT = "Sarah prefers green tea in the morning"
LATER = START + timedelta(days=900)
OTHER_ID = new_id()
MADE = a_memory(TEXT)

# A value other than the default for every field. A new field gets its value here and its reasons in the tables below.
DRAFT: dict[str, object] = {
    "text": "Bob repairs bicycles",
    "id": OTHER_ID,
    "title": "Tea",
    "kind": "preference",
    "name": "sarahs-tea",
    "entities": ("Sarah",),
    "observations": ("without milk",),
    "tags": ("drinks",),
    "category": "kitchen",
    "project": "jay",
    "scope": "team",
    "session_hint": "breakfast",
    "intent": "new",
    "pinned": True,
    "relevance": 0.25,
    "expires_at": LATER,
    "remind_at": LATER,
    "source": Source(session="s", trust=Trust.USER),
    "metadata": {"cups": 2},
    "idempotency_key": "key-2",
    "dry_run": True,
    "wait_for_llm": True,
    "fixed": True,
    "is_attributed": True,
    "suggested_tags": ("tea",),
    "suggested_entities": ("Sarah",),
    "flags": (Flag.REDACTED,),
    "rejected": "a rule",
    "warnings": ("a warning",),
    "trace": (Decision(stage="s", outcome="o"),),
}
MEMORY: dict[str, object] = {
    "id": OTHER_ID,
    "space": "work",
    "name": "sarahs-tea",
    "created_at": LATER,
    "updated_at": LATER,
    "title": "Tea",
    "kind": "preference",
    "category": "kitchen",
    "project": "jay",
    "scope": "team",
    "content": "Bob repairs bicycles",
    "observations": (Observation(text="without milk", recorded_at=START),),
    "entity": "Sarah",
    "group": new_id(),
    "tags": ("drinks",),
    "tier": Tier.SEMANTIC,
    "pinned": True,
    "relevance": 0.25,
    "expires_at": LATER,
    "valid_until": LATER,
    "remind_at": LATER,
    "state": State.ARCHIVED,
    "merged_into": new_id(),
    "merged": (Merged(id=new_id(), at=START),),
    "flags": (Flag.REDACTED,),
    "version": 7,
    "branch": "draft",
    "trunk": new_id(),
    "forked": 3,
    "resolution": "update",
    "source": Source(session="s", trust=Trust.AGENT),
    "metadata": {"cups": 2},
    "last_accessed": LATER,
    "last_confirmed": LATER,
    "last_reviewed": LATER,
    "access_count": 5,
}
EDIT: dict[str, object] = {
    "fields": {"title": "Tea"},
    "add_observations": ("without milk",),
    "remove_observations": ("with milk",),
    "message": "why",
    "expected_version": 3,
    "idempotency_key": "key-2",
    "may_empty": True,
    "branch": "draft",
    "source": Source(trust=Trust.USER),
    "at": LATER,
}

# For each place: the fields that it ignores, and why.
Exempt = dict[str, str]


def _because(reason: str, *names: str) -> Exempt:
    return dict.fromkeys(names, reason)


_STAGES = _because(
    "the stages of the write path set it", "suggested_tags", "suggested_entities", "flags", "rejected", "warnings",
    "trace",
)  # fmt: skip
_STEERING = _because("it says how to handle the request, not what to store", "dry_run", "wait_for_llm")
_ATTRIBUTED = _because("it says whether `source` was given, and only pins depend on it", "is_attributed")
_KEY = _because("it is the key itself", "idempotency_key")
_IDENTITY = _because("it says which record this is", "id", "space", "version", "branch", "trunk", "forked")
_ACCESS = _because("access counts change without a version", "last_accessed", "access_count")

DIGEST: Exempt = _STAGES | _STEERING | _KEY
DUPLICATE: Exempt = (
    {name: reason for name, reason in _STAGES.items() if name != "rejected"}
    | _ATTRIBUTED
    | _STEERING
    | _KEY
    | {
        "fixed": "it keeps tags as given, and tags are compared",
        "session_hint": "it names the memory to continue, which has the text already",
    }
)
MERGED: Exempt = (
    _ATTRIBUTED
    | _because("a suggestion is part of the answer only", "suggested_entities", "trace")
    | _STEERING
    | _KEY
    | {
        "fixed": "it keeps tags as given, and no tag is changed here",
        "flags": "flags describe the text, of which nothing is added here",
        "session_hint": "it names the memory to continue, which has the text already",
    }
)
COMPOSED: Exempt = (
    _ATTRIBUTED
    | _STEERING
    | _KEY
    | _because("the stages put it into the answer only", "rejected", "suggested_entities", "warnings", "trace")
    | {"fixed": "it steers the tag rules", "intent": "it steers the similarity gate"}
)
CLIENT: Exempt = (
    _STAGES
    | _ATTRIBUTED
    | {
        "id": "only files and imports bring ids along",
        "relevance": "`revise` sets it",
        "fixed": "only notes keep their tags as given",
    }
)
MCP: Exempt = {**CLIENT, "wait_for_llm": "the tool is listed in as few tokens as possible, and agents do not wait"}
REST: Exempt = {**CLIENT, "idempotency_key": "the header Idempotency-Key has it"}
CLI: Exempt = CLIENT
EDIT_DIGEST: Exempt = _KEY
SNAPSHOT: Exempt = _because("it is stored beside the snapshot", "id", "space", "version") | _ACCESS
EXPORT: Exempt = {}
REST_SCHEMA: Exempt = {}
CONFLICT_MERGE: Exempt = _IDENTITY | _ACCESS | _because(
    "the memory that remains keeps its own, and history shows the other's",
    "name", "created_at", "updated_at", "last_confirmed", "last_reviewed", "tier", "group", "merged", "resolution",
) | _because("a conflict is between live memories that hold", "state", "merged_into", "valid_until")  # fmt: skip
BRANCH_MERGE: Exempt = _IDENTITY | _ACCESS | _because(
    "each line of versions has its own", "created_at", "updated_at", "last_confirmed", "last_reviewed", "state",
    "merged_into", "group",
)  # fmt: skip
REVISE: Exempt = _IDENTITY | _ACCESS | _because(
    "the engine sets it", "created_at", "updated_at", "last_confirmed", "flags", "group", "merged", "merged_into",
    "resolution", "state", "valid_until",
) | {"source": "an edit has a source of its own"}  # fmt: skip
DIFF: Exempt = (
    _IDENTITY
    | _ACCESS
    | _because(
        "it differs between any two versions or branches", "updated_at", "last_confirmed", "last_reviewed", "group"
    )
)


@pytest.mark.parametrize(("kind", "values"), [(Draft, DRAFT), (Memory, MEMORY), (Edit, EDIT)])
def test_every_field_has_a_second_value_in_this_file(kind: type, values: Mapping[str, object]) -> None:
    assert set(values) == _names(kind)


# ---- a draft --------------------------------------------------------------------------------------


def test_the_digest_of_a_request_covers_every_field() -> None:
    def digest(draft: Draft) -> bytes:
        return request_of(replace(draft, idempotency_key="key")).digest

    base = Draft(text=TEXT)
    handled = {name for name in DRAFT if digest(_varied(base, name)) != digest(base)}
    _require_all("the digest of a request under an idempotency key", Draft, handled, DIGEST)


async def test_a_draft_that_differs_in_any_field_is_no_duplicate() -> None:
    async def repeat(name: str) -> str:
        async with new_stores() as stores:
            harness = Harness(store=stores(), rules=PLAIN)
            await harness.remember(Draft(text=TEXT))
            return (await harness.remember(_varied(Draft(text=TEXT), name))).action

    handled = {name for name in DRAFT if await repeat(name) != "unchanged"}
    _require_all("the comparison with stored memories (exact duplicates)", Draft, handled, DUPLICATE)


async def test_no_field_is_lost_when_a_draft_is_merged_into_a_memory() -> None:
    similar = Draft(text=f"{TEXT}!")

    async def outcome(draft: Draft) -> tuple[str, object]:
        async with new_stores() as stores:
            harness = Harness(store=stores(), rules=replace(PLAIN, gate="merge"))
            target = (await harness.remember(Draft(text=TEXT))).id
            done = await harness.remember(draft)
            memory = await harness.get(target)
        merged = [(part.source, part.statements) for part in memory.merged]
        return done.action, (replace(memory, id="", merged=()), merged, done.warnings)

    unvaried = await outcome(similar)
    assert unvaried[0] == "unchanged"
    handled = {name for name in DRAFT if await outcome(_varied(similar, name)) != unvaried}
    _require_all("the similarity gate and the merge behind it", Draft, handled, MERGED)


def test_a_record_has_every_field_of_its_draft() -> None:
    def record(draft: Draft) -> Memory:
        (memory,) = compose(draft, space="default", now=START)
        return memory if draft.id else replace(memory, id="")

    base = Draft(text=TEXT)
    handled = {name for name in DRAFT if record(_varied(base, name)) != record(base)}
    _require_all("the record that is composed of a draft", Draft, handled, COMPOSED)


class _Receiver:
    """Keeps the draft that a surface hands to the engine."""

    draft: Draft | None = None

    async def require_own_look(self, who: Caller) -> None:
        """Accept every space."""

    async def remember(self, draft: Draft, *, who: Caller) -> Remembered:
        self.draft = draft
        return Remembered(action="created", id=new_id(), ids=(), name=who.space, version=1)


# Sends a remember with further arguments to the engine; raises if the surface has no such argument.
Send = Callable[[Engine, dict[str, Any]], Awaitable[object]]
_WHO = Caller()


async def _by_client(engine: Engine, arguments: dict[str, Any]) -> None:
    if unknown := set(arguments) - set(signature(MemoryClient.remember).parameters):
        raise _Unknown(unknown)
    await _remember(MemoryClient.over(engine, _WHO), arguments)


async def _by_mcp(engine: Engine, arguments: dict[str, Any]) -> None:
    tool = next(tool for tool in core.TOOLS if tool.name == "remember")
    if unknown := set(arguments) - set(cast("Mapping[str, Json]", tool.input["properties"])):
        raise _Unknown(unknown)
    await tool.call(ToolContext(engine=engine, who=_WHO), {"text": TEXT, **_json(arguments)})


async def _by_rest(engine: Engine, arguments: dict[str, Any]) -> None:
    if unknown := set(arguments) - set(REMEMBER.model.model_fields):
        raise _Unknown(unknown)
    body = REMEMBER.model.model_validate({"text": TEXT, **_json(arguments)})
    await _remember(MemoryClient.over(engine, _WHO), body.model_dump(exclude_none=True, exclude_defaults=True))


async def _remember(client: MemoryClient, arguments: dict[str, Any]) -> None:
    chosen: dict[str, Any] = {"text": TEXT, **arguments}
    await client.remember(**chosen)


_SINGULAR = {"entities": "entity", "observations": "observation", "tags": "tag"}


async def _by_cli(engine: Engine, arguments: dict[str, Any]) -> None:
    options = {_SINGULAR.get(name, name): value for name, value in _json(arguments).items()}
    if unknown := set(options) - set(signature(verbs.remember).parameters):
        raise _Unknown(unknown)
    # On the command line a source is a trust, `user` by default, and an object is JSON.
    options |= {"source": "document"} if "source" in options else {}
    options |= {"metadata": json.dumps(options["metadata"])} if "metadata" in options else {}
    chosen: dict[str, Any] = {"text": TEXT, **options}
    await verbs.remember(MemoryClient.over(engine, _WHO), **chosen)


@pytest.mark.parametrize(
    ("place", "send", "exempt"),
    [
        ("the Python client", _by_client, CLIENT),
        ("the MCP tool", _by_mcp, MCP),
        ("the body of REST", _by_rest, REST),
        ("the command line", _by_cli, CLI),
    ],
    ids=["client", "mcp", "rest", "cli"],
)
async def test_remember_takes_every_field(place: str, send: Send, exempt: Exempt) -> None:
    async def sent(arguments: dict[str, Any]) -> Draft | None:
        receiver = _Receiver()
        try:
            await send(cast("Engine", receiver), arguments)
        except _Unknown:
            return None
        return receiver.draft

    unvaried = await sent({})
    drafts = {name: await sent({name: value}) for name, value in DRAFT.items()}
    handled = {
        name for name, draft in drafts.items() if draft is not None and getattr(draft, name) != getattr(unvaried, name)
    }
    _require_all(f"remember by {place}", Draft, handled, exempt)


# ---- an edit --------------------------------------------------------------------------------------


async def test_the_digest_of_an_edit_covers_every_field() -> None:
    async with new_stores() as stores:
        harness = Harness(store=stores(), rules=PLAIN)
        memory = await harness.store_draft(TEXT)
        base = Edit(fields={"title": "Breakfast"}, idempotency_key="key")
        await harness.revise(memory.id, base)

        async def is_repeated(edit: Edit) -> bool:
            try:
                await harness.revise(memory.id, replace(edit, idempotency_key="key"))
            except KeyReused:
                return False
            return True

        assert await is_repeated(base)
        handled = {name for name, value in EDIT.items() if not await is_repeated(replace(base, **{name: value}))}
    _require_all("the digest of an edit under an idempotency key", Edit, handled, EDIT_DIGEST)


# ---- a memory -------------------------------------------------------------------------------------


def test_a_snapshot_keeps_every_field() -> None:
    def restored(memory: Memory) -> Memory:
        body = json.loads(json.dumps(to_body(memory)))
        return from_body(body, memory_id=MADE.id, space=MADE.space, version=MADE.version)

    handled = {name for name in MEMORY if restored(_varied_memory(name)) == _varied_memory(name)}
    _require_all("the snapshot that versions keep", Memory, handled, SNAPSHOT)


def test_an_export_has_every_field() -> None:
    handled = {name for name in MEMORY if as_json(_varied_memory(name)) != as_json(MADE)}
    _require_all("the JSON of a memory", Memory, handled, EXPORT)


def test_rest_describes_every_field() -> None:
    _require_all("the REST schema of a memory", Memory, set(MemorySchema.model_fields), REST_SCHEMA)


def test_resolving_a_conflict_by_merge_loses_no_field() -> None:
    older = replace(MADE, id=new_id(), content="Sarah prefers black tea", relevance=0.1, expires_at=START)
    at = MADE.updated_at + timedelta(days=1)

    def outcome(newer: Memory) -> object:
        conflict = ConflictRecord(
            space="default", type=ConflictType.DUPLICATE, memory=newer.id, other=older.id, confidence=0.9,
            suggested=Strategy.MERGE, detected_at=at,
        )  # fmt: skip
        case = ConflictCase(
            conflict=conflict,
            newer=DisputedStatement(memory=newer),
            older=DisputedStatement(memory=older),
            at=at,
        )
        plan = apply_strategy(Strategy.MERGE, case)
        (stored,) = (memory for memory in plan.changed if memory.id == older.id)
        return replace(stored, merged=()), [(part.source, part.statements) for part in stored.merged], plan.warnings

    handled = {name for name in MEMORY if outcome(_varied_memory(name)) != outcome(MADE)}
    _require_all("the merge that resolves a conflict", Memory, handled, CONFLICT_MERGE)


def test_merging_a_branch_takes_every_field() -> None:
    handled = {name for name in MEMORY if merge_records(MADE, MADE, _varied_memory(name))[0] == _varied_memory(name)}
    _require_all("the merge of a branch", Memory, handled, BRANCH_MERGE)


def test_every_field_can_be_revised() -> None:
    def is_revised(name: str, value: object) -> bool:
        edit = Edit(fields={name: cast("Json", value)})
        try:
            return getattr(apply_edit(MADE, edit, now=START, limits=Limits())[0], name) != getattr(MADE, name)
        except InvalidInput:
            return False

    values = _json(MEMORY) | {"observations": ["without milk"]}
    handled = {name for name, value in values.items() if is_revised(name, value)}
    _require_all("revise", Memory, handled, REVISE)


def test_a_diff_shows_every_field() -> None:
    handled = {name for name in MEMORY if diff(MADE, _varied_memory(name))}
    _require_all("the diff of two versions", Memory, handled, DIFF)


class _Unknown(Exception):
    """A surface has no argument of this name."""


def _require_all(place: str, kind: type, handled: set[str], exempt: Exempt) -> None:
    names = _names(kind)
    missing = sorted(names - handled - set(exempt))
    assert not missing, f"{place} ignores {missing} of {kind.__name__}: handle each, or list it here with a reason"
    stale = sorted(set(exempt) & handled | set(exempt) - names)
    assert not stale, f"{place} is exempt from {stale} of {kind.__name__} without need: remove them from its table"


def _names(kind: type) -> set[str]:
    return {field.name for field in fields(kind)}


def _varied(draft: Draft, name: str) -> Draft:
    return replace(draft, **{name: DRAFT[name]})


def _varied_memory(name: str) -> Memory:
    return replace(MADE, **{name: MEMORY[name]})


def _json(values: Mapping[str, object]) -> dict[str, Any]:
    """The same values as a surface gets them."""
    return {name: to_json(value) for name, value in values.items()}
