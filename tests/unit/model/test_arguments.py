"""Requests convert what JSON and people write, and name the argument that is wrong."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.model.arguments import UNSET, arguments_of, label_of, result_of
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
