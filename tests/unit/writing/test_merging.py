"""A merge from draft to answer: the stored memory, the result, and undo."""

from dataclasses import replace

import pytest
from tests.new_files import NewStores
from tests.unit.harness import PLAIN, SPACE, Harness

from scrubjay.errors import InvalidInput, KeyReused, WrongState
from scrubjay.model.change import Action
from scrubjay.model.draft import Draft, Limits
from scrubjay.model.memory import Memory, Method, Source, State
from scrubjay.model.query import Filter
from scrubjay.model.requests import Selection
from scrubjay.model.rules import Rules
from scrubjay.ports import Commit, Committed
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.versions.revert import revert
from scrubjay.versions.undo import undo
from scrubjay.writing.pipeline import remember
from scrubjay.writing.review import approve, decline, inbox
from scrubjay.writing.rules import set_rules

FIRST = Draft(text="The token is refreshed before it is read.", session_hint="auth", tags=("auth",))
SECOND = Draft(
    text="The command line asks again after 401.", session_hint="auth", intent="continue", tags=("cli",),
    source=Source(agent="codex"),
)  # fmt: skip


async def both(harness: Harness) -> tuple[Memory, Memory]:
    """Return the continued memory and its continuation."""
    first = await harness.remember(FIRST)
    done = await harness.remember(SECOND)
    assert (done.action, done.id, done.merged_into, done.version) == ("merged", first.id, first.id, 2)
    (part,) = await harness.store.list_ids(SPACE, Filter(state=State.MERGED), limit=5)
    return await harness.get(first.id), await harness.get(part)


async def test_a_merge_keeps_both_texts_and_the_source_of_each_statement(harness: Harness) -> None:
    whole, part = await both(harness)
    assert whole.content == f"{FIRST.text}\n\n{SECOND.text}"
    assert whole.tags == ("auth", "cli")
    (merged,) = whole.merged
    assert (merged.id, merged.source.agent, merged.statements) == (part.id, "codex", (SECOND.text,))
    assert (part.state, part.merged_into, part.content) == (State.MERGED, whole.id, SECOND.text)
    versions = await harness.store.versions(SPACE, whole.id, limit=5)
    assert [version.action for version in versions] == ["merged", "created"]


async def test_revert_gives_back_both(harness: Harness) -> None:
    whole, part = await both(harness)
    reverted = await revert(whole.id, to=1, message="", space=SPACE, origin=harness.origin(), store=harness.store)
    assert part.name in reverted.warnings[0]
    after, other = await harness.get(whole.id), await harness.get(part.id)
    assert (after.content, after.merged) == (FIRST.text, ())
    assert (other.state, other.merged_into, other.content) == (State.LIVE, "", SECOND.text)
    recalled = await harness.recall("when does the command line ask again?")
    assert part.id in {hit.id for hit in recalled.hits}


async def test_a_name_that_was_taken_meanwhile_is_not_taken_back(harness: Harness) -> None:
    whole, part = await both(harness)
    await harness.remember(Draft(text="something else", name=part.name))
    await revert(whole.id, to=1, message="", space=SPACE, origin=harness.origin(), store=harness.store)
    assert (await harness.get(part.id)).name.startswith(f"{part.name}-")


async def test_undo_takes_back_the_write_and_nothing_else(harness: Harness) -> None:
    whole, part = await both(harness)
    await undo(run="", agent="tester", space=SPACE, origin=harness.origin(), store=harness.store)
    assert (await harness.get(whole.id)).content == FIRST.text
    assert (await harness.get(part.id)).state is State.TRASHED


async def test_a_purge_includes_merged_parts(harness: Harness) -> None:
    whole, part = await both(harness)
    await harness.forget(whole.id)
    done = await harness.purge(whole.id)
    assert {change.id for change in done.done} == {whole.id, part.id}
    assert not await harness.store.get(SPACE, [whole.id, part.id])


async def test_a_merged_part_is_not_restored_besides_its_whole(harness: Harness) -> None:
    _, part = await both(harness)
    with pytest.raises(WrongState) as refused:
        await harness.restore(part.id)
    assert "revert" in refused.value.hint


async def test_a_merge_that_adds_nothing_changes_nothing(harness: Harness) -> None:
    whole, _ = await both(harness)
    seq = await harness.store.last_seq()
    again = await harness.remember(replace(SECOND, text=f"  {SECOND.text}!!".replace(".!!", "!")))
    assert (again.action, again.id, again.version) == ("unchanged", whole.id, 2)
    assert await harness.store.last_seq() == seq


async def test_a_dry_run_of_a_merge_tells_it_and_does_nothing(harness: Harness) -> None:
    first = await harness.remember(FIRST)
    seq = await harness.store.last_seq()
    would = await harness.remember(replace(SECOND, dry_run=True))
    assert (would.action, would.merged_into, would.version) == ("merged", first.id, 1)
    assert await harness.store.last_seq() == seq


async def test_a_key_tells_of_the_merge_again(harness: Harness) -> None:
    await harness.remember(FIRST)
    keyed = replace(SECOND, idempotency_key="k")
    done = await harness.remember(keyed)
    again = await harness.remember(keyed)
    assert replace(again, trace=done.trace) == done
    assert len(await harness.store.list_ids(SPACE, Filter(state=State.MERGED), limit=5)) == 1
    with pytest.raises(KeyReused):
        await harness.remember(replace(keyed, text="another"))


class OvertakenStore(SqliteStore):
    """A store in which another client revises the target just before the merge is committed."""

    meanwhile = 1

    async def commit(self, commit: Commit) -> Committed:
        merges = [write for write in commit.writes if write.action is Action.MERGED]
        if merges and self.meanwhile:
            self.meanwhile -= 1
            harness = Harness(store=self)
            await harness.revise(merges[0].memory.id, content=f"{FIRST.text} It was tried.")
        return await super().commit(commit)


