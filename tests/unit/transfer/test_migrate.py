"""Migration: everything arrives, from any store to any other, however often it is interrupted."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fakes.build import (
    MODEL,
    a_commit,
    a_document,
    a_memory,
    a_rewrite,
    an_edge,
    an_origin,
    moment,
    revised,
    vector_of,
    vectors_for,
)
from tests.new_files import NewStores
from tests.unit.storage.sqlite.damage import spoil_body
from tests.unit.strategies import few_examples, memories
from tests.unit.transfer.stores import (
    ConnectionLost,
    FailingPostgres,
    FailingSqlite,
    StoreFactory,
    everything,
    fill_store,
    run_migration,
)

from scrubjay.errors import Conflict, InvalidInput, KeyReused
from scrubjay.model.document import Document
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter
from scrubjay.ports import IdempotencyRecord, RecordStore
from scrubjay.storage.postgres.database import Transaction
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.transfer import export
from scrubjay.transfer.compare import compare_stores, ignore_progress
from scrubjay.transfer.migrate import AGENT, plan_migration


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[StoreFactory]:
    async with AsyncExitStack() as stack:
        yield StoreFactory(tmp_path, stack)


async def test_there_and_back_again_everything_is_the_same(stores: StoreFactory) -> None:
    first, second, third = await stores.file(), await stores.database(), await stores.file()
    await fill_store(first)
    there, compared = await run_migration(first, second)
    back, again = await run_migration(second, third)
    assert await everything(first) == await everything(second) == await everything(third)
    for done in (there, back):
        assert (done.memories, done.known, done.relations) == (11, 0, 3)
        assert (done.vectors, done.answers, done.documents, done.tokens) == (7, 2, 3, 2)
        assert (done.renamed, done.damaged, done.changed) == ((), (), 0)
    assert compared.same
    assert again.same
    (home, quiet, other) = compared.spaces
    assert (home.space, quiet.space, other.space) == ("default", "quiet", "дом")
    assert (home.source.documents, quiet.source.documents, other.source.documents) == (2, 1, 0)
    assert home.source == home.target
    assert home.source.memories == {"live": 3, "branched": 1, "merged": 1, "archived": 1, "trashed": 1, "waiting": 1}
    assert (home.source.versions, home.source.relations, home.source.answers) == (10, 3, 1)
    assert home.source.vectors == {MODEL: 3, "two": 1}
    assert [space.source.checksum for space in again.spaces] == [space.source.checksum for space in compared.spaces]
    assert await third.check(deep=True) == await second.check(deep=True) == []


@pytest.mark.parametrize("kind", ["file", "database"])
async def test_migrated_memories_are_found_and_no_request_happens_twice(stores: StoreFactory, kind: str) -> None:
    source, target = await stores.file(), await getattr(stores, kind)()
    tea, jay, *_ = await fill_store(source)
    await run_migration(source, target)
    (handle,) = await target.find("default", "tea")
    assert handle.id == tea.id
    lacking = [sorted(await store.without_vectors(MODEL, limit=99)) for store in (source, target)]
    assert lacking[0] == lacking[1] != []
    assert await target.point_count(MODEL) == await source.point_count(MODEL)
    assert await target.members("default", "g") == [tea.id]
    assert await target.pinned("default") == [tea.id]
    assert len(await target.list_ids("default", Filter(), limit=9)) == 3
    again = await target.commit(a_commit(a_memory(), once=IdempotencyRecord(key="made", digest=b"d", answer="twice")))
    assert again.answer == '{"id": 1}'
    with pytest.raises(KeyReused):
        await target.find_answer("дом", "made", b"d")
    await target.purge("default", [jay.id], origin=an_origin())
    assert await target.find_answer("default", "made", b"d") is None


async def test_the_log_has_one_entry_a_memory_and_no_undo_takes_it_back(stores: StoreFactory) -> None:
    source, target = await stores.file(), await stores.file()
    await fill_store(source)
    await run_migration(source, target)
    log = await target.changes(after=0, limit=99)
    assert [change.action.value for change in log].count("imported") == 11
    assert {change.action.value for change in log} == {"imported", "related"}
    assert {(change.agent, change.run) for change in log} == {(AGENT, f"{AGENT}-{source.store_id}")}
    for agent in ("ann", "bob", "tester", "cli", ""):
        assert await target.last_run("default", agent=agent) is None


@pytest.mark.parametrize("side", ["source", "target"])
async def test_it_continues_after_an_interruption_anywhere(stores: StoreFactory, side: str) -> None:
    source, target = await stores.file(FailingSqlite), await stores.file(FailingSqlite)
    await fill_store(source)
    breaking = source if side == "source" else target
    tries = await _until_done(source, target, breaking)
    assert tries > 20
    assert await everything(target) == await everything(source)
    assert (
        len([change for change in await target.changes(after=0, limit=99) if change.action.value == "imported"]) == 11
    )


async def test_a_connection_that_breaks_again_and_again(stores: StoreFactory) -> None:
    source, target = await stores.file(), await stores.database(FailingPostgres)
    await fill_store(source)
    await _until_done(source, target, target, step=4)
    assert await everything(target) == await everything(source)


async def _until_done(
    source: RecordStore, target: RecordStore, breaking: FailingSqlite | FailingPostgres, *, step: int = 1
) -> int:
    tries = 0
    while True:
        breaking.calls_left = tries * step
        try:
            _, compared = await run_migration(source, target)
        except ConnectionLost:
            tries += 1
        else:
            breaking.calls_left = 1 << 30
            assert compared.same
            return tries


async def test_an_error_on_the_way_says_that_it_can_continue(stores: StoreFactory) -> None:
    source, target = await stores.file(), await stores.file(FailingSqlite)
    await fill_store(source)
    target.calls_left = 12
    with pytest.raises(ConnectionLost) as broken:
        await run_migration(source, target)
    assert (
        str(broken.value)
        == "the connection broke. Restore it. Run the same command again: it continues where it stopped"
    )


async def test_a_second_time_there_is_nothing_to_do(stores: StoreFactory) -> None:
    source, target = await stores.file(), await stores.file()
    await fill_store(source)
    await run_migration(source, target)
    before = await target.last_seq()
    done, compared = await run_migration(source, target)
    assert (done.memories, done.known, done.relations, done.vectors, done.answers, done.tokens) == (0, 11, 0, 0, 0, 0)
    assert done.documents == 0
    assert compared.same
    assert await target.last_seq() == before


@pytest.mark.parametrize("kind", ["file", "database"])
async def test_changes_since_the_first_try_are_copied(stores: StoreFactory, kind: str) -> None:
    source, target = await stores.file(), await getattr(stores, kind)()
    tea, jay, live, *rest = await fill_store(source)
    await run_migration(source, target)
    trashed = revised(live, state=State.TRASHED)
    heir = a_memory("the new holder of the name", name=live.name)
    await source.commit(a_commit(a_rewrite(trashed), heir, embedded=vectors_for([heir])))
    await source.commit(a_commit(replace(an_edge(jay, tea), present=False)))
    await source.purge("default", [rest[0].id], origin=an_origin())
    await source.touch("дом", [rest[-1].id], at=moment(5000))
    for token in await source.tokens():
        await source.revoke_token(token.id, at=moment(6))
    await source.put_document(a_document(value={"similarity": 0.75}), base=2)
    await source.delete_document("default", "jobs", "j")
    await source.put_document(a_document("new", space="дом"), base=None)
    done, compared = await run_migration(source, target)
    assert (compared.same, done.renamed, done.documents) == (True, (), 2)
    assert await everything(target) == await everything(source)


async def test_a_target_with_other_content_is_refused(stores: StoreFactory) -> None:
    source, target, other = await stores.file(), await stores.file(), await stores.file()
    await fill_store(source)
    await target.commit(a_commit(a_memory()))
    with pytest.raises(Conflict, match="not from this source"):
        await run_migration(source, target)
    await run_migration(source, other)
    await other.commit(a_commit(a_memory("made there since")))
    with pytest.raises(Conflict):
        await run_migration(source, other)
    with pytest.raises(InvalidInput, match="same store"):
        await run_migration(source, source)
    ruled = await stores.file()
    await ruled.put_document(a_document(value={"similarity": 1}), base=None)
    with pytest.raises(Conflict):
        await run_migration(source, ruled)


async def test_taken_names_in_an_existing_target_get_a_suffix(stores: StoreFactory) -> None:
    source, target = await stores.file(), await stores.database()
    tea, *_ = await fill_store(source)
    other, more = a_memory("another tea", name="tea"), a_memory("there before")
    await target.commit(a_commit(other, more, an_edge(more, other), embedded=vectors_for([other], model="three")))
    rules = await target.put_document(a_document(value={"own": True}), base=None)
    extra = await target.put_document(a_document("extra"), base=None)
    done, compared = await run_migration(source, target, merging=True)
    assert await target.documents("default", "rules", limit=9) == [extra, rules]
    assert (await target.document("default", "jobs", "j")) == (await source.document("default", "jobs", "j"))
    name = f"tea-{tea.id[-6:]}"
    assert done.renamed == (f"default: tea -> {name}",)
    assert (done.memories, compared.same) == (11, True)
    assert (await target.get("default", [tea.id]))[tea.id].name == name
    assert (await target.get("default", [other.id]))[other.id].name == "tea"
    again, compared = await run_migration(source, target, merging=True)
    assert (again.memories, again.known, again.renamed, compared.same) == (0, 11, (), True)


async def test_damaged_memories_are_reported_and_the_rest_is_copied(stores: StoreFactory) -> None:
    source, target = await stores.file(), await stores.file()
    tea, jay, *rest = await fill_store(source)
    spoil_body(source.path, tea.id, 2)
    spoil_body(source.path, rest[0].id, 1)
    done, compared = await run_migration(source, target)
    assert {damaged.memory_id for damaged in done.damaged} == {tea.id, rest[0].id}
    assert f"memory {tea.id} (version 2)" in str(
        next(damaged for damaged in done.damaged if damaged.memory_id == tea.id)
    )
    assert (done.memories, done.relations, compared.same) == (9, 0, True)
    assert {damaged.memory_id for damaged in compared.damaged} == {tea.id, rest[0].id}
    assert jay.id in await target.get("default", [jay.id])


async def test_damage_in_a_database_is_reported_too(stores: StoreFactory) -> None:
    source, target = await stores.database(), await stores.file()
    tea, jay, *_ = await fill_store(source)

    async def spoil(transaction: Transaction) -> None:
        await transaction.execute("UPDATE scrubjay.versions SET body = ''::bytea WHERE number = 2")

    await source.database.write(spoil, space="default")
    done, compared = await run_migration(source, target)
    assert [damaged.memory_id for damaged in done.damaged] == [tea.id]
    assert (done.memories, compared.same) == (10, True)
    assert jay.id in await target.get("default", [jay.id])


async def test_writes_to_the_source_meanwhile_are_reported(new_store: NewStores) -> None:
    class ChangingStore(SqliteStore):
        async def spaces(self) -> list[str]:
            await self.commit(a_commit(a_memory()))
            return await super().spaces()

    source, target = new_store(ChangingStore), new_store()
    await source.commit(a_commit(a_memory()))
    done, _ = await run_migration(source, target)
    assert done.changed > 0


async def test_a_comparison_names_the_differences(stores: StoreFactory, store: SqliteStore) -> None:
    source, target = await stores.file(), store
    tea, jay, *rest = await fill_store(source)
    await run_migration(source, target)
    before = (await target.get("default", [tea.id]))[tea.id]
    await target.commit(a_commit(a_rewrite(revised(before, title="Other"))))
    await target.commit(a_commit(an_edge(jay, rest[0])))
    await target.purge("дом", [rest[-1].id], origin=an_origin())
    extra = a_memory("extra")
    await target.commit(a_commit(extra, documents=[a_document()]))
    await target.store_vectors(
        "default", replace(vectors_for([]), vectors={b"x" * 32: vector_of(b"x")}), memory_ids=(), origin=an_origin()
    )
    compared = await compare_stores(source, target, report=ignore_progress)
    assert not compared.same
    assert [str(difference) for difference in compared.differences] == [
        *sorted((f"default: {tea.id} is not the same in the target", f"default: {extra.id} is only in the target")),
        f"default: {jay.id} has other relations in the target",
        f"default: a vector of {MODEL} for the text {(b'x' * 32).hex()} is not the same",
        f"default: a vector of two for the text {next(iter(vectors_for([before]).vectors)).hex()} is not the same",
        "the document writing in rules of the space default is not the same",
        f"дом: {rest[-1].id} is not in the target",
        f"дом: a vector of {MODEL} for the text {next(iter(vectors_for([rest[-1]]).vectors)).hex()} is not the same",
        "answers to idempotency keys of the space дом are not the same",
    ]


async def test_a_plan_copies_nothing(stores: StoreFactory) -> None:
    source, target = await stores.file(), await stores.file()
    await fill_store(source)
    for plan in (await plan_migration(source, None), await plan_migration(source, target)):
        assert [(space.space, space.memories, space.known) for space in plan.spaces] == [
            ("default", 8, 0), ("quiet", 0, 0), ("дом", 3, 0),
        ]  # fmt: skip
        assert (plan.spaces[0].versions, plan.spaces[0].relations, plan.tokens) == (10, 3, 2)
        assert plan.spaces[0].vectors == {MODEL: 3, "two": 1}
    assert await target.spaces() == []
    await run_migration(source, target)
    assert [space.known for space in (await plan_migration(source, target)).spaces] == [8, 0, 3]


async def test_documents_of_the_whole_store_are_copied_and_no_space_of_a_plan(stores: StoreFactory) -> None:
    source, target = await stores.file(), await stores.file()
    await fill_store(source)
    document = Document(space="", collection="llm", key="2026-01-01", value={"calls": 3}, at=moment(1))
    await source.put_document(document, base=None)
    assert "" not in {space.space for space in (await plan_migration(source, target)).spaces}
    await run_migration(source, target)
    assert await target.document("", "llm", "2026-01-01") == document


async def test_progress_is_reported_to_the_end(stores: StoreFactory) -> None:
    source, target = await stores.file(), await stores.file()
    await fill_store(source)
    progress: dict[str, tuple[int, int]] = {}
    await run_migration(source, target, report=lambda stage, done, total: progress.update({stage: (done, total)}))
    assert progress == {"vectors": (7, 7), **dict.fromkeys(("memories", "relations", "comparing"), (11, 11))}


async def test_pages_of_two_stores_are_compared_in_step(monkeypatch: pytest.MonkeyPatch, new_store: NewStores) -> None:
    monkeypatch.setattr(export, "_PAGE", 50)
    source, target = new_store(), new_store()
    made = [a_memory(f"number {number}") for number in range(240)]
    for store, held in ((source, made[::2]), (target, made[1::2])):
        await store.commit(a_commit(*held, embedded=vectors_for(held, dimension=2)))
    done, compared = await run_migration(source, target, merging=True)
    assert (done.memories, done.vectors, compared.same) == (120, 120, True)
    again, compared = await run_migration(source, target, merging=True)
    assert (again.memories, again.known, compared.same) == (0, 120, True)
    whole = await compare_stores(source, target, report=ignore_progress)
    assert (whole.different, len(whole.stale["default"])) == (240, 120)
    assert {difference.what for difference in whole.differences if difference.memory_id} == {"is only in the target"}


@settings(
    few_examples, max_examples=8, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(drawn=st.lists(memories, min_size=1, max_size=5), data=st.data())
async def test_everything_of_a_store_arrives(drawn: list[Memory], data: st.DataObject, new_store: NewStores) -> None:
    source, target = new_store(), new_store()
    written: list[Memory] = []
    for number, memory in enumerate(drawn):
        first = replace(memory, space="s", name=f"{number} {memory.name}", version=1)
        embedded = vectors_for([first]) if data.draw(st.booleans()) else None
        await source.commit(a_commit(replace(first, access_count=0, last_accessed=None), embedded=embedded))
        if data.draw(st.booleans()):
            await source.commit(a_commit(a_rewrite(revised(first, content=f"{first.content} later"))))
        if written and data.draw(st.booleans()):
            await source.commit(a_commit(an_edge(first, written[-1], strength=data.draw(st.floats(0, 1))), space="s"))
        written.append(first)
    with tempfile.TemporaryDirectory() as folder:
        middle = await SqliteStore.open(Path(folder) / "memory.db", readers=1)
        _, there = await run_migration(source, middle)
        _, back = await run_migration(middle, target)
        await middle.close()
    assert there.same, there.differences
    assert back.same, back.differences
    assert (await everything(target))[0].keys() == (await everything(source))[0].keys()
