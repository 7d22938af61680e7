"""The rules of a commit, without a store."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.build import (
    a_commit,
    a_document,
    a_memory,
    a_rewrite,
    a_write,
    an_edge,
    an_origin,
    revised,
    vectors_for,
)

from scrubjay.errors import InvalidInput, KeyReused, NameTaken, NotFound, ScrubjayError, StaleVersion
from scrubjay.model.change import Action
from scrubjay.model.memory import Memory, State
from scrubjay.model.version import MemoryHistory, Version
from scrubjay.ports import Commit
from scrubjay.storage.plan import (
    CommitPlan,
    Counts,
    IndexEntry,
    StoredMemory,
    StoredRun,
    StoredState,
    dependencies_of,
    first_answer,
    plan_adoption,
    plan_commit,
    plan_purge,
    plan_runs,
    plan_vectors,
)
from scrubjay.text.passages import passages_of

RIVER, OAK = a_memory("a river", name="river"), a_memory("an oak", name="oak")


def stored(*memories: Memory) -> StoredState:
    """Return the state of a store with these memories."""
    plan = plan_commit(a_commit(*memories), StoredState())
    rows = {memory_id: replace(row, number=number) for number, (memory_id, row) in enumerate(plan.after.items(), 1)}
    names = {memory.name: memory.id for memory in memories if memory.state is State.LIVE}
    return StoredState(memories=rows, names=names)


def logged(plan: CommitPlan) -> list[tuple[str, Action, int, int | None, int]]:
    return [entry[:5] for entry in plan.changes]


def test_a_new_memory_is_inserted_indexed_and_logged() -> None:
    plan = plan_commit(a_commit(RIVER), StoredState())
    assert plan.new_ids == [RIVER.id]
    assert plan.revised_ids == []
    assert plan.passages == {RIVER.id: passages_of(RIVER)}
    assert [(entry.version.number, entry.version.parent) for entry in plan.versions[RIVER.id]] == [(1, None)]
    assert logged(plan) == [(RIVER.id, Action.CREATED, 1, None, 0)]


def test_a_revision_that_changes_no_indexed_field_is_not_indexed() -> None:
    later = revised(RIVER, relevance=0.5)
    plan = plan_commit(a_commit(a_rewrite(later)), stored(RIVER))
    assert (plan.new_ids, plan.revised_ids, plan.passages) == ([], [RIVER.id], {})
    assert logged(plan) == [(RIVER.id, Action.REVISED, 2, 1, 1)]


def test_writes_of_a_commit_build_on_each_other() -> None:
    second = revised(RIVER, content="two rivers")
    third = revised(second, content="three rivers")
    plan = plan_commit(a_commit(RIVER, a_rewrite(second), a_rewrite(third)), StoredState())
    assert plan.memories == {RIVER.id: third}
    assert plan.passages == {RIVER.id: passages_of(third)}
    assert [entry.version.number for entry in plan.versions[RIVER.id]] == [1, 2, 3]
    assert [base for _, _, _, base, _ in logged(plan)] == [None, 1, 2]


def test_names_pass_from_memory_to_memory_within_a_commit() -> None:
    swapped = [
        a_rewrite(revised(RIVER, name="other")),
        a_rewrite(revised(OAK, name="river")),
        a_rewrite(revised(revised(RIVER, name="other"), name="oak")),
    ]
    plan = plan_commit(a_commit(*swapped), stored(RIVER, OAK))
    assert {memory.name for memory in plan.memories.values()} == {"river", "oak"}
    binned = [a_rewrite(revised(OAK, content="old")), a_rewrite(revised(RIVER, state=State.TRASHED))]
    renamed = a_rewrite(revised(revised(OAK, content="old"), name="river"))
    plan = plan_commit(a_commit(*binned, renamed), stored(RIVER, OAK))
    assert plan.revised_ids == [RIVER.id, OAK.id]


_MALFORMED = replace(vectors_for([RIVER]), vectors={b"h": np.full(64, np.nan, np.float32)})


@pytest.mark.parametrize(
    ("commit", "error"),
    [
        (a_commit(RIVER), StaleVersion),
        (a_commit(a_rewrite(replace(RIVER, version=3))), StaleVersion),
        (a_commit(a_rewrite(revised(a_memory()))), NotFound),
        (replace(a_commit(a_memory()), expected=((RIVER.id, 2),)), StaleVersion),
        (replace(a_commit(a_memory()), expected=(("no id", 1),)), NotFound),
        (a_commit(a_memory(name="oak")), NameTaken),
        (a_commit(a_rewrite(revised(RIVER, name="oak"))), NameTaken),
        (a_commit(a_memory(name="new"), a_memory(name="new")), NameTaken),
        (a_commit(an_edge(RIVER, a_memory())), NotFound),
        (a_commit(an_edge(replace(RIVER, id="no id"), OAK, present=False)), NotFound),
        (a_commit(a_memory(id="no id")), InvalidInput),
        (a_commit(a_memory(space="there"), space="default"), InvalidInput),
        (a_commit(documents=[a_document(space="there")]), InvalidInput),
        (a_commit(embedded=_MALFORMED), InvalidInput),
        (a_commit(embedded=vectors_for([RIVER], dimension=3)), InvalidInput),
    ],
)
def test_a_commit_that_breaks_a_rule_is_refused(commit: Commit, error: type[ScrubjayError]) -> None:
    with pytest.raises(error):
        plan_commit(commit, replace(stored(RIVER, OAK), dimension=64))


def test_ids_are_compared_in_their_canonical_form() -> None:
    shouted = replace(revised(RIVER), id=RIVER.id.upper())
    commit = a_commit(a_write(shouted, base=1), an_edge(shouted, OAK))
    assert dependencies_of(commit).memory_ids == [RIVER.id, OAK.id]
    assert dependencies_of(commit).relations == [(RIVER.id, "related_to", OAK.id)]
    plan = plan_commit(commit, stored(RIVER, OAK))
    assert plan.revised_ids == [RIVER.id]
    assert list(plan.relations) == [(RIVER.id, "related_to", OAK.id)]


def test_a_replaced_relation_is_logged_as_removed() -> None:
    old, new = an_edge(RIVER, OAK, text="old"), an_edge(RIVER, OAK, text="new")
    state = replace(stored(RIVER, OAK), relations={old.relation.key: old.relation})
    plan = plan_commit(a_commit(new), state)
    assert [(entry.action, entry.relation) for entry in plan.changes] == [
        (Action.UNRELATED, old.relation),
        (Action.RELATED, new.relation),
    ]
    assert plan.relations == {old.relation.key: new.relation}
    removed = an_edge(RIVER, OAK, present=False)
    assert plan_commit(a_commit(removed), state).relations == {old.relation.key: None}
    assert plan_commit(a_commit(removed, removed), stored(RIVER, OAK)).is_empty


def test_memories_that_share_a_text_are_logged_with_its_first_vector() -> None:
    twin = a_memory(RIVER.content)
    state = stored(RIVER, OAK)
    sharing = replace(state, sharers={RIVER.id: state.memories[RIVER.id]})
    plan = plan_commit(a_commit(twin, embedded=vectors_for([twin])), sharing)
    assert logged(plan)[1:] == [(RIVER.id, Action.EMBEDDED, 1, 1, 1)]
    embedded = replace(state, embedded=frozenset(vectors_for([twin]).vectors))
    assert plan_commit(a_commit(twin, embedded=vectors_for([twin])), embedded).vectors == {}
    later = plan_vectors(vectors_for([OAK]), state, memory_ids=[OAK.id.upper(), "no id"], origin=an_origin())
    assert logged(later) == [(OAK.id, Action.EMBEDDED, 1, 1, 1)]


def test_stored_memories_are_not_adopted_again() -> None:
    fresh = revised(a_memory("fresh"))
    versions = tuple(
        Version(number=number, memory=fresh, parent=None, action="revised", created_at=fresh.updated_at, run=run)
        for number, run in ((2, ""), (1, "long-ago"))
    )
    histories = [(MemoryHistory(memory=memory, versions=versions), passages_of(memory)) for memory in (RIVER, fresh)]
    plan = plan_adoption(histories, stored(RIVER), origin=an_origin(run="now"))
    assert list(plan.memories) == [fresh.id]
    assert [entry.author[0] for entry in plan.versions[fresh.id]] == ["long-ago", "now"]
    assert logged(plan) == [(fresh.id, Action.IMPORTED, 2, None, 0)]


def test_a_purge_logs_each_stored_memory_once() -> None:
    plan = plan_purge([OAK.id, RIVER.id, OAK.id.upper(), a_memory().id], stored(RIVER, OAK), origin=an_origin())
    assert [entry.memory_id for entry in plan.changes] == [OAK.id, RIVER.id]


def test_a_key_belongs_to_one_request() -> None:
    assert first_answer(None, key="k", digest=b"d") is None
    assert first_answer((b"d", "done"), key="k", digest=b"d") == "done"
    with pytest.raises(KeyReused):
        first_answer((b"d", "done"), key="k", digest=b"other")


def test_calls_share_an_open_run_and_an_undo_begins_its_own() -> None:
    runs = [
        StoredRun(1, "r", "ann", undoes=None, is_undone=True, last_seq=3),
        StoredRun(2, "r", "ann", undoes=None, is_undone=False, last_seq=5),
        StoredRun(3, "r", "bob", undoes=1, is_undone=False, last_seq=6),
    ]
    shared = plan_runs(an_origin(run="r", agent="ann"), runs, [("r", "ann"), ("r", "bob")])
    assert (shared.numbers, shared.new, shared.undone) == ({("r", "ann"): 2}, [("r", "bob")], None)
    undo = plan_runs(an_origin(run="r", agent="ann", undoes="r"), runs)
    assert (undo.numbers, undo.new) == ({}, [("r", "ann")])
    assert undo.undone == runs[2]
    assert plan_runs(an_origin(run="u", undoes="gone"), []).undone is None


def test_an_undo_without_changes_is_still_written() -> None:
    assert plan_commit(a_commit(), StoredState()).is_empty
    assert not plan_commit(a_commit(origin=an_origin(undoes="r")), StoredState()).is_empty


_texts = st.lists(st.sampled_from(("oak", "oak jay", "jay jay", "")), max_size=4)
_entries = st.builds(
    IndexEntry, st.sampled_from((State.LIVE, State.TRASHED)), st.lists(st.sampled_from("ab"), unique=True), _texts
)


@given(first=_entries, second=_entries)
def test_counts_are_those_of_the_current_entry_alone(first: IndexEntry, second: IndexEntry) -> None:
    step_by_step, at_once = Counts(), Counts()
    step_by_step.replace(None, first)
    step_by_step.replace(first, second)
    at_once.replace(None, second)
    for read in _COUNTS:
        assert read(step_by_step) == read(at_once)
    step_by_step.replace(second, None)
    assert not any(any(read(step_by_step).values()) for read in _COUNTS)


def _nonzero(by_state: dict[State, dict[str, int]]) -> dict[object, int]:
    return {(state, name): total for state, names in by_state.items() for name, total in names.items() if total}


_COUNTS: tuple[Callable[[Counts], dict[object, int]], ...] = (
    lambda counts: _nonzero({**counts.terms}),
    lambda counts: _nonzero({**counts.facets}),
    lambda counts: {state: total for state, total in counts.memories.items() if total},
    lambda counts: {state: total for state, total in counts.passages.items() if total},
    lambda counts: {state: total for state, total in counts.lengths.items() if total},
)


def test_the_row_of_a_memory_is_what_the_next_plan_builds_on() -> None:
    row = stored(RIVER).memories[RIVER.id]
    assert row == StoredMemory(
        number=1, version=1, state=State.LIVE, passages=1, index_key=row.index_key, name="river", facets=row.facets
    )
