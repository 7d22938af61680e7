"""Apply commits: read what the plan needs, plan, and write."""

from collections.abc import Sequence
from datetime import datetime

from scrubjay.model.change import Origin
from scrubjay.model.memory import State
from scrubjay.model.passage import Passage
from scrubjay.model.timestamps import to_micros
from scrubjay.ports import Commit, Embedded, MemoryHistory
from scrubjay.storage.postgres.bodies import Bodies
from scrubjay.storage.postgres.commit.plan import Planner, canonical_id
from scrubjay.storage.postgres.commit.read import Opening, answer_of, plain_ids
from scrubjay.storage.postgres.commit.runs import names_of
from scrubjay.storage.postgres.commit.write import Applied, WrittenPlan
from scrubjay.storage.postgres.database import Database
from scrubjay.storage.postgres.documents import file_all
from scrubjay.storage.postgres.query import Work


async def apply_commit(database: Database, commit: Commit, *, bodies: Bodies) -> Applied:
    """Apply a commit as a whole, or raise and apply nothing."""
    opening = _opening_of(commit)

    async def job(work: Work) -> Applied:
        opening.answer(work.opened)
        once = commit.once
        if once is not None:
            answer = answer_of(opening.rows("answer"), key=once.key, digest=once.digest)
            if answer is not None:
                return Applied(answer=answer)
        planner = Planner(opening.known(), opening.holders(), opening.relations())
        for memory_id, version in commit.expected:
            planner.at_version(canonical_id(memory_id), version)
        for write in commit.writes:
            planner.write(write, author=(commit.origin.run, commit.origin.agent))
        for edge in commit.edges:
            planner.edge(edge)
        carried = WrittenPlan(space=commit.space, planner=planner, opening=opening, origin=commit.origin, once=once)
        if commit.embedded is not None:
            carried.store_vectors(commit.embedded)
        await file_all(work, commit.documents, space=commit.space)
        return await carried.out(work, bodies)

    return await database.write(job, space=commit.space, opening=opening.asks, make=True)


async def adopt(
    database: Database,
    space: str,
    histories: Sequence[tuple[MemoryHistory, tuple[Passage, ...]]],
    *,
    origin: Origin,
    bodies: Bodies,
) -> Applied:
    """Store memories with their history; skips those that exist."""
    authors = [
        (version.run or origin.run, version.agent)
        for memory_history, _ in histories
        for version in memory_history.versions
    ]
    opening = Opening()
    opening.ask_known([memory_history.memory.id for memory_history, _ in histories])
    opening.ask_holders([memory_history.memory.name for memory_history, _ in histories])
    opening.ask_runs(names_of(origin, authors))
    opening.ask_words(space, ((memory_history.memory.state, passages) for memory_history, passages in histories))

    async def job(work: Work) -> Applied:
        opening.answer(work.opened)
        planner = Planner(opening.known(), opening.holders(), {})
        taken = [
            memory_history.memory.id
            for memory_history, passages in histories
            if planner.adopt(memory_history, passages, origin=origin)
        ]
        carried = WrittenPlan(space=space, planner=planner, opening=opening, origin=origin, taken=tuple(taken))
        return await carried.out(work, bodies)

    return await database.write(job, space=space, opening=opening.asks, make=True)


async def store_vectors(
    database: Database, space: str, embedded: Embedded, *, memory_ids: Sequence[str], origin: Origin, bodies: Bodies
) -> Applied:
    """Store vectors that were made later than their texts."""
    opening = Opening()
    opening.ask_known(memory_ids)
    opening.ask_runs(names_of(origin))
    opening.ask_vectors(embedded)
    opening.ask_numbers(changes=len(memory_ids), memories=0, runs=1)

    async def job(work: Work) -> Applied:
        opening.answer(work.opened)
        carried = WrittenPlan(space=space, planner=Planner(opening.known(), {}, {}), opening=opening, origin=origin)
        carried.store_vectors(embedded, named=plain_ids(memory_ids))
        return await carried.out(work, bodies)

    return await database.write(job, space=space, opening=opening.asks, make=True)


async def touch(database: Database, space: str, ids: Sequence[str], *, at: datetime) -> None:
    """Count an access to each memory."""

    async def job(work: Work) -> None:
        await work.do(
            """UPDATE scrubjay.memories SET access_count = access_count + 1,
                 last_accessed = greatest(%s, last_accessed)
               WHERE space_no = scrubjay.current_space() AND id = ANY(%s::uuid[])""",
            to_micros(at), plain_ids(ids),
        )  # fmt: skip

    await database.write(job, space=space)


def _opening_of(commit: Commit) -> Opening:
    opening = Opening()
    ends = [end for edge in commit.edges for end in (edge.relation.source, edge.relation.target)]
    expected = [memory_id for memory_id, _ in commit.expected]
    opening.ask_known([*(write.memory.id for write in commit.writes), *ends, *expected])
    opening.ask_runs(names_of(commit.origin))
    live = [write.memory.name for write in commit.writes if write.memory.state is State.LIVE]
    if live:
        opening.ask_holders(live)
    opening.ask_words(commit.space, ((write.memory.state, write.passages) for write in commit.writes))
    if any(write.base is not None for write in commit.writes):
        opening.ask_terms([write.memory.id for write in commit.writes])
        opening.ask_line()
    if commit.edges:
        opening.ask_relations(commit.edges)
    if commit.embedded is not None:
        opening.ask_vectors(commit.embedded)
    if commit.once is not None:
        opening.ask_once(commit.once.key)
    changes = len(commit.writes) + 2 * len(commit.edges)
    opening.ask_numbers(changes=changes, memories=sum(write.base is None for write in commit.writes), runs=1)
    return opening
