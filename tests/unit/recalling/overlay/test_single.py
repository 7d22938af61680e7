"""`read` on a branch, at a moment of the past, and of what was superseded or merged."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from tests.fakes.build import START, a_commit, a_memory, a_rewrite, revised
from tests.unit.recalling.lines import branched, rewritten, switched, told
from tests.unit.write_world import SPACE, Workshop

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory, Observation, Source, State, Trust
from scrubjay.model.timestamps import to_iso

MARCH = datetime(2026, 3, 1, tzinfo=UTC)


async def test_a_memory_is_read_as_it_was(shop: Workshop) -> None:
    before = shop.clock.now()
    office = await shop.kept(Draft(text="in Oslo", name="office"))
    first = shop.clock.now()
    await shop.revise("office", content="in Bergen")
    second = shop.clock.now()
    await shop.forget("office")
    trashed = shop.clock.now()
    await shop.restore("office")
    assert (await told(shop, "office", as_of=first)).texts == ("in Oslo",)
    assert (await told(shop, office.id, as_of=second)).texts == ("in Bergen",)
    assert (await told(shop, "office", as_of=second)).memories[0].version == 2
    (missing,) = (await told(shop, "office", as_of=before)).missing
    assert (missing.ref, missing.suggestions) == ("office", ())
    assert missing.why == f"it did not exist at {to_iso(before)}: it is of {to_iso(office.created_at)}"
    (missing,) = (await told(shop, office.id, as_of=trashed)).missing
    assert (missing.ref, missing.why) == (office.id, f"it was in the trash at {to_iso(trashed)}")


async def test_several_are_read_as_they_were_once_each(shop: Workshop) -> None:
    tea = await shop.kept(Draft(text="tea", name="tea"))
    then = shop.clock.now()
    await shop.remember(Draft(text="milk", name="milk"))
    await shop.relate("tea", "milk")
    found = await told(shop, "milk", "tea", "nobody", tea.id, as_of=then, format="markdown")
    assert [memory.id for memory in found.memories] == [tea.id]
    assert [one.ref for one in found.missing] == ["milk", "nobody"]
    assert found.relations == ()
    assert f"as of {to_iso(then)}" in found.texts[0]
    now = shop.clock.now()
    assert "[[milk]]" in (await told(shop, "tea", as_of=now, format="markdown")).texts[0]


async def test_what_is_missing_in_every_space_still_says_why(shop: Workshop) -> None:
    then = shop.clock.now()
    await shop.remember(Draft(text="tea", name="tea"))
    (missing,) = (await told(shop, "tea", as_of=then, spaces=(SPACE, "other"))).missing
    assert missing.why.startswith("it did not exist")


async def test_whoever_had_the_name_then_answers_to_it(shop: Workshop) -> None:
    old = await shop.kept(Draft(text="the old plan", name="plan"))
    then = shop.clock.now()
    await shop.forget(old.id)
    await shop.remember(Draft(text="the new plan", name="plan"))
    assert (await told(shop, "plan", as_of=then)).texts == ("the old plan",)
    assert (await told(shop, "plan")).texts == ("the new plan",)


async def test_whoever_was_called_so_then_answers_though_it_is_called_otherwise_now(shop: Workshop) -> None:
    bridge = await shop.kept(Draft(text="the old story", name="bridge", title="The bridge"))
    then = shop.clock.now()
    await shop.revise("bridge", name="viaduct", title="The viaduct", content="the new story")
    for ref in ("bridge", "The bridge", "viaduct"):
        assert (await told(shop, ref, as_of=then)).texts == ("the old story",)
    assert [one.ref for one in (await told(shop, "bridge")).missing] == ["bridge"]
    other = await shop.kept(Draft(text="another bridge", name="bridge"))
    assert [memory.id for memory in (await told(shop, "bridge", as_of=then)).memories] == [bridge.id]
    now = shop.clock.now()
    assert [memory.id for memory in (await told(shop, "bridge", as_of=now)).memories] == [other.id]
    assert (await told(shop, "nobody", as_of=then)).missing[0].ref == "nobody"


async def test_a_version_and_a_moment_cannot_be_had_together(quick: Workshop) -> None:
    with pytest.raises(InvalidInput, match="together") as caught:
        await told(quick, "tea", version=1, as_of=START)
    assert caught.value.fields["field"] == "as_of"
    with pytest.raises(InvalidInput, match="zone"):
        await told(quick, "tea", as_of=datetime(2026, 1, 1))  # noqa: DTZ001 - the point


# ---- branches -------------------------------------------------------------------------------------


async def test_a_branch_is_read_as_the_memory_itself(shop: Workshop) -> None:
    office = await shop.kept(Draft(text="in Oslo", name="office", title="Office"))
    await branched(shop, office, "plan", "in Bergen")
    found = await told(shop, "office", branch="plan", format="markdown")
    (memory,) = found.memories
    assert (memory.id, memory.state, memory.branch, memory.version) == (office.id, State.LIVE, "plan", 2)
    assert found.texts[0].splitlines()[2].endswith(f" · branch: plan · version 2 · {office.id}*")
    assert (await told(shop, "office", branch="plan")).texts == ("(on branch plan)\nin Bergen",)
    assert json.loads((await told(shop, "office", branch="plan", format="json")).texts[0])["branch"] == "plan"
    for main in ("", "main"):
        assert (await told(shop, "office", branch=main)).texts == ("in Oslo",)


async def test_without_a_name_it_is_the_branch_that_a_memory_is_switched_to(shop: Workshop) -> None:
    office = await shop.kept(Draft(text="in Oslo", name="office"))
    line = await branched(shop, office, "plan", "in Bergen")
    await switched(shop, office, "plan")
    assert (await told(shop, "office")).memories[0].content == "in Bergen"
    assert (await told(shop, "office", branch="main")).memories[0].content == "in Oslo"
    assert (await told(shop, line.id)).memories[0].id == office.id
    await shop.forget("office")
    assert (await told(shop, "office")).memories[0].state is State.TRASHED
    await rewritten(shop, line, state=State.TRASHED)
    assert (await told(shop, "office")).memories[0].content == "in Oslo"


async def test_a_branch_there_is_not_is_named(quick: Workshop) -> None:
    await quick.remember(Draft(text="in Oslo", name="office"))
    with pytest.raises(NotFound, match="no branch 'plan'"):
        await told(quick, "office", branch="plan")
    with pytest.raises(InvalidInput, match="branch"):
        await told(quick, "office", branch=3)  # type: ignore[arg-type]


async def test_of_several_those_that_are_not_there_so_are_missing(shop: Workshop) -> None:
    office = await shop.kept(Draft(text="in Oslo", name="office"))
    await branched(shop, office, "plan", "in Bergen")
    await shop.remember(Draft(text="tea", name="tea"))
    found = await told(shop, "tea", "office", "nobody", branch="plan", spaces=(SPACE, "other"))
    assert [memory.content for memory in found.memories] == ["in Bergen"]
    assert {one.ref: one.why for one in found.missing} == {"tea": "'tea' has no branch 'plan'", "nobody": ""}
    await shop.revise("tea", content="green tea")
    found = await told(shop, "office", "tea", version=2)
    assert [memory.content for memory in found.memories] == ["green tea"]
    assert [one.why for one in found.missing] == ["version 2 of 'office' is on branch 'plan', not on 'main'"]


async def test_a_version_there_is_not_is_told_as_everywhere(quick: Workshop) -> None:
    await quick.remember(Draft(text="in Oslo", name="office"))
    with pytest.raises(NotFound, match="'office' has no version 7") as caught:
        await told(quick, "office", version=7)
    assert caught.value.hint == "Its versions go from 1 to 1"


async def test_versions_before_the_branch_are_those_of_the_memory(shop: Workshop) -> None:
    office = await shop.kept(Draft(text="in Oslo", name="office"))
    line = await branched(shop, office, "plan", "in Bergen")
    await rewritten(shop, line, content="in Tromsø")
    contents = [(await told(shop, "office", branch="plan", version=number)).memories[0].content for number in (1, 2, 3)]
    assert contents == ["in Oslo", "in Bergen", "in Tromsø"]
    with pytest.raises(NotFound, match="version 4"):
        await told(shop, "office", branch="plan", version=4)


async def test_before_there_was_a_branch_the_memory_stands_for_it(shop: Workshop) -> None:
    office = await shop.kept(Draft(text="in Oslo", name="office"))
    before = shop.clock.now()
    line = await branched(shop, office, "plan", "in Bergen")
    first = shop.clock.now()
    await rewritten(shop, line, content="in Tromsø")
    for moment, content in ((before, "in Oslo"), (first, "in Bergen"), (shop.clock.now(), "in Tromsø")):
        (memory,) = (await told(shop, "office", branch="plan", as_of=moment)).memories
        assert (memory.id, memory.content, memory.state) == (office.id, content, State.LIVE)


async def test_a_branch_that_was_dropped_is_still_one_of_its_day(shop: Workshop) -> None:
    office = await shop.kept(Draft(text="in Oslo", name="office"))
    line = await branched(shop, office, "plan", "in Bergen")
    then = shop.clock.now()
    await rewritten(shop, line, state=State.TRASHED)
    dropped = shop.clock.now()
    await shop.forget("office")
    trashed = shop.clock.now()
    assert (await told(shop, "office", branch="plan", as_of=then)).memories[0].content == "in Bergen"
    assert (await told(shop, "office", branch="plan", as_of=dropped)).memories[0].content == "in Oslo"
    assert (await told(shop, "office", branch="plan", as_of=trashed)).missing[0].why.startswith("it was in the trash")
    await shop.restore("office")
    with pytest.raises(NotFound, match="no branch"):
        await told(shop, "office", branch="other", as_of=then)


# ---- what no longer holds -------------------------------------------------------------------------


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


async def test_what_was_superseded_stands_at_the_end_and_says_until_when(shop: Workshop) -> None:
    await shop.store.commit(a_commit(sarah()))
    (text,) = (await told(shop, "sarah", format="markdown")).texts
    assert text.splitlines()[4:] == [
        "- has a dog",
        "- lives in Bergen *(chat-7, bot, user)*",
        "- is tall",
        "- until 2026-03-01: lives in Oslo",
    ]
    (text,) = (await told(shop, "sarah")).texts
    assert text.splitlines()[-1] == "lives in Oslo (until 2026-03-01)"
    (text,) = (await told(shop, "sarah", format="json")).texts
    first, _, third, _ = json.loads(text)["observations"]
    assert first["valid_until"] == "2026-03-01T00:00:00Z"
    assert third["source"] == {"session": "chat-7", "agent": "bot", "trust": "user"}


async def test_what_held_then_is_shown_as_holding(shop: Workshop) -> None:
    await shop.store.commit(a_commit(sarah()))
    february = MARCH - timedelta(days=1)
    (text,) = (await told(shop, "sarah", as_of=february)).texts
    assert text.splitlines()[0] == "lives in Oslo"
    (text,) = (await told(shop, "sarah", as_of=MARCH)).texts
    assert text.splitlines()[-1] == "lives in Oslo (until 2026-03-01)"


async def test_a_memory_that_was_superseded_as_a_whole_says_so(quick: Workshop) -> None:
    await quick.store.commit(a_commit(a_memory("in Oslo", name="office", valid_until=MARCH)))
    (text,) = (await told(quick, "office", format="markdown")).texts
    assert " · until 2026-03-01 · " in text
    (text,) = (await told(quick, "office", format="markdown", as_of=MARCH - timedelta(days=1))).texts
    assert "until" not in text


async def test_a_merged_memory_is_reached_by_its_old_id_and_name(shop: Workshop) -> None:
    kept, merged = a_memory("green tea", name="tea", title="Tea"), a_memory("also tea", name="old-tea", title="Old tea")
    await shop.store.commit(a_commit(kept, merged))
    gone = replace(revised(merged), state=State.MERGED, merged_into=kept.id)
    await shop.store.commit(a_commit(a_rewrite(gone)))
    for ref in ("old-tea", "Old tea", merged.id):
        found = await told(shop, ref, format="markdown")
        assert found.memories == (gone,)
        assert " · merged · into [[Tea]] · " in found.texts[0]
        assert json.loads((await told(shop, ref, format="json")).texts[0])["merged_into"] == kept.id
    assert (await told(shop, "old-tea", as_of=merged.updated_at)).memories == (merged,)
