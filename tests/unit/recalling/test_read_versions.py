"""`read` on a branch, as of a moment, and of superseded or merged memories."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from tests.fakes.build import START, a_commit, a_memory, a_rewrite, revised
from tests.unit.harness import SPACE, Harness
from tests.unit.recalling.branches import make_branch, read_memories, rewrite_branch, switch_branch

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory, Observation, Source, State, Trust
from scrubjay.model.timestamps import to_iso

MARCH = datetime(2026, 3, 1, tzinfo=UTC)


async def test_a_memory_is_read_as_it_was(harness: Harness) -> None:
    before = harness.clock.now()
    office = await harness.store_draft(Draft(text="in Oslo", name="office"))
    first = harness.clock.now()
    await harness.revise("office", content="in Bergen")
    second = harness.clock.now()
    await harness.forget("office")
    trashed = harness.clock.now()
    await harness.restore("office")
    assert (await read_memories(harness, "office", as_of=first)).texts == ("in Oslo",)
    assert (await read_memories(harness, office.id, as_of=second)).texts == ("in Bergen",)
    assert (await read_memories(harness, "office", as_of=second)).memories[0].version == 2
    (missing,) = (await read_memories(harness, "office", as_of=before)).missing
    assert (missing.ref, missing.suggestions) == ("office", ())
    assert missing.why == f"it did not exist at {to_iso(before)}: it was created at {to_iso(office.created_at)}"
    (missing,) = (await read_memories(harness, office.id, as_of=trashed)).missing
    assert (missing.ref, missing.why) == (office.id, f"it was in the trash at {to_iso(trashed)}")


async def test_several_are_read_as_they_were_once_each(harness: Harness) -> None:
    tea = await harness.store_draft(Draft(text="tea", name="tea"))
    then = harness.clock.now()
    await harness.remember(Draft(text="milk", name="milk"))
    await harness.relate("tea", "milk")
    result = await read_memories(harness, "milk", "tea", "nothing", tea.id, as_of=then, format="markdown")
    assert [memory.id for memory in result.memories] == [tea.id]
    assert [missing.ref for missing in result.missing] == ["milk", "nothing"]
    assert result.relations == ()
    assert f"as of {to_iso(then)}" in result.texts[0]
    now = harness.clock.now()
    assert "[[milk]]" in (await read_memories(harness, "tea", as_of=now, format="markdown")).texts[0]


async def test_a_memory_missing_in_every_space_has_a_reason(harness: Harness) -> None:
    then = harness.clock.now()
    await harness.remember(Draft(text="tea", name="tea"))
    (missing,) = (await read_memories(harness, "tea", as_of=then, spaces=(SPACE, "other"))).missing
    assert missing.why.startswith("it did not exist")


async def test_the_former_owner_of_a_name_is_found(harness: Harness) -> None:
    old = await harness.store_draft(Draft(text="the old plan", name="plan"))
    then = harness.clock.now()
    await harness.forget(old.id)
    await harness.remember(Draft(text="the new plan", name="plan"))
    assert (await read_memories(harness, "plan", as_of=then)).texts == ("the old plan",)
    assert (await read_memories(harness, "plan")).texts == ("the new plan",)


async def test_a_memory_is_found_by_its_former_name(harness: Harness) -> None:
    bridge = await harness.store_draft(Draft(text="the old story", name="bridge", title="The bridge"))
    then = harness.clock.now()
    await harness.revise("bridge", name="viaduct", title="The viaduct", content="the new story")
    for ref in ("bridge", "The bridge", "viaduct"):
        assert (await read_memories(harness, ref, as_of=then)).texts == ("the old story",)
    assert [missing.ref for missing in (await read_memories(harness, "bridge")).missing] == ["bridge"]
    other = await harness.store_draft(Draft(text="another bridge", name="bridge"))
    assert [memory.id for memory in (await read_memories(harness, "bridge", as_of=then)).memories] == [bridge.id]
    now = harness.clock.now()
    assert [memory.id for memory in (await read_memories(harness, "bridge", as_of=now)).memories] == [other.id]
    assert (await read_memories(harness, "nothing", as_of=then)).missing[0].ref == "nothing"


async def test_a_version_and_a_moment_exclude_each_other(harness: Harness) -> None:
    with pytest.raises(InvalidInput, match="exclude each other") as caught:
        await read_memories(harness, "tea", version=1, as_of=START)
    assert caught.value.fields["field"] == "as_of"
    with pytest.raises(InvalidInput, match="zone"):
        await read_memories(harness, "tea", as_of=datetime(2026, 1, 1))  # noqa: DTZ001 - the point


# ---- branches -------------------------------------------------------------------------------------


async def test_a_branch_is_read_as_the_memory_itself(harness: Harness) -> None:
    office = await harness.store_draft(Draft(text="in Oslo", name="office", title="Office"))
    await make_branch(harness, office, "plan", "in Bergen")
    result = await read_memories(harness, "office", branch="plan", format="markdown")
    (memory,) = result.memories
    assert (memory.id, memory.state, memory.branch, memory.version) == (office.id, State.LIVE, "plan", 2)
    assert result.texts[0].splitlines()[2].endswith(f" · branch: plan · unknown source · version 2 · {office.id}*")
    assert (await read_memories(harness, "office", branch="plan")).texts == ("(on branch plan)\nin Bergen",)
    assert (
        json.loads((await read_memories(harness, "office", branch="plan", format="json")).texts[0])["branch"] == "plan"
    )
    for main in ("", "main"):
        assert (await read_memories(harness, "office", branch=main)).texts == ("in Oslo",)


async def test_without_a_name_it_is_the_branch_that_a_memory_is_switched_to(harness: Harness) -> None:
    office = await harness.store_draft(Draft(text="in Oslo", name="office"))
    record = await make_branch(harness, office, "plan", "in Bergen")
    await switch_branch(harness, office, "plan")
    assert (await read_memories(harness, "office")).memories[0].content == "in Bergen"
    assert (await read_memories(harness, "office", branch="main")).memories[0].content == "in Oslo"
    assert (await read_memories(harness, record.id)).memories[0].id == office.id
    await harness.forget("office")
    assert (await read_memories(harness, "office")).memories[0].state is State.TRASHED
    await rewrite_branch(harness, record, state=State.TRASHED)
    assert (await read_memories(harness, "office")).memories[0].content == "in Oslo"


async def test_a_missing_branch_is_named(harness: Harness) -> None:
    await harness.remember(Draft(text="in Oslo", name="office"))
    with pytest.raises(NotFound, match="no branch 'plan'"):
        await read_memories(harness, "office", branch="plan")
    with pytest.raises(InvalidInput, match="branch"):
        await read_memories(harness, "office", branch=3)  # type: ignore[arg-type]


async def test_of_several_those_without_the_version_are_missing(harness: Harness) -> None:
    office = await harness.store_draft(Draft(text="in Oslo", name="office"))
    await make_branch(harness, office, "plan", "in Bergen")
    await harness.remember(Draft(text="tea", name="tea"))
    result = await read_memories(harness, "tea", "office", "nothing", branch="plan", spaces=(SPACE, "other"))
    assert [memory.content for memory in result.memories] == ["in Bergen"]
    assert {missing.ref: missing.why for missing in result.missing} == {
        "tea": "'tea' has no branch 'plan'",
        "nothing": "",
    }
    await harness.revise("tea", content="green tea")
    result = await read_memories(harness, "office", "tea", version=2)
    assert [memory.content for memory in result.memories] == ["green tea"]
    assert [missing.why for missing in result.missing] == ["version 2 of 'office' is on branch 'plan', not on 'main'"]


async def test_a_missing_version_is_reported(harness: Harness) -> None:
    await harness.remember(Draft(text="in Oslo", name="office"))
    with pytest.raises(NotFound, match="'office' has no version 7") as caught:
        await read_memories(harness, "office", version=7)
    assert caught.value.hint == "Its versions go from 1 to 1"


async def test_versions_before_the_branch_are_those_of_the_memory(harness: Harness) -> None:
    office = await harness.store_draft(Draft(text="in Oslo", name="office"))
    record = await make_branch(harness, office, "plan", "in Bergen")
    await rewrite_branch(harness, record, content="in Tromsø")
    contents = [
        (await read_memories(harness, "office", branch="plan", version=number)).memories[0].content
        for number in (1, 2, 3)
    ]
    assert contents == ["in Oslo", "in Bergen", "in Tromsø"]
    with pytest.raises(NotFound, match="version 4"):
        await read_memories(harness, "office", branch="plan", version=4)


async def test_before_the_branch_main_applies(harness: Harness) -> None:
    office = await harness.store_draft(Draft(text="in Oslo", name="office"))
    before = harness.clock.now()
    record = await make_branch(harness, office, "plan", "in Bergen")
    first = harness.clock.now()
    await rewrite_branch(harness, record, content="in Tromsø")
    for moment, content in ((before, "in Oslo"), (first, "in Bergen"), (harness.clock.now(), "in Tromsø")):
        (memory,) = (await read_memories(harness, "office", branch="plan", as_of=moment)).memories
        assert (memory.id, memory.content, memory.state) == (office.id, content, State.LIVE)


async def test_a_dropped_branch_is_readable_as_of_its_day(harness: Harness) -> None:
    office = await harness.store_draft(Draft(text="in Oslo", name="office"))
    record = await make_branch(harness, office, "plan", "in Bergen")
    then = harness.clock.now()
    await rewrite_branch(harness, record, state=State.TRASHED)
    dropped = harness.clock.now()
    await harness.forget("office")
    trashed = harness.clock.now()
    assert (await read_memories(harness, "office", branch="plan", as_of=then)).memories[0].content == "in Bergen"
    assert (await read_memories(harness, "office", branch="plan", as_of=dropped)).memories[0].content == "in Oslo"
    assert (
        (await read_memories(harness, "office", branch="plan", as_of=trashed))
        .missing[0]
        .why.startswith("it was in the trash")
    )
    await harness.restore("office")
    with pytest.raises(NotFound, match="no branch"):
        await read_memories(harness, "office", branch="other", as_of=then)


# ---- superseded and merged ------------------------------------------------------------------------


def sarah() -> Memory:
    other = Source(session="chat-7", agent="bot", trust=Trust.USER)
    return a_memory(
        "", name="sarah", source=Source(session="chat-1", at=START),
        observations=(
            Observation(text="lives in Oslo", recorded_at=START, valid_until=MARCH),
            Observation(text="has a dog", recorded_at=START, source=Source(session="chat-1", at=START)),
            Observation(text="lives in Bergen", recorded_at=MARCH, source=other),
            Observation(text="is tall", recorded_at=MARCH, source=Source(at=MARCH)),
        ),
    )  # fmt: skip


async def test_superseded_observations_are_at_the_end_with_their_end(harness: Harness) -> None:
    await harness.store.commit(a_commit(sarah()))
    (text,) = (await read_memories(harness, "sarah", format="markdown")).texts
    assert text.splitlines()[4:] == [
        "- has a dog",
        "- lives in Bergen *(chat-7, bot, user)*",
        "- is tall",
        "- until 2026-03-01: lives in Oslo",
    ]
    (text,) = (await read_memories(harness, "sarah")).texts
    assert text.splitlines()[-1] == "lives in Oslo (until 2026-03-01)"
    (text,) = (await read_memories(harness, "sarah", format="json")).texts
    first, _, third, _ = json.loads(text)["observations"]
    assert first["valid_until"] == "2026-03-01T00:00:00Z"
    assert third["source"] == {"session": "chat-7", "agent": "bot", "trust": "user"}


async def test_observations_valid_then_are_shown_as_valid(harness: Harness) -> None:
    await harness.store.commit(a_commit(sarah()))
    february = MARCH - timedelta(days=1)
    (text,) = (await read_memories(harness, "sarah", as_of=february)).texts
    assert text.splitlines()[0] == "lives in Oslo"
    (text,) = (await read_memories(harness, "sarah", as_of=MARCH)).texts
    assert text.splitlines()[-1] == "lives in Oslo (until 2026-03-01)"


async def test_a_memory_that_was_superseded_as_a_whole_says_so(harness: Harness) -> None:
    await harness.store.commit(a_commit(a_memory("in Oslo", name="office", valid_until=MARCH)))
    (text,) = (await read_memories(harness, "office", format="markdown")).texts
    assert " · until 2026-03-01 · " in text
    (text,) = (await read_memories(harness, "office", format="markdown", as_of=MARCH - timedelta(days=1))).texts
    assert "until" not in text


async def test_a_merged_memory_is_reached_by_its_old_id_and_name(harness: Harness) -> None:
    tea, merged = a_memory("green tea", name="tea", title="Tea"), a_memory("also tea", name="old-tea", title="Old tea")
    await harness.store.commit(a_commit(tea, merged))
    gone = replace(revised(merged), state=State.MERGED, merged_into=tea.id)
    await harness.store.commit(a_commit(a_rewrite(gone)))
    for ref in ("old-tea", "Old tea", merged.id):
        result = await read_memories(harness, ref, format="markdown")
        assert result.memories == (gone,)
        assert " · merged · into [[Tea]] · " in result.texts[0]
        assert json.loads((await read_memories(harness, ref, format="json")).texts[0])["merged_into"] == tea.id
    assert (await read_memories(harness, "old-tea", as_of=merged.updated_at)).memories == (merged,)
