"""A commit with a key happens once."""

import pytest
from tests.fakes.build import a_commit, a_memory, a_rewrite, revised, vectors_for

from scrubjay.errors import KeyReused
from scrubjay.ports import IdempotencyRecord, RecordStore


class IdempotencySuite:
    """`Commit.once` and `answered`. Needs the fixture `store`."""

    async def test_the_first_answer_is_given_again_and_nothing_applied(self, store: RecordStore) -> None:
        first, second = a_memory("first"), a_memory("second")
        done = await store.commit(
            a_commit(first, once=IdempotencyRecord(key="k", digest=b"same", answer="the first answer"))
        )
        assert done.answer is None
        before = await store.last_seq()
        embedded = vectors_for([second])
        again = await store.commit(
            a_commit(
                second, embedded=embedded, once=IdempotencyRecord(key="k", digest=b"same", answer="a second answer")
            )
        )
        assert again.answer == "the first answer"
        assert await store.last_seq() == before
        assert await store.get("default", [second.id]) == {}
        assert await store.vectors("default", embedded.model, list(embedded.vectors)) == {}

    async def test_a_retry_of_a_request_that_would_now_be_refused_gets_its_result(self, store: RecordStore) -> None:
        memory = a_memory(name="plan")
        commit = a_commit(memory, once=IdempotencyRecord(key="k", digest=b"d", answer="done"))
        await store.commit(commit)
        await store.commit(a_commit(a_rewrite(revised(memory, content="moved on"))))
        assert (await store.commit(commit)).answer == "done"

    async def test_a_key_for_another_request_is_refused(self, store: RecordStore) -> None:
        await store.commit(a_commit(a_memory(), once=IdempotencyRecord(key="k", digest=b"one", answer="a")))
        memory = a_memory()
        before = await store.last_seq()
        with pytest.raises(KeyReused):
            await store.commit(a_commit(memory, once=IdempotencyRecord(key="k", digest=b"two", answer="b")))
        assert await store.get("default", [memory.id]) == {}
        assert await store.last_seq() == before

    async def test_other_keys_are_other_requests(self, store: RecordStore) -> None:
        for key in ("k", "K", "k ", "", "ключ", "'"):
            memory = a_memory()
            done = await store.commit(
                a_commit(memory, once=IdempotencyRecord(key=key, digest=b"d", answer=f"answer to {key}"))
            )
            assert done.answer is None
            assert memory.id in await store.get("default", [memory.id])
        again = await store.commit(a_commit(a_memory(), once=IdempotencyRecord(key="ключ", digest=b"d", answer="")))
        assert again.answer == "answer to ключ"

    async def test_an_empty_answer_is_an_answer(self, store: RecordStore) -> None:
        once = IdempotencyRecord(key="k", digest=b"\x00\xff", answer="")
        await store.commit(a_commit(a_memory(), once=once))
        assert (await store.commit(a_commit(a_memory(), once=once))).answer == ""

    async def test_a_stored_result_can_be_looked_up(self, store: RecordStore) -> None:
        assert await store.find_answer("default", "k", b"d") is None
        await store.commit(a_commit(a_memory(), once=IdempotencyRecord(key="k", digest=b"d", answer="done")))
        assert await store.find_answer("default", "k", b"d") == "done"
        assert await store.find_answer("default", "K", b"d") is None
        assert await store.find_answer("elsewhere", "k", b"other") is None
        with pytest.raises(KeyReused):
            await store.find_answer("default", "k", b"other")

    async def test_a_commit_without_a_key_happens_each_time(self, store: RecordStore) -> None:
        memories = [a_memory(), a_memory()]
        for memory in memories:
            assert (await store.commit(a_commit(memory))).answer is None
        assert len(await store.get("default", [memory.id for memory in memories])) == 2
