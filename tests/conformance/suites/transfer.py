"""The whole content of a store, page by page, and answers imported from another store."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from tests.fakes.build import (
    DIMENSION,
    MODEL,
    a_commit,
    a_document,
    a_memory,
    a_rewrite,
    an_origin,
    moment,
    revised,
    vectors_for,
)

from scrubjay.errors import KeyReused, StaleVersion
from scrubjay.model.caller import Access
from scrubjay.model.identity import new_id
from scrubjay.model.memory import State
from scrubjay.model.token import Token
from scrubjay.ports import IdempotencyRecord, RecordStore
from scrubjay.ports.commit import StoredAnswer

_PLENTY = 1 << 30


class TransferSuite:
    """The methods that an export reads with and an import writes with. Needs the fixture `store`: an empty store."""

    async def test_a_new_store_holds_nothing(self, store: RecordStore) -> None:
        assert await store.spaces() == []
        assert await store.ids("default", limit=9) == []
        assert await store.histories("default", [new_id(), "nobody"], most_bytes=_PLENTY) == []
        assert await store.models() == {}
        assert await store.stored_vectors("default", MODEL, limit=9) == {}
        assert await store.answers("default", limit=9) == []
        assert await store.all_documents("default", limit=9) == []
        assert await store.token_digests() == {}

    async def test_every_space_is_named(self, store: RecordStore) -> None:
        for space in ("work", "дом", "A", "with space"):
            await store.commit(a_commit(a_memory(space=space)))
        assert await store.spaces() == ["A", "with space", "work", "дом"]

    async def test_ids_come_in_order_whatever_the_state(self, store: RecordStore) -> None:
        memories = [a_memory(f"number {number}", state=state) for number, state in enumerate([*State] * 2)]
        await store.commit(a_commit(*reversed(memories)))
        await store.commit(a_commit(a_memory(space="there")))
        expected = sorted(memory.id for memory in memories)
        assert await store.ids("default", limit=99) == expected
        assert await store.ids("default", limit=3) == expected[:3]
        assert await store.ids("default", after=expected[2], limit=3) == expected[3:6]
        assert await store.ids("default", after=expected[-1], limit=3) == []

    async def test_a_history_has_every_version(self, store: RecordStore) -> None:
        first = a_memory("at first", tags=("a",), metadata={"b": [1, {"c": None}]}, pinned=True)
        await store.commit(a_commit(first, origin=an_origin(run="r1", agent="ann")))
        second = revised(first, content="later", state=State.TRASHED)
        await store.commit(a_commit(a_rewrite(second, message="why"), origin=an_origin(run="r2", agent="bob")))
        await store.touch("default", [first.id], at=moment(50))
        (memory_history,) = await store.histories("default", [first.id], most_bytes=_PLENTY)
        assert memory_history.memory == replace(second, access_count=1, last_accessed=moment(50))
        assert list(memory_history.versions) == list(reversed(await store.versions("default", first.id, limit=9)))
        assert [
            (version.number, version.run, version.agent, version.message) for version in memory_history.versions
        ] == [
            (1, "r1", "ann", ""),
            (2, "r2", "bob", "why"),
        ]

    async def test_histories_come_in_the_order_of_the_request(self, store: RecordStore) -> None:
        memories = [a_memory(f"number {number}") for number in range(5)]
        await store.commit(a_commit(*memories))
        requested = [memories[3].id, "nobody", memories[0].id, new_id(), memories[3].id, memories[4].id]
        histories = await store.histories("default", requested, most_bytes=_PLENTY)
        assert [history.memory.id for history in histories] == [memories[3].id, memories[0].id, memories[4].id]
        assert await store.histories("elsewhere", requested, most_bytes=_PLENTY) == []

    async def test_histories_stop_at_a_number_of_bytes(self, store: RecordStore) -> None:
        memories = [a_memory("x" * 10_000 + str(number)) for number in range(4)]
        await store.commit(a_commit(*memories))
        ids = [memory.id for memory in memories]
        for most, count in ((1, 1), (15_000, 1), (25_000, 2), (_PLENTY, 4)):
            histories = await store.histories("default", ids, most_bytes=most)
            assert [history.memory.id for history in histories] == ids[:count]

    async def test_a_history_is_the_same_in_another_store(self, store: RecordStore) -> None:
        first = a_memory("at first", group="g", branch="b", relevance=0.25)
        await store.commit(a_commit(first))
        await store.commit(a_commit(a_rewrite(revised(first, content="later"))))
        histories = await store.histories("default", [first.id], most_bytes=_PLENTY)
        await store.purge("default", [first.id], origin=an_origin())
        await store.adopt("default", histories, origin=an_origin())
        assert await store.histories("default", [first.id], most_bytes=_PLENTY) == histories

    async def test_vectors_come_in_the_order_of_their_hashes(self, store: RecordStore) -> None:
        first = a_memory("an early text")
        second, other = revised(first, content="a later text"), a_memory("another")
        early = vectors_for([first])
        await store.commit(a_commit(first, embedded=early))
        await store.commit(a_commit(a_rewrite(second), other, embedded=vectors_for([second, other])))
        await store.commit(a_commit(a_memory("there", space="there"), embedded=vectors_for([other], model="two")))
        assert await store.models() == {MODEL: DIMENSION, "two": DIMENSION}
        whole = await store.stored_vectors("default", MODEL, limit=9)
        assert list(whole) == sorted({**early.vectors, **vectors_for([second, other]).vectors})
        hashes = list(whole)
        assert list(await store.stored_vectors("default", MODEL, limit=2)) == hashes[:2]
        assert list(await store.stored_vectors("default", MODEL, after=hashes[1], limit=2)) == hashes[2:]
        assert await store.stored_vectors("default", "two", limit=9) == {}
        again = await store.vectors("default", MODEL, hashes)
        assert all(np.array_equal(again[key], vector) for key, vector in whole.items())

    async def test_results_are_exported_and_imported(self, store: RecordStore) -> None:
        keys = ("k", "", "ключ", "x" * 300)
        for key in keys:
            once = IdempotencyRecord(key=key, digest=b"d", answer=f"answer to {key}")
            await store.commit(a_commit(a_memory(), once=once, origin=an_origin(run=f"run {key}", at=moment(3))))
        reported: list[StoredAnswer] = []
        while page := await store.answers("default", after=reported[-1].key if reported else None, limit=2):
            reported += page
        expected = [(f"answer to {key}", f"run {key}", b"d", moment(3)) for key in keys]
        assert sorted((answer.answer, answer.run, answer.digest, answer.at) for answer in reported) == sorted(expected)
        # Also from a store without the keys.
        digested = [replace(answer, key=answer.key_digest) for answer in reported]
        for space, entries in (("there", reported), ("yonder", digested)):
            assert await store.import_answers(space, entries, origin=an_origin()) == 4
            assert await store.import_answers(space, reported, origin=an_origin()) == 0
            for key in keys:
                assert await store.find_answer(space, key, b"d") == f"answer to {key}"
                done = await store.commit(
                    a_commit(a_memory(), space=space, once=IdempotencyRecord(key=key, digest=b"d", answer=""))
                )
                assert done.answer == f"answer to {key}"
            with pytest.raises(KeyReused):
                await store.find_answer(space, "k", b"another")
            assert {answer.key_digest for answer in await store.answers(space, limit=9)} == {
                answer.key_digest for answer in reported
            }

    async def test_an_imported_result_is_purged_with_its_memory(self, store: RecordStore) -> None:
        memory, other = a_memory("zanzibar"), a_memory("other")
        for key, written in (("made", memory), ("other", other)):
            once = IdempotencyRecord(key=key, digest=b"d", answer=written.content)
            await store.commit(a_commit(written, once=once, origin=an_origin(run=f"run {key}")))
        answers = await store.answers("default", limit=9)
        histories = await store.histories("default", [memory.id, other.id], most_bytes=_PLENTY)
        await store.adopt("there", histories, origin=an_origin(run="move"))
        await store.import_answers("there", answers, origin=an_origin(run="move"))
        await store.purge("there", [memory.id], origin=an_origin())
        assert await store.find_answer("there", "made", b"d") is None
        assert await store.find_answer("there", "other", b"d") == "other"

    async def test_all_documents_are_returned_page_by_page(self, store: RecordStore) -> None:
        made = [
            a_document(key, collection=collection, value={"n": 1})
            for collection in ("jobs", "rules")
            for key in ("a", "b", "c")
        ]
        for document in reversed(made):
            await store.put_document(document, base=None)
        await store.put_document(a_document(space="there"), base=None)
        assert await store.spaces() == ["default", "there"]
        assert await store.all_documents("default", limit=99) == made
        assert await store.all_documents("default", limit=2) == made[:2]
        assert await store.all_documents("default", after=("jobs", "b"), limit=2) == made[2:4]
        assert await store.all_documents("default", after=("rules", "c"), limit=2) == []

    async def test_documents_of_another_store_are_stored_unchanged(self, store: RecordStore) -> None:
        memory = a_memory(space="there")
        job = a_document("j", collection="jobs", value={"about": {"memory_id": memory.id}}, due=moment(3))
        entries = [replace(job, version=7), replace(a_document(value={"n": 1}), version=2)]
        expected = [replace(memory, space="there") for memory in entries]
        assert await store.import_documents("there", entries, renew=False) == 2
        assert await store.all_documents("there", limit=9) == await store.all_documents("there", limit=2) == expected
        assert await store.due_documents("jobs", now=moment(3), limit=9) == [expected[0]]
        for renew in (False, True):
            assert await store.import_documents("there", entries, renew=renew) == 0
        later = [entries[0], replace(entries[1], value={"n": 2})]
        assert await store.import_documents("there", later, renew=False) == 0
        assert await store.all_documents("there", limit=9) == expected
        assert await store.import_documents("there", later, renew=True) == 1
        assert await store.import_documents("there", [], renew=True) == 0
        assert await store.all_documents("there", limit=9) == [expected[0], replace(expected[1], value={"n": 2})]
        with pytest.raises(StaleVersion):
            await store.put_document(expected[0], base=1)
        await store.commit(a_commit(memory))
        await store.purge("there", [memory.id, new_id()], origin=an_origin())
        assert [document.collection for document in await store.all_documents("there", limit=9)] == ["rules"]

    async def test_digests_of_tokens_are_returned_by_id(self, store: RecordStore) -> None:
        made = [
            Token(id=new_id(), name="n", spaces=(), access=Access.READ, created_at=moment(number))
            for number in range(3)
        ]
        digests = {token.id: hashlib.sha256(token.id.encode()).digest() for token in made}
        for token in made:
            await store.add_token(token, digests[token.id])
        await store.revoke_token(made[1].id, at=moment(9))
        assert await store.token_digests() == digests
