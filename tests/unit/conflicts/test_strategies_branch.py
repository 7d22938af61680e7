"""Conflicts of a memory with one of its branches: listed with both texts, and resolved with every strategy."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.fakes.build import a_commit, a_memory, moment
from tests.unit.conflicts.conflict_world import settle, take_back
from tests.unit.harness import SPACE, Harness

from scrubjay.conflicts.listing import conflicts
from scrubjay.lookup.branches import branch_id
from scrubjay.model.conflict import ConflictDetails, ConflictRecord, ConflictStatus, ConflictType, Strategy
from scrubjay.model.memory import Memory, Observation, State
from scrubjay.model.requests import Edit, Selection
from scrubjay.versions import branches
from scrubjay.versions.merge_branch import merge_branch
from scrubjay.versions.merge_fields import merge_records
from scrubjay.versions.merge_text import merge_text
from scrubjay.writing.delete import forget
from scrubjay.writing.revise import revise

COMMON = "Apples are red.\n\nPears are green.\n\nPlums are blue."
MAIN = COMMON.replace("Pears are green.", "Pears are yellow.")
FILE = COMMON.replace("Pears are green.", "Pears are brown.").replace("blue", "violet")


async def parted(harness: Harness, *, main: str = MAIN, file: str = FILE) -> tuple[Memory, ConflictRecord]:
    """Return a memory with different changes on main and on a branch, and their conflict."""
    memory = a_memory(COMMON, name="fruit")
    await harness.store.commit(a_commit(memory))
    harness.clock.set(memory.updated_at + timedelta(minutes=1))
    await branches.branch(
        memory.id,
        "file-1",
        description="",
        at=1,
        switch=False,
        space=SPACE,
        origin=harness.origin(),
        context=harness.context,
    )
    await change(harness, memory.id, main, branch="main")
    await change(harness, memory.id, file, branch="file-1")
    conflict = ConflictRecord(
        space=SPACE, type=ConflictType.CONTRADICTION, memory=memory.id, other=branch_id(memory.id, "file-1"),
        confidence=1.0, suggested=Strategy.MERGE, detected_at=harness.clock.now(), detected_by="file",
    )  # fmt: skip
    await harness.store.put_document(conflict.document(at=conflict.detected_at), base=None)
    return memory, conflict


async def change(harness: Harness, memory_id: str, text: str, *, branch: str) -> None:
    await revise(
        memory_id,
        Edit(fields={"content": text}, branch=branch),
        space=SPACE,
        origin=harness.origin(),
        context=harness.context,
    )


async def list_details(harness: Harness, *, status: str = "pending", ref: str = "") -> tuple[ConflictDetails, ...]:
    return await conflicts(status=status, ref=ref, limit=9, now=harness.clock.now(), space=SPACE, store=harness.store)


async def texts(harness: Harness, memory: Memory) -> tuple[str, State]:
    line = await harness.get(branch_id(memory.id, "file-1"))
    return (await harness.get(memory.id)).content, line.state


async def test_both_texts_are_listed(harness: Harness) -> None:
    memory, conflict = await parted(harness)
    for ref in ("", "fruit", conflict.id):
        pending = await list_details(harness, ref=ref)
        assert [(details.memory.statement, details.other.statement) for details in pending] == [(MAIN, FILE)]
    await forget(Selection(ids=(memory.id,)), space=SPACE, origin=harness.origin(), store=harness.store)
    assert await list_details(harness) == ()


async def test_of_long_texts_only_the_differing_lines_are_listed(harness: Harness) -> None:
    rest = "\n".join(f"Line {number} is long enough to be left out." for number in range(40))
    await parted(harness, main=f"{MAIN}\n{rest}", file=f"{FILE}\n{rest}")
    (details,) = await list_details(harness)
    assert details.memory.statement == "Pears are yellow.\nPlums are blue."
    assert details.other.statement == "Pears are brown.\nPlums are violet."


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
async def test_it_is_settled_listed_and_undone(
    harness: Harness, strategy: str, action: str, text: str, state: State
) -> None:
    memory, conflict = await parted(harness)
    # After an undo both have the same time, and neither is the later one.
    for _ in range(1 if strategy == "supersede" else 2):
        done = await settle(harness, conflict, strategy)
        assert (done.action, done.kept) == (action, memory.id)
        assert await texts(harness, memory) == (text, state)
        assert await list_details(harness) == ()
        (settled,) = await list_details(harness, status="all")
        assert settled.status is (ConflictStatus.IGNORED if strategy == "ignore" else ConflictStatus.RESOLVED)
        assert (settled.memory.statement, settled.other.statement)[1] == FILE
        assert await take_back(harness) == ()
        assert await texts(harness, memory) == (MAIN, State.BRANCHED)
        assert [details.id for details in await list_details(harness)] == [conflict.id]


async def test_the_last_written_side_supersedes(harness: Harness) -> None:
    memory, conflict = await parted(harness)
    harness.clock.set(harness.clock.now() + timedelta(minutes=1))
    await change(harness, memory.id, "Pears are orange.", branch="main")
    # The newer side in the list is the one that `supersede` would keep.
    (details,) = await list_details(harness)
    assert max(details.memory, details.other, key=lambda side: side.date).statement == "Pears are orange."
    await settle(harness, conflict, "supersede")
    assert await texts(harness, memory) == ("Pears are orange.", State.TRASHED)


async def test_by_itself_it_waits_for_a_person(harness: Harness) -> None:
    _, conflict = await parted(harness)
    done = await settle(harness, conflict)
    assert done.action == "left_pending"
    assert "both changed" in done.why
    assert len(await list_details(harness)) == 1


async def test_a_merged_or_dropped_branch_needs_no_decision(harness: Harness) -> None:
    memory, _ = await parted(harness)
    await merge_branch(
        memory.id, "file-1", into="main", prefer="theirs", message="", space=SPACE, origin=harness.origin(),
        context=harness.context, key="",
    )  # fmt: skip
    assert await list_details(harness) == ()
    await change(harness, memory.id, FILE + "\nMore.", branch="file-1")
    assert len(await list_details(harness)) == 1
    await branches.drop(memory.id, "file-1", space=SPACE, origin=harness.origin(), store=harness.store)
    assert await list_details(harness) == ()


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
