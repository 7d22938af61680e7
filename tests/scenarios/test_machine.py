"""Any series of calls leaves the memory in the same state as the model."""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypedDict, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from scrubjay.client import MemoryClient
from scrubjay.errors import NameTaken, NotFound, StaleVersion, WrongState
from scrubjay.model.memory import Memory
from tests.scenarios.model import LINK, Model, Snapshot, VisibleFields
from tests.scenarios.wiring import Wiring, open_wiring
from tests.temp_folders import quick_place

AGENTS = ("alice", "bob")
NAMES = ("", "", "plan", "diary", "who's who")
ENTITIES = ((), (), ("Sarah",), ("Sarah", "Acme"), ("C", "C++", "Oslo"))
FIELDS = ("content", "title", "tags", "name", "pinned", "add", "remove")
PLENTY = 1_000_000
T = TypeVar("T")
RevisionRequest = dict[str, str | bool | list[str]]


class UnrevertedFields(TypedDict):
    """The fields that a revert does not change."""

    state: str
    group: str
    confirmed: int


chosen = st.integers(min_value=0, max_value=1_000)
agents = st.sampled_from(AGENTS)


class Verbs(RuleBasedStateMachine):
    """The verbs on a real store with a real index, and on the model."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory(prefix="scrubjay-", dir=quick_place())
        self.model = Model()
        self.words = 0
        self.confirmations = 0
        self.stack = AsyncExitStack()

    @initialize()
    def open(self) -> None:
        self.wiring: Wiring = self.runner.run(self.stack.enter_async_context(open_wiring(Path(self.folder.name))))
        self.clients = {agent: self.wiring.client(agent=agent) for agent in AGENTS}
        self.stranger = self.wiring.client(space="elsewhere", agent="alice")

    def teardown(self) -> None:
        self.runner.run(self.stack.aclose())
        self.runner.close()
        self.folder.cleanup()

    # ---- the verbs ----

    @rule(agent=agents, name=st.sampled_from(NAMES), entities=st.sampled_from(ENTITIES), titled=st.booleans())
    def remember(self, agent: str, name: str, entities: tuple[str, ...], titled: bool) -> None:
        word = self.new_word()
        call = self.clients[agent].remember(
            f"Somebody said {word} once", name=name, entities=entities, title=f"About {word}" if titled else ""
        )
        if name and len(entities) < 2 and self.model.holder_of(name):
            with pytest.raises(NameTaken):
                self.runner.run(call)
            return
        try:
            done = self.runner.run(call)
        except NameTaken as error:
            assert self.model.holder_of(str(error.fields["name"]))  # noqa: PT017 - depends on the holder of the name
            return
        assert done.action == "created"
        assert len(done.ids) == max(1, len(entities))
        self.confirmations += 1
        results = self.runner.run(self.clients[agent].read(done.ids)).memories
        self.model.write(agent, {memory.id: self.snapshot(memory) for memory in results})

    @precondition(lambda self: self.model.ids("live"))
    @rule(agent=agents, pick=chosen)
    def say_it_again(self, agent: str, pick: int) -> None:
        memory = self.model.now(self.pick(self.model.ids("live"), pick))
        done = self.runner.run(
            self.clients[agent].remember(
                str(memory["content"]), entities=(str(memory["entity"]),) if memory["entity"] else ()
            )
        )
        assert done.action == "unchanged"
        assert self.model.now(done.id)["content"] == memory["content"]

    @precondition(lambda self: self.model.versions)
    @rule(agent=agents, pick=chosen, field=st.sampled_from(FIELDS), version=st.sampled_from(["", "right", "stale"]))
    def revise(self, agent: str, pick: int, field: str, version: str) -> None:
        memory_id = self.pick(self.model.ids(), pick)
        now, number = self.model.now(memory_id), len(self.model.versions[memory_id])
        request, changed = self.edit(field, now)
        expected = {"": None, "right": number, "stale": number + 1}[version]
        call = self.clients[agent].revise(memory_id, expected_version=expected, **request)  # type: ignore[arg-type]
        if version == "stale":
            with pytest.raises(StaleVersion) as caught:
                self.runner.run(call)
            assert caught.value.fields["current"] == number
        elif changed == now:
            assert self.runner.run(call).action == "unchanged"
        elif changed["state"] == "live" and self.model.holder_of(changed["name"]) not in (None, memory_id):
            with pytest.raises(NameTaken):
                self.runner.run(call)
        else:
            done = self.runner.run(call)
            assert (done.action, done.version) == ("updated", number + 1)
            self.confirmations += 1
            self.model.write(agent, {memory_id: {**changed, "confirmed": self.confirmations}})

    @precondition(lambda self: self.model.versions)
    @rule(agent=agents, pick=chosen, group=st.booleans())
    def forget(self, agent: str, pick: int, group: bool) -> None:
        self.move(agent, self.pick(self.model.ids(), pick), "trashed", group=group)

    @precondition(lambda self: self.model.ids("trashed"))
    @rule(agent=agents, pick=chosen, group=st.booleans())
    def restore(self, agent: str, pick: int, group: bool) -> None:
        self.move(agent, self.pick(self.model.ids("trashed"), pick), "live", group=group)

    @precondition(lambda self: self.model.versions)
    @rule(agent=agents, pick=chosen)
    def purge(self, agent: str, pick: int) -> None:
        memory_id = self.pick((pick % 2 and self.model.ids("trashed")) or self.model.ids(), pick)
        call = self.clients[agent].purge(memory_id)
        if self.model.now(memory_id)["state"] == "live":
            with pytest.raises(WrongState):
                self.runner.run(call)
        else:
            assert [change.id for change in self.runner.run(call).done] == [memory_id]
            self.model.purge([memory_id])

    @precondition(lambda self: len(self.model.versions) > 1)
    @rule(agent=agents, first=chosen, second=chosen, kind=st.sampled_from([LINK, "knows"]), text=st.sampled_from("ab"))
    def relate(self, agent: str, first: int, second: int, kind: str, text: str) -> None:
        source, target = self.pick(self.model.ids(), first), self.pick(self.model.ids(), second)
        if source == target:
            return
        done = self.runner.run(self.clients[agent].relate(source, target, relation=kind, text=text))
        edge = self.model.edge(source, target, kind)
        if edge and self.model.edges[edge] == text:
            assert done.action == "unchanged"
        else:
            assert done.action == ("updated" if edge else "created")
            self.model.relate(agent, edge or (source, kind, target), text)

    @precondition(lambda self: self.model.edges)
    @rule(agent=agents, pick=chosen)
    def unrelate(self, agent: str, pick: int) -> None:
        source, kind, target = edge = self.pick(list(self.model.edges), pick)
        ends = (target, source) if kind == LINK and pick % 2 else (source, target)
        done = self.runner.run(self.clients[agent].unrelate(*ends, relation=kind))
        assert done.action == "removed"
        self.model.relate(agent, edge, None)

    @precondition(lambda self: self.model.versions)
    @rule(agent=agents, pick=chosen, to=chosen)
    def revert(self, agent: str, pick: int, to: int) -> None:
        memory_id = self.pick(self.model.ids(), pick)
        past = self.model.versions[memory_id]
        number = 1 + to % len(past)
        now = past[-1]
        call = self.clients[agent].revert(memory_id, to=number)
        if now["state"] == "live" and self.model.holder_of(past[number - 1]["name"]) not in (None, memory_id):
            with pytest.raises(NameTaken):
                self.runner.run(call)
        else:
            assert self.runner.run(call).version == len(past) + 1
            stored: UnrevertedFields = {"state": now["state"], "group": now["group"], "confirmed": now["confirmed"]}
            self.model.write(agent, {memory_id: {**past[number - 1], **stored}})

    @rule(agent=agents)
    def undo(self, agent: str) -> None:
        expected = self.model.undo(agent)
        if expected is None:
            with pytest.raises(NotFound):
                self.runner.run(self.clients[agent].undo())
        else:
            done = self.runner.run(self.clients[agent].undo())
            assert (len(done.done), len(done.skipped)) == expected

    @rule()
    def reopen(self) -> None:
        self.runner.run(self.stack.aclose())
        self.stack = AsyncExitStack()
        self.open()

    @rule()
    def elsewhere(self) -> None:
        self.runner.run(self.stranger.remember("A stranger keeps a secret", name="plan", intent="new", dry_run=True))
        self.runner.run(self.stranger.remember(f"A stranger's secret {self.new_word()}"))

    # ---- invariants ----

    @invariant()
    def every_memory_is_as_the_model_says(self) -> None:
        ids = self.model.ids()
        if not ids:
            return
        results = self.runner.run(self.clients["alice"].read(ids))
        assert not results.missing
        for memory in results.memories:
            past = self.model.versions[memory.id]
            assert memory.version == len(past)
            assert self.visible(memory) == self.model.seen(past[-1])
        edges = {(relation.source, relation.type, relation.target): relation.text for relation in results.relations}
        assert edges == self.model.edges
        names = [memory.name for memory in results.memories if memory.state == "live"]
        assert len(names) == len(set(names))

    @precondition(lambda self: self.model.versions)
    @invariant()
    def the_newest_is_found_in_every_way(self) -> None:
        client = self.clients["alice"]
        memory_id = self.model.ids()[-1]
        now, past = self.model.now(memory_id), self.model.versions[memory_id]
        history = self.runner.run(client.history(memory_id, limit=len(past) + 1)).versions
        assert [version.number for version in history] == list(range(len(past), 0, -1))
        for entry, snapshot in zip(reversed(history), past, strict=True):
            assert self.visible(entry.memory) == self.model.seen(snapshot)
        if now["state"] == "live":
            assert self.ids_of(client, str(now["name"])) == [memory_id]
        if now["title"] and not self.model.holder_of(now["title"]):
            assert memory_id in self.ids_titled(client, str(now["title"]))
        word = str(now["content"]).split()[2]
        assert self.with_word(client, word) == ({str(now["content"])} if now["state"] == "live" else self.twins(now))

    @invariant()
    def other_spaces_are_invisible(self) -> None:
        results = self.runner.run(self.stranger.recall("somebody said once", limit=100, max_tokens=PLENTY)).hits
        assert all("stranger" in hit.passage for hit in results)
        assert self.runner.run(self.stranger.status()).memories.get("trashed", 0) == 0
        if self.model.versions:
            assert not self.runner.run(self.stranger.read(self.model.ids())).memories

    # ---- helpers ----

    def new_word(self) -> str:
        self.words += 1
        return f"zq{self.words}w"

    def pick(self, among: list[T], number: int) -> T:
        return among[number % len(among)]

    def snapshot(self, memory: Memory) -> Snapshot:
        return {**self.visible(memory), "confirmed": self.confirmations, "group": memory.group}

    def visible(self, memory: Memory) -> VisibleFields:
        return {
            "content": memory.content,
            "title": memory.title,
            "name": memory.name,
            "tags": memory.tags,
            "pinned": memory.pinned,
            "entity": memory.entity,
            "state": memory.state.value,
            "observations": [observation.text for observation in memory.observations],
        }

    def edit(self, field: str, now: Snapshot) -> tuple[RevisionRequest, Snapshot]:
        """Return the arguments of `revise`, and the expected version."""
        observations = now["observations"]
        match field:
            case "content":
                text = f"Somebody said {self.new_word()} instead"
                return {"text": text}, {**now, "content": text}
            case "tags":
                return {"tags": ["#Red", "blue"]}, {**now, "tags": ("red", "blue")}
            case "pinned":
                return {"pinned": not now["pinned"]}, {**now, "pinned": not now["pinned"]}
            case "add":
                fact = f"fact {len(observations)}"
                return {"add_observations": [fact]}, {**now, "observations": [*observations, fact]}
            case "remove":
                return {"remove_observations": observations[:1]}, {**now, "observations": observations[1:]}
            case "name":
                return {"name": "diary"}, {**now, "name": "diary"}
            case _:
                title = f"Titled {self.new_word()}"
                return {"title": title}, {**now, "title": title}

    def move(self, agent: str, memory_id: str, target: str, *, group: bool) -> None:
        ids = self.model.group_of(memory_id) if group else [memory_id]
        verb = self.clients[agent].forget if target == "trashed" else self.clients[agent].restore
        done = {change.id: change for change in self.runner.run(verb(memory_id, group=group)).done}
        assert set(done) == set(ids)
        moved: dict[str, Snapshot] = {}
        for entry, reported in done.items():
            now = self.model.now(entry)
            if now["state"] == target:
                assert reported.action == "unchanged"
                continue
            free = target != "live" or self.model.holder_of(now["name"]) is None
            assert reported.name == (now["name"] if free else f"{now['name']}-{entry[-6:]}")
            moved[entry] = {**now, "state": target, "name": reported.name}
        if moved:
            self.model.write(agent, moved)

    def ids_of(self, client: MemoryClient, ref: str) -> list[str]:
        return [memory.id for memory in self.runner.run(client.read(ref)).memories]

    def ids_titled(self, client: MemoryClient, title: str) -> list[str]:
        sharing = [id_ for id_ in self.model.ids() if self.model.now(id_)["title"] == title]
        live = [id_ for id_ in sharing if self.model.now(id_)["state"] == "live"]
        # A live memory takes precedence over trashed ones; two of the same state are ambiguous.
        if len(live or sharing) == 1:
            assert self.ids_of(client, title) == (live or sharing)
        return sharing

    def with_word(self, client: MemoryClient, word: str) -> set[str]:
        results = self.runner.run(client.recall(word, limit=1000, max_tokens=PLENTY, explain=True, detail="full"))
        hits = [hit for hit in (*results.hits, *results.pinned) if hit.memory and word in hit.memory.content]
        assert all(word in hit.why[0] for hit in results.hits if hit in hits)
        return {hit.memory.content for hit in hits if hit.memory}

    def twins(self, now: Snapshot) -> set[str]:
        live = [self.model.now(id_) for id_ in self.model.ids("live")]
        return {str(snapshot["content"]) for snapshot in live if snapshot["content"] == now["content"]}


TestVerbs = pytest.mark.slow(Verbs.TestCase)
# The same series on every run, and no shrinking: a call on real files takes too long for thousands of tries.
TestVerbs.settings = settings(
    max_examples=10,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
