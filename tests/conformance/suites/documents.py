"""Documents: stored by collection and key, changed one version at a time, purged with the memory they are about."""

import asyncio
from dataclasses import replace

import pytest
from tests.conformance.suites import hostile
from tests.fakes.build import a_commit, a_document, a_memory, a_rewrite, an_origin, moment, revised

from scrubjay.errors import InvalidInput, StaleVersion
from scrubjay.model.memory import Json
from scrubjay.model.query import Filter
from scrubjay.ports import IdempotencyRecord, RecordStore

SECRET = "zanzibar"


class DocumentsSuite:
    """The port `DocumentStore`. Needs the fixture `store`: an empty store."""

    async def test_a_new_store_has_no_documents(self, store: RecordStore) -> None:
        assert await store.document("default", "rules", "writing") is None
        assert await store.documents("default", "rules", limit=9) == []
        assert await store.due_documents("jobs", now=moment(1e9), limit=9) == []
        assert await store.delete_document("default", "rules", "writing") is False
        assert await store.spaces() == []

    async def test_a_document_is_stored_unchanged(self, store: RecordStore) -> None:
        text = "naïve 🍵 \u2028 \x00 \ud800"
        value: dict[str, Json] = {
            "text": text, "none": None, "yes": True, "number": 7, "share": 0.25,
            "deep": [{"a": []}, "b", {"c": {"d": -1}}], "": "",
        }  # fmt: skip
        entries = a_document("k", value=value, due=moment(0.000001))
        filed = await store.put_document(entries, base=None)
        assert filed == entries
        assert await store.document("default", "rules", "k") == entries
        bare = replace(entries, key="bare", value={}, due=None)
        await store.put_document(bare, base=None)
        assert await store.documents("default", "rules", limit=9) == [bare, entries]
        places = (("default", "rules"), ("default", "jobs"), ("elsewhere", "rules"))
        assert [await store.document_count(*place) for place in places] == [2, 0, 0]
        # A later change of the value does not change the stored document.
        value["text"] = "another"
        assert await store.document("default", "rules", "k") == replace(entries, value={**value, "text": text})

    async def test_a_change_is_based_on_a_version(self, store: RecordStore) -> None:
        document = a_document(value={"a": 1}, due=moment(1))
        with pytest.raises(StaleVersion):
            await store.put_document(document, base=1)
        assert await store.document("default", "rules", "writing") is None
        first = await store.put_document(document, base=None)
        with pytest.raises(StaleVersion) as caught:
            await store.put_document(replace(document, value={"a": 2}), base=None)
        assert (caught.value.fields["expected"], caught.value.fields["current"]) == (None, 1)
        assert await store.document("default", "rules", "writing") == first
        second = await store.put_document(replace(document, value={"a": 2}, due=None, at=moment(9)), base=1)
        assert second == replace(document, value={"a": 2}, due=None, at=moment(9), version=2)
        for base in (None, 0, 1, 3):
            with pytest.raises(StaleVersion):
                await store.put_document(replace(document, value={"a": 3}), base=base)
        assert await store.document("default", "rules", "writing") == second

    async def test_only_one_of_many_concurrent_changes_succeeds(self, store: RecordStore) -> None:
        async def attempt(number: int, base: int | None) -> bool:
            try:
                await store.put_document(a_document(value={"number": number}), base=base)
            except StaleVersion:
                return False
            return True

        for base in (None, 1, 2):
            won = await asyncio.gather(*(attempt(number, base) for number in range(8)))
            assert sum(won) == 1
            document = await store.document("default", "rules", "writing")
            assert document is not None
            assert (document.version, document.value) == ((base or 0) + 1, {"number": won.index(True)})

    async def test_a_deleted_document_can_be_created_again(self, store: RecordStore) -> None:
        await store.commit(a_commit(a_memory()))
        before = await store.last_seq(), await store.last_place("default")
        await store.put_document(a_document(), base=None)
        await store.put_document(a_document(), base=1)
        other = await store.put_document(a_document("other"), base=None)
        assert await store.delete_document("default", "rules", "writing") is True
        assert await store.delete_document("default", "rules", "writing") is False
        assert await store.documents("default", "rules", limit=9) == [other]
        with pytest.raises(StaleVersion):
            await store.put_document(a_document(), base=2)
        assert (await store.put_document(a_document(), base=None)).version == 1
        # Documents have no entries in the change log.
        assert (await store.last_seq(), await store.last_place("default")) == before

    async def test_a_collection_is_listed_in_the_order_of_keys(self, store: RecordStore) -> None:
        keys = ("a", "a ", "b", "B", "ä", "10", "9", "Ω", "\U0001f375", "\ufffd")
        for key in keys:
            await store.put_document(a_document(key), base=None)
        await store.put_document(a_document("a", collection="jobs"), base=None)
        reported: list[str] = []
        while page := await store.documents("default", "rules", after=reported[-1] if reported else "", limit=3):
            reported += [document.key for document in page]
        assert reported == sorted(keys)
        assert [document.key for document in await store.documents("default", "jobs", limit=9)] == ["a"]
        assert await store.documents("default", "rul", limit=9) == []

    async def test_a_collection_is_listed_with_the_latest_first(self, store: RecordStore) -> None:
        order = [("b", 3), ("a", 3), ("Z", 2), ("ä", 1), ("c", 1)]
        for key, at in sorted(order):
            await store.put_document(replace(a_document(key), at=moment(at)), base=None)
        await store.put_document(replace(a_document("other", collection="jobs"), at=moment(9)), base=None)
        await store.put_document(replace(a_document("other", space="there"), at=moment(9)), base=None)
        reported: list[tuple[str, int]] = []
        before = None
        while page := await store.latest_documents("default", "rules", before=before, limit=2):
            reported += [(document.key, int((document.at - moment(0)).total_seconds())) for document in page]
            before = page[-1].at, page[-1].key
        assert reported == order
        # A changed document is among the latest again.
        await store.put_document(replace(a_document("c"), at=moment(5)), base=1)
        assert [document.key for document in await store.latest_documents("default", "rules", limit=2)] == ["c", "b"]
        assert await store.latest_documents("default", "rul", limit=9) == []

    async def test_documents_are_found_by_the_memories_that_they_are_about(self, store: RecordStore) -> None:
        first, other, third = a_memory(), a_memory(), a_memory()
        pairs = [(first.id, other.id), (other.id, third.id), (third.id, third.id), (third.id, "no id"), (first.id, 7)]
        about: list[dict[str, Json]] = [{"memory_id": first, "other_id": second} for first, second in pairs]
        documents = [replace(a_document(str(n), value={"about": each}), at=moment(n)) for n, each in enumerate(about)]
        await store.commit(a_commit(first, other, third, documents=documents))
        await store.put_document(a_document("elsewhere", collection="jobs", value={"about": about[0]}), base=None)

        async def keys_about(*ids: str, limit: int = 9) -> list[str]:
            return [document.key for document in await store.documents_about("default", "rules", ids, limit=limit)]

        assert await keys_about(first.id) == ["4", "0"]
        assert await keys_about(other.id) == ["1", "0"]
        assert await keys_about(third.id) == ["3", "2", "1"]
        assert await keys_about(first.id, third.id, first.id, "nobody", limit=4) == ["4", "3", "2", "1"]
        assert await keys_about("nobody", "") == []
        assert await keys_about() == []
        assert await store.documents_about("there", "rules", [first.id], limit=9) == []
        assert await store.documents_about("default", "rules", [first.id], limit=9) == [documents[4], documents[0]]
        await store.purge("default", [other.id], origin=an_origin())
        assert await keys_about(first.id, other.id, third.id) == ["4", "3", "2"]

    async def test_keys_may_be_anything(self, store: RecordStore) -> None:
        for number, key in enumerate(hostile.STRINGS):
            await store.put_document(a_document(key, collection=key[:100], value={key: number}), base=None)
        for number, key in enumerate(hostile.STRINGS):
            document = await store.document("default", key[:100], key)
            assert document is not None
            assert document.value == {key: number}

    async def test_due_documents_of_all_spaces_come_the_longest_due_first(self, store: RecordStore) -> None:
        for number, (space, due) in enumerate([("a", 3), ("b", 1), ("a", 2), ("c", 4), ("b", None)]):
            when = None if due is None else moment(due)
            await store.put_document(a_document(str(number), space=space, collection="jobs", due=when), base=None)
        await store.put_document(a_document("other", space="a", collection="reminders", due=moment(0)), base=None)
        documents = await store.due_documents("jobs", now=moment(3), limit=9)
        assert [(document.space, document.key) for document in documents] == [("b", "1"), ("a", "2"), ("a", "0")]
        assert [document.key for document in await store.due_documents("jobs", now=moment(99), limit=2)] == ["1", "2"]
        assert await store.due_documents("jobs", now=moment(0.5), limit=9) == []
        later = await store.put_document(replace(documents[0], due=moment(50)), base=1)
        assert [document.key for document in await store.due_documents("jobs", now=moment(3), limit=9)] == ["2", "0"]
        await store.put_document(replace(later, due=None), base=2)
        await store.delete_document("a", "jobs", "2")
        assert [document.key for document in await store.due_documents("jobs", now=moment(99), limit=9)] == ["0", "3"]

    async def test_a_commit_stores_its_documents_over_existing_ones(self, store: RecordStore) -> None:
        memory = a_memory()
        job, rules = a_document("j", collection="jobs", value={"n": 1}, due=moment(1)), a_document(value={"n": 1})
        await store.put_document(rules, base=None)
        await store.commit(a_commit(memory, documents=[job, replace(rules, value={"n": 2}, version=9)]))
        assert await store.document("default", "jobs", "j") == job
        assert await store.document("default", "rules", "writing") == replace(rules, value={"n": 2}, version=2)
        before = await store.last_seq()
        done = await store.commit(a_commit(documents=[replace(job, value={"n": 2}, due=None)]))
        assert (done.seq, await store.last_seq()) == (before, before)
        assert await store.document("default", "jobs", "j") == replace(job, value={"n": 2}, due=None, version=2)
        await store.commit(a_commit(documents=[replace(job, value={"n": n}) for n in (3, 4)]))
        assert await store.document("default", "jobs", "j") == replace(job, value={"n": 4}, version=4)

    async def test_documents_of_a_failed_commit_are_not_stored(self, store: RecordStore) -> None:
        memory = a_memory()
        await store.commit(a_commit(memory))
        stale = a_rewrite(replace(revised(memory), version=7))
        with pytest.raises(StaleVersion):
            await store.commit(a_commit(stale, documents=[a_document()]))
        with pytest.raises(InvalidInput):
            await store.commit(a_commit(a_memory(name="new"), documents=[a_document(), a_document(space="there")]))
        assert await store.documents("default", "rules", limit=9) == []
        assert await store.documents("there", "rules", limit=9) == []
        assert await store.list_ids("default", Filter(), limit=9) == [memory.id]
        # Nor are those of a request whose result is stored.
        once = IdempotencyRecord(key="k", digest=b"d", answer="first")
        first, second = (a_document(value={"n": number}) for number in (1, 2))
        await store.commit(a_commit(a_memory(), once=once, documents=[first]))
        await store.commit(a_commit(a_memory(), once=once, documents=[second]))
        assert await store.document("default", "rules", "writing") == first

    async def test_documents_are_purged_with_the_memory_that_they_are_about(self, store: RecordStore) -> None:
        memory, stored = a_memory(), a_memory()
        about: dict[str, Json] = {"memory_id": memory.id, "text": SECRET}
        gone = [
            a_document(str(number), collection="jobs", value={"about": about}, due=moment(1)) for number in range(3)
        ]
        others = [
            a_document("3", collection="jobs", value={"about": {"memory_id": stored.id}}),
            a_document("4", collection="jobs", value={"about": {"memory_id": 7, "also": memory.id}}),
            a_document("5", collection="jobs", value={"about": memory.id, "memory_id": memory.id}),
            a_document("6", collection="jobs", value={"about": {"memory_id": "no id"}}),
        ]
        await store.commit(a_commit(memory, stored, documents=[*gone[:2], *others]))
        await store.put_document(gone[2], base=None)
        there = replace(gone[0], space="there")
        await store.put_document(there, base=None)
        # A document that was about another memory is about this one now, and the other way round.
        moved = a_document("7", collection="jobs", value={"about": {"memory_id": stored.id}})
        await store.put_document(moved, base=None)
        await store.put_document(replace(moved, value={"about": about}), base=1)
        freed = a_document("8", collection="jobs", value={"about": about})
        await store.put_document(freed, base=None)
        freed = await store.put_document(replace(freed, value={}), base=1)
        assert await store.purge("default", [memory.id], origin=an_origin()) == 1
        assert await store.documents("default", "jobs", limit=99) == [*others, freed]
        assert await store.due_documents("jobs", now=moment(9), limit=9) == [there]
        assert await store.check(deep=True) == []
