"""Lexical candidates, and the statistics to rank them."""

from collections import Counter
from collections.abc import Sequence

import pytest
from tests.conformance.suites import hostile
from tests.conformance.suites.filters import SHARED_WORD, population, require_exact
from tests.conformance.suites.lookups import lexical_passages
from tests.fakes.build import START, a_commit, a_memory, a_rewrite, revised

from scrubjay.model.memory import Memory, Observation, State
from scrubjay.model.passage import StoredPassage, passage_id
from scrubjay.model.query import Filter
from scrubjay.model.timestamps import to_micros
from scrubjay.ports import RecordStore, TermStatistics
from scrubjay.text.passages import passages_of
from scrubjay.text.tokens import terms_of


class CandidatesSuite:
    """`lexical_candidates` and `stored_passages`. Needs the fixture `store`."""

    async def test_passages_with_some_of_the_terms_are_found(self, store: RecordStore) -> None:
        apples, pears, plums = a_memory("red apples"), a_memory("green pears"), a_memory("blue plums")
        await store.commit(a_commit(apples, pears, plums))
        assert await _ids(store, "apples") == {apples.id}
        assert await _ids(store, "apples pears nobody") == {apples.id, pears.id}
        assert await _ids(store, "nobody") == set()
        assert await lexical_passages(store, "default", (), Filter(), limit=9) == []

    async def test_a_candidate_is_the_passage_as_it_was_stored(self, store: RecordStore) -> None:
        memory = a_memory(
            "apple banana apple " * 100,
            title="Fruit",
            tags=("food",),
            observations=(
                Observation(text="cherry first", recorded_at=START),
                Observation(text="cherry second", recorded_at=START),
            ),
        )
        await store.commit(a_commit(memory))
        (change,) = await store.changes(after=0, limit=9)
        expected = _stored(memory, change.number)
        assert len(expected) > 3
        passages = await lexical_passages(store, "default", terms_of("fruit"), Filter(), limit=99)
        assert sorted(passages, key=lambda point: point.id) == expected
        cherries = await lexical_passages(store, "default", terms_of("cherry"), Filter(), limit=99)
        assert sorted(cherries, key=lambda point: point.id) == expected[-2:]

    async def test_passages_are_read_by_number(self, store: RecordStore) -> None:
        memory = a_memory("word " * 900)
        other = a_memory("other")
        await store.commit(a_commit(memory, other))
        first, second = await store.changes(after=0, limit=9)
        expected = [*_stored(memory, first.number), *_stored(other, second.number)]
        passages = await store.stored_passages("default", [*(item.id for item in expected), 0, 10**15])
        assert sorted(passages, key=lambda point: point.id) == expected
        assert await store.stored_passages("default", [expected[1].id]) == [expected[1]]
        assert await store.stored_passages("default", []) == []

    async def test_rare_words_and_more_words_come_first(self, store: RecordStore) -> None:
        common = [a_memory("common") for _ in range(60)]
        rare, both = a_memory("rare"), a_memory("rare common words")
        await store.commit(a_commit(*common[:30], rare, both, *common[30:]))
        passages = await lexical_passages(store, "default", terms_of("rare common"), Filter(), limit=2)
        assert {passage.memory_id for passage in passages} == {rare.id, both.id}

    async def test_the_limit_is_kept_and_reached(self, store: RecordStore) -> None:
        await store.commit(a_commit(*(a_memory("much alike") for _ in range(30))))
        for limit in (1, 7, 30, 99):
            passages = await lexical_passages(store, "default", terms_of("alike"), Filter(), limit=limit)
            assert len({memory.id for memory in passages}) == len(passages) == min(limit, 30)

    async def test_only_passages_that_pass_the_filter_are_found(self, store: RecordStore) -> None:
        memories = population()
        await store.commit(a_commit(*memories.values()))
        labels = {memory.id: label for label, memory in memories.items()}

        async def passing(filter: Filter) -> list[str]:
            passages = await lexical_passages(store, "default", terms_of(SHARED_WORD), filter, limit=99)
            return [labels[passage.memory_id] for passage in passages]

        await require_exact(passing)

    @pytest.mark.parametrize("count", [1, 3, 25])
    async def test_a_filter_never_leaves_too_few(self, store: RecordStore, count: int) -> None:
        # The passages that pass the filter match far worse than the hundreds that do not.
        better = [a_memory("needle in hay", kind="other") for _ in range(400)]
        worse = [a_memory("needle " + "padding of all sorts " * 20, kind="wanted", tags=("t",)) for _ in range(count)]
        await store.commit(a_commit(*better[:200], *worse, *better[200:]))
        for chosen in (Filter(kind="wanted"), Filter(tags=("t",), kind="wanted"), Filter(any_tags=("t", "u"))):
            passages = await lexical_passages(store, "default", terms_of("needle hay"), chosen, limit=count)
            assert {passage.memory_id for passage in passages} == {memory.id for memory in worse}

    async def test_a_filter_never_leaves_too_few_of_a_common_word(self, store: RecordStore) -> None:
        # A store may skip common terms for speed, but not if only they find passages that pass the filter.
        crowd = [a_memory("common", kind="other") for _ in range(3200)]
        rare = [a_memory("rare", kind="other") for _ in range(3)]
        expected = [a_memory("common", kind="wanted") for _ in range(5)]
        await store.commit(a_commit(*crowd[:1000], *expected, *rare, *crowd[1000:]))
        passages = await lexical_passages(store, "default", terms_of("rare common"), Filter(kind="wanted"), limit=5)
        assert {passage.memory_id for passage in passages} == {item.id for item in expected}

    async def test_a_state_is_searched_by_itself(self, store: RecordStore) -> None:
        live = [a_memory("needle") for _ in range(200)]
        trashed = a_memory("needle", state=State.TRASHED)
        await store.commit(a_commit(*live, trashed))
        passages = await lexical_passages(store, "default", terms_of("needle"), Filter(state=State.TRASHED), limit=5)
        assert [passage.memory_id for passage in passages] == [trashed.id]

    async def test_a_revision_is_found_by_its_new_words_alone(self, store: RecordStore) -> None:
        memory = a_memory("apples", kind="fact")
        await store.commit(a_commit(memory))
        await store.commit(a_commit(a_rewrite(revised(memory, content="pears", kind="rumour"))))
        assert await _ids(store, "apples") == set()
        assert await _ids(store, "pears") == {memory.id}
        assert await _ids(store, "pears", Filter(kind="fact")) == set()
        assert await _ids(store, "pears", Filter(kind="rumour")) == {memory.id}

    async def test_a_shorter_revision_leaves_no_passage_behind(self, store: RecordStore) -> None:
        memory = a_memory("apples and more " * 300)
        await store.commit(a_commit(memory))
        before = sorted(await store.matching_passages("default", Filter()))
        await store.commit(a_commit(a_rewrite(revised(memory, content="apples"))))
        assert len(before) > 1
        assert list(await store.matching_passages("default", Filter())) == before[:1]
        assert len(await lexical_passages(store, "default", terms_of("apples"), Filter(), limit=9)) == 1
        assert len(await store.stored_passages("default", before)) == 1

    async def test_any_string_can_be_searched_for(self, store: RecordStore) -> None:
        memories = [a_memory(string) for string in hostile.STRINGS]
        await store.commit(a_commit(*memories))
        for memory in memories:
            terms = terms_of(memory.content)
            passages = await lexical_passages(store, "default", terms, Filter(), limit=99)
            assert all(set(passage.terms.split()) & set(terms) for passage in passages)
            if terms:
                assert memory.id in {passage.memory_id for passage in passages}

    async def test_terms_are_words_and_never_operators(self, store: RecordStore) -> None:
        near, plain = a_memory("near the river"), a_memory("river")
        await store.commit(a_commit(near, plain))
        assert await _ids(store, "near") == {near.id}
        for operator in (
            "AND",
            "OR",
            "NOT",
            "NEAR",
            "NEAR(",
            '"',
            '""',
            "*",
            "-",
            "^",
            ":",
            "(",
            "space:x",
            "river*",
            "",
        ):
            for terms in ((operator, "river"), ("river", operator), ("river", operator, "river")):
                passages = await lexical_passages(store, "default", terms, Filter(), limit=9)
                assert {passage.memory_id for passage in passages} == {near.id, plain.id}
                await store.term_statistics("default", terms, state=State.LIVE)
        assert await lexical_passages(store, "default", ("riv*",), Filter(), limit=9) == []

    async def test_words_of_any_script_are_found(self, store: RecordStore) -> None:
        texts = (
            "हिन्दी में",
            "שלום",
            "مرحبا",
            "漢字文",
            "한국어",
            "ภาษาไทย",
            "Ångström",
            "c++",
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
            "ﬁne",
            "x²",
        )
        memories = [a_memory(text) for text in texts]
        await store.commit(a_commit(*memories))
        for memory in memories:
            ids = await _ids(store, memory.content)
            assert memory.id in ids
            assert len(ids) == 1

    async def test_a_question_of_many_words(self, store: RecordStore) -> None:
        memory = a_memory("needle")
        await store.commit(a_commit(memory))
        question = tuple(f"word{number}" for number in range(2000))
        passages = await lexical_passages(store, "default", (*question, "needl", "needl"), Filter(), limit=9)
        assert [passage.memory_id for passage in passages] == [memory.id]


