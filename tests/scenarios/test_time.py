"""Recall in the past: `as_of` through the client."""

from datetime import UTC, datetime

import pytest

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput, NotFound
from scrubjay.model.results import Recalled


def passages(recalled: Recalled) -> list[str]:
    return [hit.passage for hit in recalled.hits]


async def test_as_of_shows_each_day_of_a_year(memory: MemoryClient) -> None:
    before = datetime.now(UTC)
    office = await memory.remember("The office is in Oslo", title="Office")
    await memory.remember("Lunch is at noon", title="Lunch")
    oslo = datetime.now(UTC)
    await memory.revise("office", text="The office is in Bergen", message="they moved")
    bergen = datetime.now(UTC)
    await memory.forget("office", reason="closed")
    closed = datetime.now(UTC)
    question = "where is the office?"
    assert "The office is in Oslo" in passages(await memory.recall(question, as_of=oslo))
    assert "The office is in Bergen" in passages(await memory.recall(question, as_of=bergen.isoformat()))
    for moment in (closed, None):
        assert not any("office" in passage for passage in passages(await memory.recall(question, as_of=moment)))
    assert passages(await memory.recall(question, as_of=before)) == []
    (then,) = (await memory.read("office", as_of=oslo)).memories
    assert (then.id, then.version, then.content) == (office.id, 1, "The office is in Oslo")
    (missing,) = (await memory.read(["office"], as_of=closed)).missing
    assert "in the trash" in missing.why
    (missing,) = (await memory.read(["office"], as_of=before)).missing
    assert "did not exist" in missing.why


async def test_a_cursor_of_the_past_leads_through_all_of_it(memory: MemoryClient) -> None:
    for number in range(5):
        await memory.remember(f"Reading number {number} of the meter", name=f"meter-{number}")
    then = datetime.now(UTC)
    await memory.revise("meter-2", text="The meter was replaced")
    await memory.remember("Reading number 9 of the meter")
    seen, cursor = list[str](), ""
    while not seen or cursor:
        page = await memory.recall("reading of the meter", as_of=then, limit=2, cursor=cursor)
        seen += passages(page)
        cursor = page.cursor
    assert sorted(seen) == [f"Reading number {number} of the meter" for number in range(5)]


async def test_a_branch_is_shown_in_its_place_then_and_now(memory: MemoryClient) -> None:
    office = await memory.remember("The office is in Oslo", name="office")
    await memory.remember("Lunch at the office is at noon", name="lunch")
    before = datetime.now(UTC)
    await memory.branch("office", "plan")
    await memory.revise("office", text="The office is in Bergen", branch="plan")
    planned = datetime.now(UTC)
    await memory.revise("office", text="The office is in Tromsø", branch="plan")
    question = "where is the office?"
    hits = (await memory.recall(question, branch="plan")).hits
    assert {hit.passage for hit in hits} == {"The office is in Tromsø", "Lunch at the office is at noon"}
    assert office.id in {hit.id for hit in hits}
    assert "The office is in Oslo" in passages(await memory.recall(question))
    assert "The office is in Bergen" in passages(await memory.recall(question, branch="plan", as_of=planned))
    assert "The office is in Oslo" in passages(await memory.recall(question, branch="plan", as_of=before))
    await memory.switch("office", "plan")
    (current,) = (await memory.read("office")).memories
    assert (current.id, current.branch, current.content) == (office.id, "plan", "The office is in Tromsø")
    (then,) = (await memory.read(["office"], as_of=before)).memories
    assert then.content == "The office is in Oslo"
    await memory.drop_branch("office", "plan")
    assert "The office is in Oslo" in passages(await memory.recall(question, branch="plan"))
    assert "The office is in Bergen" in passages(await memory.recall(question, branch="plan", as_of=planned))


async def test_an_invalid_time_is_refused(memory: MemoryClient) -> None:
    await memory.remember("The office is in Oslo", name="office")
    with pytest.raises(InvalidInput) as caught:
        await memory.recall("office", as_of="the day before")
    assert caught.value.fields["field"] == "as_of"
    with pytest.raises(InvalidInput, match="exclude each other"):
        await memory.read("office", version=1, as_of=datetime.now(UTC))
    with pytest.raises(NotFound, match="no branch"):
        await memory.read("office", branch="nowhere")


async def test_a_purge_takes_the_past_with_it(memory: MemoryClient) -> None:
    await memory.remember("The secret is under the mat", name="secret")
    then = datetime.now(UTC)
    assert len((await memory.recall("secret", as_of=then)).hits) == 1
    await memory.forget("secret")
    assert len((await memory.recall("secret", as_of=then)).hits) == 1
    await memory.purge("secret")
    assert (await memory.recall("secret", as_of=then)).hits == ()
    assert (await memory.read(["secret"], as_of=then)).memories == ()
