"""Papers: small documents by drawer and key."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from scrubjay.model.moment import to_micros
from scrubjay.model.paper import Paper
from scrubjay.stores.paper_rows import paper_of, require_own, stale_paper, subjects_of, value_text
from scrubjay.stores.postgres.asking import Ask, Rows, Work
from scrubjay.stores.postgres.database import Database
from scrubjay.stores.postgres.opening import plain_ids
from scrubjay.stores.postgres.planning import canonical_id
from scrubjay.stores.rows import micros_of

# Pages are read along an index, whatever the planner believes of the table. Those that are due are asked for of all
# spaces together, by the keeper.
PAPERS = """
CREATE INDEX papers_due ON scrubjay.papers(drawer, due) WHERE due IS NOT NULL;
CREATE INDEX papers_memory ON scrubjay.papers(space_no, memory_id) WHERE memory_id IS NOT NULL;

CREATE FUNCTION scrubjay.due_papers_1(wanted text, upto bigint, most integer) RETURNS TABLE(space text, drawer text,
  key text, value text, version integer, at bigint, due bigint) LANGUAGE plpgsql STABLE
  SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
BEGIN
  RETURN QUERY SELECT s.name, p.drawer, p.key, p.value, p.version, p.at, p.due
    FROM (SELECT * FROM scrubjay.papers q WHERE q.drawer = wanted AND q.due <= upto ORDER BY q.due LIMIT most) AS p
    CROSS JOIN LATERAL (SELECT q.name FROM scrubjay.spaces q WHERE q.no = p.space_no LIMIT 1) AS s
    ORDER BY p.due, s.name, p.key;
END $$;

CREATE FUNCTION scrubjay.all_papers_1(after_drawer text, after_key text, most integer) RETURNS TABLE(drawer text,
  key text, value text, version integer, at bigint, due bigint) LANGUAGE plpgsql STABLE
  SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
BEGIN
  RETURN QUERY SELECT p.drawer, p.key, p.value, p.version, p.at, p.due FROM scrubjay.papers p
    WHERE p.space_no = scrubjay.here() AND (p.drawer, p.key) > (after_drawer, after_key)
    ORDER BY p.drawer, p.key LIMIT most;
END $$;
"""
# A paper may be about two memories. Those of a drawer are found by either of them, and the latest first.
TRAILS = """
ALTER TABLE scrubjay.papers ADD COLUMN other_id uuid;
SET LOCAL ROLE scrubjay_keeper;
UPDATE scrubjay.papers
  SET other_id = substring(value FROM '"other":"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"')::uuid
  WHERE drawer IN ('conflicts', 'settled');
RESET ROLE;
CREATE INDEX papers_other ON scrubjay.papers(space_no, other_id) WHERE other_id IS NOT NULL;
CREATE INDEX papers_latest ON scrubjay.papers(space_no, drawer, at, key);

CREATE FUNCTION scrubjay.latest_papers_1(wanted text, before_at bigint, before_key text, most integer)
  RETURNS TABLE(drawer text, key text, value text, version integer, at bigint, due bigint) LANGUAGE plpgsql STABLE
  SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
BEGIN
  RETURN QUERY SELECT p.drawer, p.key, p.value, p.version, p.at, p.due FROM scrubjay.papers p
    WHERE p.space_no = scrubjay.here() AND p.drawer = wanted AND (p.at, p.key) < (before_at, before_key)
    ORDER BY p.at DESC, p.key DESC LIMIT most;
END $$;

CREATE FUNCTION scrubjay.papers_about_1(wanted text, ids uuid[], most integer)
  RETURNS TABLE(drawer text, key text, value text, version integer, at bigint, due bigint) LANGUAGE plpgsql STABLE
  SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY WITH found AS MATERIALIZED (
      SELECT p.* FROM scrubjay.papers p WHERE p.space_no = scrubjay.here() AND p.memory_id = ANY(ids)
      UNION SELECT p.* FROM scrubjay.papers p WHERE p.space_no = scrubjay.here() AND p.other_id = ANY(ids))
    SELECT f.drawer, f.key, f.value, f.version, f.at, f.due FROM found f WHERE f.drawer = wanted
    ORDER BY f.at DESC, f.key DESC LIMIT most;
