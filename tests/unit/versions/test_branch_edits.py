"""`revise` on a branch, and the sources of observations."""

import asyncio
from dataclasses import asdict, replace

import pytest
from tests.fakes.build import START, a_memory
from tests.unit.harness import SPACE
from tests.unit.versions.branch_editor import TEA, BranchEditor

from scrubjay.errors import NotFound, StaleVersion
from scrubjay.idempotency import idempotent_request
from scrubjay.model.draft import Limits
from scrubjay.model.memory import MAIN, Memory, Observation, Source, Trust
from scrubjay.model.requests import Edit
from scrubjay.writing.revise import apply_edit

LATER = START.replace(year=START.year + 1)
BOB = Source(agent="bob", trust=Trust.USER)
PAST = (
    Observation(text="lives in Oslo", recorded_at=START, valid_until=START),
    Observation(text="likes tea", recorded_at=START, source=BOB),
)


def edited(edit: Edit, *, memory: Memory | None = None) -> Memory:
    memory = memory or replace(a_memory("Sarah"), observations=PAST)
    return apply_edit(memory, edit, now=LATER, limits=Limits())[0]


async def test_an_edit_names_its_branch(editor: BranchEditor) -> None:
    tea = await editor.plant()
    await editor.branch()
    done = await editor.harness.revise("tea", Edit(fields={"title": "Cold"}, branch="draft", expected_version=2))
    assert (done.id, done.branch, done.version) == (tea.id, "draft", 3)
    same = await editor.harness.revise("tea", Edit(fields={"title": "Cold"}, branch="draft"))
    assert (same.action, same.id, same.branch, same.version) == ("unchanged", tea.id, "draft", 3)
    with pytest.raises(StaleVersion) as caught:
        await editor.harness.revise("tea", Edit(fields={"title": "x"}, branch="draft", expected_version=2))
    assert (caught.value.fields["memory_id"], caught.value.fields["current"]) == (tea.id, 3)
    with pytest.raises(NotFound, match="no branch 'nobody'"):
        await editor.harness.revise("tea", Edit(fields={"title": "x"}, branch="nobody"))
    assert (await editor.record(MAIN)).title == ""


async def test_edits_of_a_branch_at_once_lose_nothing(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch()
    await asyncio.gather(*(editor.add(f"fact {number}", branch="draft") for number in range(6)))
    assert set(await editor.facts("draft")) == {"no milk", "one cup", *(f"fact {number}" for number in range(6))}
    assert await editor.facts(MAIN) == ["no milk", "one cup"]


async def test_an_edit_under_a_key_happens_once_on_its_branch(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch()
    edit = Edit(add_observations=("iced",), branch="draft", idempotency_key="k", source=BOB)
    first = await editor.harness.revise("tea", edit)
    assert await editor.harness.revise("tea", edit) == first
    assert first.branch == "draft"


async def test_a_request_from_before_there_were_branches_is_still_known(editor: BranchEditor) -> None:
    await editor.plant()
    edit = Edit(fields={"title": "Tea"}, idempotency_key="k")
    first = await editor.harness.revise("tea", edit)
    before = {name: value for name, value in asdict(edit).items() if name not in ("branch", "source", "at")}
    ask = idempotent_request("k", {"verb": "revise", "ref": "tea", "edit": before})
    assert await editor.harness.store.find_answer(SPACE, ask.key, ask.digest) is not None
    assert first.version == 2


def test_a_new_observation_has_its_own_source() -> None:
    after = edited(Edit(add_observations=("plays chess", "likes tea"), source=Source(agent="carol")))
    assert [observation.source for observation in after.observations] == [None, BOB, Source(agent="carol")]
    replaced = edited(Edit(fields={"observations": ["likes tea", "sings"]}, source=Source(agent="carol")))
    assert [(observation.text, observation.source) for observation in replaced.observations[1:]] == [
        ("likes tea", BOB),
        ("sings", Source(agent="carol")),
    ]


@pytest.mark.parametrize("source", [None, BOB])
def test_an_observation_from_the_source_of_its_memory_gets_no_source_of_its_own(source: Source | None) -> None:
    memory = replace(a_memory("Sarah"), source=BOB)
    after = edited(Edit(add_observations=("sings",), source=source), memory=memory)
    assert after.observations[0].source is None


def test_former_observations_stay_when_all_are_replaced() -> None:
    assert edited(Edit(fields={"observations": ["sings"]})).observations == (
        PAST[0], Observation(text="sings", recorded_at=LATER),
    )  # fmt: skip
    # Writing back the observations as they were read changes nothing.
    assert edited(Edit(fields={"observations": ["lives in Oslo", "likes tea"]})).observations == PAST


def test_a_former_observation_can_be_added_again() -> None:
    after = edited(Edit(add_observations=("lives in Oslo",)))
    assert after.observations == (*PAST, Observation(text="lives in Oslo", recorded_at=LATER))
    again = edited(Edit(add_observations=("lives in Oslo",)), memory=after)
    assert again == after
    replaced = edited(Edit(fields={"observations": ["lives in Oslo"]}), memory=after)
    assert replaced.observations == (PAST[0], after.observations[2])
    # Removing takes out the current observation first, and the former one if there is no other.
    once = edited(Edit(remove_observations=("lives in Oslo",)), memory=after)
    assert once.observations == PAST
    assert edited(Edit(remove_observations=("lives in Oslo",)), memory=once).observations == PAST[1:]


async def test_replacing_all_on_a_branch_touches_nothing_else(editor: BranchEditor) -> None:
    await editor.plant(TEA)
    await editor.branch(switch=True)
    await editor.write(observations=["black"])
    assert (await editor.facts(), await editor.facts(MAIN)) == (["black"], ["no milk", "one cup"])
