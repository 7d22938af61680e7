"""No query on a hot path scans a table: remember and recall use indexes."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from tests.fakes.build import MODEL, a_commit, a_memory, a_rewrite, an_edge, revised, vectors_for

from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import passage_id
from scrubjay.model.query import Filter
from scrubjay.storage.sqlite import (
    commit,
    history,
    lexicon,
    log,
    neighbours,
    read,
    reindex,
    vectors,
)
from scrubjay.storage.sqlite.bodies import SqliteBodies
from scrubjay.storage.sqlite.connection import connect
from scrubjay.storage.sqlite.schema import migrate

# These have one row a space, a model or a state.
SMALL = ("spaces", "models", "dictionaries", "lexicons", "found", "meta")
# Parts of a statement whose tables appear separately; an index of the few memories in an older format.
ALLOWED = (" alike", " (subquery-", " memories_passage_format")


class TracedStore:
    """A store that records its statements."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.bodies = SqliteBodies()
        self.statements: dict[str, tuple[object, ...]] = {}

    def note(self, _: object, statement: str, bindings: tuple[object, ...] | None) -> bool:
        self.statements[statement] = bindings or ()
        return True

    def commit(self, *parts: object, **options: object) -> None:
        self.connection.execute("BEGIN IMMEDIATE")
        commit.apply_commit(self.connection, a_commit(*parts, **options), bodies=self.bodies)  # type: ignore[arg-type]
        self.connection.execute("COMMIT")

    def scans(self) -> list[str]:
        """Return the steps that visit every row of a table, or of a space."""
        self.connection.exec_trace = None
        results: list[str] = []
        for statement, bindings in self.statements.items():
            if statement.lstrip().split(maxsplit=1)[0] in ("SELECT", "UPDATE", "DELETE", "WITH"):
                rows = self.connection.execute(f"EXPLAIN QUERY PLAN {statement}", bindings)  # type: ignore[arg-type]
                results += [f"{row[3]}: {statement}" for row in rows if _is_scan(str(row[3]))]
        return results


@pytest.fixture
def traced(tmp_path: Path) -> Iterator[TracedStore]:
    connection = connect(tmp_path / "memory.db")
    migrate(connection, path=tmp_path / "memory.db")
    yield TracedStore(connection)
    connection.close()


def test_a_write_walks_nothing(traced: TracedStore) -> None:
    first, second = a_memory("a scrub jay hides acorns", title="Jays"), a_memory("a jay finds them again")
    traced.commit(first, second, embedded=vectors_for([first, second]))
    traced.connection.exec_trace = traced.note
    third = a_memory("a third jay")
    traced.commit(third, embedded=vectors_for([third]))
    traced.commit(a_rewrite(revised(first, content="a scrub jay digs")))
    traced.commit(an_edge(first, second))
    assert traced.statements
    assert traced.scans() == []


def test_no_read_scans_a_table(traced: TracedStore) -> None:
    memory: Memory = a_memory("a scrub jay hides acorns", title="Jays", group="g", pinned=True)
    traced.commit(memory, embedded=vectors_for([memory]))
    connection, bodies = traced.connection, traced.bodies
    connection.exec_trace = traced.note
    for ref in (memory.id, memory.name, "Jays", "the jays", "nobody"):
        read.find(connection, "default", ref, state=None)
    read.same_content(connection, "default", memory.content)
    read.get(connection, "default", [memory.id], bodies=bodies)
    read.pinned(connection, "default")
    for field in ("name", "tag"):
        read.labels(connection, "default", field, prefix="j", limit=9)
    read.members(connection, "default", "g")
    read.sizes(connection, "default", [memory.id])
    history.versions(connection, "default", memory.id, limit=9, before=None, bodies=bodies)
    history.version_at(connection, "default", memory.id, at=memory.updated_at, bodies=bodies)
    history.versions_at(connection, "default", [memory.id], at=memory.updated_at, bodies=bodies)
    history.relations_at(connection, "default", [memory.id], at=memory.updated_at)
    read.relations(connection, "default", [memory.id])
    lexicon.lexical_candidates(connection, "default", ["jay", "acorn"], Filter(kind="note"), limit=9)
    lexicon.term_statistics(connection, "default", ["jay"], state=State.LIVE)
    lexicon.known_facets(connection, "default", ["kind=note"], state=State.LIVE)
    lexicon.facet_values(connection, "default", "kind", state=State.LIVE, limit=9)
    for around in (0, 4):
        neighbours.stored_passages(connection, "default", [passage_id(1, 0)], around=around)
    neighbours.passage_numbers(connection, "default", [memory.id])
    neighbours.session_neighbours(connection, "default", [memory.id], each=3)
    lexicon.similar_terms(connection, "default", "acron", state=State.LIVE, limit=5)
    lexicon.terms_with_prefix(connection, "default", "aco", state=State.LIVE, limit=5)
    groups = [("jay", "jackdaw"), ("acorn",)]
    lexicon.memories_matching(connection, "default", groups, Filter(kind="note", category="birds"), limit=9)
    reindex.is_due(connection)
    reindex.reindex_page(connection, after=0, bodies=bodies)
    vectors.vectors(connection, "default", MODEL, [b"x" * 16])
    vectors.points_of(connection, MODEL, [1])
    log.changes(connection, after=0, limit=9)
    log.changes_in(connection, "default", after=0, limit=9)
    log.last_seq(connection)
    log.last_run(connection, "default", agent="")
    assert traced.scans() == []


def _is_scan(step: str) -> bool:
    # A query by another field must not scan a space along the index of recent memories.
    words = step.split()
    scans = words[0] == "SCAN" and words[1] not in SMALL and "VIRTUAL TABLE" not in step and "CONSTANT" not in step
    scans = scans and not any(item in step for item in ALLOWED)
    return scans or "memories_recent" in step


def test_neighbours_are_found_in_the_index_of_sessions_alone(traced: TracedStore) -> None:
    traced.commit(a_memory("a scrub jay"))
    traced.connection.exec_trace = traced.note
    neighbours.stored_passages(traced.connection, "default", [passage_id(1, 0)], around=4)
    traced.connection.exec_trace = None
    (statement,) = [statement for statement in traced.statements if "group_concat" in statement]
    plan = traced.connection.execute(f"EXPLAIN QUERY PLAN {statement}", traced.statements[statement])  # type: ignore[arg-type]
    steps = [str(row[3]) for row in plan]
    sides = [step for step in steps if "passages_session" in step]
    assert [step.split(" USING ")[1] for step in sides] == [
        "COVERING INDEX passages_session (session_key=? AND date=? AND rowid<?)",
        "COVERING INDEX passages_session (session_key=? AND date<?)",
        "COVERING INDEX passages_session (session_key=? AND date=? AND rowid>?)",
        "COVERING INDEX passages_session (session_key=? AND date>?)",
    ]
    assert not [step for step in steps if "ORDER BY" in step]
