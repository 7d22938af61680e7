"""Full-text search: matches, their order, and their snippets."""

from dataclasses import replace

import pytest
from tests.fakes.build import START, a_commit, a_memory, moment
from tests.new_files import new_stores
from tests.unit.harness import SPACE

from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.model.draft import Limits
from scrubjay.model.memory import Memory, Observation, State
from scrubjay.model.query import Filter, TextsFound
from scrubjay.model.requests import SearchTextRequest
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


async def search(
    query: str, *memories: Memory, store: RecordStore | None = None, limit: int = 10, offset: int = 0,
    limits: Limits | None = None,
    spaces: tuple[str, ...] = (SPACE,), **criteria: object,
) -> TextsFound:  # fmt: skip
    request = SearchTextRequest(query=query, filter=Filter(**criteria), limit=limit, offset=offset)  # type: ignore[arg-type]
    async with new_stores() as stores:
        used = store or stores()
        if store is None:
            await used.commit(a_commit(*(memories or ALL)))
        return await search_text(
            request, spaces=spaces, now=moment(99), limits=limits or Limits(), store=used, text_caches=TextCaches()
        )


def names(result: TextsFound) -> list[str]:
    return [hit.name for hit in result.hits]


@pytest.mark.parametrize(
    ("query", "expected"),
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
async def test_queries_and_their_matches(query: str, expected: list[str]) -> None:
    result = await search(query)
    assert sorted(names(result)) == sorted(expected)
    assert all(0 < hit.score <= 1 for hit in result.hits)
    assert [hit.score for hit in result.hits] == sorted((hit.score for hit in result.hits), reverse=True)
    assert not result.more


async def test_a_title_counts_more_than_tags_and_tags_more_than_a_text() -> None:
    several = (
        a_memory("We talked about otters.", name="text", title="One"),
        a_memory("Nothing of it here.", name="title", title="Otters"),
        a_memory("Nothing of it here.", name="tag", title="Two", tags=("otters",)),
        a_memory("Nothing of it here.", name="category", title="Three", category="otters"),
        a_memory("otters, otters and otters", name="often", title="Four"),
    )
    result = await search("otters", *several)
    assert names(result)[0] == "title"
    assert names(result)[-1] == "text"
    assert {hit.name: hit.matched for hit in result.hits} == {
        "text": ("content",), "title": ("title",), "tag": ("tags",), "category": ("category",), "often": ("content",),
    }  # fmt: skip


async def test_adjacent_words_come_first() -> None:
    apart = a_memory("A launch was planned; later on there was a product, too.", name="apart")
    together = a_memory("A product launch was planned, and later there was more.", name="together")
    assert names(await search("product launch", apart, together)) == ["together", "apart"]


async def test_partial_matches_are_reported() -> None:
    result = await search("revenue budget zebra")
    assert names(result) == ["budget"]
    assert result.hits[0].missing == ("zebra",)
    assert result.degraded == ("no memory has all of it: these have 2 of 3",)


async def test_category_filters_include_subcategories() -> None:
    assert sorted(names(await search("revenue", category="work"))) == ["budget", "meeting"]
    assert names(await search("revenue", category="work/meetings")) == ["meeting"]
    assert names(await search("revenue", category="Work/ Meetings/")) == ["meeting"]
    assert names(await search("revenue", category="meetings")) == []
    assert names(await search("revenue", tags=("goals",))) == ["meeting"]
    assert names(await search("revenue", category="personal")) == []


async def test_a_snippet_shows_the_densest_match() -> None:
    (hit,) = (await search('"new product" march')).hits
    assert "- **New** **product** launch in **March**" in hit.snippet
    filler = "Nothing to see here. " * 30
    text = f"revenue {filler} the revenue target is high {filler} target"
    (hit,) = (await search("revenue target", a_memory(text))).hits
    assert hit.snippet.startswith("…")
    assert "the **revenue** **target** is high" in hit.snippet
    assert len(hit.snippet) < 190
    (hit,) = (await search("shoes")).hits
    assert hit.snippet == "Running **shoes** are by the door"
    assert hit.matched == ("observations",)
    (hit,) = (await search("cafes kuchen*", a_memory("Kuchen", title="Cafés"))).hits
    assert hit.snippet == "**Kuchen**"
    (hit,) = (await search("ideas", a_memory("Bread.", title="Ideas"))).hits
    assert hit.snippet == "Bread."


async def test_pages_follow_each_other(store: SqliteStore) -> None:
    several = [a_memory(f"needle number {number}", name=f"n{number}") for number in range(25)]
    await store.commit(a_commit(*several))
    pages = [await search("needle", store=store, offset=at) for at in (0, 10, 20)]
    assert [len(page.hits) for page in pages] == [10, 10, 5]
    assert [page.more for page in pages] == [True, True, False]
    assert len({name for page in pages for name in names(page)}) == 25
    assert names(await search("needle", store=store, limit=25)) == [name for page in pages for name in names(page)]


async def test_a_memory_with_that_title_is_found_among_very_many() -> None:
    old = a_memory("Of long ago.", name="old", title="Common word")
    crowd = [a_memory("a common word and others", name=f"n{number}", title=f"T {number}") for number in range(600)]
    assert names(await search("common word", old, *crowd, limit=1)) == ["old"]


async def test_a_query_without_words_lists_the_last_changed() -> None:
    for query in ("", "   ", "*", "***", '""', "-", "!?", '"' * 10_000):
        result = await search(query, limit=3)
        assert len(result.hits) == 3
        assert result.more
        assert "changed last" in result.degraded[0]
    assert names(await search("*", category="work/meetings")) == ["meeting"]


async def test_common_words_are_ignored_unless_they_are_alone() -> None:
    result = await search("the revenue of")
    assert len(result.hits) == 2
    assert "the, of" in result.degraded[0]
    assert names(await search("with it")) == ["budget"]
    assert names(await search('"and the"')) == ["budget"]


@pytest.mark.parametrize("query", ["-budget", '-"new product" -x*'])
async def test_a_query_that_only_excludes_is_refused(query: str) -> None:
    with pytest.raises(InvalidInput, match="only excludes words"):
        await search(query)


async def test_hostile_queries_are_answered() -> None:
    with pytest.raises(TooLarge):
        await search("x" * 200_000)
    for query in (
        '"' * 9_999,
        "* " * 40_000,
        "a" * 99_000,
        '"revenue ' * 10_000,
        "-x " * 30_000 + "revenue",
        "\x00\ud800 revenue",
    ):
        await search(query)
    many = await search(" ".join(f"word{number}" for number in range(9_000)) + " revenue")
    assert many.hits == ()
    assert "only the first 32 words" in many.degraded[0]
    for wrong in (0, 5_000, True, "x"):
        with pytest.raises(InvalidInput):
            await search("revenue", limit=wrong)  # type: ignore[arg-type]


async def test_only_live_and_valid_memories_are_found(store: SqliteStore) -> None:
    gone, expired = a_memory("needle", state=State.TRASHED), a_memory("needle", expires_at=moment(50))
    there = a_memory("needle", name="there")
    elsewhere = replace(a_memory("needle"), space="elsewhere")
    await store.commit(a_commit(gone, expired, there))
    await store.commit(a_commit(elsewhere))
    assert names(await search("needle", store=store)) == ["there"]
    both = await search("needle", store=store, spaces=(SPACE, "elsewhere"))
    assert {hit.space for hit in both.hits} == {SPACE, "elsewhere"}
    pages = [await search("needle", store=store, spaces=(SPACE, "elsewhere"), limit=1, offset=at) for at in (0, 1)]
    assert [hit for page in pages for hit in page.hits] == list(both.hits)
    assert [page.more for page in pages] == [True, False]


async def test_full_matches_of_one_space_replace_partial_ones_of_another(store: SqliteStore) -> None:
    await store.commit(a_commit(a_memory("red apple", name="both")))
    await store.commit(a_commit(replace(a_memory("red pear", name="one"), space="elsewhere")))
    result = await search("red apple", store=store, spaces=("elsewhere", SPACE))
    assert (names(result), result.degraded) == (["both"], ())


async def test_words_of_different_passages_match_a_memory() -> None:
    long = a_memory("zucchini " + "words of all sorts " * 200 + "aubergine", name="long")
    assert names(await search("aubergine zucchini", *ALL, long)) == ["long"]
    for category in ("work", "personal"):
        assert names(await search("aubergine zucchini", *ALL, long, category=category)) == []
