"""Branches of a memory: create, list, switch, drop; and commits."""

import asyncio
from dataclasses import replace

import pytest
from tests.fakes import FakeStore
from tests.fakes.build import a_commit, a_rewrite
from tests.unit.harness import SPACE, Harness
from tests.unit.versions.branch_editor import BranchEditor

from scrubjay.errors import InvalidInput, KeyReused, NameTaken, NotFound, TooLarge, WrongState
from scrubjay.lookup.branches import START_COLLECTION, branch_id, current_branch, public_record
from scrubjay.model.change import Action
from scrubjay.model.document import Document
from scrubjay.model.draft import Draft, Selection
from scrubjay.model.identity import new_id
from scrubjay.model.memory import MAIN, State
from scrubjay.model.query import Filter
from scrubjay.model.version import Version


async def test_a_branch_is_a_record_of_its_own(editor: BranchEditor) -> None:
    tea = await editor.plant()
    await editor.write(title="Tea")
    listed = await editor.branch("draft", about="what if it were cold")
    main, draft = listed.branches
    assert (listed.id, listed.name, listed.current) == (tea.id, "tea", MAIN)
    assert (main.name, main.version, main.forked, main.created_at) == (MAIN, 2, 0, tea.created_at)
    assert (draft.name, draft.version, draft.forked, draft.agent) == ("draft", 3, 2, "tester")
    assert draft.description == "what if it were cold"
    assert draft.created_at == draft.updated_at
    record = await editor.shadow()
    assert (record.id, record.state) == (branch_id(tea.id, "draft"), State.BRANCHED)
    assert (record.trunk, record.forked, record.branch, record.version) == (tea.id, 2, "draft", 3)
    assert (record.content, record.observations, record.created_at) == (tea.content, tea.observations, tea.created_at)
    assert (public_record(record).id, public_record(record).state) == (tea.id, State.LIVE)
    assert (await editor.record()).version == 2


async def test_work_on_a_branch_is_not_seen_on_main(editor: BranchEditor) -> None:
    tea = await editor.plant()
    await editor.branch()
    done = await editor.write("draft", content="Zanzibar is warm", title="Cold plan", name="zanzibar")
    assert (done.id, done.version, done.branch, done.action) == (tea.id, 3, "draft", "updated")
    assert (await editor.record()).content == tea.content
    assert (await editor.record("draft")).content == "Zanzibar is warm"
    recalled = await editor.harness.recall("Zanzibar")
    assert all("Zanzibar" not in hit.passage for hit in recalled.hits)
    for ref in ("Cold plan", "cold-plan", "zanzibar"):
        assert (await editor.harness.read(ref)).memories == ()
    assert await editor.harness.store.list_ids(SPACE, Filter(), limit=9) == [tea.id]


async def test_a_branch_can_begin_at_an_older_version(small: BranchEditor) -> None:
    tea = await small.plant()
    await small.write(content="Tea is black.")
    listed = await small.branch("before", at=1)
    assert [(branch.name, branch.version, branch.forked) for branch in listed.branches] == [
        (MAIN, 2, 0),
        ("before", 2, 1),
    ]
    assert (await small.record("before")).content == tea.content
    with pytest.raises(NotFound, match="no version 3") as caught:
        await small.branch("later", at=3)
    assert "1 to 2" in caught.value.hint
    for wrong in (0, True, "1"):
        with pytest.raises(InvalidInput, match="at"):
            await small.branch("later", at=wrong)  # pyright: ignore[reportArgumentType]


async def test_branches_come_by_name_after_main(small: BranchEditor) -> None:
    await small.plant()
    for name in ("pear", "Apple", "über", "apple"):
        await small.branch(name)
    assert await small.names() == [MAIN, "Apple", "apple", "pear", "über"]
    assert (await small.branches((await small.record("pear")).id)).id == (await small.record()).id


