"""Filters and memories use the same facets."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.build import START, a_memory
from tests.unit.strategies import memories, some_examples

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json, Memory, Source, State, Tier, Trust
from scrubjay.model.query import Filter, category_lineage, facet, facets_of, names_of

FULL = a_memory(
    "text", entity="Sarah", kind="fact", category="Work", project="Jay", scope="team", tier=Tier.SEMANTIC, group="g1",
    tags=("coffee", "Tea"), source=Source(session="s1", agent="bot", trust=Trust.USER),
    metadata={"seen": True, "count": 3, "price": 2.0, "place": "Köln", "list": [1], "none": None, "long": "x" * 300},
)  # fmt: skip


def matches(filter: Filter, memory: Memory) -> bool:
    return all(set(facets_of(memory)).intersection(group) for group in filter.facet_groups)


@pytest.mark.parametrize(
    "filter",
    [
        Filter(entity="SARAH"),
        Filter(kind="Fact"),
        Filter(category="work"),
        Filter(project="jay"),
        Filter(scope="Team"),
        Filter(tier="semantic"),
        Filter(session="S1"),
        Filter(agent="Bot"),
        Filter(trust="user"),
        Filter(group="G1"),
        Filter(tags=("COFFEE", "tea")),
        Filter(tags=("#coffee", "# Tea")),
        Filter(any_tags=("#tea",)),
        Filter(entity=" sarah\n"),
        Filter(any_tags=("milk", "tea")),
        Filter(metadata={"seen": True}),
        Filter(metadata={"count": 3.0, "price": 2, "place": "KÖLN"}),
    ],
)
def test_a_field_matches_in_any_case(filter: Filter) -> None:
    assert matches(filter, FULL)


@pytest.mark.parametrize(
    "filter",
    [
        Filter(entity="Sara"),
        Filter(kind="sarah"),
        Filter(tags=("coffee", "milk")),
        Filter(any_tags=("milk", "water")),
        Filter(metadata={"seen": False}),
        Filter(metadata={"count": 3.5}),
        Filter(metadata={"unheard": "of"}),
        Filter(metadata={"long": "x" * 300}),
        Filter(entity="Sarah", kind="preference"),
    ],
)
def test_every_field_must_match(filter: Filter) -> None:
    assert not matches(filter, FULL)


def test_empty_fields_of_a_memory_are_no_facets() -> None:
    assert facets_of(a_memory("x")) == ("kind=note", "tier=working", "trust=unknown")


def test_a_tag_that_was_imported_with_its_hash_sign_matches() -> None:
    assert matches(Filter(tags=("tea",)), a_memory("x", tags=("#Tea",)))
    assert matches(Filter(tags=("#Tea",)), a_memory("x", tags=("#Tea",)))


def test_a_category_matches_each_of_its_ancestors() -> None:
    memory = a_memory("x", category=" Work // Meetings /weekly/")
    assert category_lineage(memory.category) == ("Work/Meetings/weekly", "Work/Meetings", "Work")
    for category in ("work", "Work/", "work/meetings", "WORK / MEETINGS/Weekly"):
        assert matches(Filter(category=category), memory)
    for category in ("meetings", "wor", "work/meet", "work/meetings/weekly/x", "weekly"):
        assert not matches(Filter(category=category), memory)
    assert (category_lineage(""), category_lineage("/"), category_lineage("a")) == ((), ("/",), ("a",))
    assert matches(Filter(category="/"), a_memory("x", category="/"))
    deep = "/".join("abcdefghijklmnopqrst")
    assert len(category_lineage(deep)) == 16
    assert category_lineage(deep)[0] == deep
    assert category_lineage(deep)[-1] == "a"


def test_a_facet_occurs_once() -> None:
    assert facets_of(a_memory("x", tags=("tea", "TEA"))).count("tag=tea") == 1


def test_nothings_and_pages_are_no_facets() -> None:
    assert not [facet for facet in facets_of(FULL) if facet.startswith(("meta.none", "meta.long"))]


def test_of_a_list_each_value_is_a_facet() -> None:
    memory = a_memory("text", metadata={"langs": ["Python", 3, True, None, ["deep"], "x" * 300, *range(100)]})
    facets = [facet for facet in facets_of(memory) if facet.startswith("meta.")]
    assert facets[:3] == ["meta.langs=python", "meta.langs=3", "meta.langs=true"]
    assert len(facets) <= 64
    assert matches(Filter(metadata={"langs": "PYTHON"}), memory)


def test_a_memory_with_aliases_matches_each_of_its_names() -> None:
    memory = a_memory("text", title="Acme Corp", name="acme", entity="Acme", metadata={"aliases": ["ACM", 7, " "]})
    for name in ("acme corp", "ACME", "acm"):
        assert matches(Filter(alias=name), memory)
    assert not matches(Filter(alias="7"), memory)
    assert names_of(a_memory("text", title="Acme")) == ()


@given(memories)
@some_examples
def test_a_memory_is_found_by_each_of_its_own_fields(memory: Memory) -> None:
    own_fields = Filter(
        entity=memory.entity, kind=memory.kind, category=memory.category, project=memory.project, scope=memory.scope,
        tier=memory.tier.value, tags=memory.tags, any_tags=memory.tags[:1], session=memory.source.session,
        agent=memory.source.agent, trust=memory.source.trust.value, group=memory.group,
        metadata={name: value for name, value in memory.metadata.items() if isinstance(value, str | int | float)},
    )  # fmt: skip
    assert matches(own_fields, memory)


@given(st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False))
@some_examples
def test_a_value_is_spelled_in_one_way(value: Json) -> None:
    assert facet("meta.k", value) == facet("meta.k", value).casefold()


def test_an_empty_filter_sets_no_condition_but_the_state() -> None:
    assert Filter().is_empty
    assert Filter(state=State.TRASHED).is_empty
    assert Filter().facet_groups == ()
    for condition in (Filter(since=START), Filter(until=START), Filter(kind="fact"), Filter(any_tags=("x",))):
        assert not condition.is_empty


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("entity", 5),
        ("kind", None),
        ("entity", "\ud800"),
        ("tags", "letters"),
        ("any_tags", b"bytes"),
        ("tags", (1,)),
        ("since", "some day"),
        ("until", START.replace(tzinfo=None)),
        ("metadata", ["k"]),
    ],
)
def test_a_filter_of_the_wrong_shape_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(InvalidInput, match=name):
        replace(Filter(), **{name: value})
