"""A long answer comes page by page: everything once, pinned memories first, nothing twice."""

import pytest

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput

MANY = 37


@pytest.fixture
async def full(memory: MemoryClient) -> MemoryClient:
    for number in range(MANY):
        entities = ["A", "B"] if number % 5 == 0 else []
        await memory.remember(f"bird number {number}", name=f"bird-{number}", entities=entities, pinned=number % 9 == 0)
    return memory


@pytest.mark.parametrize("query", ["bird", ""])
@pytest.mark.parametrize("limit", [1, 4, 10, 100])
async def test_all_pages_together_hold_everything_once(full: MemoryClient, query: str, limit: int) -> None:
    pages = [await full.recall(query, limit=limit, max_tokens=100_000)]
    while pages[-1].cursor:
        pages.append(await full.recall(query, limit=limit, max_tokens=100_000, cursor=pages[-1].cursor))
    passages = [hit.passage for page in pages for hit in (*page.pinned, *page.hits)]
    assert sorted(passages) == sorted(f"bird number {number}" for number in range(MANY))
    assert not any(page.pinned for page in pages[1:])


async def test_a_small_budget_makes_small_pages_and_loses_nothing(full: MemoryClient) -> None:
    seen: list[str] = []
    cursor = ""
    for _ in range(MANY + 1):
        page = await full.recall("bird", limit=10, max_tokens=150 if cursor else 400, cursor=cursor)
        assert page.tokens <= 400
        seen += [hit.passage for hit in (*page.pinned, *page.hits)]
        cursor = page.cursor
        if not cursor:
            break
    assert len(seen) == len(set(seen)) == MANY


async def test_a_cursor_belongs_to_its_question(full: MemoryClient) -> None:
    cursor = (await full.recall("bird", limit=3)).cursor
    for query, kind in (("fish", ""), ("bird", "fact")):
        with pytest.raises(InvalidInput, match="cursor"):
            await full.recall(query, kind=kind, cursor=cursor)
