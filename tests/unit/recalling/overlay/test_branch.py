"""`recall` on a branch: memories that have it are shown as on it, all others as on main."""

from collections.abc import Mapping
from datetime import datetime

import pytest
from tests.unit.harness import SPACE, Harness
from tests.unit.recalling.branches import make_branch, rewrite_branch

from scrubjay.errors import InvalidInput
from scrubjay.model.draft import Draft
from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.model.requests import RecallRequest
from scrubjay.model.results import Recalled
from scrubjay.recalling.overlay.build import open_reader
from scrubjay.recalling.overlay.overlay import OverlayCache


def passages(answer: Recalled) -> list[str]:
    return [hit.passage for hit in answer.hits]


async def on(harness: Harness, branch: str, query: str = "office", *, contains: str = "") -> Recalled:
    return await harness.recall(RecallRequest(query=query, branch=branch, contains=contains))


async def test_a_branch_replaces_the_memory_and_main_never_sees_it(harness: Harness) -> None:
    office = await harness.store_draft(Draft(text="The office is in Oslo", title="Office"))
    await harness.remember("The office has a kitchen")
    await make_branch(harness, office, "plan", "The office is in Tromsø")
    for query in ("where is the office?", ""):
        assert sorted(passages(await on(harness, "plan", query))) == [
            "The office has a kitchen",
            "The office is in Tromsø",
        ]
        for main in ("main", "", "other"):
            assert sorted(passages(await on(harness, main, query))) == [
                "The office has a kitchen",
                "The office is in Oslo",
            ]
    (hit,) = (
        await harness.recall(RecallRequest(query="Tromsø", branch="plan", limit=1, detail="full", explain=True))
    ).hits
    assert (hit.id, hit.name) == (office.id, office.name)
    assert hit.memory is not None
    assert (hit.memory.branch, hit.memory.state, hit.memory.id) == ("plan", State.LIVE, office.id)
    assert (hit.why[-1], hit.branch) == ("on branch plan", "plan")
    assert "Oslo" not in str(await on(harness, "plan", "Oslo"))


async def test_the_name_of_a_branch_is_exact(harness: Harness) -> None:
    office = await harness.store_draft("office in Oslo")
    await make_branch(harness, office, "Plan", "office in Bergen")
    assert passages(await on(harness, "plan")) == ["office in Oslo"]
    assert passages(await on(harness, "Plan")) == ["office in Bergen"]


async def test_a_branch_of_a_trashed_memory_is_not_shown(harness: Harness) -> None:
    office = await harness.store_draft("office in Oslo")
    await make_branch(harness, office, "plan", "office in Bergen")
    await harness.forget(office.id)
    assert passages(await on(harness, "plan")) == []
    gone = await harness.recall(RecallRequest(query="office", branch="plan", filter=Filter(state=State.TRASHED)))
    assert passages(gone) == ["office in Oslo"]


async def test_filters_contained_texts_and_pins_go_by_the_branch(harness: Harness) -> None:
    office = await harness.store_draft(Draft(text="office in Oslo", kind="fact"))
    record = await make_branch(harness, office, "plan", "office in Bergen")
    expected = RecallRequest(query="office", branch="plan", filter=Filter(kind="fact"), contains="BERGEN")
    assert passages(await harness.recall(expected)) == [record.content]
    assert passages(await on(harness, "plan", contains="oslo")) == []
    profile = await harness.store_draft(Draft(text="profile", pinned=True))
    await make_branch(harness, profile, "plan", "another profile")
    assert [hit.passage for hit in (await on(harness, "plan")).pinned] == ["another profile"]
    assert [hit.passage for hit in (await on(harness, "main")).pinned] == ["profile"]


async def test_pages_of_a_branch_show_each_once(harness: Harness) -> None:
    made = [await harness.store_draft(f"office {number}") for number in range(6)]
    for number in (1, 4):
        await make_branch(harness, made[number], "plan", f"office {number} moved")
    for query in ("office", ""):
        seen, cursor = list[str](), ""
        while not seen or cursor:
            page = await harness.recall(RecallRequest(query=query, branch="plan", limit=2), cursor=cursor)
            seen += [hit.id for hit in page.hits]
            cursor = page.cursor
        assert sorted(seen) == sorted(memory.id for memory in made)
    # The changes on the branch are the latest.
    assert seen[:2] == [made[4].id, made[1].id]


async def test_a_branch_of_the_past(harness: Harness) -> None:
    office = await harness.store_draft("office in Oslo")
    expected = {harness.clock.now(): "office in Oslo"}
    record = await make_branch(harness, office, "plan", "office in Bergen")
    expected[harness.clock.now()] = "office in Bergen"
    record = await rewrite_branch(harness, record, content="office in Tromsø")
    expected[harness.clock.now()] = "office in Tromsø"
    await _check_moments(harness, expected)
    await rewrite_branch(harness, record, state=State.TRASHED)
    expected[harness.clock.now()] = "office in Oslo"
    await harness.forget(office.id)
    await _check_moments(harness, expected)
    assert passages(await on(harness, "plan")) == []


async def _check_moments(harness: Harness, expected: Mapping[datetime, str]) -> None:
    for moment, text in expected.items():
        for query in ("office", ""):
            assert passages(await harness.recall(RecallRequest(query=query, branch="plan", as_of=moment))) == [text]
            assert passages(await harness.recall(RecallRequest(query=query, as_of=moment))) == ["office in Oslo"]


async def test_branches_beyond_the_limit_are_reported(harness: Harness) -> None:
    for number in range(3):
        await make_branch(harness, await harness.store_draft(f"office {number}"), "plan", f"moved {number}")
    question = RecallRequest(query="", branch="plan")
    reader = await open_reader(
        question, space=SPACE, store=harness.store, now=harness.clock.now(), max_memories=2, cache=OverlayCache()
    )
    assert len(reader.overlay.memories) == 2
    assert reader.overlay.degraded[0].startswith("more than 2 memories have the branch 'plan'")


async def test_a_branch_is_a_name(harness: Harness) -> None:
    with pytest.raises(InvalidInput, match="branch"):
        await harness.recall(RecallRequest(query="tea", branch=7))  # type: ignore[arg-type]


async def test_a_branch_that_no_memory_has_is_reported(harness: Harness) -> None:
    office = await harness.store_draft("office in Oslo")
    await make_branch(harness, office, "plan", "office in Bergen")
    answer = await on(harness, "plna")
    assert passages(answer) == ["office in Oslo"]
    assert answer.degraded == ("no memory has a branch 'plna': all are shown as on main",)
    assert {hit.branch for hit in answer.hits} == {"main"}
    assert (await on(harness, "plan")).degraded == ()


async def test_listed_branches_have_their_names(harness: Harness) -> None:
    office = await harness.store_draft("office in Oslo")
    records = [await make_branch(harness, office, name, f"office of the {name}") for name in ("plan", "other", "old")]
    await rewrite_branch(harness, records.pop(), state=State.TRASHED)
    answer = await harness.recall("office", filter=Filter(state=State.BRANCHED))
    # By its own id: forgetting a hit must not forget the memory.
    assert {(hit.branch, hit.id) for hit in answer.hits} == {(record.branch, record.id) for record in records}
    (dropped,) = (await harness.recall("office", filter=Filter(state=State.TRASHED))).hits
    assert dropped.branch == "old"