END $$;
"""
_HERE = "space_no = scrubjay.here()"
_COLUMNS = "p.drawer, p.key, p.value, p.version, p.at, p.due"
_SELECT = f"SELECT {_COLUMNS} FROM scrubjay.papers p WHERE p.{_HERE}"
_INSERT = "INSERT INTO scrubjay.papers AS p (space_no, drawer, key, value, version, at, due, memory_id, other_id)"
_INSTEAD = """value = excluded.value, at = excluded.at, due = excluded.due, memory_id = excluded.memory_id,
    other_id = excluded.other_id"""
# The first version, or the one after that which is there.
_FILE = f"""{_INSERT} VALUES (scrubjay.here(), %s, %s, %s, %s, %s, %s, %s::uuid, %s::uuid)
    ON CONFLICT (space_no, drawer, key) DO UPDATE SET {_INSTEAD}, version = p.version + 1 RETURNING version"""
_KEEP = f"""{_INSERT} SELECT scrubjay.here(), v.* FROM unnest(%s::text[], %s::text[], %s::text[], %s::integer[],
      %s::bigint[], %s::bigint[], %s::uuid[], %s::uuid[]) AS v
    ON CONFLICT (space_no, drawer, key) DO"""
_RENEW = f"""UPDATE SET {_INSTEAD}, version = excluded.version WHERE (p.value, p.version, p.at, p.due)
    IS DISTINCT FROM (excluded.value, excluded.version, excluded.at, excluded.due)"""
_FILED = f"SELECT 1 FROM scrubjay.papers WHERE {_HERE} AND drawer = %s AND key = %s AND version = %s AND at = %s"
_KEPT_COLUMNS = 8
_END_OF_TIME = 1 << 62


async def paper(database: Database, space: str, drawer: str, key: str) -> Paper | None:
    """One paper."""
    rows = await database.rows(f"{_SELECT} AND p.drawer = %s AND p.key = %s", drawer, key, space=space)
    return next(iter(_papers(space, rows)), None)


async def papers(database: Database, space: str, drawer: str, *, after: str, limit: int) -> list[Paper]:
    """The papers of a drawer, in the order of their keys."""
    statement = f"{_SELECT} AND p.drawer = %s AND p.key > %s ORDER BY p.key LIMIT %s"
    return _papers(space, await database.rows(statement, drawer, after, limit, space=space))


async def latest_papers(
    database: Database, space: str, drawer: str, *, before: tuple[datetime, str] | None, limit: int
) -> list[Paper]:
    """The papers of a drawer, the latest first."""
    at, key = (to_micros(before[0]), before[1]) if before else (_END_OF_TIME, "")
    statement = "SELECT * FROM scrubjay.latest_papers_1(%s, %s, %s, %s)"
    return _papers(space, await database.rows(statement, drawer, at, key, limit, space=space))


async def papers_about(database: Database, space: str, drawer: str, ids: Sequence[str], *, limit: int) -> list[Paper]:
    """The papers of a drawer about some memories, the latest first."""
    statement = "SELECT * FROM scrubjay.papers_about_1(%s, %s::uuid[], %s)"
    return _papers(space, await database.rows(statement, drawer, plain_ids(ids), limit, space=space))


async def due_papers(database: Database, drawer: str, *, now: datetime, limit: int) -> list[Paper]:
    """The papers of all spaces in a drawer that are due, the longest first."""
    statement = "SELECT * FROM scrubjay.due_papers_1(%s, %s, %s)"
    rows = await database.rows(statement, drawer, to_micros(now), limit, keeper=True)
    return [paper_of((row[0], row[1], row[2], row[3], row[4], row[5], row[6])) for row in rows]


async def all_papers(database: Database, space: str, *, after: tuple[str, str], limit: int) -> list[Paper]:
    """The papers of all drawers of a space."""
    statement = "SELECT * FROM scrubjay.all_papers_1(%s, %s, %s)"
    return _papers(space, await database.rows(statement, *after, limit, space=space))


async def file_all(work: Work, papers: Sequence[Paper], *, space: str) -> None:
    """Keep papers as a part of a commit, whatever was there before."""
    for one in papers:
        require_own(one, space)
        await work.do(_FILE, *_values(one, version=1))


async def file_paper(database: Database, paper: Paper, *, base: int | None) -> Paper:
    """Keep a paper as the version after another."""

    async def job(work: Work) -> int:
        found = await work.rows(
            f"SELECT version FROM scrubjay.papers WHERE {_HERE} AND drawer = %s AND key = %s", paper.drawer, paper.key
        )
        current = int(found[0][0]) if found else None
        if current != base:
            raise stale_paper(paper, base=base, current=current)
        ((version,),) = await work.rows(_FILE, *_values(paper, version=1))
        work.proof = Ask(_FILED, (paper.drawer, paper.key, version, to_micros(paper.at)))
        return int(version)

    return replace(paper, version=await database.write(job, space=paper.space, make=True))


async def keep_papers(database: Database, space: str, papers: Sequence[Paper], *, renew: bool) -> int:
    """Keep papers of another store as they are there; returns how many that has changed."""
    rows = [_values(one, version=one.version) for one in papers]

    async def job(work: Work) -> int:
        columns = [[row[place] for row in rows] for place in range(_KEPT_COLUMNS)]
        return await work.do(f"{_KEEP} {_RENEW if renew else 'NOTHING'}", *columns)

    return await database.write(job, space=space, make=True)


async def discard_paper(database: Database, space: str, drawer: str, key: str) -> bool:
    """Throw a paper away; tells whether there was one."""

    async def job(work: Work) -> int:
        return await work.do(f"DELETE FROM scrubjay.papers WHERE {_HERE} AND drawer = %s AND key = %s", drawer, key)

    return bool(await database.write(job, space=space))


async def drop_papers_about(work: Work, memory_ids: Sequence[str]) -> None:
    """Destroy the papers about memories."""
    for column in ("memory_id", "other_id"):
        await work.do(f"DELETE FROM scrubjay.papers WHERE {_HERE} AND {column} = ANY(%s::uuid[])", list(memory_ids))


def _papers(space: str, rows: Rows) -> list[Paper]:
    return [paper_of((space, row[0], row[1], row[2], row[3], row[4], row[5])) for row in rows]


def _values(paper: Paper, *, version: int) -> tuple[str | int | None, ...]:
    memory_id, other_id = subjects_of(paper)
    return (
        paper.drawer, paper.key, value_text(paper), version, to_micros(paper.at), micros_of(paper.due),
        canonical_id(memory_id) or None, canonical_id(other_id) or None,
    )  # fmt: skip
