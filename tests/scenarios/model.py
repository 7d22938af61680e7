"""A model of the memory in plain dictionaries, for comparison with the real one."""

from collections.abc import Iterable
from copy import deepcopy
from typing import TypedDict

Edge = tuple[str, str, str]
LINK = "related_to"


class VisibleFields(TypedDict):
    """The visible fields of a memory."""

    content: str
    title: str
    name: str
    tags: tuple[str, ...]
    pinned: bool
    entity: str
    state: str
    observations: list[str]


class Snapshot(VisibleFields):
    """One version; `confirmed` is the time of its last confirmation."""

    confirmed: int
    group: str


class Run(TypedDict):
    """The effect of one call: versions and edges, before and after."""

    agent: str
    undone: bool
    writes: list[tuple[str, int, int]]
    edges: list[tuple[Edge, str | None, str | None]]


class Model:
    """Memories with all their versions, the edges between them, and the calls of each agent."""

    def __init__(self) -> None:
        self.versions: dict[str, list[Snapshot]] = {}
        self.edges: dict[Edge, str] = {}
        self.runs: list[Run] = []

    # ---- state ----

    def ids(self, state: str = "") -> list[str]:
        return [memory_id for memory_id in self.versions if not state or self.now(memory_id)["state"] == state]

    def now(self, memory_id: str) -> Snapshot:
        return self.versions[memory_id][-1]

    def group_of(self, memory_id: str) -> list[str]:
        group = self.now(memory_id)["group"]
        return [other for other in self.versions if group and self.now(other)["group"] == group] or [memory_id]

    def holder_of(self, name: str) -> str | None:
        return next((id_ for id_ in self.ids("live") if self.now(id_)["name"] == name), None)

    def edge(self, source: str, target: str, type_: str) -> Edge | None:
        ends = [(source, type_, target)] + ([(target, type_, source)] if type_ == LINK else [])
        return next((end for end in ends if end in self.edges), None)

    def seen(self, snapshot: Snapshot) -> VisibleFields:
        return {
            "content": snapshot["content"],
            "title": snapshot["title"],
            "name": snapshot["name"],
            "tags": snapshot["tags"],
            "pinned": snapshot["pinned"],
            "entity": snapshot["entity"],
            "state": snapshot["state"],
            "observations": snapshot["observations"],
        }

    # ---- calls ----

    def write(self, agent: str, changes: dict[str, Snapshot]) -> None:
        """One call: each memory gets a new version."""
        run = self._run(agent)
        for memory_id, snapshot in changes.items():
            before = len(self.versions.get(memory_id, []))
            self.versions.setdefault(memory_id, []).append(deepcopy(snapshot))
            run["writes"].append((memory_id, before, before + 1))

    def relate(self, agent: str, edge: Edge, text: str | None) -> None:
        """One call: an edge is set, or removed when there is no text."""
        self._run(agent)["edges"].append((edge, self.edges.get(edge), text))
        self._set(edge, text)

    def purge(self, memory_ids: Iterable[str]) -> None:
        for memory_id in memory_ids:
            del self.versions[memory_id]
            for edge in [edge for edge in self.edges if memory_id in edge]:
                del self.edges[edge]

    def undo(self, agent: str) -> tuple[int, int] | None:
        """Undo the agent's last call; return the numbers of restored and of skipped memories, or None."""
        run = next((run for run in reversed(self.runs) if run["agent"] == agent and not run["undone"]), None)
        if run is None:
            return None
        run["undone"] = True
        done = skipped = 0
        for memory_id, before, after in reversed(run["writes"]):
            past = self.versions.get(memory_id)
            if past is None or past[-1] != past[after - 1]:
                skipped += 1
                continue
            earlier = deepcopy(past[before - 1] if before else past[-1])
            if not before:
                earlier["state"] = "trashed"
            past.append(self._with_free_name(memory_id, earlier))
            done += 1
        for edge, earlier_text, later_text in reversed(run["edges"]):
            if edge[0] not in self.versions or edge[2] not in self.versions:
                continue
            if self.edges.get(edge) == later_text:
                self._set(edge, earlier_text)
            else:
                skipped += 1
        return done, skipped

    def _with_free_name(self, memory_id: str, snapshot: Snapshot) -> Snapshot:
        holder = self.holder_of(snapshot["name"])
        if snapshot["state"] == "live" and holder not in (None, memory_id):
            snapshot["name"] = f"{snapshot['name']}-{memory_id[-6:]}"
        return snapshot

    def _set(self, edge: Edge, text: str | None) -> None:
        if text is None:
            self.edges.pop(edge, None)
        else:
            self.edges[edge] = text

    def _run(self, agent: str) -> Run:
        self.runs.append({"agent": agent, "undone": False, "writes": [], "edges": []})
        return self.runs[-1]
