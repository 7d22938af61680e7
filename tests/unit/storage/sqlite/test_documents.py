"""Documents in the file: found by indexes, and gone without a trace after a purge."""

from pathlib import Path

import apsw
import pytest
from tests.fakes.build import a_commit, a_document, a_memory, a_rewrite, an_origin, moment, revised

from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.storage.sqlite.rows import lexicon_number, space_of_lexicon

SECRET = "zanzibar"


def words_in(path: Path) -> bool:
    """Return whether any file of the store contains the secret."""
    return any(SECRET.encode() in file.read_bytes() for file in path.parent.glob(f"{path.name}*"))


@pytest.mark.parametrize("deleted", [False, True])
async def test_no_word_of_a_document_is_left_after_a_purge(path: Path, *, deleted: bool) -> None:
    store = await SqliteStore.open(path, readers=1)
    memory = a_memory("a plain text")
    job = a_document("j", collection="jobs", value={"about": {"memory_id": memory.id, "text": f"{SECRET} " * 300}})
    await store.commit(a_commit(memory, documents=[job]))
    assert words_in(path)
    if deleted:
        await store.delete_document("default", "jobs", "j")
    await store.purge("default", [memory.id], origin=an_origin())
    assert not words_in(path)
    await store.close()
    assert not words_in(path)


async def test_an_encrypted_store_shows_nothing_of_its_documents(path: Path) -> None:
    store = await SqliteStore.open(path, key="open sesame", readers=1)
    await store.put_document(a_document(SECRET, collection=SECRET, value={SECRET: SECRET}), base=None)
    assert not words_in(path)
    await store.close()
    assert not words_in(path)


async def test_the_first_document_of_a_collection_is_found_whoever_writes_it(path: Path) -> None:
    store, other = [await SqliteStore.open(path, readers=1) for _ in range(2)]
    memory = a_memory("a plain text")
    await store.commit(a_commit(memory))
    for writer, collection in ((store, "jobs"), (other, "rules")):
        assert await store.documents_about("default", collection, [memory.id], limit=9) == []
        document = a_document("j", collection=collection, value={"about": {"memory_id": memory.id}})
        await writer.commit(a_commit(a_memory("another text"), documents=[document]))
        assert len(await store.documents_about("default", collection, [memory.id], limit=9)) == 1
    await other.close()
    await store.close()


async def test_documents_are_found_by_indexes(path: Path) -> None:
    store = await SqliteStore.open(path, readers=1)
    await store.put_document(a_document(due=moment(1)), base=None)
    await store.close()
    connection = apsw.Connection(str(path))
    rules = "space_no = 1 AND collection = 'rules'"
    latest = "(updated_at, key) < (5, 'k') ORDER BY updated_at DESC, key DESC"
    for test, index in (
        (f"{rules} AND key = 'k'", "PRIMARY KEY (space_no=? AND collection=? AND key=?)"),
        (f"{rules} AND key > 'k' ORDER BY key", "PRIMARY KEY (space_no=? AND collection=? AND key>?)"),
        ("space_no = 1 AND (collection, key) > ('a', 'b') ORDER BY collection, key", "PRIMARY KEY (space_no=? AND "),
        (f"{rules} AND {latest}", "documents_latest (space_no=? AND collection=? AND "),
        (f"{rules} AND other_memory_id = x'00'", "documents_other_memory (space_no=? AND other_memory_id=?"),
        (
            "collection = 'jobs' AND due_at <= 9 ORDER BY due_at, space_no, key",
            "documents_due (collection=? AND due_at<?)",
        ),
    ):
        plan = [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN SELECT * FROM documents WHERE {test}")]
        assert len(plan) == 1, plan
        assert index in plan[0]
    connection.close()


def test_every_state_of_every_space_has_a_lexicon_of_its_own() -> None:
    numbers = {lexicon_number(space_no, state): space_no for space_no in range(1, 100) for state in State}
    assert len(numbers) == 99 * len(State)
    assert all(space_of_lexicon(number) == space_no for number, space_no in numbers.items())


async def test_waiting_memories_are_found_by_their_words_and_counted_separately(path: Path) -> None:
    store = await SqliteStore.open(path, readers=1)
    waiting, live = a_memory("a scrub jay waits", state=State.WAITING), a_memory("a scrub jay")
    await store.commit(a_commit(waiting, live))
    for state, count in ((State.WAITING, 1), (State.LIVE, 1), (State.TRASHED, 0)):
        statistics = await store.term_statistics("default", ["jay", "wait"], state=state)
        assert statistics.passages == count
        assert statistics.frequencies.get("wait", 0) == (state is State.WAITING)
        assert len(await store.lexical_candidates("default", ["jay"], Filter(state=state), limit=9)) == count
    assert (await store.statistics("default")).memories == {"live": 1, "waiting": 1}
    approved = revised(waiting, state=State.LIVE)
    await store.commit(a_commit(a_rewrite(approved)))
    assert (await store.term_statistics("default", ["jay"], state=State.WAITING)).passages == 0
    assert (await store.term_statistics("default", ["jay"], state=State.LIVE)).frequencies == {"jay": 2}
    assert await store.check(deep=True) == []
    await store.close()
