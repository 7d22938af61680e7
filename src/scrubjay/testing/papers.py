"""The papers of the fake store."""

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import datetime

from scrubjay.errors import StaleVersion
from scrubjay.model.moment import to_micros
from scrubjay.model.paper import Paper
from scrubjay.testing.rooms import Housed


class FakePapers(Housed):
    """The port `Papers`, and all papers for the port `Inventory`."""

    async def paper(self, space: str, drawer: str, key: str) -> Paper | None:
        """One paper."""
        return deepcopy(self._house.room(space).papers.get((drawer, key)))

    async def papers(self, space: str, drawer: str, *, after: str = "", limit: int) -> list[Paper]:
        """The papers of a drawer."""
        return [one for one in self._all(space) if one.drawer == drawer and one.key > after][:limit]

    async def latest_papers(
        self, space: str, drawer: str, *, before: tuple[datetime, str] | None = None, limit: int
    ) -> list[Paper]:
        """The papers of a drawer, the latest first."""
        found = [one for one in self._all(space) if one.drawer == drawer]
        found = [one for one in found if before is None or (one.at, one.key) < before]
        return sorted(found, key=lambda one: (one.at, one.key), reverse=True)[:limit]

    async def papers_about(self, space: str, drawer: str, ids: Sequence[str], *, limit: int) -> list[Paper]:
        """The papers of a drawer about some memories."""
        found = await self.latest_papers(space, drawer, limit=len(self._house.room(space).papers))
        return [one for one in found if subjects_of(one) & set(ids)][:limit]

    async def file_paper(self, paper: Paper, *, base: int | None) -> Paper:
        """Keep a paper as the version after another."""
        before = self._house.room(paper.space).papers.get((paper.drawer, paper.key))
        current = before.version if before else None
        if current != base:
            raise StaleVersion(
                f"the paper {paper.key!r} is at version {current}, not {base}",
                hint="Read it again and repeat the change",
                drawer=paper.drawer,
                key=paper.key,
                expected=base,
                current=current,
            )
        filed = written(paper, version=1 if base is None else base + 1)
        self._put(paper.space, [filed])
        return deepcopy(filed)

    async def discard_paper(self, space: str, drawer: str, key: str) -> bool:
        """Throw a paper away."""
        return self._house.room(space).papers.pop((drawer, key), None) is not None

    async def due_papers(self, drawer: str, *, now: datetime, limit: int) -> list[Paper]:
        """The papers of all spaces that are due."""
        found = [
            (to_micros(one.due), space, one.key, one)
            for space in self._house.rooms
            for one in self._all(space)
            if one.drawer == drawer and one.due is not None and one.due <= now
        ]
        return [paper for *_, paper in sorted(found, key=lambda one: one[:3])][:limit]

    async def all_papers(self, space: str, *, after: tuple[str, str] = ("", ""), limit: int) -> list[Paper]:
        """The papers of all drawers."""
        return [one for one in self._all(space) if (one.drawer, one.key) > after][:limit]

    async def keep_papers(self, space: str, papers: Sequence[Paper], *, renew: bool) -> int:
        """Keep papers of another store."""
        kept = self._house.room(space).papers
        given = [written(replace(one, space=space), version=one.version) for one in papers]
        fresh = [
            one for one in given if (one.drawer, one.key) not in kept or (renew and kept[one.drawer, one.key] != one)
        ]
        self._put(space, fresh)
        return len(fresh)

    def _all(self, space: str) -> list[Paper]:
        return [deepcopy(one) for _, one in sorted(self._house.room(space).papers.items())]

    def _put(self, space: str, papers: Sequence[Paper]) -> None:
        room = self._house.room(space).copy()
        room.papers |= {(one.drawer, one.key): one for one in papers}
        self._house.rooms[space] = room


def written(paper: Paper, *, version: int) -> Paper:
    """A paper as a store keeps it: what becomes of the value afterwards is not its matter."""
    return replace(paper, version=version, value=json.loads(json.dumps(dict(paper.value))))


def subjects_of(paper: Paper) -> set[str]:
    """The memories that a paper is about."""
    about = paper.value.get("about")
    named = [about.get(name) for name in ("memory_id", "other_id")] if isinstance(about, dict) else []
    return {one for one in named if isinstance(one, str)}
