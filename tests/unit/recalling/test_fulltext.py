"""Full-text search: who has what is looked for, in which order, and what is shown of it."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.fakes import FakeStore
from tests.fakes.build import START, a_commit, a_memory, moment
from tests.unit.write_world import SPACE

from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.model.draft import Limits
from scrubjay.model.memory import Memory, Observation, State
from scrubjay.model.query import Filter, SearchText, TextsFound
from scrubjay.ports import RecordStore
from scrubjay.recalling.fulltext import search_text
from scrubjay.recalling.text_cache import TextCaches
from scrubjay.storage.sqlite import SqliteStore

MEETING = a_memory(
    "# Q4 Goals Discussion\n\n**Key Points:**\n- Revenue target: $2M\n- New **product** launch in March\n",
    title="Meeting with John about Q4 goals", name="meeting", tags=("meeting", "goals"), category="work/meetings",
)  # fmt: skip
BUDGET = a_memory(
    "The revenue of the quarter went up, and the budget with it.", title="Budget", name="budget", category="work",
    tags=("money",),
)  # fmt: skip
IDEAS = a_memory(
    "Weekend ideas: bake bread, run along the river.", title="Ideas", name="ideas", category="personal",
    observations=(
        Observation(text="Running shoes are by the door", recorded_at=START),
        Observation(text="The old bicycle is broken", recorded_at=START, valid_until=moment(1)),
    ),
)  # fmt: skip
CAFE = a_memory("Café Müller serves the best Käsekuchen in 東京都.", title="Cafés", name="cafes", category="personal")
ALL = (MEETING, BUDGET, IDEAS, CAFE)


async def look(
    query: str, *memories: Memory, store: RecordStore | None = None, limit: int = 10, offset: int = 0,
    limits: Limits | None = None,
    spaces: tuple[str, ...] = (SPACE,), **wanted: object,
) -> TextsFound:  # fmt: skip
    kept = store or FakeStore()
    if store is None:
        await kept.commit(a_commit(*(memories or ALL)))
    asked = SearchText(query=query, filter=Filter(**wanted), limit=limit, offset=offset)  # type: ignore[arg-type]
    return await search_text(
        asked, spaces=spaces, now=moment(99), limits=limits or Limits(), store=kept, text_caches=TextCaches()
    )


def names(found: TextsFound) -> list[str]:
    return [hit.name for hit in found.hits]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("revenue", ["budget", "meeting"]),
        ("revenues TARGET", ["meeting"]),
        ("revenue budget", ["budget"]),
        ("meet", ["meeting"]),
        ("runs", ["ideas"]),
        ("goal*", ["meeting"]),
        ("runn*", ["ideas"]),
        ("rive*", ["ideas"]),
        ("rivet*", []),
        ("reven* prod*", ["meeting"]),
        ('"new product"', ["meeting"]),
        ('"product new"', []),
        ('"best kasekuchen"', ["cafes"]),
        ('"john about q4"', ["meeting"]),
        ('"by the door"', ["ideas"]),
        ("“key points”", ["meeting"]),
        ("revenue -budget", ["meeting"]),
        ('revenue -"revenue target"', ["budget"]),
        ("revenue -targ*", ["budget"]),
        ("cafe", ["cafes"]),
        ("MÜLLER muller", ["cafes"]),
        ("東京", ["cafes"]),
        ("京*", ["cafes"]),
        ("personal", ["ideas", "cafes"]),
        ("meetings", ["meeting"]),
        ("money", ["budget"]),
        ("bicycle", []),
        ("$2M", ["meeting"]),
        ("zebra", []),
        ('"with it"', ["budget"]),
        ("**bread**", ["ideas"]),
    ],
)
async def test_what_is_found(query: str, found: list[str]) -> None:
    got = await look(query)
    assert sorted(names(got)) == sorted(found)
    assert all(0 < hit.score <= 1 for hit in got.hits)
    assert [hit.score for hit in got.hits] == sorted((hit.score for hit in got.hits), reverse=True)
    assert not got.more


async def test_a_title_says_more_than_tags_and_these_more_than_a_text() -> None:
    several = (
        a_memory("We talked about otters.", name="text", title="One"),
        a_memory("Nothing of it here.", name="title", title="Otters"),
        a_memory("Nothing of it here.", name="tag", title="Two", tags=("otters",)),
        a_memory("Nothing of it here.", name="category", title="Three", category="otters"),
        a_memory("otters, otters and otters", name="often", title="Four"),
    )
    found = await look("otters", *several)
    assert names(found)[0] == "title"
    assert names(found)[-1] == "text"
    assert {hit.name: hit.matched for hit in found.hits} == {
        "text": ("content",), "title": ("title",), "tag": ("tags",), "category": ("category",), "often": ("content",),
    }  # fmt: skip


async def test_words_that_stand_together_come_first() -> None:
    apart = a_memory("A launch was planned; later on there was a product, too.", name="apart")
    together = a_memory("A product launch was planned, and later there was more.", name="together")
    assert names(await look("product launch", apart, together)) == ["together", "apart"]


async def test_what_has_most_is_told_where_nothing_has_all() -> None:
    found = await look("revenue budget zebra")
    assert names(found) == ["budget"]
    assert found.hits[0].missing == ("zebra",)
    assert found.degraded == ("no memory has all of it: these have 2 of 3",)


async def test_filters_take_categories_with_all_below_them() -> None:
    assert sorted(names(await look("revenue", category="work"))) == ["budget", "meeting"]
    assert names(await look("revenue", category="work/meetings")) == ["meeting"]
    assert names(await look("revenue", category="Work/ Meetings/")) == ["meeting"]
    assert names(await look("revenue", category="meetings")) == []
    assert names(await look("revenue", tags=("goals",))) == ["meeting"]
    assert names(await look("revenue", category="personal")) == []


async def test_a_snippet_shows_what_was_found_where_most_of_it_is() -> None:
    (hit,) = (await look('"new product" march')).hits
    assert "- **New** **product** launch in **March**" in hit.snippet
    filler = "Nothing to see here. " * 30
    text = f"revenue {filler} the revenue target is high {filler} target"
    (hit,) = (await look("revenue target", a_memory(text))).hits
    assert hit.snippet.startswith("…")
    assert "the **revenue** **target** is high" in hit.snippet
    assert len(hit.snippet) < 190
    (hit,) = (await look("shoes")).hits
    assert hit.snippet == "Running **shoes** are by the door"
    assert hit.matched == ("observations",)
    (hit,) = (await look("cafes kuchen*", a_memory("Kuchen", title="Cafés"))).hits
    assert hit.snippet == "**Kuchen**"
    (hit,) = (await look("ideas", a_memory("Bread.", title="Ideas"))).hits
    assert hit.snippet == "Bread."


async def test_pages_follow_each_other() -> None:
    several = [a_memory(f"needle number {number}", name=f"n{number}") for number in range(25)]
    store = FakeStore()
    await store.commit(a_commit(*several))
    pages = [await look("needle", store=store, offset=at) for at in (0, 10, 20)]
    assert [len(page.hits) for page in pages] == [10, 10, 5]
    assert [page.more for page in pages] == [True, True, False]
    assert len({name for page in pages for name in names(page)}) == 25
    assert names(await look("needle", store=store, limit=25)) == [name for page in pages for name in names(page)]


async def test_of_very_many_the_one_that_is_called_so_is_found() -> None:
    old = a_memory("Of long ago.", name="old", title="Common word")
    crowd = [a_memory("a common word and others", name=f"n{number}", title=f"T {number}") for number in range(600)]
    assert names(await look("common word", old, *crowd, limit=1)) == ["old"]


async def test_a_query_without_a_word_tells_what_changed_last() -> None:
    for query in ("", "   ", "*", "***", '""', "-", "!?", '"' * 10_000):
        found = await look(query, limit=3)
        assert len(found.hits) == 3
        assert found.more
        assert "changed last" in found.degraded[0]
    assert names(await look("*", category="work/meetings")) == ["meeting"]


async def test_words_that_every_text_has_are_passed_over_or_looked_for_alone() -> None:
    found = await look("the revenue of")
    assert len(found.hits) == 2
    assert "the, of" in found.degraded[0]
    assert names(await look("with it")) == ["budget"]
    assert names(await look('"and the"')) == ["budget"]


@pytest.mark.parametrize("query", ["-budget", '-"new product" -x*'])
async def test_something_must_be_wanted(query: str) -> None:
    with pytest.raises(InvalidInput, match="must not be there"):
        await look(query)


async def test_hostile_queries_are_answered() -> None:
    with pytest.raises(TooLarge):
        await look("x" * 200_000)
    for query in (
        '"' * 9_999,
        "* " * 40_000,
        "a" * 99_000,
        '"revenue ' * 10_000,
        "-x " * 30_000 + "revenue",
        "\x00\ud800 revenue",
    ):
        await look(query)
    many = await look(" ".join(f"word{number}" for number in range(9_000)) + " revenue")
    assert many.hits == ()
    assert "only the first 32 words" in many.degraded[0]
    for wrong in (0, 5_000, True, "x"):
        with pytest.raises(InvalidInput):
            await look("revenue", limit=wrong)  # type: ignore[arg-type]


async def test_only_what_lives_and_holds_is_found() -> None:
    gone, expired = a_memory("needle", state=State.TRASHED), a_memory("needle", expires_at=moment(50))
    there = a_memory("needle", name="there")
    elsewhere = replace(a_memory("needle"), space="elsewhere")
    store = FakeStore()
    await store.commit(a_commit(gone, expired, there))
    await store.commit(a_commit(elsewhere))
    assert names(await look("needle", store=store)) == ["there"]
    both = await look("needle", store=store, spaces=(SPACE, "elsewhere"))
    assert {hit.space for hit in both.hits} == {SPACE, "elsewhere"}
    pages = [await look("needle", store=store, spaces=(SPACE, "elsewhere"), limit=1, offset=at) for at in (0, 1)]
    assert [hit for page in pages for hit in page.hits] == list(both.hits)
    assert [page.more for page in pages] == [True, False]


async def test_who_has_all_in_one_space_is_told_without_those_who_have_less_in_another() -> None:
    store = FakeStore()
    await store.commit(a_commit(a_memory("red apple", name="both")))
    await store.commit(a_commit(replace(a_memory("red pear", name="one"), space="elsewhere")))
    found = await look("red apple", store=store, spaces=("elsewhere", SPACE))
    assert (names(found), found.degraded) == (["both"], ())


async def test_a_file_finds_the_same(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "memory.db", readers=1)
    fake = FakeStore()
    long = a_memory("zucchini " + "words of all sorts " * 200 + "aubergine", name="long")
    for one in (store, fake):
        await one.commit(a_commit(*ALL, long))
    for query in (
        "revenue",
        "goal*",
        '"new product"',
        "revenue -budget",
        "personal",
        "東京",
        "aubergine zucchini",
        "run river",
    ):
        for category in ("", "work", "personal"):
            one, other = [await look(query, store=each, category=category) for each in (store, fake)]
            assert one == other
    assert names(await look("aubergine zucchini", store=store)) == ["long"]
    await store.close()
