"""A model of one memory's branches in plain dictionaries, for comparison with the real one."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

MAIN = "main"
# A statement, and the time of its first occurrence.
Fact = tuple[str, int]
# A branch's name, the version before (0 for none) and the version after.
Step = tuple[str, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One version; `confirmed` is the time of its last confirmation."""

    title: str = ""
    facts: tuple[Fact, ...] = ()
    exists: bool = True
    forked: int = 0
    confirmed: int = 0

    @property
    def words(self) -> tuple[str, tuple[Fact, ...]]:
        return self.title, self.facts

    @property
    def texts(self) -> list[str]:
        return [text for text, _ in self.facts]


@dataclass(slots=True)
class Record:
    """All versions written under one name; the branch of that name has those from `start` on."""

    versions: dict[int, Snapshot] = field(default_factory=dict[int, Snapshot])
    start: int = 1
    fork: int = 0

    @property
    def last(self) -> int:
        return max(self.versions)

    @property
    def now(self) -> Snapshot:
        return self.versions[self.last]


@dataclass(slots=True)
class Run:
    """The effect of one call."""

    agent: str
    steps: list[Step]
    begins: bool = False
    undone: bool = False


class Tree:
    """One memory with its branches, its current branch, and the calls of each agent."""

    def __init__(self, *facts: str) -> None:
        self.time = 0
        first = Snapshot(facts=tuple((text, self.tick()) for text in facts), confirmed=self.tick())
        self.records = {MAIN: Record(versions={1: first})}
        self.switched = MAIN
        self.runs: list[Run] = []
        # The fields that clashed in the last merge.
        self.clashes: list[str] = []

    # ---- state ----

    @property
    def names(self) -> list[str]:
        return [MAIN, *sorted(name for name, record in self.records.items() if name != MAIN and record.now.exists)]

    @property
    def current(self) -> str:
        return self.switched if self.switched in self.names else MAIN

    def at(self, name: str, number: int) -> Snapshot | None:
        record = self.records[name]
        if name != MAIN and number <= record.fork:
            return self.records[MAIN].versions.get(number)
        return record.versions.get(number)

    def past(self, name: str) -> list[tuple[int, Snapshot]]:
        record = self.records[name]
        own = [(number, version) for number, version in record.versions.items() if number >= record.start]
        before = [pair for pair in self.records[MAIN].versions.items() if name != MAIN and pair[0] <= record.fork]
        return sorted(before + own, reverse=True, key=lambda pair: pair[0])

    @property
    def can_undo(self) -> list[str]:
        return sorted({run.agent for run in self.runs if not run.undone})

    # ---- calls ----

    def write(self, agent: str, **now: Snapshot) -> None:
        """One call: each branch gets a new version."""
        steps = [self._put(name, snapshot) for name, snapshot in now.items()]
        self.runs.append(Run(agent, steps))

    def begin(self, agent: str, name: str, *, at: int, switch: bool) -> None:
        record = self.records.setdefault(name, Record())
        before = max(record.versions, default=0)
        start = max(before, at) + 1
        record.versions[start] = replace(self.records[MAIN].versions[at], forked=at)
        record.start, record.fork = start, at
        self.runs.append(Run(agent, [(name, before, start)], begins=True))
        if switch:
            self.switched = name
        elif self.switched == name:
            self.switched = MAIN

    def drop(self, agent: str, name: str) -> None:
        if self.current == name:
            self.switched = MAIN
        self.write(agent, **{name: replace(self.records[name].now, exists=False)})

    def merge(self, agent: str, name: str, into: str, *, prefer: str) -> str:
        """Merge a branch; return merged, unchanged or conflict."""
        line = name if into == MAIN else into
        main, branch = self.records[MAIN], self.records[line]
        base = main.versions[branch.now.forked]
        ours, theirs = self.records[into].now, self.records[name].now
        self.clashes = []
        if theirs.words == base.words:
            return "unchanged"
        title, clashes = _merge_titles(base.title, ours.title, theirs.title, prefer=prefer)
        replaced = _clashing_facts(base.facts, ours.facts, theirs.facts)
        self.clashes = ["title"] * clashes + ["observations"] * len(replaced)
        if self.clashes and not prefer:
            return "conflict"
        facts = _merge_facts(base.facts, ours.facts, theirs.facts)
        loses = {pair[0 if prefer == "theirs" else 1] for pair in replaced}
        facts = tuple(fact for fact in facts if fact[0] not in loses)
        changed = (title, facts) != ours.words
        merged: dict[str, Snapshot] = {}
        if into == MAIN and changed:
            merged[MAIN] = replace(ours, title=title, facts=facts, confirmed=self.tick())
        common = main.last + (MAIN in merged)
        merged[line] = replace(branch.now, title=title, facts=facts, forked=common)
        self.write(agent, **merged)
        return "merged" if changed else "unchanged"

    def undo(self, agent: str) -> tuple[int, int]:
        """Undo the agent's last call; return the numbers of restored and of skipped branches."""
        run = next(run for run in reversed(self.runs) if run.agent == agent and not run.undone)
        run.undone = True
        done = 0
        for name, before, after in run.steps:
            record = self.records[name]
            if record.now != record.versions[after]:
                continue
            earlier = replace(record.now, exists=False) if run.begins else record.versions[before]
            self._put(name, earlier)
            done += 1
        return done, len(run.steps) - done

    def tick(self) -> int:
        self.time += 1
        return self.time

    def _put(self, name: str, snapshot: Snapshot) -> Step:
        record = self.records[name]
        before = record.last
        record.versions[before + 1] = snapshot
        return name, before, before + 1


def _merge_titles(base: str, ours: str, theirs: str, *, prefer: str) -> tuple[str, bool]:
    if theirs in (ours, base):
        return ours, False
    if ours == base:
        return theirs, False
    return theirs if prefer == "theirs" else ours, True


def _merge_facts(base: Sequence[Fact], ours: tuple[Fact, ...], theirs: tuple[Fact, ...]) -> tuple[Fact, ...]:
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    before, mine, others = ({text for text, _ in side} for side in (base, ours, theirs))
    remaining = [fact for fact in ours if fact[0] in others or fact[0] not in before]
    return (*remaining, *(fact for fact in theirs if fact[0] not in mine and fact[0] not in before))


def _clashing_facts(base: Sequence[Fact], ours: Sequence[Fact], theirs: Sequence[Fact]) -> list[tuple[str, str]]:
    """Pair the new facts of the two sides, one for each fact that both removed; shared new facts count first."""
    if base in (ours, theirs):
        return []
    before, mine, others = ([text for text, _ in side] for side in (base, ours, theirs))
    removed = [text for text in before if text not in mine and text not in others]
    new = [text for text in mine if text not in before], [text for text in others if text not in before]
    shared = [text for text in new[0] if text in new[1]]
    alone = [[text for text in side if text not in shared] for side in new]
    return list(zip(*alone, strict=False))[: max(0, len(removed) - len(shared))]
