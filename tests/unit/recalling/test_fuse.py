"""One score for words, context, meaning and prior."""

from datetime import timedelta

import pytest
from tests.fakes.build import START

from scrubjay.model.draft import Limits
from scrubjay.model.passage import SPOKEN, StoredPassage
from scrubjay.model.ranking import Ranking
from scrubjay.model.requests import RecallRequest
from scrubjay.model.timestamps import to_micros
from scrubjay.ports import TermStatistics
from scrubjay.recalling.candidates import DenseMatches
from scrubjay.recalling.context_window import build_window
from scrubjay.recalling.fuse import ScoredPassage, fuse, score_words
from scrubjay.recalling.query_terms import QueryTerms
from scrubjay.recalling.understand import understand

# Words and meaning alone: the priors have tests of their own.
PLAIN = "manner,standing"


def passage(number: int, terms: str, **fields: object) -> StoredPassage:
    plain = StoredPassage(
        id=number, memory_id=f"m{number}", observation=None, start=0, end=1, hash=bytes([number]), terms=terms,
        date=to_micros(START),
    )  # fmt: skip
    return plain._replace(**fields)


def scored(
    *passages: StoredPassage,
    query: str = "",
    neighbours: tuple[StoredPassage, ...] = (),
    frequencies: dict[str, int] | None = None,
    cosines: dict[int, float] | None = None,
    total: int = 100,
    without: str = PLAIN,
) -> list[ScoredPassage]:
    ranking = Ranking.parse(without=without)
    parsed = understand(RecallRequest(query=query), limits=Limits(), ranking=ranking, now=START)
    statistics = TermStatistics(passages=total, total_length=total * 5, frequencies=frequencies or {})
    terms = QueryTerms(weights=dict.fromkeys(parsed.terms, 1.0), statistics=statistics)
    word_scores = score_words(build_window(passages, neighbours), terms, parsed, ranking)
    dense = DenseMatches(weight=4.0, cosines=cosines or {})
    return list(fuse(word_scores, dense, query=parsed, ranking=ranking, now=START))


def order(ranked: list[ScoredPassage]) -> list[int]:
    return [scored.passage.id for scored in ranked]


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    ranked = scored(passage(1, "tea x"), passage(2, "jay x"), query="tea jay", frequencies={"tea": 60, "jay": 2})
    assert order(ranked) == [2, 1]


def test_more_words_count_more() -> None:
    ranked = scored(passage(1, "tea"), passage(2, "tea jay"), query="jay tea", frequencies={"tea": 9, "jay": 9})
    assert order(ranked) == [2, 1]


def test_a_word_repeated_many_times_does_not_decide() -> None:
    ranked = scored(
        passage(1, " ".join(["tea"] * 50)), passage(2, "tea jay"), query="tea jay", frequencies={"tea": 9, "jay": 9}
    )
    assert order(ranked) == [2, 1]


def test_of_two_with_the_same_words_the_shorter_is_better() -> None:
    ranked = scored(passage(1, "tea x y z"), passage(2, "tea"), query="tea", frequencies={"tea": 9})
    assert order(ranked) == [2, 1]


def test_a_part_of_a_word_is_not_the_word() -> None:
    assert order(scored(passage(1, "teapot"), passage(2, "tea"), query="tea", frequencies={"tea": 9})) == [2]


def test_meaning_is_worth_its_weight() -> None:
    ranked = scored(passage(1, "x"), passage(2, "x"), cosines={1: 1.0, 2: 0.5})
    assert [(match.passage.id, match.cosine, match.score) for match in ranked] == [(1, 1.0, 12.0), (2, 0.5, 6.0)]


def test_the_meaning_of_a_turn_counts_once() -> None:
    ranked = scored(passage(1, "x", asks=SPOKEN), passage(2, "x"), cosines={1: 0.5, 2: 0.5})
    assert [(match.passage.id, match.score) for match in ranked] == [(2, 6.0), (1, 2.0)]


