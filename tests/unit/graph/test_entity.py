"""Every name, type and observation is returned exactly as it was stored."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.build import START, a_memory, moment

from scrubjay.graph.entity import (
    Entity,
    EntityRelation,
    draft_of,
    edit_observations,
    entity_of,
    handle_of,
    is_mention,
    mention_of,
    name_of,
    relation_of,
    sort_by_creation,
    type_of,
)
from scrubjay.model.draft import Limits
from scrubjay.model.memory import Json, Memory, Observation, Source, State
from scrubjay.writing.compose import compose
from scrubjay.writing.revise import apply_edit
from scrubjay.writing.validate import validate

LIMITS = Limits()
# Every text that a store accepts.
TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=40)
ODD = st.sampled_from(["", " ", " a", "a ", "a  b", "a\nb", "x" * 201, "a~0123456789abcdef", "note", "\u2028"])


def stored(entity: Entity) -> Memory:
    draft = validate(draft_of(entity, source=Source(), project="p"), limits=LIMITS)
    (memory,) = compose(draft, space="default", now=START)
    return memory


@given(name=TEXTS | ODD, type_=TEXTS | ODD, observations=st.lists(TEXTS | ODD, max_size=6))
def test_an_entity_comes_back_as_it_was(name: str, type_: str, observations: list[str]) -> None:
    entity = Entity(name=name, type=type_, observations=tuple(observations))
    memory = stored(entity)
    assert entity_of(memory) == entity
    assert memory.name == handle_of(name)
    assert all(observation.text.strip() for observation in memory.observations)


@given(before=st.lists(TEXTS | ODD, max_size=5), after=st.lists(TEXTS | ODD, max_size=5), content=TEXTS)
def test_an_edit_leads_to_exactly_these_observations(before: list[str], after: list[str], content: str) -> None:
    memory = replace(stored(Entity(name=" odd ", type="", observations=tuple(before))), content=content)
    edited, _ = apply_edit(memory, edit_observations(memory, after), now=START, limits=LIMITS)
    assert entity_of(edited) == Entity(name=" odd ", type="", observations=tuple(after))


@given(first=TEXTS | ODD, second=TEXTS | ODD)
def test_no_two_names_share_a_handle(first: str, second: str) -> None:
    assert (handle_of(first) == handle_of(second)) == (first == second)
    assert handle_of(handle_of(first)) != handle_of(first) or handle_of(first) == first


@pytest.mark.parametrize("name", ["Ada", "Ada Lovelace", "日本", "👩‍🚀", "a/b", "x" * 200, "note", "~"])
def test_a_name_that_a_memory_can_have_is_its_name(name: str) -> None:
    memory = stored(Entity(name=name, type="person"))
    assert (memory.name, memory.metadata) == (name, {})


@pytest.mark.parametrize(
    ("name", "handle"),
    [
        ("", "unnamed~e3b0c44298fc1c14"),
        (" Ada  L ", "Ada L~"),
        ("0190a6c8-0000-7000-8000-000000000000", "0190a6c8-0000-7000-8000-000000000000~"),
        ("x" * 300, "x" * 200 + "~"),
        ("unnamed~e3b0c44298fc1c14", "unnamed~e3b0c44298fc1c14~"),
    ],
)
def test_any_other_name_has_a_unique_handle(name: str, handle: str) -> None:
    assert handle_of(name).startswith(handle)
    assert len(handle_of(name)) < 300


def test_content_of_another_tool_is_the_first_observation() -> None:
    memory = a_memory("prose", observations=(Observation(text="fact", recorded_at=START),), kind="fact")
    assert entity_of(memory) == Entity(name=memory.name, type="fact", observations=("prose", "fact"))
    assert entity_of(a_memory(" \n")).observations == ()


def test_an_edit_keeps_the_content_unless_it_is_removed() -> None:
    memory = a_memory("prose", observations=(Observation(text="fact", recorded_at=START),), metadata={"a": 1})
    stored, _ = apply_edit(memory, edit_observations(memory, ["prose", "other"]), now=START, limits=LIMITS)
    assert (stored.content, [observation.text for observation in stored.observations]) == ("prose", ["other"])
    gone, _ = apply_edit(memory, edit_observations(memory, []), now=START, limits=LIMITS)
    assert (gone.content, gone.observations, gone.metadata) == ("", (), {"a": 1})


def test_a_rename_by_another_tool_counts() -> None:
    memory = stored(Entity(name=" odd ", type=""))
    renamed = replace(memory, name="even", kind="fact")
    assert (name_of(renamed), entity_of(renamed).type) == ("even", "fact")


@pytest.mark.parametrize(
    "metadata", [{"kg": 5}, {"kg": {"name": 5, "type": [], "blank": "x"}}, {"kg": {"blank": [5, [1], ["a", "b"]]}}]
)
def test_foreign_metadata_is_harmless(metadata: dict[str, Json]) -> None:
    memory = a_memory("prose", kind="fact", metadata=metadata)
    assert entity_of(memory) == Entity(name=memory.name, type="fact", observations=("prose",))


def test_a_mention_is_archived_and_ours() -> None:
    (memory,) = compose(validate(mention_of(" odd ", source=Source()), limits=LIMITS), space="default", now=START)
    assert not is_mention(memory)
    assert is_mention(replace(memory, state=State.ARCHIVED))
    assert name_of(memory) == " odd "
    assert not is_mention(a_memory("prose", kind="mention", state=State.ARCHIVED))


@given(type_=TEXTS | ODD)
def test_a_relation_comes_back_as_it_was(type_: str) -> None:
    relation = relation_of(EntityRelation(source="a", target="b", type=type_), source="1", target="2", created_at=START)
    assert (relation.source, relation.target, type_of(relation)) == ("1", "2", type_)


def test_relations_are_sorted_by_creation() -> None:
    late, early = (EntityRelation(source=str(n), target="", type="", created_at=moment(n)) for n in (2, 1))
    never = EntityRelation(source="0", target="", type="")
    assert sort_by_creation([late, early, never]) == [never, early, late]
