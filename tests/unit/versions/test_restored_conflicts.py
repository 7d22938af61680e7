"""Conflicts of restored, reverted and merged memories are detected as on any other write."""

from dataclasses import replace

import pytest
from tests.unit.harness import PLAIN, SPACE, Harness
from tests.unit.versions.branch_editor import BranchEditor

from scrubjay.conflicts.scan import scan_memory
from scrubjay.jobs.queue import Queue
from scrubjay.model.conflict import PENDING_COLLECTION, ConflictDetails, ConflictType
from scrubjay.model.draft import Draft
from scrubjay.model.job import CONFLICTS, Job
from scrubjay.model.memory import MAIN, Method, Source
from scrubjay.model.requests import Edit, Selection
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.writing.recheck import ConflictChecker
from scrubjay.writing.review import approve

TUESDAY, THURSDAY = "The release meeting is on Tuesday at 10:00", "The release meeting is on Thursday at 10:00"


@pytest.fixture
def office(store: SqliteStore) -> BranchEditor:
    return BranchEditor(harness=Harness(store=store, rules=replace(PLAIN, conflicts="on")))


async def clashing(office: BranchEditor, details: tuple[ConflictDetails, ...]) -> None:
    """Assert that one conflict was reported, and is pending."""
    (conflict,) = details
    assert (conflict.type, conflict.other.statement) == (ConflictType.CONTRADICTION, TUESDAY)
    assert [document.key for document in await office.harness.store.documents(SPACE, PENDING_COLLECTION, limit=9)] == [
        conflict.id
    ]


async def test_of_a_merged_branch(office: BranchEditor) -> None:
    await office.plant(Draft(text="The picnic is nice", name="tea"))
    await office.harness.remember(Draft(text=TUESDAY, name="meeting"))
    await office.branch()
    done = await office.write("draft", content=THURSDAY)
    assert done.conflicts == ()
    joined = await office.merge(key="once")
    await clashing(office, joined.conflicts)
    assert (await office.merge(key="once")).conflicts == ()
    assert (await office.merge(MAIN, into="draft")).conflicts == ()


async def test_of_a_reverted_memory(office: BranchEditor) -> None:
    await office.plant(Draft(text=THURSDAY, name="tea"))
    await office.write(content="The picnic is nice")
    await office.harness.remember(Draft(text=TUESDAY, name="meeting"))
    await office.revert(2)
    assert await jobs(office) == ()
    tea = await office.revert(1)
    (job,) = await jobs(office)
    assert (job.kind, job.about) == (CONFLICTS, {"memory_id": tea.id})
    harness = office.harness
    assert await scan_memory(tea.id, space=SPACE, origin=office.origin, context=harness.context) == 1


@pytest.mark.parametrize("dry_run", [False, True])
async def test_of_a_restored_memory(office: BranchEditor, dry_run: bool) -> None:
    await office.plant(Draft(text=THURSDAY, name="tea"))
    await office.harness.forget("tea")
    await office.harness.remember(Draft(text=TUESDAY, name="meeting"))
    done = await office.harness.restore(selection=Selection(ids=("tea",), dry_run=dry_run))
    if dry_run:
        assert done.done[0].conflicts == ()
    else:
        await clashing(office, done.done[0].conflicts)


async def test_of_an_approved_memory(office: BranchEditor) -> None:
    office.harness.rules = replace(office.harness.rules, review="agents")
    agents = Source(method=Method.AGENT)
    assert (await office.plant(Draft(text=THURSDAY, name="tea", source=agents))).state == "waiting"
    await office.harness.remember(Draft(text=TUESDAY, name="meeting"))
    selection, harness = Selection(ids=("tea",)), office.harness
    done = await approve(
        selection,
        space=SPACE,
        origin=office.origin,
        store=harness.store,
        conflict_checker=ConflictChecker(harness.context),
    )
    await clashing(office, done.done[0].conflicts)


async def test_nothing_is_compared_with_the_rule_off(office: BranchEditor) -> None:
    office.harness.rules = PLAIN
    await office.plant(Draft(text=THURSDAY, name="tea"))
    await office.harness.revise("tea", Edit(fields={"content": "The picnic is nice"}))
    await office.harness.remember(Draft(text=TUESDAY, name="meeting"))
    await office.revert(1)
    assert await jobs(office) == ()


async def jobs(office: BranchEditor) -> tuple[Job, ...]:
    """Return the jobs that are left."""
    return await Queue(documents=office.harness.store, clock=office.harness.clock).list_jobs(SPACE, limit=9)
