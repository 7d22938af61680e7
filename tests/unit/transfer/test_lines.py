"""One line of an export: a memory with all its versions, checked in every field."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.build import START, a_memory
from tests.unit.strategies import few_examples, memories, moments, texts, values

from scrubjay.errors import InvalidInput
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Json, Memory
from scrubjay.model.relation import Relation
from scrubjay.model.version import Version
from scrubjay.ports import MemoryHistory
from scrubjay.transfer.lines import header, parse_line, write_line

WHEN = "2026-01-01T12:00:00Z"
BODY: dict[str, Json] = {"name": "tea", "created_at": WHEN, "updated_at": WHEN}
VERSION: dict[str, Json] = {"number": 1, "action": "created", "created_at": WHEN, "body": BODY}
ID = new_id()
DOCUMENT: dict[str, Json] = {"collection": "rules", "key": "k", "value": {}, "version": 1, "at": WHEN}
writable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
relations = st.builds(
    Relation, source=st.builds(new_id), target=st.builds(new_id), created_at=moments, type=writable, text=writable,
    strength=st.floats(0, 1), metadata=st.dictionaries(writable, st.integers() | writable, max_size=2),
)  # fmt: skip


def line(**parts: Json) -> str:
    return json.dumps(parts)


def can_be_imported(memory: Memory) -> bool:
    return "\\x00" not in repr(memory) and memory.name.strip() != ""


@given(memories.filter(can_be_imported), texts.filter(lambda text: "\x00" not in text))
@few_examples
def test_a_memory_comes_back_with_all_its_versions(memory: Memory, message: str) -> None:
    first = replace(memory, version=1, access_count=0, last_accessed=None, space="")
    second = replace(first, version=2, content="changed")
    versions = (
        Version(number=1, memory=first, parent=None, action="created", created_at=memory.created_at, agent="bot"),
        Version(
            number=2, memory=second, parent=1, action="revised", created_at=memory.updated_at, run="r", message=message
        ),
    )
    counted = replace(second, access_count=memory.access_count, last_accessed=memory.last_accessed)
    assert parse_line(write_line(MemoryHistory(memory=counted, versions=versions))) == MemoryHistory(
        memory=counted, versions=versions
    )


@given(relations)
@few_examples
def test_a_relation_comes_back(relation: Relation) -> None:
    assert parse_line(write_line(relation)) == relation


def test_a_relation_may_be_brief() -> None:
    other = new_id()
    parsed = parse_line(line(relation={"source": ID, "target": other, "created_at": WHEN}))
    assert parsed == Relation(source=ID, target=other, created_at=START)


def test_the_header_describes_the_file() -> None:
    fields = json.loads(header("work", WHEN))
    assert (fields["scrubjay"], fields["space"], fields["exported_at"]) == (1, "work", WHEN)
    assert parse_line(header("work", WHEN)) is None


def test_an_id_is_written_in_one_way() -> None:
    parsed = parse_line(line(memory={"id": ID.upper(), "version": 1}, versions=[VERSION]))
    assert isinstance(parsed, MemoryHistory)
    assert parsed.memory.id == ID
    edge = parse_line(line(relation={"source": ID.upper(), "target": ID.upper(), "created_at": WHEN}))
    assert isinstance(edge, Relation)
    assert (edge.source, edge.target) == (ID, ID)


def a_line(versions: Json, **beside: Json) -> str:
    return line(memory={"id": ID, "version": 1} | beside, versions=versions)


def a_version(**changes: Json) -> str:
    return a_line([VERSION | changes])


def a_body(name: str, value: Json) -> str:
    return a_version(body={**BODY, name: value})


BAD: list[tuple[str, str]] = [
    ("{", "not JSON"),
    ("[" * 100_000, "not JSON"),
    ("[1]", "not a JSON object"),
    ('"text"', "not a JSON object"),
    ("{}", "not a Scrubjay export"),
    ('{"scrubjay": "1"}', "not a Scrubjay export"),
    ('{"scrubjay": 99}', "format 99"),
    (line(memory=[]), "memory"),
    (line(memory={"version": 1}, versions=[VERSION]), "id"),
    (a_line([VERSION], id="tea"), "not an id"),
    (a_line([VERSION], id=5), "id"),
    (a_line([VERSION], version=2), "current version"),
    (a_line([VERSION], version="1"), "version"),
    (a_line([VERSION], version=True), "version"),
    (a_line([VERSION], access_count=-1), "access_count"),
    (a_line([VERSION], last_accessed="then"), "last_accessed"),
    (a_line([VERSION | {"number": 2}, VERSION]), "newest"),
    (a_line(None), "at least one version"),
    (a_line([]), "at least one version"),
    (a_line({"1": VERSION}), "at least one version"),
    (a_line(["first"]), "must be an object"),
    (a_line([VERSION, VERSION]), "twice"),
    (a_version(number=None), "number"),
    (a_version(number=1 << 70), "number"),
    (a_version(action=None), "action"),
    (a_version(created_at="then"), "created_at"),
    (a_version(parent="0"), "parent"),
    (a_version(agent=5), "agent"),
    (a_version(message=5), "message"),
    (a_version(body=[]), "body"),
    (a_version(body={"name": "x"}), "created_at"),
    (a_body("name", " "), "name"),
    (a_body("content", "a\ud800"), "surrogate"),
    (a_body("metadata", {"\x00": 1}), "NUL"),
    (a_body("tags", ["\x00"]), "NUL"),
    (a_body("metadata", {"a": float("nan")}), "NaN"),
    (a_body("tier", "golden"), "tier"),
    (line(relation=5), "relation"),
    (line(document={**DOCUMENT, "collection": 5}), "collection"),
    (line(document={**DOCUMENT, "value": []}), "value"),
    (line(document={**DOCUMENT, "version": "1"}), "version"),
    (line(document={**DOCUMENT, "due": 5}), "due"),
    (line(answer={"key": "x", "request": "00", "answer": "", "at": WHEN}), "hexadecimal"),
    (line(answer={"key": "00", "request": "00", "answer": 5, "at": WHEN}), "answer"),
    (line(vector={"model": "m", "text": "00", "data": "?"}), "Base64"),
    (line(vector={"model": "m", "text": "00", "data": "AAAA"}), "Base64"),
    (line(vector={"model": "m", "text": "00", "data": ""}), "finite"),
    (line(vector={"model": "m", "text": "00", "data": "AHw="}), "finite"),
    (line(vector={"model": 5, "text": "00", "data": "ADw="}), "model"),
    (line(relation={"target": "b", "created_at": WHEN}), "source"),
    (line(relation={"source": "a", "target": "b", "created_at": WHEN, "strength": 2}), "strength"),
    (line(relation={"source": "a", "target": "b", "created_at": WHEN, "strength": True}), "strength"),
    (line(relation={"source": "a", "target": "b", "created_at": WHEN, "metadata": []}), "metadata"),
    (line(relation={"source": "a", "target": "b", "created_at": "then"}), "created_at"),
    (line(relation={"source": "a", "target": "b", "created_at": WHEN, "type": 5}), "type"),
]


@pytest.mark.parametrize(("text", "word"), BAD, ids=[word for _, word in BAD])
def test_a_wrong_line_is_refused_and_says_why(text: str, word: str) -> None:
    with pytest.raises(InvalidInput, match=word):
        parse_line(text)


@given(st.text(max_size=60) | st.builds(json.dumps, values))
@few_examples
def test_any_text_is_a_line_or_refused(text: str) -> None:
    try:
        parse_line(text)
    except InvalidInput:
        return


def test_a_memory_of_a_later_release_keeps_the_known_fields() -> None:
    parsed = parse_line(a_version(body={**BODY, "mood": "sunny"}, weather="fine"))
    assert isinstance(parsed, MemoryHistory)
    assert parsed.memory == replace(a_memory("", id=ID, name="tea", created_at=START, updated_at=START), space="")
