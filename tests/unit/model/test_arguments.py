"""Requests convert what JSON and people write, and name the argument that is wrong."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.model.arguments import UNSET, Request, arguments_of, label_of, result_of
from scrubjay.model.draft import Draft, UnreadableDraft, as_draft, read_draft
from scrubjay.model.memory import Source, State, Trust
from scrubjay.model.query import Filter
from scrubjay.model.requests import (
    AttachFileRequest,
    BackupRequest,
    HistoryRequest,
    MergeBranchRequest,
    ReadRequest,
    RecallRequest,
    RelateRequest,
    RememberManyRequest,
    RememberRequest,
    ReviseRequest,
    SetRulesRequest,
)
from scrubjay.model.results import Remembered


def test_values_of_json_become_those_of_python() -> None:
    request = RememberRequest.of(
        text="tea", tags=["a"], expires_at="2026-05-31", source={"trust": "user"}, metadata=None, intent="NEW"
    )
    assert request == RememberRequest(
        text="tea",
        tags=("a",),
        expires_at=datetime(2026, 5, 31, tzinfo=UTC),
        source=Source(trust=Trust.USER),
        intent="new",
    )
    assert ReadRequest.of(ids="tea").ids == ("tea",)
    assert AttachFileRequest.of(note="a", name="b", data="aGk=").data == b"hi"
    assert BackupRequest.of(target="copy.db").target == Path.cwd() / "copy.db"


def test_the_fields_of_a_flat_group_are_arguments() -> None:
    request = RecallRequest.of(query="tea", kind="fact", state="trashed")
    assert request.filter == Filter(kind="fact", state=State.TRASHED)
    assert RecallRequest.of(filter={"kind": "fact"}).filter == Filter(kind="fact")
    names = [argument.name for argument in arguments_of(RecallRequest)]
    assert "kind" in names
    assert "filter" not in names
    with pytest.raises(InvalidInput, match="filter is given twice"):
        RecallRequest.of(filter={}, kind="fact")


def test_an_alias_is_another_name() -> None:
    assert RememberRequest.of(content="tea", type="fact") == RememberRequest(text="tea", kind="fact")
    with pytest.raises(InvalidInput, match="content is another name of text"):
        RememberRequest.of(text="tea", content="tea")


def test_an_omitted_change_differs_from_none() -> None:
    request = ReviseRequest.of(id="tea", expires_at=None, tags=["x"], remind_at="2026-05-31")
    assert request.title is UNSET
    assert request.edit.fields == {"expires_at": None, "tags": ["x"], "remind_at": "2026-05-31T00:00:00Z"}
    assert SetRulesRequest.of(gate=None, never="x*").changes == {"gate": None, "never": ["x*"]}


@pytest.mark.parametrize(
    ("values", "field", "words"),
    [
        ({"ids": 5}, "ids", "a list of texts"),
        ({"ids": [5]}, "ids", "a text"),
        ({"ids": ["\ud800"]}, "ids", "surrogate"),
        ({"ids": ["a"], "format": "html"}, "format", "markdown, plain, json"),
        ({"ids": ["a"], "version": "1"}, "version", "a whole number"),
        ({"ids": ["a"], "version": 0}, "version", "at least 1"),
        ({"ids": ["a"], "as_of": "some day"}, "as_of", "as_of"),
    ],
)
def test_a_wrong_value_is_named(values: dict[str, object], field: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as refused:
        ReadRequest.of(**values)
    assert refused.value.fields["field"] == field


def test_other_wrong_values_are_named() -> None:
    for name, value in (("strength", 2), ("strength", "x"), ("metadata", 5)):
        with pytest.raises(InvalidInput, match=name):
            RelateRequest.of(source="a", target="b", **{name: value})
    for value in (5, "no base64!"):
        with pytest.raises(InvalidInput, match="data"):
            AttachFileRequest.of(note="a", name="b", data=value)
    with pytest.raises(InvalidInput, match="target must be a path"):
        BackupRequest.of(target=5)
    with pytest.raises(InvalidInput, match="source must be an object"):
        RememberRequest.of(text="tea", source=5)


@pytest.mark.parametrize(
    ("kind", "values", "field", "message"),
    [
        (ReadRequest, {"ids": ["a"] * 1_001}, "ids", "1,001 ids are too many; the limit is 1,000"),
        (ReadRequest, {"ids": ["a", "b" * 301]}, "ids", "ids has 301 characters; the limit is 300"),
        (ReadRequest, {"ids": "b" * 301}, "ids", "ids has 301 characters; the limit is 300"),
        (
            RememberManyRequest,
            {"items": [{"text": "a"}] * 100_001},
            "items",
            "100,001 items are too many; the limit is 100,000",
        ),
        (RecallRequest, {"tags": ["a"] * 65}, "tags", "65 tags are too many; the limit is 64"),
        (RecallRequest, {"cursor": "a" * 120_001}, "cursor", "cursor has 120,001 characters; the limit is 120,000"),
        (RememberRequest, {"text": "a", "type": "b" * 301}, "kind", "kind has 301 characters; the limit is 300"),
        (ReviseRequest, {"id": "a", "message": "b" * 1_001}, "message", "message has 1,001 characters; the limit is"),
    ],
)
def test_lists_and_texts_have_their_largest_size(
    kind: type[Request[object]], values: dict[str, object], field: str, message: str
) -> None:
    with pytest.raises(TooLarge) as refused:
        kind.of(**values)
    assert refused.value.message.startswith(message)
    assert (refused.value.fields["field"], f"{refused.value.fields['limit']:,}" in refused.value.message) == (
        field,
        True,
    )


def test_what_is_too_long_has_a_place_elsewhere() -> None:
    for name, hint in (("title", "Put the long form into `text`"), ("message", "Put the long form into a memory")):
        with pytest.raises(TooLarge) as refused:
            ReviseRequest.of(id="tea", **{name: "x" * 1_001})
        assert refused.value.hint == hint
    with pytest.raises(TooLarge) as refused:
        ReviseRequest.of(id="x" * 1_001)
    assert refused.value.hint == ""


def test_the_largest_sizes_are_accepted() -> None:
    assert len(ReadRequest(ids=("a" * 300,) * 1_000).ids) == 1_000
    assert len(RememberManyRequest(items=({"text": "a"},) * 100_000).items) == 100_000


def test_names_and_results() -> None:
    assert label_of(MergeBranchRequest) == "merge_branch"
    assert result_of(RememberRequest) is Remembered
    (diff,) = [argument for argument in arguments_of(HistoryRequest) if argument.name == "diff"]
    assert (diff.is_required, diff.default, diff.choices) == (False, None, ())
    (into,) = [argument for argument in arguments_of(MergeBranchRequest) if argument.name == "prefer"]
    assert into.choices == ("", "ours", "theirs")


def test_a_draft_has_the_agent_as_its_source() -> None:
    draft = as_draft(RememberRequest(text="tea", source=Source(session="s1")), agent="ann")
    assert draft.source == Source(session="s1", agent="ann")
    assert as_draft(draft, agent="ben") is draft
    assert read_draft({"text": "tea"}, agent="ann") == Draft(text="tea", source=Source(agent="ann"))


@pytest.mark.parametrize("item", [{"colour": 1}, {}, 5, "tea", {"text": 5}, {5: 5}])
def test_an_item_that_cannot_be_read_keeps_its_error(item: object) -> None:
    draft = read_draft(item, agent="ann")  # type: ignore[arg-type]
    assert isinstance(draft, UnreadableDraft)
    assert draft.error.message
