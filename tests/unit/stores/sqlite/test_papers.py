"""Papers in the file: found by indexes, gone without a trace, and new to older files."""

from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from tests.unit.stores.sqlite.scribbling import lengthen_past

from scrubjay.model.memory import Json, State
from scrubjay.model.query import Filter
from scrubjay.stores.rows import STATES
from scrubjay.stores.sqlite import SqliteStore
from scrubjay.stores.sqlite.rows import lexicon_number, space_of_lexicon
from scrubjay.stores.sqlite.schema import MIGRATIONS
from scrubjay.testing.build import a_commit, a_memory, a_paper, a_rewrite, an_origin, moment, revised

SECRET = "zanzibar"


def words_in(path: Path) -> bool:
    """Whether the secret stands anywhere in the store's files."""
    return any(SECRET.encode() in one.read_bytes() for one in path.parent.glob(f"{path.name}*"))


@pytest.mark.parametrize("discarded", [False, True])
async def test_no_word_of_a_paper_is_left_after_a_purge(path: Path, *, discarded: bool) -> None:
    store = await SqliteStore.open(path, readers=1)
    memory = a_memory("a plain text")
    job = a_paper("j", drawer="jobs", value={"about": {"memory_id": memory.id, "text": f"{SECRET} " * 300}})
    await store.commit(a_commit(memory, papers=[job]))
    assert words_in(path)
    if discarded:
        await store.discard_paper("default", "jobs", "j")
    await store.purge("default", [memory.id], origin=an_origin())
    assert not words_in(path)
    await store.close()
    assert not words_in(path)


async def test_an_encrypted_store_shows_nothing_of_its_papers(path: Path) -> None:
    store = await SqliteStore.open(path, key="open sesame", readers=1)
    await store.file_paper(a_paper(SECRET, drawer=SECRET, value={SECRET: SECRET}), base=None)
    assert not words_in(path)
    await store.close()
    assert not words_in(path)


async def test_a_store_from_before_papers_gets_them(path: Path) -> None:
    connection = apsw.Connection(str(path))
    before = [name for name, _ in MIGRATIONS].index("papers")
    for name, step in MIGRATIONS[:before]:
        step(connection)
        connection.execute("INSERT INTO migrations VALUES(?, 0)", (name,))
    connection.pragma("application_id", 0x53_4A_41_59)
    connection.pragma("user_version", before)
    connection.close()
    store = await SqliteStore.open(path, readers=1)
    assert await store.papers("default", "rules", limit=9) == []
    paper = await store.file_paper(a_paper(), base=None)
    assert await store.papers("default", "rules", limit=9) == [paper]
    await store.close()


async def test_conflicts_from_before_are_found_by_both_memories(path: Path) -> None:
    store = await SqliteStore.open(path, readers=1)
    one, other = a_memory(), a_memory()
    values: list[dict[str, Json]] = [
        {"about": {"memory_id": one.id}, "other": known} for known in (other.id, "nobody", 7, None)
    ]
    papers = [a_paper(str(number), drawer="conflicts", value=value) for number, value in enumerate(values)]
    await store.commit(a_commit(one, other, papers=[*papers, replace(papers[0], drawer="jobs")]))
    await store.close()
    lengthen_past(path)
    connection = apsw.Connection(str(path))
    for index in ("papers_other", "papers_latest"):
        connection.execute(f"DROP INDEX {index}")
    connection.execute("ALTER TABLE papers DROP COLUMN other_id")
    dict(MIGRATIONS)["paper trails"](connection)
    connection.close()
    store = await SqliteStore.open(path, readers=1)
    assert await store.papers_about("default", "conflicts", [other.id], limit=9) == [papers[0]]
    assert await store.papers_about("default", "jobs", [other.id], limit=9) == []
    assert len(await store.latest_papers("default", "conflicts", limit=9)) == 4
    await store.close()


async def test_papers_are_found_without_a_walk(path: Path) -> None:
    store = await SqliteStore.open(path, readers=1)
    await store.file_paper(a_paper(due=moment(1)), base=None)
    await store.close()
    connection = apsw.Connection(str(path))
    one = "space_no = 1 AND drawer = 'rules'"
    for asked, index in (
        (f"{one} AND key = 'k'", "PRIMARY KEY (space_no=? AND drawer=? AND key=?)"),
        (f"{one} AND key > 'k' ORDER BY key", "PRIMARY KEY (space_no=? AND drawer=? AND key>?)"),
        ("space_no = 1 AND (drawer, key) > ('a', 'b') ORDER BY drawer, key", "PRIMARY KEY (space_no=? AND "),
        (f"{one} AND (at, key) < (5, 'k') ORDER BY at DESC, key DESC", "papers_latest (space_no=? AND drawer=? AND "),
        ("space_no = 1 AND other_id = x'00' AND drawer = 'rules'", "papers_other (space_no=? AND other_id=?"),
        ("drawer = 'jobs' AND due <= 9 ORDER BY due, space_no, key", "INDEX papers_due (drawer=? AND due<?)"),
    ):
        plan = [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN SELECT * FROM papers WHERE {asked}")]
        assert len(plan) == 1, plan
        assert index in plan[0]
    connection.close()


def test_the_lexicons_of_older_files_keep_their_numbers() -> None:
    first = STATES[:4]
    assert [lexicon_number(7, state) for state in first] == [28, 29, 30, 31]
    numbers = {lexicon_number(space_no, state): space_no for space_no in range(1, 100) for state in State}
    assert len(numbers) == 99 * len(State)
    assert all(space_of_lexicon(number) == space_no for number, space_no in numbers.items())


async def test_what_waits_is_found_by_its_words_and_counted_apart(path: Path) -> None:
    store = await SqliteStore.open(path, readers=1)
    waiting, live = a_memory("a scrub jay waits", state=State.WAITING), a_memory("a scrub jay")
    await store.commit(a_commit(waiting, live))
    for state, count in ((State.WAITING, 1), (State.LIVE, 1), (State.TRASHED, 0)):
        found = await store.term_statistics("default", ["jay", "wait"], state=state)
        assert found.passages == count
        assert found.frequencies.get("wait", 0) == (state is State.WAITING)
        assert len(await store.lexical_candidates("default", ["jay"], Filter(state=state), limit=9)) == count
    assert (await store.statistics("default")).memories == {"live": 1, "waiting": 1}
    approved = revised(waiting, state=State.LIVE)
    await store.commit(a_commit(a_rewrite(approved)))
    assert (await store.term_statistics("default", ["jay"], state=State.WAITING)).passages == 0
    assert (await store.term_statistics("default", ["jay"], state=State.LIVE)).frequencies == {"jay": 2}
    assert await store.check(deep=True) == []
    await store.close()
