"""The vocabulary matches the counts of words: a word is added with its first passage and deleted with its last."""

import pytest
from tests.fakes.build import a_commit, a_memory, a_rewrite, an_origin, revised
from tests.postgres import a_database, address_of
from tests.unit.storage.postgres.conftest import Raw

from scrubjay.model.memory import State
from scrubjay.model.version import MemoryHistory
from scrubjay.storage.postgres import PostgresStore

_MISMATCHES = """SELECT count(*) FROM scrubjay.terms t FULL JOIN scrubjay.vocabulary v USING (space_no, word)
    WHERE t.passages IS NULL OR v.term IS NULL"""


async def vocabulary(store: PostgresStore, state: State = State.LIVE) -> set[str]:
    number = list(State).index(state)
    rows = await store.database.rows("SELECT term FROM scrubjay.vocabulary WHERE state = %s", number, space="default")
    return {str(term) for (term,) in rows}


async def test_a_word_comes_with_its_first_passage_and_goes_with_its_last(store: PostgresStore, raw: Raw) -> None:
    first, second = a_memory("acorn oak"), a_memory("acorn elm")
    await store.commit(a_commit(first))
    await store.commit(a_commit(second))
    assert {"acorn", "oak", "elm"} <= await vocabulary(store)
    first = revised(first, content="plum")
    await store.commit(a_commit(a_rewrite(first)))
    assert {"acorn", "plum"} <= await vocabulary(store)
    assert "oak" not in await vocabulary(store)
    await store.commit(a_commit(a_rewrite(revised(second, content="plum"))))
    assert "acorn" not in await vocabulary(store)
    assert await raw(_MISMATCHES) == [(0,)]


async def test_each_state_has_a_vocabulary_of_its_own(store: PostgresStore, raw: Raw) -> None:
    memory = a_memory("acorn")
    await store.commit(a_commit(memory))
    archived = revised(memory, state=State.ARCHIVED)
    await store.commit(a_commit(a_rewrite(archived)))
    assert await vocabulary(store) == set()
    assert await store.similar_terms("default", "acrn", state=State.ARCHIVED, limit=1) == [("acorn", 1)]
    assert await raw(_MISMATCHES) == [(0,)]


@pytest.mark.parametrize("partitions", [0, 2])
async def test_a_purge_leaves_no_word(partitions: int) -> None:
    async with a_database(partitions=partitions) as name:
        store = await PostgresStore.open(address_of(name))
        try:
            secret, stored = a_memory("zanzibar secret"), a_memory("elm")
            await store.commit(a_commit(secret, stored))
            await store.commit(a_commit(a_rewrite(revised(secret, content="zanzibar plum"))))
            await store.purge("default", [secret.id], origin=an_origin())
            assert not {"zanzibar", "secret", "plum"} & await vocabulary(store)
            assert "elm" in await vocabulary(store)
            await store.purge("default", [stored.id], origin=an_origin())
            rows = await store.database.rows("SELECT count(*) FROM scrubjay.vocabulary", unrestricted=True)
            assert rows == [(0,)]
        finally:
            await store.close()


async def test_words_of_adopted_memories_are_in_the_vocabulary(store: PostgresStore, raw: Raw) -> None:
    memory = a_memory("acorn")
    await store.commit(a_commit(memory))
    (version,) = await store.versions("default", memory.id, limit=1)
    elsewhere = MemoryHistory(memory=memory, versions=(version,))
    await store.adopt("other", [elsewhere], origin=an_origin())
    assert await store.similar_terms("other", "acrn", state=State.LIVE, limit=1) == [("acorn", 1)]
    assert await raw(_MISMATCHES) == [(0,)]


async def test_a_common_trigram_does_not_hide_the_word_that_was_meant(store: PostgresStore) -> None:
    """More words share a trigram than are read for one."""
    words = [f"ann{number:04}" for number in range(2_400)]
    await store.commit(a_commit(*(a_memory(" ".join(words[start : start + 100])) for start in range(0, 2_400, 100))))
    await store.commit(a_commit(a_memory("annotto")))
    terms = await store.similar_terms("default", "annoto", state=State.LIVE, limit=3)
    assert terms[0] == ("annotto", 1)
    assert len(terms) == 3
