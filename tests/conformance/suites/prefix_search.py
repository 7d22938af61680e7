"""Terms by prefix, and memories that have a term of each group."""

import math
from collections.abc import Sequence

from tests.conformance.suites import hostile
from tests.conformance.suites.filters import SHARED_WORD, population, require_exact
from tests.fakes.build import START, a_commit, a_memory, a_rewrite, an_origin, revised

from scrubjay.model.memory import Observation, State
from scrubjay.model.passage import PASSAGES_PER_MEMORY
from scrubjay.model.query import Filter
from scrubjay.ports import RecordStore
from scrubjay.text.tokens import terms_of


class PrefixSearchSuite:
    """`terms_with_prefix` and `memories_matching`. Needs the fixture `store`."""

    async def test_terms_that_begin_alike_come_most_common_first(self, store: RecordStore) -> None:
        texts = ("meadow", "meadow meal", "meadow meal " * 300, "mean zebra", "méandre")
        await store.commit(a_commit(*map(a_memory, texts), a_memory("meager", state=State.TRASHED)))
        await store.commit(a_commit(a_memory("meat", space="there")))
        terms = await store.terms_with_prefix("default", "mea", state=State.LIVE, limit=9)
        assert [term for term, _ in terms] == ["meadow", "meal", "mean", "meandr"]
        assert dict(terms)["mean"] == 1
        assert terms == sorted(terms, key=lambda pair: (-pair[1], pair[0]))
        assert await store.terms_with_prefix("default", "mea", state=State.LIVE, limit=2) == terms[:2]
        assert await store.terms_with_prefix("default", "mea", state=State.LIVE, limit=0) == []
        assert [term for term, _ in await store.terms_with_prefix("default", "meadow", state=State.LIVE, limit=9)] == [
            "meadow"
        ]
        assert await store.terms_with_prefix("default", "mea", state=State.TRASHED, limit=9) == [("meager", 1)]
        assert await store.terms_with_prefix("nowhere", "mea", state=State.LIVE, limit=9) == []

    async def test_terms_begin_as_they_are_written_now(self, store: RecordStore) -> None:
        memory = a_memory("quince")
        await store.commit(a_commit(memory))
        await store.commit(a_commit(a_rewrite(revised(memory, content="quill"))))
        assert await store.terms_with_prefix("default", "qui", state=State.LIVE, limit=9) == [("quill", 1)]
        await store.purge("default", [memory.id], origin=an_origin())
        assert await store.terms_with_prefix("default", "qui", state=State.LIVE, limit=9) == []

    async def test_any_string_is_a_beginning(self, store: RecordStore) -> None:
        await store.commit(a_commit(a_memory("percent 100% under_score 漢字")))
        for prefix in (*hostile.STRINGS, "%", "_", "*", "'", "\\", "漢", "\U0010ffff"):
            terms = await store.terms_with_prefix("default", prefix, state=State.LIVE, limit=99)
            assert all(term.startswith(prefix) for term, _ in terms)
        assert "漢字" in dict(await store.terms_with_prefix("default", "漢", state=State.LIVE, limit=9))

    async def test_the_memory_with_the_most_groups_comes_first(self, store: RecordStore) -> None:
        both = a_memory("apples " + "filler words of all sorts " * 80 + "plums")
        apart = a_memory("apples", observations=(Observation(text="damsons", recorded_at=START),))
        first, none = a_memory("pears and pears"), a_memory("nothing of it")
        await store.commit(a_commit(first, both, none, apart))
        groups = [("apple", "appl"), ("plum", "damson"), ("nobody",)]
        assert await _found(store, groups) == [(apart.id, 2), (both.id, 2)]
        assert await _found(store, [("pear", "plum"), ("appl",)]) == [(both.id, 2), (apart.id, 1), (first.id, 1)]
        assert await _found(store, [("nobody",)]) == await _found(store, []) == await _found(store, [()]) == []

    async def test_a_match_has_the_weight_of_its_groups(self, store: RecordStore) -> None:
        memories = [a_memory("common"), a_memory("common common"), a_memory("common rare")]
        await store.commit(a_commit(*memories))
        matches = await store.memories_matching("default", [("rare",), ("common",)], Filter(), limit=9)
        weights = [round(math.log(4) + math.log(2), 6), round(math.log(2), 6), round(math.log(2), 6)]
        assert [round(match.weight, 6) for match in matches] == weights
        # Among equals, the newest comes first.
        assert [match.passage for match in matches] == sorted((match.passage for match in matches), reverse=True)

    async def test_each_memory_is_returned_with_its_best_passage(self, store: RecordStore) -> None:
        filler = "filler words of all sorts " * 50
        memory = a_memory(f"apples {filler} apples plums {filler} plums")
        await store.commit(a_commit(memory))
        (match,) = await store.memories_matching("default", [("appl",), ("plum",)], Filter(), limit=9)
        (passage,) = await store.stored_passages("default", [match.passage])
        assert {"appl", "plum"} <= set(passage.terms.split())
        assert match.passage % PASSAGES_PER_MEMORY > 0

    async def test_only_memories_that_pass_the_filter_match(self, store: RecordStore) -> None:
        memories = population()
        await store.commit(a_commit(*memories.values()))
        labels = {memory.id: label for label, memory in memories.items()}
        groups = [terms_of(SHARED_WORD), ("nobody",)]

        async def passing(filter: Filter) -> list[str]:
            matches = await store.memories_matching("default", groups, filter, limit=99)
            passages = await store.stored_passages("default", [match.passage for match in matches])
            return [labels[passage.memory_id] for passage in passages]

        await require_exact(passing)

    async def test_choices_in_a_filter_are_made_one_by_one(self, store: RecordStore) -> None:
        right, wrong = a_memory("pear", tags=("a2", "b")), a_memory("pear", tags=("a2", "b2"))
        await store.commit(a_commit(right, wrong, a_memory("pear", tags=("a", "c"))))
        expected = Filter(tags=("a",), any_tags=("b", "d"), also={"tag=a": ("tag=a2",)})
        matches = await store.memories_matching("default", [("pear",)], expected, limit=9)
        assert len(matches) == 1
        lexical = await store.lexical_candidates("default", ("pear",), expected, limit=9)
        assert [number for number, _ in lexical] == [matches[0].passage]

    async def test_a_common_group_beside_a_rare_one(self, store: RecordStore) -> None:
        crowd = [a_memory("common words here", kind="other") for _ in range(40)]
        rare = a_memory("rare common")
        await store.commit(a_commit(*crowd, rare))
        first, *others = await _found(store, [("common",), ("rare",), ("nobody",)], limit=3)
        assert first == (rare.id, 2)
        assert [count for _, count in others] == [1, 1]


async def _found(store: RecordStore, groups: Sequence[Sequence[str]], *, limit: int = 9) -> list[tuple[str, int]]:
    matches = await store.memories_matching("default", groups, Filter(), limit=limit)
    passages = {
        passage.id: passage.memory_id
        for passage in await store.stored_passages("default", [match.passage for match in matches])
    }
    return [(passages[match.passage], match.groups) for match in matches]