def test_the_parts_of_a_score_add_up() -> None:
    (both,) = scored(
        passage(1, "green tea", asks=2), query='"green tea"', frequencies={"tea": 9, "green": 2}, cosines={1: 0.5},
        without="",
    )  # fmt: skip
    parts = (both.words, both.context, both.pairs, both.phrases, both.meaning, both.reply, both.date, both.name,
             both.manner, both.standing)  # fmt: skip
    assert both.score == pytest.approx(sum(parts))
    assert both.words > 0
    assert both.pairs > 0
    assert both.phrases == 3.0
    assert both.meaning == 6.0


def test_ties_go_to_the_newest() -> None:
    ranked = scored(*(passage(number, "tea") for number in (2, 9, 5)), query="tea", frequencies={"tea": 3})
    assert order(ranked) == [9, 5, 2]


def test_a_passage_without_word_or_meaning_is_left_out() -> None:
    ranked = scored(
        passage(1, "x"), passage(2, "tea"), passage(3, "x"), query="tea", frequencies={"tea": 1}, cosines={3: -1.0}
    )
    assert order(ranked) == [2]


def test_a_word_in_every_passage_still_counts_for_something() -> None:
    assert scored(passage(1, "tea"), query="tea", frequencies={"tea": 1}, total=1)[0].score > 0


def test_a_word_counts_even_if_the_meaning_is_opposite() -> None:
    ranked = scored(
        passage(1, "tea"), passage(2, "jay"), query="tea", frequencies={"tea": 99}, cosines={1: -1.0, 2: -1.0}
    )
    assert order(ranked) == [1]


def test_an_empty_space_has_nothing_to_rank() -> None:
    assert scored(query="tea", total=0) == []


def test_words_the_space_does_not_know_match_nothing() -> None:
    assert scored(passage(1, "tea"), query="tea", frequencies={}) == []


def test_words_side_by_side_count_more_than_words_apart() -> None:
    ranked = scored(
        passage(1, "tea x green"), passage(2, "x green tea"), query="green tea", frequencies={"tea": 9, "green": 9}
    )
    assert order(ranked) == [2, 1]
    apart = scored(passage(1, "tea x green"), query="green tea", frequencies={"tea": 9, "green": 9})
    assert apart[0].pairs == 0


def test_the_context_of_a_statement_helps_to_find_it() -> None:
    answer, other = passage(2, "harbour", before=(1,)), passage(5, "harbour")
    asking = passage(1, "where tea")
    ranked = scored(
        other, answer, neighbours=(asking,), query="tea at the harbour", frequencies={"tea": 3, "harbour": 9}
    )
    by_number = {match.passage.id: match for match in ranked}
    assert by_number[2].score > by_number[5].score
    assert by_number[2].words == by_number[5].words
    assert by_number[2].context > by_number[5].context


def test_a_neighbour_with_no_word_of_the_question_may_be_the_answer() -> None:
    ranked = scored(
        passage(1, "where tea", after=(2, 3, 4)), neighbours=(passage(2, "harbour"), passage(3, "x"), passage(4, "y")),
        query="tea", frequencies={"tea": 3},
    )  # fmt: skip
    # The next neighbour is a candidate; those after it are not.
    assert sorted(order(ranked)) == [1, 2]


def test_an_old_but_exact_answer_is_not_buried() -> None:
    old = passage(
        1, "boiler code 4711", date=to_micros(START - timedelta(days=3000)), relevance=0.0,
    )  # fmt: skip
    young = passage(2, "boiler x", relevance=1.0, confirmed=to_micros(START), accesses=10_000, tier=2)
    ranked = scored(old, young, query="what is the boiler code?", frequencies={"boiler": 20, "code": 5}, without="")
    assert order(ranked) == [1, 2]


@pytest.mark.parametrize("stage", ["words", "pairs", "phrases"])
def test_a_stage_that_is_left_out_counts_nothing(stage: str) -> None:
    (only,) = scored(
        passage(1, "green tea"), query='"green tea"', frequencies={"tea": 9, "green": 9}, cosines={1: 0.5},
        without=stage,
    )  # fmt: skip
    assert getattr(only, stage) == 0