class TermStatisticsSuite:
    """`term_statistics`. Needs the fixture `store`."""

    async def test_an_empty_space_has_no_statistics(self, store: RecordStore) -> None:
        statistics = await store.term_statistics("default", ("apple",), state=State.LIVE)
        assert (statistics.passages, statistics.total_length, statistics.frequencies.get("apple", 0)) == (0, 0, 0)

    async def test_statistics_count_passages_not_occurrences(self, store: RecordStore) -> None:
        memories = [
            a_memory("apple apple apple pear"),
            a_memory("apple", observations=(Observation(text="pear fig", recorded_at=START),)),
            a_memory("apple pear fig " * 200),
        ]
        await store.commit(a_commit(*memories))
        await _require_exact(store, memories)

    async def test_statistics_are_of_one_state(self, store: RecordStore) -> None:
        live = [a_memory("apple pear"), a_memory("apple")]
        trashed = [a_memory("apple fig fig", state=State.TRASHED)]
        await store.commit(a_commit(*live, *trashed))
        await _require_exact(store, live)
        await _require_exact(store, trashed, state=State.TRASHED)
        await _require_exact(store, [], state=State.ARCHIVED)

    async def test_statistics_follow_revisions_and_states(self, store: RecordStore) -> None:
        first, second = a_memory("apple pear " * 200), a_memory("apple fig")
        await store.commit(a_commit(first, second))
        first = revised(first, content="fig")
        await store.commit(a_commit(a_rewrite(first)))
        await _require_exact(store, [first, second])
        second = revised(second, state=State.TRASHED)
        await store.commit(a_commit(a_rewrite(second)))
        await _require_exact(store, [first])
        await _require_exact(store, [second], state=State.TRASHED)
        second = revised(second, state=State.LIVE, content="pear")
        await store.commit(a_commit(a_rewrite(second)))
        await _require_exact(store, [first, second])
        await _require_exact(store, [], state=State.TRASHED)

    async def test_statistics_are_of_one_space(self, store: RecordStore) -> None:
        here, there = [a_memory("apple pear")], [a_memory("apple fig " * 9, space="there") for _ in range(9)]
        await store.commit(a_commit(*here))
        await store.commit(a_commit(*there))
        await _require_exact(store, here)
        await _require_exact(store, there, space="there")


