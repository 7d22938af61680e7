"""Branches of a memory: create, list, switch, drop; and commits."""

import asyncio
from dataclasses import replace

import pytest
from tests.fakes.build import a_commit, a_rewrite
from tests.new_files import NewStores
from tests.unit.harness import SPACE, Harness
from tests.unit.versions.branch_editor import BranchEditor

from scrubjay.errors import InvalidInput, KeyReused, NameTaken, NotFound, TooLarge, WrongState
from scrubjay.lookup.branches import START_COLLECTION, branch_id, current_branch, public_record
from scrubjay.model.change import Action
from scrubjay.model.document import Document
from scrubjay.model.draft import Draft
from scrubjay.model.identity import new_id
from scrubjay.model.memory import MAIN, State
from scrubjay.model.query import Filter
from scrubjay.model.requests import Selection
from scrubjay.model.version import Version
from scrubjay.storage.sqlite import SqliteStore


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


async def test_a_branch_can_begin_at_an_older_version(editor: BranchEditor) -> None:
    tea = await editor.plant()
    await editor.write(content="Tea is black.")
    listed = await editor.branch("before", at=1)
    assert [(branch.name, branch.version, branch.forked) for branch in listed.branches] == [
        (MAIN, 2, 0),
        ("before", 2, 1),
    ]
    assert (await editor.record("before")).content == tea.content
    with pytest.raises(NotFound, match="no version 3") as caught:
        await editor.branch("later", at=3)
    assert "1 to 2" in caught.value.hint
    for wrong in (0, True, "1"):
        with pytest.raises(InvalidInput, match="at"):
            await editor.branch("later", at=wrong)  # pyright: ignore[reportArgumentType]


async def test_branches_come_by_name_after_main(editor: BranchEditor) -> None:
    await editor.plant()
    for name in ("pear", "Apple", "über", "apple"):
        await editor.branch(name)
    assert await editor.names() == [MAIN, "Apple", "apple", "pear", "über"]
    assert (await editor.branches((await editor.record("pear")).id)).id == (await editor.record()).id


