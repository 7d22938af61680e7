"""Questions of any size and form get an answer, or a clear refusal."""

import shutil
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.model.query import Filter
from tests.scenarios.wiring import Wiring, filled_folder, open_wiring

MANY = 30


async def fill(wiring: Wiring) -> None:
    for number in range(MANY):
        await wiring.client().remember(
            f"bird number {number} sits on the wire", name=f"b{number}", tags=["odd" if number % 2 else "even"],
            kind="fact" if number % 3 else "plan", metadata={"n": number},
        )  # fmt: skip


@pytest.fixture(scope="module")
def birds() -> Iterator[Path]:
    with filled_folder(fill) as place:
        yield place


@pytest.fixture
async def full(home: Path, birds: Path) -> AsyncIterator[MemoryClient]:
    shutil.copytree(birds, home)
    async with open_wiring(home) as wiring:
        yield wiring.client()


async def test_a_question_of_a_hundred_kilobytes(full: MemoryClient) -> None:
    words = " ".join(f"word{number}" for number in range(20_000))
    recalled = await full.recall(("bird wire " + words)[:100_000])
    assert len(recalled.hits) == 8
    assert recalled.degraded == ()
    assert (await full.recall("a" * 100_000)).degraded == ()
    assert (await full.recall("bird " * 20_000)).hits


async def test_a_hundred_kilobytes_of_anything(memory: MemoryClient) -> None:
    for piece in (
        "鳥",
        "🐦\u200d",
        "last may 3 to ",
        '"bird ',
        "1,000.",
        "bird_",
        "aB",
        "ال",
        "กา",
        "a@b.",
        "\x01",
        "e\u0301",
    ):
        size = len(piece.encode())
        await memory.remember(piece * (20_000 // size), intent="new")
        assert (await memory.recall(piece * (100_000 // size), max_tokens=100_000)).degraded == (), piece


async def test_an_empty_question_lists_recent_memories_pinned_or_not(full: MemoryClient) -> None:
    await full.revise("b3", pinned=True)
    for query in ("", "  \n", "?!", "\u200b"):
        recalled = await full.recall(query, limit=3)
        assert [hit.name for hit in recalled.hits] == ["b3", f"b{MANY - 1}", f"b{MANY - 2}"], query
        assert recalled.pinned == (), query
        assert recalled.degraded == ()


async def test_a_longer_question_is_refused_by_name(full: MemoryClient) -> None:
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
async def test_questions_without_search_terms(full: MemoryClient, query: str) -> None:
    recalled = await full.recall(query)
    assert len(recalled.hits) <= 8
    assert recalled.degraded == ()


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
async def test_an_invalid_cursor(full: MemoryClient, cursor: str) -> None:
    with pytest.raises(InvalidInput, match="cursor"):
        await full.recall("bird", cursor=cursor)


async def test_filters_that_contradict_each_other_find_nothing(full: MemoryClient) -> None:
    for filters in (
        {"tags": ["odd", "even"]},
        {"tags": ["odd"], "any_tags": ["even"]},
        {"kind": "fact", "metadata": {"n": 3}},
        {"metadata": {"n": 1, "missing": True}},
        {"entity": "nobody"},
        {"tags": ["nothing has this"]},
        {"contains": "nothing says this"},
        {"contains": "bird", "tags": ["even"], "metadata": {"n": 1}},
        {"metadata": {"n": "one"}},
        {"metadata": {"n": [1]}},
        {"metadata": {"n": {"n": 1}}},
        {"metadata": {"n": None}},
        {"state": "archived"},
    ):
        recalled = await full.recall("bird", **filters)  # type: ignore[arg-type]
        assert recalled.hits == ()
        assert recalled.cursor == ""
        assert (await full.recall("", **filters)).hits == ()  # type: ignore[arg-type]


async def test_times_that_contradict_each_other_are_refused(full: MemoryClient) -> None:
    now = datetime.now(UTC)
    for since, until in ((now, now), (now, now - timedelta(days=1)), ("2026-05-02", "2026-05-01")):
        with pytest.raises(InvalidInput, match="since must be before until"):
            await full.recall("bird", since=since, until=until)


async def test_a_date_that_does_not_exist_is_refused_by_name(memory: MemoryClient) -> None:
    for field in ("since", "until", "today"):
        for moment in ("2026-02-30", "2026-13-01", "2026-05-32T10:00:00Z", "0000-00-00", "soon", 5, True):
            with pytest.raises(InvalidInput) as caught:
                await memory.recall("bird", **{field: moment})  # type: ignore[arg-type]
            assert caught.value.fields["field"] == field


async def test_a_question_may_name_a_date_that_does_not_exist(full: MemoryClient) -> None:
    for when in ("on 31 February", "on 2026-02-30", "in 99999", "99999999999 days ago", "since 7 May 0000"):
        recalled = await full.recall(f"which bird sat on the wire {when}?", explain=True)
        assert len(recalled.hits) == 8
        assert recalled.degraded == ()


async def test_a_question_asked_at_the_ends_of_time(full: MemoryClient) -> None:
    for year in (1, 9999):
        for today in (datetime(year, 1, 1, tzinfo=UTC), datetime(year, 12, 31, tzinfo=UTC)):
            assert (await full.recall("birds of last winter, yesterday or next week", today=today)).hits


async def test_arguments_of_the_wrong_type_are_refused_by_name(memory: MemoryClient) -> None:
    for name, value in (
        ("metadata", ["n"]), ("metadata", "n=1"), ("around", -1), ("around", 10**9), ("around", "1"),
        ("max_tokens", -1), ("limit", "8"), ("contains", 5), ("contains", "a" * 100_001), ("tags", [5]),
        ("detail", "everything"), ("state", "gone"), ("tier", "upper"),
    ):  # fmt: skip
        with pytest.raises(InvalidInput) as caught:
            await memory.recall("bird", **{name: value})  # type: ignore[arg-type]
        assert name in str(caught.value.fields["field"])


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


async def test_forgetting_by_an_empty_filter(full: MemoryClient) -> None:
    with pytest.raises(InvalidInput, match="every memory"):
        await full.forget(filter=Filter())
    with pytest.raises(InvalidInput, match="not both"):
        await full.forget("b1", filter=Filter(kind="fact"))
    assert (await full.status()).memories == {"live": MANY}


async def test_thousands_of_references_at_once(full: MemoryClient) -> None:
    refs = [f"b{number}" for number in range(MANY)] * 40 + [f"nobody-{number}" for number in range(200)]
    recalled = await full.read(refs)
    assert len(recalled.memories) == MANY
    assert len(recalled.missing) == 200