async def _ids(store: RecordStore, text: str, filter: Filter | None = None) -> set[str]:
    passages = await lexical_passages(store, "default", terms_of(text), filter or Filter(), limit=99)
    return {passage.memory_id for passage in passages}


def _stored(memory: Memory, number: int) -> list[StoredPassage]:
    return [
        StoredPassage(
            id=passage_id(number, passage.ordinal),
            memory_id=memory.id,
            observation=passage.observation,
            start=passage.start,
            end=passage.end,
            hash=passage.hash,
            terms=" ".join(passage.terms),
            date=to_micros(memory.date),
            who=" ".join(passage.who),
            asks=passage.asks,
        )
        for passage in passages_of(memory)
    ]


async def _require_exact(
    store: RecordStore, memories: Sequence[Memory], *, state: State = State.LIVE, space: str = "default"
) -> None:
    terms = terms_of("apple pear fig nobody apple")
    passages = [passage for memory in memories for passage in passages_of(memory)]
    holding = Counter(term for passage in passages for term in set(passage.terms))
    statistics = await store.term_statistics(space, terms, state=state)
    requested = {term: statistics.frequencies.get(term, 0) for term in terms}
    assert TermStatistics(
        passages=statistics.passages, total_length=statistics.total_length, frequencies=requested
    ) == TermStatistics(
        passages=len(passages),
        total_length=sum(len(passage.terms) for passage in passages),
        frequencies={term: holding[term] for term in terms},
    )
