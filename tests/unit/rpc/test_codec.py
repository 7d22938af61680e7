"""Values survive a round trip through JSON."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.fakes.build import START, a_memory

from scrubjay.errors import CODES, InvalidInput, NotFound, ScrubjayError
from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Json, Memory, Observation, Source, State, Trust
from scrubjay.model.query import Filter
from scrubjay.model.relation import Relation
from scrubjay.model.requests import Edit, RecallRequest, Selection
from scrubjay.model.results import (
    Check,
    Decision,
    DoctorReport,
    History,
    Hit,
    Missing,
    Neighbour,
    Outcome,
    ReadResult,
    Recalled,
    Related,
    Remembered,
    Similar,
    Status,
    Undone,
    Written,
)
from scrubjay.model.transfer import Imported
from scrubjay.model.version import FieldDiff, Version
from scrubjay.rpc.codec import error_from_json, error_to_json, from_json, to_json, to_json_without_defaults

AT = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
MEMORY = a_memory(
    "text 😀 \ud800 é",
    title="T",
    observations=(Observation(text="o", recorded_at=START, valid_until=AT, source=Source(session="s")),),
    tags=("a", "b"),
    metadata={"deep": {"list": [1, 2.5, None, True]}},
    source=Source(agent="bot", trust=Trust.USER, at=AT),
    state=State.ARCHIVED,
    expires_at=AT,
    pinned=True,
)
RELATION = Relation(source="a", type="knows", target="b", text="t", strength=0.5, metadata={"x": 1}, created_at=AT)
WRITTEN = Written(action="revised", id="i", name="n", version=2, warnings=("w",))
HIT = Hit(
    id="i", name="n", title="t", passage="p", score=0.25, date=AT, entities=("e",), source=Source(), trust="user",
    why=("because",), around=(Neighbour(id="j", name="m", passage="before", date=AT, place=-1),), memory=MEMORY,
)  # fmt: skip
VERSION = Version(
    number=1, memory=MEMORY, parent=None, action="created", created_at=AT, agent="bot", run="r", message="m"
)
FILTER = Filter(kind="fact", tags=("a",), metadata={"k": "v"}, since=AT, state=State.TRASHED)
VALUES = [
    Remembered(
        action="created", id="i", ids=("i", "j"), name="n", version=1, similarity=0.5,
        similar=(Similar(id="s", name="n", similarity=0.9),), trace=(Decision(stage="s", outcome="o"),),
    ),
    Recalled(hits=(HIT,), pinned=(HIT,), cursor="c", tokens=5, degraded=("d",)),
    ReadResult(
        memories=(MEMORY,), texts=("t",), relations=(RELATION,), missing=(Missing(ref="r", suggestions=("s",)),)
    ),
    WRITTEN,
    Outcome(done=(WRITTEN,), missing=(), dry_run=True, run="r"),
    Related(
        action="created", source="a", source_name="A", target="b", target_name="B", source_links=(RELATION,),
        target_links=(),
    ),
    History(id="i", name="n", versions=(VERSION,), diff=(FieldDiff(field="f", before="a", after="b", lines=("-a",)),)),
    Undone(run="r", done=(WRITTEN,), skipped=("s",)),
    Status(
        space="s", version="1", data="/d", memories={"live": 1}, versions=1, relations=0, store={"wal": True},
        embedding={}, index={}, compression={"saved": 0.5},
    ),
    DoctorReport(checks=(Check(name="store", ok=False, detail="d", fix="f"),)),
    Imported(imported=1, known=2, relations=3, renamed=("x",)),
    Draft(text="t", tags=("a",), metadata={"k": [1]}, expires_at=AT, source=Source(session="s")),
    RecallRequest(query="q", filter=FILTER, limit=3),
    Edit(fields={"title": "x"}, add_observations=("o",), expected_version=4),
    Selection(ids=("a",), filter=FILTER),
    Selection(),
    Caller(space="s", agent="a", run="r"),
    MEMORY,
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_every_answer_and_argument_crosses_the_wire_whole(value: object) -> None:
    for write in (to_json, to_json_without_defaults):
        encoded: Json = json.loads(json.dumps(write(value)))
        assert from_json(type(value), encoded) == value


def test_default_values_are_left_out() -> None:
    assert to_json_without_defaults(Recalled(hits=())) == {"hits": []}
    assert to_json_without_defaults(RecallRequest(query="q")) == {"query": "q"}
    assert to_json_without_defaults(Draft(text="t", pinned=0)) == {"text": "t", "pinned": 0}  # type: ignore[arg-type]
    assert to_json_without_defaults({"a": (Source(),)}) == {"a": [{}]}


def test_a_value_of_the_wrong_type_is_left_to_the_validation_of_the_engine() -> None:
    draft = from_json(Draft, {"text": 5, "tags": "tea", "metadata": [], "expires_at": 7})
    assert draft == Draft(text=5, tags="tea", metadata=[], expires_at=7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        (Draft, [], "draft must be an object, not list"),
        (Draft, None, "draft must be an object, not NoneType"),
        (Draft, {"text": "t", "colour": 1}, "draft has no field 'colour'"),
        (Draft, {}, "draft is incomplete"),
        (Memory, "x", "a memory must be an object"),
        (Filter, {"state": "asleep"}, "state must be one of live"),
        (Filter, {"since": "soon"}, "time"),
    ],
)
def test_a_value_that_cannot_be_read_is_refused(kind: type, value: Json, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        from_json(kind, value)


def test_null_is_none_for_optional_types() -> None:
    for kind in (Draft | None, Memory, datetime, State, Path, tuple[str, ...], str | None):
        assert from_json(kind, None) is None
    assert from_json(Path, "/x") == Path("/x")
    assert from_json(Mapping[str, State], {"a": "live"}) == {"a": State.LIVE}
    assert from_json(str | int, 5) == 5


@pytest.mark.parametrize("kind", CODES)
def test_every_error_crosses_the_wire_as_itself(kind: type[ScrubjayError]) -> None:
    error = kind("it failed", hint="Try again", ref="x", matches=("a", "b"), count=3, none=None)
    copy = error_from_json(json.loads(json.dumps(error_to_json(error))))
    assert type(copy) is kind
    assert (copy.message, copy.hint, copy.fields) == (error.message, error.hint, error.fields)


def test_an_unknown_error_code_becomes_a_plain_error() -> None:
    error = error_from_json({"code": "of tomorrow", "message": "m", "deep": {"x": 1}})
    assert (type(error), str(error), error.fields) == (ScrubjayError, "m", {})
    assert isinstance(error_from_json({"code": "not_found", "message": "m"}), NotFound)