async def test_one_name_is_given_once(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch()
    with pytest.raises(NameTaken, match="has a branch 'draft' already"):
        await editor.branch()
    begun = await asyncio.gather(*(editor.branch("both") for _ in range(4)), return_exceptions=True)
    assert sorted(type(outcome).__name__ for outcome in begun) == ["Branches", "NameTaken", "NameTaken", "NameTaken"]


@pytest.mark.parametrize("name", ["", "main", "a b", "a\nb", "x" * 101, "7"])
async def test_an_odd_name_begins_nothing(small: BranchEditor, name: str) -> None:
    await small.plant()
    with pytest.raises(InvalidInput, match="branch"):
        await small.branch(name)
    assert await small.names() == [MAIN]


async def test_a_description_is_a_remark(small: BranchEditor) -> None:
    await small.plant()
    with pytest.raises(TooLarge, match="description"):
        await small.branch(about="x" * 1_001)
    with pytest.raises(InvalidInput, match="switch"):
        await small.branch(switch=1)  # pyright: ignore[reportArgumentType]
    await small.branch(about="the key is AKIAIOSFODNN7EXAMPLE")
    assert "AKIA" not in (await small.branches()).branches[1].description


async def test_a_memory_that_is_not_live_has_no_branches(small: BranchEditor) -> None:
    tea = await small.plant()
    await small.branch(switch=True)
    await small.harness.forget("tea")
    for call in (small.branch("other"), small.switch("draft"), small.drop(), small.merge()):
        with pytest.raises(WrongState, match="trashed"):
            await call
    with pytest.raises(WrongState, match="only a live memory has branches"):
        await small.record("draft")
    assert [branch.name for branch in (await small.branches(tea.id)).branches] == [MAIN]
    assert (await small.record()).state is State.TRASHED
    await small.harness.restore("tea")
    assert (await small.branches()).current == "draft"
    assert await small.names() == [MAIN, "draft"]


async def test_a_merged_memory_has_no_branches(small: BranchEditor) -> None:
    tea = await small.plant()
    gone = replace(tea, state=State.MERGED, merged_into=new_id(), version=2)
    await small.harness.store.commit(a_commit(a_rewrite(gone, action=Action.MERGED)))
    with pytest.raises(WrongState, match="part of another"):
        await small.branch()


async def test_without_a_branch_the_current_one_is_used(small: BranchEditor) -> None:
    await small.plant()
    listed = await small.branch(switch=True)
    assert listed.current == "draft"
    await small.add("iced")
    assert await small.facts() == await small.facts("draft") == ["no milk", "one cup", "iced"]
    assert await small.facts(MAIN) == ["no milk", "one cup"]
    assert (await small.switch(MAIN)).current == MAIN
    assert await small.facts() == ["no milk", "one cup"]
    assert (await small.switch("draft")).current == "draft"
    assert await current_branch(small.harness.store, await small.record(MAIN)) == "draft"


@pytest.mark.parametrize("name", ["nobody", "Draft", "x" * 5_000, "a b"])
async def test_a_branch_there_is_not(small: BranchEditor, name: str) -> None:
    await small.plant()
    await small.branch()
    for call in (small.switch(name), small.drop(name), small.merge(name), small.add("x", branch=name)):
        with pytest.raises(NotFound, match="has no branch"):
            await call


async def test_a_branch_must_be_named(small: BranchEditor) -> None:
    await small.plant()
    for call in (small.switch(""), small.drop(""), small.merge(""), small.merge(into="")):
        with pytest.raises(InvalidInput):
            await call
    for call in (small.switch(5), small.record(5)):  # pyright: ignore[reportArgumentType]
        with pytest.raises(InvalidInput, match="branch"):
            await call


async def test_a_dropped_branch_lies_in_the_trash(small: BranchEditor) -> None:
    await small.plant()
    await small.branch(switch=True)
    await small.add("iced")
    listed = await small.drop()
    assert (listed.current, [branch.name for branch in listed.branches]) == (MAIN, [MAIN])
    gone = await small.shadow()
    assert (gone.state, gone.version) == (State.TRASHED, 4)
    assert await small.facts() == ["no milk", "one cup"]
    with pytest.raises(InvalidInput, match="main cannot be dropped"):
        await small.drop(MAIN)


async def test_another_branch_stays_current_when_one_is_dropped(small: BranchEditor) -> None:
    await small.plant()
    await small.branch("one", switch=True)
    await small.branch("two")
    assert (await small.drop("two")).current == "one"


async def test_a_name_can_be_used_again_and_its_old_versions_stay(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch(about="first try", switch=True)
    await editor.add("iced")
    await editor.drop()
    for text in ("Tea is black.", "Tea is white."):
        await editor.write(content=text)
    listed = await editor.branch(about="second try")
    assert listed.current == MAIN
    draft = listed.branches[1]
    assert (draft.version, draft.forked, draft.description) == (5, 3, "second try")
    assert (await editor.record("draft")).content == "Tea is white."
    assert await editor.numbers(branch="draft") == [5, 3, 2, 1]
    versions = await editor.harness.store.versions(SPACE, (await editor.shadow()).id, limit=9)
    assert [version.number for version in versions] == [5, 4, 3, 2]
    # The first free version number.
    assert "+iced" in (await editor.diff(5, 4, branch="draft"))["observations"]


async def test_a_branch_that_is_gone_is_not_switched_to(small: BranchEditor) -> None:
    await small.plant()
    await small.branch(switch=True)
    await small.undo()
    assert (await small.branches()).current == MAIN
    assert (await small.record()).branch == MAIN
    # It was current once; a new branch of its name is current only on request.
    assert (await small.branch()).current == MAIN


async def test_a_commit_says_the_same_with_a_message(editor: BranchEditor) -> None:
    tea = await editor.plant()
    done = await editor.commit("as agreed with everybody")
    assert (done.action, done.id, done.version, done.branch) == ("committed", tea.id, 2, MAIN)
    newest = (await editor.history()).versions[0]
    assert (newest.action, newest.message, newest.agent) == ("committed", "as agreed with everybody", "tester")
    assert newest.memory.content == tea.content
    assert await editor.diff(1, 2) == {}
    await editor.branch(switch=True)
    done = await editor.commit("a draft")
    assert (done.id, done.version, done.branch) == (tea.id, 4, "draft")
    assert (await editor.commit("on main", branch=MAIN)).version == 3


@pytest.mark.parametrize("message", ["", "  ", "x" * 1_001, 5])
async def test_a_commit_needs_a_message(small: BranchEditor, message: str) -> None:
    await small.plant()
    with pytest.raises(InvalidInput, match="message"):
        await small.commit(message)


async def test_a_commit_happens_once_under_its_key(small: BranchEditor) -> None:
    await small.plant()
    first = await small.commit("done", key="k")
    assert await small.commit("done", key="k") == first
    assert await small.numbers() == [2, 1]
    with pytest.raises(KeyReused):
        await small.commit("done again", key="k")
    with pytest.raises(KeyReused):
        await small.commit("done", key="k", branch=MAIN)


async def test_commits_at_once_all_count(editor: BranchEditor) -> None:
    await editor.plant()
    done = await asyncio.gather(*(editor.commit(f"number {number}") for number in range(6)))
    assert sorted(change.version for change in done) == [2, 3, 4, 5, 6, 7]


async def test_a_branch_is_no_sibling(editor: BranchEditor) -> None:
    text = Draft(text="Sarah of Acme drinks tea", name="tea", entities=("Sarah", "Acme"))
    first = await editor.plant(text)
    await editor.branch(ref=first.id)
    done = await editor.harness.forget(selection=Selection(refs=(first.id,), group=True))
    assert len(done.done) == 2
    assert (await editor.harness.get(branch_id(first.id, "draft"))).state is State.BRANCHED


@pytest.mark.parametrize(("name", "hint"), [("darft", "Did you mean draft?"), ("zzz", "`branches` lists its branches")])
async def test_the_nearest_branch_is_suggested(small: BranchEditor, name: str, hint: str) -> None:
    await small.plant()
    await small.branch("draft")
    for call in (small.switch(name), small.drop(name), small.merge(name), small.write(name, title="x")):
        with pytest.raises(NotFound, match=f"no branch '{name}'") as caught:
            await call
        assert caught.value.hint == hint


async def test_a_name_is_the_same_however_its_letters_are_put_together(small: BranchEditor) -> None:
    await small.plant()
    composed, apart = "caf\u00e9", "cafe\u0301"
    await small.branch(apart)
    with pytest.raises(NameTaken):
        await small.branch(composed)
    assert (await small.switch(apart)).current == composed
    assert (await small.record(apart)).branch == composed
    with pytest.raises(InvalidInput, match="into itself"):
        await small.merge(apart, into=composed)
    assert (await small.drop(apart)).current == MAIN


class Counting(FakeStore):
    """A store that counts how often versions and documents are read."""

    reads = 0

    async def version(self, space: str, memory_id: str, number: int) -> Version | None:
        self.reads += 1
        return await super().version(space, memory_id, number)

    async def document(self, space: str, collection: str, key: str) -> Document | None:
        self.reads += 1
        return await super().document(space, collection, key)


async def test_many_branches_are_listed_with_few_questions() -> None:
    store = Counting()
    editor = BranchEditor(harness=Harness(store=store))
    await editor.plant()
    for number in range(30):
        await editor.branch(f"b{number:02}", about=f"number {number}")
    store.reads = 0
    listed = await editor.switch("b07")
    assert store.reads < 10
    assert [branch.description for branch in listed.branches[1:]] == [f"number {number}" for number in range(30)]
    assert (listed.current, len({branch.created_at for branch in listed.branches})) == ("b07", 31)


async def test_a_branch_without_its_document_is_listed_all_the_same(small: BranchEditor) -> None:
    await small.plant()
    listed = await small.branch("draft", about="what if")
    await small.harness.store.delete_document(SPACE, START_COLLECTION, (await small.shadow()).id)
    assert await small.branches() == listed
