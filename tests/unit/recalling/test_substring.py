"""Which memories contain a text, to the letter and whatever its case."""

import pytest
from tests.fakes import FakeStore
from tests.fakes.build import START, a_commit, a_memory
from tests.unit.write_world import SPACE, Workshop

from scrubjay.model.draft import Draft
from scrubjay.model.memory import State
from scrubjay.model.query import Filter, Question
from scrubjay.recalling.substring import Contained, contained, containing, haystack, stands_in
from scrubjay.recalling.text_cache import TextCaches, View

STACKS = View(Filter(), lambda memory: haystack((memory.name, memory.content)))


async def found(needle: str, shop: Workshop, text_caches: TextCaches) -> Contained:
    return await containing(needle, view=STACKS, space=SPACE, store=shop.store, text_caches=text_caches)


async def test_a_text_is_found_to_the_letter_whatever_its_case(shop: Workshop) -> None:
    text_caches = TextCaches()
    tea = await shop.kept(Draft(text="Green TEA, ΟΔΟΣ and İstanbul", name="one"))
    jam = await shop.kept(Draft(text="jam with tea", name="two"))
    assert (await found("TEA", shop, text_caches)).ids == (tea.id, jam.id)
    assert (await found("", shop, text_caches)).ids == (tea.id, jam.id)
    assert (await found("Green tea, \u03bf", shop, text_caches)).ids == (tea.id,)
    assert (await found("i\u0307STANBUL", shop, text_caches)).ids == (tea.id,)
    assert (await found("oNe", shop, text_caches)).ids == (tea.id,)
    # Parts are apart: neither a text over the border of two nor the border itself is found.
    assert (await found("onegreen", shop, text_caches)).ids == ()
    assert (await found("one\x00green", shop, text_caches)).ids == ()
    assert (await found("\x00", shop, text_caches)).ids == ()


@pytest.mark.parametrize(
    ("said", "sought"),
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
async def test_recall_compares_letters_not_their_codes(shop: Workshop, said: str, sought: str) -> None:
    memory, _ = await shop.kept(said), await shop.kept("something else")
    assert stands_in(sought, memory, now=START)
    told = await contained(sought, state=State.LIVE, space=SPACE, store=shop.store, text_caches=TextCaches())
    assert told.ids == (memory.id,)
    assert [hit.id for hit in (await shop.recall(Question(query="", contains=sought))).hits] == [memory.id]


def test_an_accent_makes_another_letter() -> None:
    for said in ("café", "cafe\u0301"):
        assert not stands_in("cafe", a_memory(said), now=START)
        assert stands_in("caf", a_memory(said), now=START)
    assert stands_in("", a_memory("anything"), now=START)


async def test_a_space_that_is_too_large_is_read_whole_and_that_is_said(shop: Workshop) -> None:
    text_caches = TextCaches(most_bytes=2_000)
    tea = await shop.kept("tea " * 1_000)
    await shop.kept("jam")
    told = await found("TEA", shop, text_caches)
    assert told.ids == (tea.id,)
    assert "too large" in told.degraded


async def test_a_restored_memory_stands_where_its_age_puts_it(quick: Workshop) -> None:
    text_caches = TextCaches()
    first, second = await quick.kept("tea one"), await quick.kept("tea two")
    await found("tea", quick, text_caches)
    await quick.forget(first.id)
    await found("tea", quick, text_caches)
    await quick.restore(first.id)
    assert (await found("tea", quick, text_caches)).ids == (first.id, second.id)


async def test_many_texts_are_searched_beside_the_loop() -> None:
    store, text_caches = FakeStore(), TextCaches()
    memory = a_memory("tea")
    await store.commit(a_commit(memory))
    kept = await text_caches.texts(STACKS, space=SPACE, store=store)
    assert isinstance(kept, dict)
    kept.update({f"id {number}": "jam" for number in range(20_000)})
    told = await containing("tea", view=STACKS, space=SPACE, store=store, text_caches=text_caches)
    assert told.ids == (memory.id,)