async def test_one_name_is_given_once(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch()
    with pytest.raises(NameTaken, match="has a branch 'draft' already"):
        await editor.branch()
    begun = await asyncio.gather(*(editor.branch("both") for _ in range(4)), return_exceptions=True)
    assert sorted(type(outcome).__name__ for outcome in begun) == ["Branches", "NameTaken", "NameTaken", "NameTaken"]


@pytest.mark.parametrize("name", ["", "main", "a b", "a\nb", "x" * 101, "7"])
async def test_an_odd_name_begins_nothing(editor: BranchEditor, name: str) -> None:
    await editor.plant()
    with pytest.raises(InvalidInput, match="branch"):
        await editor.branch(name)
    assert await editor.names() == [MAIN]


async def test_a_description_is_a_remark(editor: BranchEditor) -> None:
    await editor.plant()
    with pytest.raises(TooLarge, match="description"):
        await editor.branch(about="x" * 1_001)
    with pytest.raises(InvalidInput, match="switch"):
        await editor.branch(switch=1)  # pyright: ignore[reportArgumentType]
    await editor.branch(about="the key is AKIAIOSFODNN7EXAMPLE")
    assert "AKIA" not in (await editor.branches()).branches[1].description


async def test_a_memory_that_is_not_live_has_no_branches(editor: BranchEditor) -> None:
    tea = await editor.plant()
    await editor.branch(switch=True)
    await editor.harness.forget("tea")
    for call in (editor.branch("other"), editor.switch("draft"), editor.drop(), editor.merge()):
        with pytest.raises(WrongState, match="trashed"):
            await call
    with pytest.raises(WrongState, match="only a live memory has branches"):
        await editor.record("draft")
    assert [branch.name for branch in (await editor.branches(tea.id)).branches] == [MAIN]
    assert (await editor.record()).state is State.TRASHED
    await editor.harness.restore("tea")
    assert (await editor.branches()).current == "draft"
    assert await editor.names() == [MAIN, "draft"]


async def test_a_merged_memory_has_no_branches(editor: BranchEditor) -> None:
    tea = await editor.plant()
    gone = replace(tea, state=State.MERGED, merged_into=new_id(), version=2)
    await editor.harness.store.commit(a_commit(a_rewrite(gone, action=Action.MERGED)))
    with pytest.raises(WrongState, match="part of another"):
        await editor.branch()


async def test_without_a_branch_the_current_one_is_used(editor: BranchEditor) -> None:
    await editor.plant()
    listed = await editor.branch(switch=True)
    assert listed.current == "draft"
    await editor.add("iced")
    assert await editor.facts() == await editor.facts("draft") == ["no milk", "one cup", "iced"]
    assert await editor.facts(MAIN) == ["no milk", "one cup"]
    assert (await editor.switch(MAIN)).current == MAIN
    assert await editor.facts() == ["no milk", "one cup"]
    assert (await editor.switch("draft")).current == "draft"
    assert await current_branch(editor.harness.store, await editor.record(MAIN)) == "draft"


@pytest.mark.parametrize("name", ["nobody", "Draft", "x" * 5_000, "a b"])
async def test_a_branch_there_is_not(editor: BranchEditor, name: str) -> None:
    await editor.plant()
    await editor.branch()
    for call in (editor.switch(name), editor.drop(name), editor.merge(name), editor.add("x", branch=name)):
        with pytest.raises(NotFound, match="has no branch"):
            await call


async def test_a_branch_must_be_named(editor: BranchEditor) -> None:
    await editor.plant()
    for call in (editor.switch(""), editor.drop(""), editor.merge(""), editor.merge(into="")):
        with pytest.raises(InvalidInput):
            await call
    for call in (editor.switch(5), editor.record(5)):  # pyright: ignore[reportArgumentType]
        with pytest.raises(InvalidInput, match="branch"):
            await call


async def test_a_dropped_branch_lies_in_the_trash(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch(switch=True)
    await editor.add("iced")
    listed = await editor.drop()
    assert (listed.current, [branch.name for branch in listed.branches]) == (MAIN, [MAIN])
    gone = await editor.shadow()
    assert (gone.state, gone.version) == (State.TRASHED, 4)
    assert await editor.facts() == ["no milk", "one cup"]
    with pytest.raises(InvalidInput, match="main cannot be dropped"):
        await editor.drop(MAIN)


async def test_another_branch_stays_current_when_one_is_dropped(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch("one", switch=True)
    await editor.branch("two")
    assert (await editor.drop("two")).current == "one"


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


async def test_a_branch_that_is_gone_is_not_switched_to(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch(switch=True)
    await editor.undo()
    assert (await editor.branches()).current == MAIN
    assert (await editor.record()).branch == MAIN
    # It was current once; a new branch of its name is current only on request.
    assert (await editor.branch()).current == MAIN


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
async def test_a_commit_needs_a_message(editor: BranchEditor, message: str) -> None:
    await editor.plant()
    with pytest.raises(InvalidInput, match="message"):
        await editor.commit(message)


async def test_a_commit_happens_once_under_its_key(editor: BranchEditor) -> None:
    await editor.plant()
    first = await editor.commit("done", key="k")
    assert await editor.commit("done", key="k") == first
    assert await editor.numbers() == [2, 1]
    with pytest.raises(KeyReused):
        await editor.commit("done again", key="k")
    with pytest.raises(KeyReused):
        await editor.commit("done", key="k", branch=MAIN)


async def test_commits_at_once_all_count(editor: BranchEditor) -> None:
    await editor.plant()
    done = await asyncio.gather(*(editor.commit(f"number {number}") for number in range(6)))
    assert sorted(change.version for change in done) == [2, 3, 4, 5, 6, 7]


async def test_a_branch_is_no_sibling(editor: BranchEditor) -> None:
    text = Draft(text="Sarah of Acme drinks tea", name="tea", entities=("Sarah", "Acme"))
    first = await editor.plant(text)
    await editor.branch(ref=first.id)
    done = await editor.harness.forget(selection=Selection(ids=(first.id,), group=True))
    assert len(done.done) == 2
    assert (await editor.harness.get(branch_id(first.id, "draft"))).state is State.BRANCHED


@pytest.mark.parametrize(("name", "hint"), [("darft", "Did you mean draft?"), ("zzz", "`branches` lists its branches")])
async def test_the_nearest_branch_is_suggested(editor: BranchEditor, name: str, hint: str) -> None:
    await editor.plant()
    await editor.branch("draft")
    for call in (editor.switch(name), editor.drop(name), editor.merge(name), editor.write(name, title="x")):
        with pytest.raises(NotFound, match=f"no branch '{name}'") as caught:
            await call
        assert caught.value.hint == hint


async def test_a_name_is_the_same_however_its_letters_are_put_together(editor: BranchEditor) -> None:
    await editor.plant()
    composed, apart = "caf\u00e9", "cafe\u0301"
    await editor.branch(apart)
    with pytest.raises(NameTaken):
        await editor.branch(composed)
    assert (await editor.switch(apart)).current == composed
    assert (await editor.record(apart)).branch == composed
    with pytest.raises(InvalidInput, match="into itself"):
        await editor.merge(apart, into=composed)
    assert (await editor.drop(apart)).current == MAIN


class CountingStore(SqliteStore):
    """A store that counts how often versions and documents are read."""

    reads = 0

    async def version(self, space: str, memory_id: str, number: int) -> Version | None:
        self.reads += 1
        return await super().version(space, memory_id, number)

    async def document(self, space: str, collection: str, key: str) -> Document | None:
        self.reads += 1
        return await super().document(space, collection, key)


async def test_many_branches_are_listed_with_few_questions(new_store: NewStores) -> None:
    store = new_store(CountingStore)
    editor = BranchEditor(harness=Harness(store=store))
    await editor.plant()
    for number in range(30):
        await editor.branch(f"b{number:02}", about=f"number {number}")
    store.reads = 0
    listed = await editor.switch("b07")
    assert store.reads < 10
    assert [branch.description for branch in listed.branches[1:]] == [f"number {number}" for number in range(30)]
    assert (listed.current, len({branch.created_at for branch in listed.branches})) == ("b07", 31)


async def test_a_branch_without_its_document_is_listed_all_the_same(editor: BranchEditor) -> None:
    await editor.plant()
    listed = await editor.branch("draft", about="what if")
    await editor.harness.store.delete_document(SPACE, START_COLLECTION, (await editor.shadow()).id)
    assert await editor.branches() == listed