async def test_a_target_changed_meanwhile_is_merged_in_its_latest_version(new_store: NewStores) -> None:
    harness = Harness(store=new_store(OvertakenStore))
    first = await harness.remember(FIRST)
    done = await harness.remember(SECOND)
    assert (done.action, done.version) == ("merged", 3)
    assert (await harness.get(first.id)).content == f"{FIRST.text} It was tried.\n\n{SECOND.text}"


@pytest.mark.parametrize(
    "draft",
    [
        Draft(text="one", intent="continue"),
        Draft(text="one", intent="continue", session_hint="s", entities=("a", "b")),
    ],
)
async def test_a_draft_that_contradicts_itself_is_refused(harness: Harness, draft: Draft) -> None:
    with pytest.raises(InvalidInput) as refused:
        await harness.remember(draft)
    assert refused.value.fields["field"] == "intent"


async def test_a_refused_text_is_not_stored_and_the_reason_is_given(harness: Harness) -> None:
    harness.rules = replace(PLAIN, density="reject")
    done = await harness.remember(Draft(text="ok"))
    assert (done.action, done.id, done.ids, done.version) == ("rejected", "", (), 0)
    assert "thin" in done.warnings[0]
    assert await harness.store.last_seq() == 0


async def test_a_memory_of_an_agent_waits_for_approval(harness: Harness) -> None:
    harness.rules = replace(PLAIN, review="agents")
    draft = Draft(text="Sarah prefers tea", source=Source(method=Method.AGENT))
    first = await harness.remember(draft)
    second = await harness.remember(replace(draft, text="Sarah prefers coffee"))
    mine = await harness.remember("Sarah prefers milk")
    assert "waits" in first.warnings[0]
    assert {hit.id for hit in (await harness.recall("what does Sarah prefer?")).hits} == {mine.id}
    assert {memory.id for memory in await inbox(SPACE, store=harness.store, limit=5)} == {first.id, second.id}
    with pytest.raises(WrongState):
        await harness.restore(first.id)
    await approve(Selection(ids=(first.id,)), space=SPACE, origin=harness.origin(), store=harness.store)
    await decline(Selection(ids=(second.id,)), space=SPACE, origin=harness.origin(), store=harness.store)
    assert {hit.id for hit in (await harness.recall("what does Sarah prefer?")).hits} == {first.id, mine.id}
    assert (await harness.get(second.id)).state is State.TRASHED
    with pytest.raises(WrongState):
        await decline(Selection(ids=(mine.id,)), space=SPACE, origin=harness.origin(), store=harness.store)


async def test_work_for_a_language_model_is_left_with_the_write(harness: Harness) -> None:
    harness.rules = Rules(density="reconstruct")
    context = replace(harness.context, has_llm=True)
    outcome = await remember(Draft(text="Fixed it."), space=SPACE, origin=harness.origin(), context=context)
    assert [job.kind for job in outcome.jobs] == ["reconstruct", "tags"]
    (first, *_) = await harness.store.documents(SPACE, "jobs", limit=5)
    assert first.value["about"] == {"memory_id": outcome.answer.id}
    none = await remember(
        Draft(text="Fixed it again."), space=SPACE, origin=harness.origin(), context=replace(context, rules=PLAIN)
    )
    assert none.jobs == ()


async def test_rules_of_a_space_hold_there_alone(harness: Harness) -> None:
    default = Rules()
    changed = await set_rules(
        {"most_tags": 20, "least_tags": 9},
        space=SPACE,
        now=harness.clock.now(),
        default=default,
        documents=harness.store,
    )
    assert (changed.most_tags, changed.least_tags) == (20, 9)
    again = await set_rules(
        {"gate": "off"}, space=SPACE, now=harness.clock.now(), default=default, documents=harness.store
    )
    assert (again.most_tags, again.gate) == (20, "off")
    back = await set_rules(
        {"most_tags": None, "least_tags": None},
        space=SPACE,
        now=harness.clock.now(),
        default=default,
        documents=harness.store,
    )
    assert back == Rules(gate="off")
    for wrong in ({}, {"gate": "maybe"}, {"least_tags": 9}):
        with pytest.raises(InvalidInput):
            await set_rules(wrong, space=SPACE, now=harness.clock.now(), default=default, documents=harness.store)
    assert await harness.store.documents("other", "rules", limit=5) == []


async def test_a_text_that_would_make_its_target_too_large_is_stored_by_itself(harness: Harness) -> None:
    harness.limits = Limits(text_bytes=60)
    first = await harness.remember(FIRST)
    second = await harness.remember(SECOND)
    assert (second.action, second.id != first.id) == ("created", True)
    assert "too large" in second.warnings[0]


async def test_differing_fields_are_reported_and_stay_with_their_own_record(harness: Harness) -> None:
    await harness.remember(replace(FIRST, metadata={"status": "open"}))
    done = await harness.remember(replace(SECOND, metadata={"status": "closed"}))
    assert "status" in done.warnings[0]
    (part,) = await harness.store.list_ids(SPACE, Filter(state=State.MERGED), limit=5)
    assert (await harness.get(part)).metadata == {"status": "closed"}


async def test_a_statement_removed_from_the_text_is_attributed_to_no_source(harness: Harness) -> None:
    whole, part = await both(harness)
    await harness.revise(whole.id, content=FIRST.text)
    (merged,) = (await harness.get(whole.id)).merged
    assert (merged.id, merged.statements) == (part.id, ())
