"""A draft becomes one record, or one for each entity."""

import pytest
from tests.fakes.build import START

from scrubjay.model.draft import Draft
from scrubjay.model.identity import is_id
from scrubjay.model.memory import Memory, Source
from scrubjay.writing.compose import compose


def composed(**fields: object) -> tuple[Memory, ...]:
    return compose(Draft(**{"text": "Sarah prefers tea", **fields}), space="work", now=START)  # pyright: ignore[reportArgumentType]


def name_of(**fields: object) -> str:
    (memory,) = composed(**fields)
    return memory.name


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"name": "sarah"}, "sarah"),
        ({"name": "Any Name!"}, "Any Name!"),
        ({"title": "Sarah's Tea"}, "sarahs-tea"),
        ({}, "sarah-prefers"),
        ({"title": "☕"}, "sarah-prefers"),
        ({"text": "", "observations": ("likes tea", "hates milk")}, "likes-tea-hates"),
        ({"text": "☕☕"}, "memory"),
        ({"text": "x", "entities": ("Sarah",)}, "x"),
    ],
)
def test_a_name_is_given_or_made_of_title_or_subject(fields: dict[str, object], name: str) -> None:
    assert name_of(**fields) == name


def test_one_record_has_no_group() -> None:
    (memory,) = composed(entities=("Sarah",))
    assert (memory.entity, memory.group) == ("Sarah", "")
    (memory,) = composed()
    assert (memory.entity, memory.group) == ("", "")


def test_several_entities_share_text_and_group_and_nothing_else() -> None:
    sarah, acme = composed(entities=("Sarah", "Acme Corp"))
    assert sarah.content == acme.content
    assert sarah.group == acme.group
    assert is_id(sarah.group)
    assert sarah.id != acme.id
    assert (sarah.name, acme.name) == ("prefers-sarah", "sarah-prefers-acme-corp")


def test_a_given_name_gets_a_suffix_for_each_entity() -> None:
    assert [memory.name for memory in composed(name="tea", entities=("Sarah", "Acme Corp"))] == [
        "tea-sarah", "tea-acme-corp",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["", "tea"])
def test_entities_of_one_handle_get_names_of_their_own(name: str) -> None:
    names = [memory.name for memory in composed(name=name, entities=("C", "C++", "☕", "☕☕"))]
    assert len(set(names)) == 4


def test_all_that_was_given_is_in_the_record() -> None:
    (memory,) = composed(
        title="T", kind="fact", category="c", project="p", scope="s", observations=("o",), tags=("t",), pinned=True,
        expires_at=START, remind_at=START, source=Source(agent="bot", session="s1"), metadata={"k": 1},
    )  # fmt: skip
    assert (memory.space, memory.title, memory.kind, memory.category) == ("work", "T", "fact", "c")
    assert (memory.project, memory.scope, memory.tags, memory.pinned) == ("p", "s", ("t",), True)
    assert [(observation.text, observation.recorded_at) for observation in memory.observations] == [("o", START)]
    assert (memory.expires_at, memory.remind_at, memory.source.agent) == (START, START, "bot")
    assert (memory.metadata, memory.version) == ({"k": 1}, 1)
    assert (memory.created_at, memory.updated_at, memory.last_confirmed) == (START, START, START)


def test_an_unset_field_has_its_default() -> None:
    (memory,) = composed()
    assert (memory.kind, memory.branch, memory.state.value) == ("note", "main", "live")


def test_a_session_hint_is_the_session_unless_the_source_knows_better() -> None:
    (hinted,) = composed(session_hint="s1")
    (sourced,) = composed(session_hint="s1", source=Source(session="s2"))
    assert (hinted.source.session, sourced.source.session) == ("s1", "s2")
