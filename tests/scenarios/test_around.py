"""The neighbours of a hit in its session: each text once, no deleted memories, none of another space."""

from datetime import UTC, datetime, timedelta

import pytest

from scrubjay.client import MemoryClient
from scrubjay.model.caller import Caller
from scrubjay.model.results import Hit
from tests.scenarios.wiring import Wiring

TALK = {"session": "talk"}


def _around(hit: Hit) -> list[tuple[int, str]]:
    return [(neighbour.place, neighbour.passage) for neighbour in hit.around]


@pytest.mark.parametrize("entities", [2, 12])
async def test_the_records_of_one_text_are_one_neighbour(memory: MemoryClient, entities: int) -> None:
    for text in ("Shall we go?", "On Monday!", "At ten?"):
        await memory.remember(text, entities=[f"entity {number}" for number in range(entities)], source=TALK)
    (hit,) = (await memory.recall("", contains="monday", around=1)).hits
    assert _around(hit) == [(-1, "Shall we go?"), (1, "At ten?")]


async def test_an_expired_memory_is_no_neighbour(memory: MemoryClient) -> None:
    at = datetime.now(UTC)
    for text, age, ends in (("Shall we go?", 3, None), ("Hush!", 2, at - timedelta(hours=1)), ("On Monday!", 1, None)):
        source = TALK | {"at": (at - timedelta(days=age)).isoformat()}
        await memory.remember(text, source=source, expires_at=ends)
    (hit,) = (await memory.recall("", contains="monday", around=1)).hits
    assert _around(hit) == [(-1, "Shall we go?")]


async def test_a_memory_in_the_trash_or_in_another_space_is_no_neighbour(wiring: Wiring) -> None:
    work, home = wiring.client(space="work"), wiring.client(space="home")
    await work.remember("Shall we go?", source=TALK)
    await home.remember("On Monday!", source=TALK)
    await work.remember("At ten?", source=TALK)
    await work.forget("shall-we-go")
    both = MemoryClient.over(wiring.engine, Caller(space="work", also=("home",)))
    for memory in (work, home, both):
        hits = (await memory.recall("", around=10)).hits
        assert hits
        assert [hit.around for hit in hits] == [()] * len(hits)
    await work.restore("shall-we-go")
    hits = {hit.passage: _around(hit) for hit in (await both.recall("", around=10)).hits}
    assert hits == {"Shall we go?": [(1, "At ten?")], "At ten?": [(-1, "Shall we go?")], "On Monday!": []}


async def test_a_change_of_a_neighbour_is_seen_at_once(memory: MemoryClient) -> None:
    for text in ("Shall we go?", "On Monday!"):
        await memory.remember(text, source=TALK)
    for text_ in ("Shall we stay?", "Shall we sleep?"):
        await memory.revise("shall-we-go", text=text_)
        (hit,) = (await memory.recall("", contains="monday", around=1)).hits
        assert _around(hit) == [(-1, text_)]
