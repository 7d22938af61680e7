"""History: the versions and relations of an earlier moment."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from tests.fakes.build import a_commit, a_memory, a_rewrite, an_edge, an_origin, moment, revised

from scrubjay.model.change import Origin
from scrubjay.model.memory import Memory, State
from scrubjay.model.relation import Relation
from scrubjay.ports import Edge, RecordStore


class PastSuite:
    """`version_at`, `versions_at`, `relations_at` and `sizes`. Needs the fixture `store`."""

    async def test_the_version_of_a_moment_is_the_newest_at_that_time(self, store: RecordStore) -> None:
        first = a_memory("one", created_at=moment(10), updated_at=moment(10))
        await store.commit(a_commit(first, origin=_at(10)))
        for number, text in enumerate(("two", "three"), start=2):
            later = replace(first, version=number, content=text, updated_at=moment(10 * number))
            await store.commit(a_commit(a_rewrite(later), origin=_at(10 * number)))
        reported = {at: await _text_at(store, first, moment(at)) for at in (9.999999, 10, 19, 20, 29.9, 30, 1e6)}
        assert reported == {9.999999: None, 10: "one", 19: "one", 20: "two", 29.9: "two", 30: "three", 1e6: "three"}

    async def test_the_versions_of_many_memories_at_a_moment_are_returned_together(self, store: RecordStore) -> None:
        made = [a_memory(f"text {n} " * 9, created_at=moment(n), updated_at=moment(n)) for n in range(1, 20)]
        for memory in made:
            await store.commit(a_commit(memory, origin=_at((memory.created_at - moment(0)).total_seconds())))
        for number in (2, 3):
            later = [replace(memory, version=number, content=f"{memory.content}{number}") for memory in made]
            await store.commit(a_commit(*map(a_rewrite, later), origin=_at(100 * number)))
        ids = [memory.id for memory in made]
        for at in (0.5, 5, 150, 200, 1e6):
            versions = await store.versions_at("default", [*ids[::-1], "nobody", ids[3], ""], at=moment(at))
            alone = {id_: await store.version_at("default", id_, at=moment(at)) for id_ in ids[::-1]}
            assert versions == {memory_id: version for memory_id, version in alone.items() if version is not None}
            assert list(versions) == [memory_id for memory_id, version in alone.items() if version is not None]
        assert await store.versions_at("there", ids, at=moment(1e6)) == {}
        assert await store.versions_at("default", [], at=moment(1e6)) == {}

    async def test_no_version_of_another_memory_is_returned(self, store: RecordStore) -> None:
        await store.commit(a_commit(a_memory(space="there")))
        memory = a_memory()
        await store.commit(a_commit(memory))
        assert await store.version_at("there", memory.id, at=moment(1e6)) is None
        for ref in ("nobody", "", memory.id[:-1]):
            assert await store.version_at("default", ref, at=moment(1e6)) is None

    async def test_a_relation_exists_from_its_creation_to_its_removal(self, store: RecordStore) -> None:
        first, second, third = await _three(store)
        edge = _edge(first, second, at=10, text="why", strength=0.75)
        await store.commit(a_commit(edge, origin=_at(10)))
        await store.commit(a_commit(an_edge(first, second, present=False), origin=_at(20)))
        for end in (first, second):
            assert await _then(store, end, at=9) == []
            assert await _then(store, end, at=10) == [edge.relation]
            assert await _then(store, end, at=19) == [edge.relation]
            assert await _then(store, end, at=20) == []
        assert await _then(store, first, second, third, at=15) == [edge.relation]
        assert await _then(store, third, at=15) == []
        assert await store.relations_at("default", [], at=moment(15)) == []
        assert await store.relations_at("there", [first.id], at=moment(15)) == []

    async def test_a_replaced_relation_is_returned_as_it_was(self, store: RecordStore) -> None:
        first, second, _ = await _three(store)
        # However often it is replaced: a new relation may keep the creation time of the old one.
        edges = [_edge(first, second, at=10, strength=strength) for strength in (0.1, 0.2, 0.3)]
        for number, edge in enumerate(edges, start=1):
            await store.commit(a_commit(edge, origin=_at(10 * number)))
        reported = {at: [each.strength for each in await _then(store, first, at=at)] for at in (9, 10, 20, 29, 30, 99)}
        assert reported == {9: [], 10: [0.1], 20: [0.2], 29: [0.2], 30: [0.3], 99: [0.3]}

    async def test_a_relation_that_was_set_again_did_not_exist_in_between(self, store: RecordStore) -> None:
        first, second, _ = await _three(store)
        edge = _edge(first, second, at=10)
        await store.commit(a_commit(edge, origin=_at(10)))
        await store.commit(a_commit(replace(edge, present=False), origin=_at(20)))
        await store.commit(a_commit(edge, origin=_at(30)))
        reported = {at: len(await _then(store, first, at=at)) for at in (9, 10, 20, 29, 30)}
        assert reported == {9: 0, 10: 1, 20: 0, 29: 0, 30: 1}

    async def test_an_imported_relation_keeps_its_creation_time(self, store: RecordStore) -> None:
        first, second, _ = await _three(store)
        edge = _edge(first, second, at=10)
        await store.commit(a_commit(edge, origin=_at(50)))
        await store.commit(a_commit(replace(edge, present=False), origin=_at(60)))
        reported = {at: len(await _then(store, second, at=at)) for at in (9, 10, 49, 59, 60)}
        assert reported == {9: 0, 10: 1, 49: 1, 59: 1, 60: 0}

    async def test_a_purged_memory_has_no_history(self, store: RecordStore) -> None:
        first, second, third = await _three(store)
        stays = _edge(first, third, at=10)
        await store.commit(a_commit(_edge(first, second, at=10), stays, origin=_at(10)))
        await store.purge("default", [second.id], origin=_at(20))
        assert await _then(store, first, at=15) == [stays.relation]
        assert await _then(store, second, at=15) == []

    async def test_every_version_of_a_long_history_is_returned_exactly(self, store: RecordStore) -> None:
        line = [a_memory("It rains in Ghent. " * 9, tags=("a",))]
        for number in range(2, 41):
            line.append(revised(line[-1], content=f"{line[-1].content}In week {number} it did not. "[-900:]))
        await store.commit(a_commit(line[0]))
        # Some in commits of their own, some together.
        await store.commit(a_commit(*map(a_rewrite, line[1:4])))
        for memory in line[4:]:
            await store.commit(a_commit(a_rewrite(memory)))
        versions = await store.versions("default", line[0].id, limit=99)
        assert [version.memory for version in versions] == line[::-1]
        assert [version.memory for version in await store.versions("default", line[0].id, limit=3, before=20)] == line[
            18:15:-1
        ]
        for number in (1, 15, 16, 17, 31, 39, 40):
            results = await store.version("default", line[0].id, number)
            assert results is not None
            assert results.memory == line[number - 1]
        (memory_history,) = await store.histories("default", [line[0].id], most_bytes=1)
        assert [version.memory for version in memory_history.versions] == line
        assert await store.adopt("there", [memory_history], origin=an_origin()) == (line[0].id,)
        taken = await store.versions("there", line[0].id, limit=99)
        assert [version.memory.content for version in taken] == [memory.content for memory in line[::-1]]
        assert await store.check(deep=True) == []

    async def test_the_sizes_of_memories_are_the_current_ones(self, store: RecordStore) -> None:
        small, large = a_memory("short"), a_memory("a long text, " * 500)
        await store.commit(a_commit(small, large))
        before = await store.sizes("default", [small.id, large.id, "nobody"])
        assert set(before) == {small.id, large.id}
        assert all(0 < stored <= size for size, stored in before.values())
        assert before[small.id][0] < before[large.id][0] - 6000
        await store.commit(a_commit(a_rewrite(revised(large, content="short"))))
        assert (await store.sizes("default", [large.id]))[large.id][0] < before[small.id][0] + 50
        assert await store.sizes("default", []) == {}
        assert await store.sizes("there", [small.id]) == {}


class BranchesSuite:
    """Records in the state `branched`: they share a name with a live one. Needs the fixture `store`."""

    async def test_a_branch_is_not_found_by_the_name_it_shares(self, store: RecordStore) -> None:
        trunk = a_memory(name="plan", title="The big plan")
        branch = _branch_of(trunk)
        await store.commit(a_commit(trunk, branch))
        for ref in ("plan", "the big plan", "big plan", trunk.id):
            assert await _ids(store, ref) == [trunk.id]
            assert await _ids(store, ref, state=State.LIVE) == [trunk.id]
        for ref in ("plan", "the big plan", "big plan", branch.id):
            assert await _ids(store, ref, state=State.BRANCHED) == [branch.id]
        assert await _ids(store, branch.id) == [branch.id]

    async def test_a_branch_never_replaces_a_missing_memory(self, store: RecordStore) -> None:
        trunk = a_memory(name="plan", title="The big plan")
        titled = a_memory(name="other", title="Plan")
        await store.commit(a_commit(trunk, titled, _branch_of(trunk)))
        await store.commit(a_commit(a_rewrite(revised(trunk, state=State.TRASHED))))
        assert await _ids(store, "plan") == [trunk.id]
        await store.purge("default", [trunk.id], origin=an_origin())
        assert await _ids(store, "plan") == [titled.id]
        assert await _ids(store, "the big plan") == []

    async def test_a_branch_is_never_suggested(self, store: RecordStore) -> None:
        branch = _branch_of(a_memory(name="project-apollo"))
        await store.commit(a_commit(branch, a_memory("a rocket", name="rocket")))
        assert "project-apollo" not in await store.nearest("default", "project-apolo", limit=9)
        assert await store.labels("default", "name", prefix="project", limit=9) == ()

    async def test_a_branch_keeps_its_state_its_trunk_and_its_versions(self, store: RecordStore) -> None:
        trunk = a_memory("as it is", name="plan")
        branch = _branch_of(trunk)
        await store.commit(a_commit(trunk, branch))
        later = revised(branch, content="as it might be")
        await store.commit(a_commit(a_rewrite(later)))
        assert await store.get("default", [branch.id]) == {branch.id: later}
        assert [version.number for version in await store.versions("default", branch.id, limit=9)] == [2, 1]
        assert (await store.statistics("default")).memories == {"live": 1, "branched": 1}


def _branch_of(trunk: Memory) -> Memory:
    made = a_memory(name=trunk.name, title=trunk.title, branch="idea", state=State.BRANCHED)
    return replace(made, trunk=trunk.id, forked=trunk.version)


def _edge(source: Memory, target: Memory, *, at: float, text: str = "", strength: float = 0.5) -> Edge:
    made = an_edge(source, target, text=text, strength=strength, metadata={"n": [1]})
    return replace(made, relation=replace(made.relation, created_at=moment(at)))


def _at(seconds: float) -> Origin:
    return an_origin(at=moment(seconds))


async def _three(store: RecordStore) -> tuple[Memory, Memory, Memory]:
    first, second, third = a_memory("one"), a_memory("two"), a_memory("three")
    await store.commit(a_commit(first, second, third))
    return first, second, third


async def _text_at(store: RecordStore, memory: Memory, at: datetime) -> str | None:
    version = await store.version_at(memory.space, memory.id, at=at)
    return None if version is None else version.memory.content


async def _then(store: RecordStore, *memories: Memory, at: float) -> Sequence[Relation]:
    return await store.relations_at("default", [memory.id for memory in memories], at=moment(at))


async def _ids(store: RecordStore, ref: str, *, state: State | None = None) -> list[str]:
    return [handle.id for handle in await store.find("default", ref, state=state)]
