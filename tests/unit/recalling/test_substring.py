"""Literal text search, regardless of case."""

import pytest
from tests.fakes.build import START, a_commit, a_memory
from tests.unit.harness import SPACE, Harness

from scrubjay.model.draft import Draft
from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.model.requests import RecallRequest
from scrubjay.recalling.substring import SubstringMatches, contains_text, find_containing, find_in_view, join_lowercase
from scrubjay.recalling.text_cache import TextCaches, TextView
from scrubjay.storage.sqlite import SqliteStore

STACKS = TextView(Filter(), lambda memory: join_lowercase((memory.name, memory.content)))


async def find(needle: str, harness: Harness, text_caches: TextCaches) -> SubstringMatches:
    return await find_in_view(needle, view=STACKS, space=SPACE, store=harness.store, text_caches=text_caches)


async def test_a_text_is_found_literally_in_any_case(harness: Harness) -> None:
    text_caches = TextCaches()
    tea = await harness.store_draft(Draft(text="Green TEA, ΟΔΟΣ and İstanbul", name="one"))
    jam = await harness.store_draft(Draft(text="jam with tea", name="two"))
    assert (await find("TEA", harness, text_caches)).ids == (tea.id, jam.id)
    assert (await find("", harness, text_caches)).ids == (tea.id, jam.id)
    assert (await find("Green tea, \u03bf", harness, text_caches)).ids == (tea.id,)
    assert (await find("i\u0307STANBUL", harness, text_caches)).ids == (tea.id,)
    assert (await find("oNe", harness, text_caches)).ids == (tea.id,)
    # Parts are separate: neither a text across two parts nor the separator itself is found.
    assert (await find("onegreen", harness, text_caches)).ids == ()
    assert (await find("one\x00green", harness, text_caches)).ids == ()
    assert (await find("\x00", harness, text_caches)).ids == ()


@pytest.mark.parametrize(
    ("content", "needle"),
    [
        ("In der Straße 7", "STRASSE 7"),
        ("IN DER STRASSE 7", "straße 7"),
        ("cafe\u0301 noir", "CAFÉ n"),
        ("CAFÉ noir", "cafe\u0301 n"),
        ("flight to İstanbul", "istanbul"),
        ("flight to istanbul", "İstanbul"),
        ("flight to I\u0307stanbul", "ISTANBUL"),
        ("ΟΔΟΣ one", "οδος"),
        ("a J\u030c here", "ǰ"),
    ],
)
async def test_recall_compares_letters_not_their_codes(harness: Harness, content: str, needle: str) -> None:
    memory, _ = await harness.store_draft(content), await harness.store_draft("something else")
    assert contains_text(needle, memory, now=START)
    matches = await find_containing(
        needle, state=State.LIVE, space=SPACE, store=harness.store, text_caches=TextCaches()
    )
    assert matches.ids == (memory.id,)
    assert [hit.id for hit in (await harness.recall(RecallRequest(query="", contains=needle))).hits] == [memory.id]


def test_an_accent_makes_another_letter() -> None:
    for content in ("café", "cafe\u0301"):
        assert not contains_text("cafe", a_memory(content), now=START)
        assert contains_text("caf", a_memory(content), now=START)
    assert contains_text("", a_memory("anything"), now=START)


async def test_a_space_that_is_too_large_is_read_whole_and_that_is_reported(harness: Harness) -> None:
    text_caches = TextCaches(max_bytes=2_000)
    tea = await harness.store_draft("tea " * 1_000)
    await harness.store_draft("jam")
    matches = await find("TEA", harness, text_caches)
    assert matches.ids == (tea.id,)
    assert "too large" in matches.degraded


async def test_a_restored_memory_is_listed_by_its_age(harness: Harness) -> None:
    text_caches = TextCaches()
    first, second = await harness.store_draft("tea one"), await harness.store_draft("tea two")
    await find("tea", harness, text_caches)
    await harness.forget(first.id)
    await find("tea", harness, text_caches)
    await harness.restore(first.id)
    assert (await find("tea", harness, text_caches)).ids == (first.id, second.id)


async def test_many_texts_are_searched_in_a_thread(store: SqliteStore) -> None:
    text_caches = TextCaches()
    memory = a_memory("tea")
    await store.commit(a_commit(memory))
    texts = await text_caches.texts(STACKS, space=SPACE, store=store)
    assert isinstance(texts, dict)
    texts.update({f"id {number}": "jam" for number in range(20_000)})
    matches = await find_in_view("tea", view=STACKS, space=SPACE, store=store, text_caches=text_caches)
    assert matches.ids == (memory.id,)
