"""A long answer comes in pages: every hit once, pinned memories first, and stable during concurrent writes."""

import pytest

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput
from scrubjay.model.caller import Caller
from scrubjay.model.results import Hit
from tests.scenarios.wiring import Wiring

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
    for query, kind, contains in (("fish", "", ""), ("bird", "fact", ""), ("bird", "", "number")):
        with pytest.raises(InvalidInput, match="cursor"):
            await full.recall(query, kind=kind, contains=contains, cursor=cursor)
    assert (await full.recall("bird", limit=7, around=1, explain=True, cursor=cursor)).hits


@pytest.mark.parametrize("query", ["bird", ""])
async def test_pages_show_the_state_of_the_first_page_despite_writes(full: MemoryClient, query: str) -> None:
    seen: list[Hit] = []
    cursor, turn = "", 0
    while turn == 0 or cursor:
        page = await full.recall(query, limit=5, max_tokens=100_000, cursor=cursor)
        seen += [*page.pinned, *page.hits]
        cursor, turn = page.cursor, turn + 1
        await _disturb(full, shown=seen, turn=turn)
    text = [hit.passage for hit in seen]
    assert len({hit.id for hit in seen}) == len(seen)
    assert sorted(text) == sorted(f"bird number {number}" for number in range(MANY))
    newest = (await full.recall("bird bird", limit=100, max_tokens=100_000)).hits
    assert any(hit.passage.startswith("bird bird") for hit in newest)


async def _disturb(memory: MemoryClient, *, shown: list[Hit], turn: int) -> None:
    """Writes that would change the order: better hits, newer ones, another member of a group, and revisions."""
    await memory.remember(f"bird bird bird {turn}", pinned=turn == 2, entities=["A", "C"] if turn % 2 else [])
    await memory.remember(f"bird number {5 * turn}", entities=["A", "B", "D"])
    hidden = [number for number in range(MANY) if f"bird number {number}" not in {hit.passage for hit in shown}]
    for ref in (shown[-1].id, *(f"bird-{number}" for number in hidden[-1:] if number % 5)):
        await memory.revise(ref, tags=[f"turn-{turn}"])


@pytest.mark.parametrize("query", ["bird", ""])
async def test_pages_over_several_spaces_show_the_state_of_the_first_page_too(wiring: Wiring, query: str) -> None:
    spaces = ("work", "home")
    for number in range(12):
        await wiring.client(space=spaces[number % 2]).remember(
            f"bird number {number}", entities=["A", "B"][number % 3 :]
        )
    both = MemoryClient.over(wiring.engine, Caller(space="work", also=("home",)))
    seen: list[str] = []
    cursor, turn = "", 0
    while turn == 0 or cursor:
        page = await both.recall(query, limit=3, max_tokens=100_000, cursor=cursor)
        seen += [hit.passage for hit in page.hits]
        cursor, turn = page.cursor, turn + 1
        await wiring.client(space=spaces[turn % 2]).remember(f"bird bird bird {turn}", entities=["A", "B"])
    assert sorted(seen) == sorted(f"bird number {number}" for number in range(12))


@pytest.mark.parametrize("query", ["bird", ""])
async def test_memories_that_are_pinned_or_unpinned_meanwhile_keep_their_place(
    memory: MemoryClient, query: str
) -> None:
    for number in range(9):
        await memory.remember(f"bird number {number}", name=f"bird-{number}", pinned=number == 0)
    page = await memory.recall(query, limit=3)
    seen = [hit.name for hit in (*page.pinned, *page.hits)]
    await memory.revise("bird-0", pinned=False)
    await memory.revise(next(f"bird-{number}" for number in range(9) if f"bird-{number}" not in seen), pinned=True)
    while page.cursor:
        page = await memory.recall(query, limit=3, cursor=page.cursor)
        seen += [hit.name for hit in (*page.pinned, *page.hits)]
    assert sorted(seen) == [f"bird-{number}" for number in range(9)]
