"""Any series of calls leaves the same versions and branches as the model."""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from scrubjay.errors import NameTaken, NotFound
from scrubjay.model.requests import MergeBranchRequest
from scrubjay.model.version import Version
from tests.scenarios.branch_model import MAIN, Snapshot, Tree
from tests.scenarios.wiring import Wiring, open_wiring
from tests.temp_folders import quick_place

AGENTS = ("alice", "bob")
NAMES = ("draft", "Entwurf/2")
# No two share a word, so that new facts replace old ones in order.
FACTS = ("no milk", "one cup", "iced", "sweet")
OTHERS = ("green", "black", "white")
STEPS = ("title", "add", "remove", "swap", "swap")
PLENTY = 1_000

agents = st.sampled_from(AGENTS)
chosen = st.integers(min_value=0, max_value=1_000)
works = st.lists(st.tuples(chosen, st.sampled_from(STEPS), chosen), min_size=1, max_size=4)


class BranchStateMachine(RuleBasedStateMachine):
    """The verbs of versions and branches on a real store and on the model."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory(prefix="scrubjay-", dir=quick_place())
        self.stack = AsyncExitStack()

    @initialize()
    def open(self) -> None:
        opened = open_wiring(Path(self.folder.name), index=False)
        self.wiring: Wiring = self.runner.run(self.stack.enter_async_context(opened))
        self.clients = {agent: self.wiring.client(agent=agent) for agent in AGENTS}
        founder = self.wiring.client(agent="founder")
        created = self.runner.run(founder.remember("Tea is a drink", name="tea", observations=FACTS[:2]))
        self.id = created.id
        self.tree = Tree(*FACTS[:2])
        self.branch("alice", NAMES[0], number=0, switch=False)

    def teardown(self) -> None:
        self.runner.run(self.stack.aclose())
        self.runner.close()
        self.folder.cleanup()

    # ---- versions ----

    @rule(agent=agents, works=works)
    def work(self, agent: str, works: list[tuple[int, str, int]]) -> None:
        for pick, step, what in works:
            self.revise(agent, self.pick(["", *self.tree.names], pick), step, what)

    def revise(self, agent: str, branch: str, step: str, what: int) -> None:
        name = branch or self.tree.current
        now, fact = self.tree.records[name].now, self.pick(FACTS, what)
        after, request = now, dict[str, str | list[str]]()
        if step == "title":
            request = {"title": f"Title {what % 3}"}
            after = replace(now, title=f"Title {what % 3}")
        elif step == "add":
            request = {"add_observations": [fact]}
            if fact not in now.texts:
                after = replace(now, facts=(*now.facts, (fact, self.tree.tick())))
        else:
            request = {"remove_observations": [fact]}
            after = replace(now, facts=tuple(old for old in now.facts if old[0] != fact))
            other = self.pick(OTHERS, what)
            if step == "swap" and fact in now.texts and other not in now.texts:
                request["add_observations"] = [other]
                after = replace(after, facts=(*after.facts, (other, self.tree.tick())))
        done = self.runner.run(self.clients[agent].revise(self.id, branch=branch, **request))  # type: ignore[arg-type]
        if after == now:
            assert (done.action, done.version) == ("unchanged", self.tree.records[name].last)
        else:
            self.tree.write(agent, **{name: replace(after, confirmed=self.tree.tick())})
            assert (done.action, done.version) == ("updated", self.tree.records[name].last)
        assert (done.id, done.branch) == (self.id, name)

    @rule(agent=agents, pick=chosen)
    def commit(self, agent: str, pick: int) -> None:
        name = self.pick(self.tree.names, pick)
        done = self.runner.run(self.clients[agent].commit(self.id, message=f"by {agent}", branch=name))
        self.tree.write(agent, **{name: self.tree.records[name].now})
        assert (done.version, done.branch) == (self.tree.records[name].last, name)

    @rule(agent=agents, pick=chosen, number=chosen)
    def revert(self, agent: str, pick: int, number: int) -> None:
        name = self.pick(self.tree.names, pick)
        to = 1 + number % (max(record.last for record in self.tree.records.values()) + 1)
        call = self.clients[agent].revert(self.id, to=to, branch=name)
        expected = self.tree.at(name, to)
        if expected is None:
            with pytest.raises(NotFound):
                self.runner.run(call)
            return
        done = self.runner.run(call)
        now = self.tree.records[name].now
        self.tree.write(agent, **{name: replace(now, title=expected.title, facts=expected.facts)})
        assert (done.id, done.version, done.branch) == (self.id, self.tree.records[name].last, name)

    @precondition(lambda self: self.tree.can_undo)
    @rule(pick=chosen)
    def undo(self, pick: int) -> None:
        self.take_back(self.pick(self.tree.can_undo, pick))

    def take_back(self, agent: str) -> None:
        expected = self.tree.undo(agent)
        done = self.runner.run(self.clients[agent].undo())
        assert (len(done.done), len(done.skipped)) == expected
        assert {change.id for change in done.done} <= {self.id}

    # ---- branches ----

    @rule(agent=agents, name=st.sampled_from(NAMES), number=chosen, switch=st.booleans())
    def branch(self, agent: str, name: str, number: int, switch: bool) -> None:
        at = 1 + number % self.tree.records[MAIN].last if number % 2 else None
        call = self.clients[agent].branch(self.id, name, at=at, switch=switch, description=f"by {agent}")
        if name in self.tree.names:
            with pytest.raises(NameTaken):
                self.runner.run(call)
            return
        listed = self.runner.run(call)
        self.tree.begin(agent, name, at=at or self.tree.records[MAIN].last, switch=switch)
        assert {branch.name: branch.description for branch in listed.branches}[name] == f"by {agent}"

    @rule(agent=agents, name=st.sampled_from((MAIN, *NAMES)))
    def switch(self, agent: str, name: str) -> None:
        call = self.clients[agent].switch(self.id, name)
        if name not in self.tree.names:
            with pytest.raises(NotFound):
                self.runner.run(call)
            return
        assert self.runner.run(call).current == name
        self.tree.switched = name

    @precondition(lambda self: len(self.tree.names) > 1)
    @rule(agent=agents, pick=chosen)
    def drop(self, agent: str, pick: int) -> None:
        name = self.pick(self.tree.names[1:], pick)
        self.runner.run(self.clients[agent].drop_branch(self.id, name))
        self.tree.drop(agent, name)

    @precondition(lambda self: len(self.tree.names) > 1)
    @rule(agent=agents, pick=chosen, how=chosen, prefer=st.sampled_from(["", "ours", "theirs"]), works=works)
    def merge(self, agent: str, pick: int, how: int, prefer: str, works: list[tuple[int, str, int]]) -> None:
        name = self.pick(self.tree.names[1:], pick)
        # Both sides have changes, so that there is something to merge.
        for side, step, what in works:
            self.revise(agent, self.pick([MAIN, name], side), step, what)
        shared = [place for place, fact in enumerate(FACTS) if fact in self.tree.records[name].now.texts]
        if how % 5 == 0 and shared:
            # Each side replaces the same fact with another one.
            self.revise(agent, MAIN, "swap", shared[0])
            self.revise(agent, name, "swap", shared[0] + len(FACTS))
        name, into = (MAIN, name) if how % 2 else (name, MAIN)
        done = self.runner.run(
            self.clients[agent].call(MergeBranchRequest.of(id=self.id, name=name, into=into, prefer=prefer))
        )
        assert done.action == self.tree.merge(agent, name, into, prefer=prefer)
        assert (done.id, done.branch, done.into) == (self.id, name, into)
        assert done.version == self.tree.records[into].last
        assert [clash.field for clash in done.clashes] == (self.tree.clashes if done.action == "conflict" else [])
        if how % 3 == 0 and done.action == "merged":
            self.take_back(agent)

    # ---- invariants ----

    @invariant()
    def the_branches_are_as_the_model_says(self) -> None:
        listed = self.runner.run(self.clients["alice"].branches(self.id))
        assert (listed.id, listed.current) == (self.id, self.tree.current)
        assert [branch.name for branch in listed.branches] == self.tree.names
        for branch in listed.branches:
            record = self.tree.records[branch.name]
            assert (branch.version, branch.forked) == (record.last, record.now.forked)

    @invariant()
    def every_branch_has_the_past_that_the_model_says(self) -> None:
        for name in self.tree.names:
            history = self.runner.run(self.clients["bob"].history(self.id, branch=name, limit=PLENTY))
            assert [self.visible(version) for version in history.versions] == [
                (number, *self.seen(snapshot)) for number, snapshot in self.tree.past(name)
            ]
            assert {version.memory.id for version in history.versions} == {self.id}

    @invariant()
    def only_main_is_a_memory(self) -> None:
        recalled = self.runner.run(self.clients["alice"].recall("", limit=9))
        assert [hit.id for hit in recalled.hits] == [self.id]
        assert recalled.hits[0].title == (self.tree.records[MAIN].now.title or recalled.hits[0].title)

    # ---- helpers ----

    def visible(self, version: Version) -> tuple[int, str, list[str]]:
        return version.number, version.memory.title, [observation.text for observation in version.memory.observations]

    def seen(self, snapshot: Snapshot) -> tuple[str, list[str]]:
        return snapshot.title, snapshot.texts

    def pick(self, among: list[str] | tuple[str, ...], number: int) -> str:
        return among[number % len(among)]


TestBranching = pytest.mark.slow(BranchStateMachine.TestCase)
# The same series on every run, and no shrinking: a call on real files takes too long for thousands of tries.
TestBranching.settings = settings(
    max_examples=8,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
