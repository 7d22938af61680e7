"""A memory and one of its branches that do not go together: told with both texts, and settled in every way."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.fakes.build import a_commit, a_memory, moment
from tests.unit.conflicts.conflict_world import settle, take_back
from tests.unit.write_world import SPACE, Workshop

from scrubjay.conflicts.listing import conflicts
from scrubjay.lookup.branches import branch_id
from scrubjay.model.conflict import Conflict, ConflictDetails, ConflictStatus, ConflictType, Strategy
from scrubjay.model.draft import Edit, Selection
from scrubjay.model.memory import Memory, Observation, State
from scrubjay.versions import branches
from scrubjay.versions.merge_branch import merge_branch
from scrubjay.versions.merge_fields import merge_records
from scrubjay.versions.merge_text import merge_text
from scrubjay.writing.delete import forget
from scrubjay.writing.revise import revise

COMMON = "Apples are red.\n\nPears are green.\n\nPlums are blue."
MAIN = COMMON.replace("Pears are green.", "Pears are yellow.")
FILE = COMMON.replace("Pears are green.", "Pears are brown.").replace("blue", "violet")


async def parted(shop: Workshop, *, main: str = MAIN, file: str = FILE) -> tuple[Memory, Conflict]:
    """A memory that was changed on main and, in another way, on a branch; and the conflict of both."""
    memory = a_memory(COMMON, name="fruit")
    await shop.store.commit(a_commit(memory))
    shop.clock.set(memory.updated_at + timedelta(minutes=1))
    await branches.branch(
        memory.id, "file-1", description="", at=1, switch=False, space=SPACE, origin=shop.origin(), context=shop.context
    )
    await change(shop, memory.id, main, branch="main")
    await change(shop, memory.id, file, branch="file-1")
    conflict = Conflict(
        space=SPACE, type=ConflictType.CONTRADICTION, memory=memory.id, other=branch_id(memory.id, "file-1"),
        confidence=1.0, suggested=Strategy.MERGE, detected_at=shop.clock.now(), detected_by="file",
    )  # fmt: skip
    await shop.store.put_document(conflict.document(at=conflict.detected_at), base=None)
    return memory, conflict


async def change(shop: Workshop, memory_id: str, text: str, *, branch: str) -> None:
    await revise(
        memory_id,
        Edit(fields={"content": text}, branch=branch),
        space=SPACE,
        origin=shop.origin(),
        context=shop.context,
    )


async def told(shop: Workshop, *, status: str = "pending", ref: str = "") -> tuple[ConflictDetails, ...]:
    return await conflicts(status=status, ref=ref, limit=9, now=shop.clock.now(), space=SPACE, store=shop.store)


async def texts(shop: Workshop, memory: Memory) -> tuple[str, State]:
    line = await shop.get(branch_id(memory.id, "file-1"))
    return (await shop.get(memory.id)).content, line.state


async def test_both_texts_are_told(shop: Workshop) -> None:
    memory, conflict = await parted(shop)
    for found in (await told(shop), await told(shop, ref="fruit"), await told(shop, ref=conflict.id)):
        assert [(one.memory.statement, one.other.statement) for one in found] == [(MAIN, FILE)]
    await forget(Selection(refs=(memory.id,)), space=SPACE, origin=shop.origin(), store=shop.store)
    assert await told(shop) == ()


async def test_of_long_texts_is_told_what_the_other_has_not(shop: Workshop) -> None:
    rest = "\n".join(f"Line {number} is long enough to be left out." for number in range(40))
    await parted(shop, main=f"{MAIN}\n{rest}", file=f"{FILE}\n{rest}")
    (one,) = await told(shop)
    assert one.memory.statement == "Pears are yellow.\nPlums are blue."
    assert one.other.statement == "Pears are brown.\nPlums are violet."


BOTH = "Apples are red.\n\nPears are yellow.\nPears are brown.\n\nPlums are violet."


@pytest.mark.parametrize(
    ("strategy", "action", "text", "state"),
    [
        ("merge", "merged", BOTH, State.TRASHED),
        ("supersede", "superseded", FILE, State.TRASHED),
        ("branch", "branched", MAIN, State.BRANCHED),
        ("update", "updated_scores", MAIN, State.BRANCHED),
        ("ignore", "ignored", MAIN, State.BRANCHED),
    ],
)
async def test_it_is_settled_told_and_undone(
    shop: Workshop, strategy: str, action: str, text: str, state: State
) -> None:
    memory, conflict = await parted(shop)
    # After an undo both were written at the same time, and none of them last.
    for _ in range(1 if strategy == "supersede" else 2):
        done = await settle(shop, conflict, strategy)
        assert (done.action, done.kept) == (action, memory.id)
        assert await texts(shop, memory) == (text, state)
        assert await told(shop) == ()
        (settled,) = await told(shop, status="all")
        assert settled.status is (ConflictStatus.IGNORED if strategy == "ignore" else ConflictStatus.RESOLVED)
        assert (settled.memory.statement, settled.other.statement)[1] == FILE
        assert await take_back(shop) == ()
        assert await texts(shop, memory) == (MAIN, State.BRANCHED)
        assert [one.id for one in await told(shop)] == [conflict.id]


async def test_what_was_written_last_supersedes(shop: Workshop) -> None:
    memory, conflict = await parted(shop)
    shop.clock.set(shop.clock.now() + timedelta(minutes=1))
    await change(shop, memory.id, "Pears are orange.", branch="main")
    # Who is told which is newer is told what would be kept.
    (one,) = await told(shop)
    assert max(one.memory, one.other, key=lambda side: side.date).statement == "Pears are orange."
    await settle(shop, conflict, "supersede")
    assert await texts(shop, memory) == ("Pears are orange.", State.TRASHED)


async def test_by_itself_it_waits_for_a_person(shop: Workshop) -> None:
    _, conflict = await parted(shop)
    done = await settle(shop, conflict)
    assert done.action == "left_pending"
    assert "both changed" in done.why
    assert len(await told(shop)) == 1


async def test_what_was_merged_or_dropped_needs_no_decision(shop: Workshop) -> None:
    memory, _ = await parted(shop)
    await merge_branch(
        memory.id, "file-1", into="main", prefer="theirs", message="", space=SPACE, origin=shop.origin(),
        context=shop.context, key="",
    )  # fmt: skip
    assert await told(shop) == ()
    await change(shop, memory.id, FILE + "\nMore.", branch="file-1")
    assert len(await told(shop)) == 1
    await branches.drop(memory.id, "file-1", space=SPACE, origin=shop.origin(), store=shop.store)
    assert await told(shop) == ()


def test_both_sides_of_a_clash_can_be_had() -> None:
    assert merge_text("a. b. c.", "a. x. c.", "a. y. c.", prefer="both")[0] == "a. x.\ny. c."
    assert merge_text("one\ntwo", "ONE\ntwo", "Eins\ntwo", prefer="both")[0] == "ONE\nEins\ntwo"
    assert merge_text("a\nb", "a", "a\nB", prefer="both")[0] == "a\nB"
    base = a_memory("", observations=(Observation(text="pears are green", recorded_at=moment(0)),))
    ours = replace(base, observations=(Observation(text="pears are yellow", recorded_at=moment(1)),))
    theirs = replace(base, observations=(Observation(text="pears are brown", recorded_at=moment(2)),))
    merged, clashes = merge_records(base, ours, theirs, prefer="both")
    assert len(clashes) == 1
    assert {observation.text for observation in merged.observations} == {"pears are yellow", "pears are brown"}
