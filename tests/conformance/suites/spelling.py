"""Similar terms and existing facets of a space."""

from collections.abc import Sequence

import pytest
from tests.conformance.suites import hostile
from tests.fakes.build import a_commit, a_memory, a_rewrite, an_origin, revised

from scrubjay.model.memory import State
from scrubjay.model.query import facets_of
from scrubjay.ports import RecordStore
from scrubjay.text.fuzzy import grams_of
from scrubjay.text.tokens import terms_of


class SimilarTermsSuite:
    """`similar_terms`. Needs the fixture `store`."""

    async def test_a_misspelt_term_finds_the_right_one(self, store: RecordStore) -> None:
        await store.commit(a_commit(a_memory("kubernetes"), a_memory("kubernetes cluster"), a_memory("kub")))
        (right,) = terms_of("kubernetes")
        for wrong in ("kuberentes", "kubernets", "ubernetes", "kuberneets"):
            assert (await _alike(store, wrong, limit=1)) == [(right, 2)]
        assert await _alike(store, "zzz") == []

    async def test_the_largest_share_comes_first_then_the_more_common(self, store: RecordStore) -> None:
        texts = ["planta plantb", "plantb", "plantc", "plantcxyz", "xplantq"]
        await store.commit(a_commit(*(a_memory(text) for text in texts)))
        results = await _alike(store, "plant")
        assert results[:3] == [("plantb", 2), ("planta", 1), ("plantc", 1)]
        shares = [_share("plant", term) for term, _ in results]
        assert shares == sorted(shares, reverse=True)
        assert ("plantcxyz", 1) in results

    async def test_a_term_that_is_there_is_most_like_itself(self, store: RecordStore) -> None:
        await store.commit(a_commit(a_memory("banana"), a_memory("bananas bandana banan")))
        (term,) = terms_of("banana")
        assert (await _alike(store, term))[0] == (term, 2)

    async def test_no_more_than_the_limit(self, store: RecordStore) -> None:
        await store.commit(a_commit(*(a_memory(f"plant{letter}") for letter in "bcdfghkm")))
        for limit in (1, 3, 8):
            assert len(await _alike(store, "plantx", limit=limit)) == limit
        assert await _alike(store, "plantx", limit=0) == []

    async def test_terms_of_another_space_or_state_are_not_returned(self, store: RecordStore) -> None:
        await store.commit(a_commit(a_memory("zanzibar", space="there")))
        await store.commit(a_commit(a_memory("zanzibur", state=State.TRASHED), a_memory("apple")))
        assert await _alike(store, "zanzibor") == []
        assert await _alike(store, "zanzibor", state=State.TRASHED) == [("zanzibur", 1)]
        assert await _alike(store, "zanzibor", space="there") == [("zanzibar", 1)]
        assert await _alike(store, "zanzibor", space="nowhere") == []

    async def test_a_term_that_nothing_has_any_more_is_forgotten(self, store: RecordStore) -> None:
        first, second = a_memory("zanzibar"), a_memory("zanzibar")
        await store.commit(a_commit(first, second))
        assert await _alike(store, "zanzibor") == [("zanzibar", 2)]
        await store.purge("default", [first.id], origin=an_origin())
        assert await _alike(store, "zanzibor") == [("zanzibar", 1)]
        await store.commit(a_commit(a_rewrite(revised(second, content="apple"))))
        assert await _alike(store, "zanzibor") == []
        third = revised(revised(second, content="apple"), content="zanzibar", state=State.TRASHED)
        await store.commit(a_commit(a_rewrite(third)))
        assert await _alike(store, "zanzibor") == []
        assert await _alike(store, "zanzibor", state=State.TRASHED) == [("zanzibar", 1)]
        await store.purge("default", [second.id], origin=an_origin())
        assert await _alike(store, "zanzibor", state=State.TRASHED) == []

    async def test_any_string_may_be_looked_up(self, store: RecordStore) -> None:
        await store.commit(a_commit(*(a_memory(string) for string in hostile.STRINGS)))
        for term in {
            *(term for string in hostile.STRINGS for term in terms_of(string)),
            "%",
            "_",
            "a%b",
            "'",
            '"',
            " ",
        }:
            results = await _alike(store, term)
            assert all(_share(term, similar) > 0 for similar, _ in results)

    @pytest.mark.parametrize("term", ["a", "ab", "漢字"])
    async def test_a_short_term_is_known_too(self, store: RecordStore, term: str) -> None:
        await store.commit(a_commit(a_memory(f"{term} 1")))
        if terms_of(term):
            assert (term, 1) in await _alike(store, term)


