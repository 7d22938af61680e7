"""Results as JSON values, the same for every surface."""

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

from tests.fakes.build import START, a_memory

from scrubjay.errors import NotFound
from scrubjay.model.memory import Source, Trust
from scrubjay.model.results import Decision, Hit, Recalled, Remembered
from scrubjay.rpc.codec import error_to_json, to_json


def test_every_kind_of_value_becomes_json() -> None:
    noon = datetime(2026, 5, 31, 14, tzinfo=timezone(timedelta(hours=2)))
    inputs = {"at": noon, "trust": Trust.USER, "file": Path("/jay"), 5: (1, [2.5, None, True]), "text": "☕"}
    reported = to_json(inputs)
    assert reported == {
        "at": "2026-05-31T12:00:00Z", "trust": "user", "file": "/jay", "5": [1, [2.5, None, True]], "text": "☕",
    }  # fmt: skip
    assert json.loads(json.dumps(reported)) == reported


def test_a_result_keeps_its_empty_fields_and_a_memory_does_not() -> None:
    hit = Hit(
        id="i", name="n", title="", passage="p", score=1.0, date=START, entities=(), source=Source(), trust="unknown",
        memory=a_memory("tea", id="i", name="n"),
    )  # fmt: skip
    reported = to_json(Recalled(hits=(hit,)))
    assert isinstance(reported, dict)
    assert (reported["cursor"], reported["degraded"], reported["pinned"]) == ("", [], [])
    hits = reported["hits"]
    assert isinstance(hits, list)
    (first,) = hits
    assert isinstance(first, dict)
    assert first["title"] == ""
    memory = first["memory"]
    assert isinstance(memory, dict)
    assert set(memory) == {"id", "space", "version", "name", "created_at", "updated_at", "content"}


def test_nested_values_become_json() -> None:
    done = Remembered(
        action="created", id="i", ids=("i",), name="n", version=1, trace=(Decision(stage="s", outcome="o"),)
    )
    reported = to_json(done)
    assert isinstance(reported, dict)
    assert reported["trace"] == [{"stage": "s", "outcome": "o", "why": ""}]


def test_an_error_has_its_code_message_and_fields() -> None:
    assert error_to_json(NotFound("nobody", hint="Ask", ref="tee", suggestions=("tea",))) == {
        "code": "not_found", "message": "nobody", "hint": "Ask", "ref": "tee", "suggestions": ["tea"],
    }  # fmt: skip
    assert error_to_json(NotFound("nobody")) == {"code": "not_found", "message": "nobody"}
