"""Questions of any size and shape get an answer, or a clear no."""

from datetime import UTC, datetime, timedelta

import pytest

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.model.query import Filter
from tests.scenarios.house import House

MANY = 30


@pytest.fixture
async def full(memory: MemoryClient) -> MemoryClient:
    for number in range(MANY):
        await memory.remember(
            f"bird number {number} sits on the wire", name=f"b{number}", tags=["odd" if number % 2 else "even"],
            kind="fact" if number % 3 else "plan", metadata={"n": number},
        )  # fmt: skip
    return memory


async def test_a_question_of_a_hundred_kilobytes(full: MemoryClient) -> None:
    words = " ".join(f"word{number}" for number in range(20_000))
    found = await full.recall(("bird wire " + words)[:100_000])
    assert len(found.hits) == 8
    assert found.degraded == ()
    assert (await full.recall("a" * 100_000)).degraded == ()
    assert (await full.recall("bird " * 20_000)).hits


async def test_a_longer_one_is_refused_by_name(full: MemoryClient) -> None:
    with pytest.raises(TooLarge) as caught:
        await full.recall("a" * 100_001)
    assert (caught.value.fields["field"], caught.value.fields["limit"]) == ("query", 100_000)


@pytest.mark.parametrize(
    "query",
    [
        "the of and to a",
        "to be or not to be",
        "... !!! ???",
        "-- '' \"\" ;;",
        "🐦",
        "🐦🐦🐦 🏳️‍🌈",
        "   ",
        "\n",
        "\0",
        "鳥",
        "a",
        "\ud800",
    ],
)
async def test_questions_without_a_word_to_look_for(full: MemoryClient, query: str) -> None:
    found = await full.recall(query)
    assert len(found.hits) <= 8
    assert found.degraded == ()


async def test_a_memory_of_stop_words_or_emoji_is_kept_and_listed(memory: MemoryClient) -> None:
    for text in ("to be or not to be", "🐦🐦🐦", "...", "the"):
        done = await memory.remember(text)
        assert (await memory.read(done.id)).memories[0].content == text
        assert done.id in [hit.id for hit in (await memory.recall("")).hits]
        assert done.id in [hit.id for hit in (await memory.recall(text)).hits]


@pytest.mark.parametrize("limit", [0, -1, -(10**20), 1_001, 10**6, 10**30])
async def test_a_limit_out_of_bounds_names_them(full: MemoryClient, limit: int) -> None:
    with pytest.raises(InvalidInput, match=r"limit must be at (least 1|most 1000)"):
        await full.recall("bird", limit=limit)


async def test_the_largest_limit_and_the_smallest_budget(full: MemoryClient) -> None:
    assert len((await full.recall("bird", limit=1_000, max_tokens=10**9)).hits) == MANY
    tight = await full.recall("bird", limit=1_000, max_tokens=1)
    assert tight.tokens <= 1
    assert "max_tokens" in tight.degraded[0]


@pytest.mark.parametrize("cursor", ["x", "====", "WzUsICJ4Il0=", "bnVsbA==", "e30=", "[5]", "\n", "é", "W10="])
async def test_a_cursor_that_is_none(full: MemoryClient, cursor: str) -> None:
    with pytest.raises(InvalidInput, match="cursor"):
        await full.recall("bird", cursor=cursor)


async def test_filters_that_contradict_each_other_find_nothing(full: MemoryClient) -> None:
    for filters in (
        {"tags": ["odd", "even"]},
        {"tags": ["odd"], "any_tags": ["even"]},
        {"kind": "fact", "metadata": {"n": 3}},
        {"metadata": {"n": 1, "missing": True}},
        {"entity": "nobody"},
        {"state": "archived"},
    ):
        found = await full.recall("bird", **filters)  # type: ignore[arg-type]
        assert found.hits == ()
        assert found.cursor == ""
        assert (await full.recall("", **filters)).hits == ()  # type: ignore[arg-type]


async def test_times_that_contradict_each_other_are_refused(full: MemoryClient) -> None:
    now = datetime.now(UTC)
    for since, until in ((now, now), (now, now - timedelta(days=1)), ("2026-05-02", "2026-05-01")):
        with pytest.raises(InvalidInput, match="since must be before until"):
            await full.recall("bird", since=since, until=until)


async def test_times_at_the_ends_of_time(full: MemoryClient) -> None:
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    assert len((await full.recall("bird", since=first, until=last)).hits) == 8
    assert not (await full.recall("bird", until=first + timedelta(days=1))).hits
    assert not (await full.recall("bird", since="9999-12-31T23:59:59Z")).hits
    with pytest.raises(InvalidInput, match="since"):
        await full.recall("bird", since="9999-12-31T23:59:59-12:00")


async def test_a_filter_of_thousands_of_tags(full: MemoryClient) -> None:
    many = [f"tag{number}" for number in range(3_000)]
    assert len((await full.recall("bird", any_tags=[*many, "odd"], limit=100, max_tokens=10**6)).hits) == MANY // 2
    assert not (await full.recall("bird", tags=many)).hits


async def test_forgetting_by_a_filter_that_says_nothing(full: MemoryClient) -> None:
    with pytest.raises(InvalidInput, match="everything"):
        await full.forget(filter=Filter())
    with pytest.raises(InvalidInput, match="not both"):
        await full.forget("b1", filter=Filter(kind="fact"))
    assert (await full.status()).memories == {"live": MANY}


async def test_thousands_of_references_at_once(house: House, full: MemoryClient) -> None:
    refs = [f"b{number}" for number in range(MANY)] * 40 + [f"nobody-{number}" for number in range(200)]
    found = await full.read(refs)
    assert len(found.memories) == MANY
    assert len(found.missing) == 200