class KnownFacetsSuite:
    """`known_facets`. Needs the fixture `store`."""

    async def test_facets_are_counted_by_memory(self, store: RecordStore) -> None:
        memories = [a_memory("x " * 900, entity="Sarah"), a_memory(entity="sarah", tags=("Tea",)), a_memory()]
        await store.commit(a_commit(*memories))
        requested = ["entity=sarah", "tag=tea", "entity=nobody", "entity=Sarah", ""]
        assert await _known(store, requested) == {"entity=sarah": 2, "tag=tea": 1}
        assert await _known(store, []) == {}
        assert await _known(store, ["tag=tea", "tag=tea"]) == {"tag=tea": 1}

    async def test_each_value_of_a_list_is_a_facet(self, store: RecordStore) -> None:
        memory = a_memory(metadata={"people": ["Sarah", "Bob"]})
        await store.commit(a_commit(memory))
        assert {"meta.people=sarah", "meta.people=bob"} <= set(facets_of(memory))
        assert await _known(store, facets_of(memory)) == dict.fromkeys(facets_of(memory), 1)

    async def test_facets_are_of_one_space_and_state(self, store: RecordStore) -> None:
        await store.commit(a_commit(a_memory(entity="Sarah"), a_memory(entity="Bob", state=State.TRASHED)))
        await store.commit(a_commit(a_memory(entity="Eve", space="there")))
        requested = ["entity=sarah", "entity=bob", "entity=eve"]
        assert await _known(store, requested) == {"entity=sarah": 1}
        assert await _known(store, requested, state=State.TRASHED) == {"entity=bob": 1}
        assert await _known(store, requested, space="there") == {"entity=eve": 1}
        assert await _known(store, requested, space="nowhere") == {}

    async def test_facets_follow_every_change(self, store: RecordStore) -> None:
        memory, other = a_memory(entity="Sarah"), a_memory(entity="Sarah")
        await store.commit(a_commit(memory, other))
        await store.commit(a_commit(a_rewrite(revised(memory, entity="Bob"))))
        assert await _known(store, ["entity=sarah", "entity=bob"]) == {"entity=sarah": 1, "entity=bob": 1}
        await store.purge("default", [other.id], origin=an_origin())
        assert await _known(store, ["entity=sarah", "entity=bob"]) == {"entity=bob": 1}

    async def test_the_values_of_a_facet_come_with_their_counts_most_first(self, store: RecordStore) -> None:
        kinds = ("fact", "Fact", "note", "note", "note", "person", "decision", "a=b")
        await store.commit(a_commit(*(a_memory(kind=kind, tags=("kind=x",)) for kind in kinds)))
        await store.commit(a_commit(a_memory(kind="elsewhere", space="there")))
        await store.commit(a_commit(a_memory(kind="gone", state=State.TRASHED)))
        most = [("note", 3), ("fact", 2), ("a=b", 1), ("decision", 1), ("person", 1)]
        for limit in (0, 1, 3, 9):
            assert await store.facet_values("default", "kind", state=State.LIVE, limit=limit) == most[:limit]
        assert await store.facet_values("default", "kind", state=State.TRASHED, limit=9) == [("gone", 1)]
        assert await store.facet_values("there", "kind", state=State.LIVE, limit=9) == [("elsewhere", 1)]
        for space, field in (("nowhere", "kind"), ("default", "kin"), ("default", ""), ("default", "%")):
            assert await store.facet_values(space, field, state=State.LIVE, limit=9) == []


async def _alike(
    store: RecordStore, term: str, *, space: str = "default", state: State = State.LIVE, limit: int = 9
) -> list[tuple[str, int]]:
    return await store.similar_terms(space, term, state=state, limit=limit)


async def _known(
    store: RecordStore, facets: Sequence[str], *, space: str = "default", state: State = State.LIVE
) -> dict[str, int]:
    return await store.known_facets(space, facets, state=state)


def _share(term: str, other: str) -> float:
    return len(grams_of(term) & grams_of(other)) / len(grams_of(term) | grams_of(other))
