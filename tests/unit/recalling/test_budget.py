"""An answer never costs more than its budget."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.build import START, a_memory
from tests.unit.strategies import some_examples

from scrubjay.model.memory import Observation, Source
from scrubjay.model.results import Hit
from scrubjay.recalling.budget import cost_of, fit

BARE = Hit(
    id="0198-id", name="tea", title="Tea", passage="", score=1.0, date=START, entities=(), source=Source(),
    trust="unknown",
)  # fmt: skip
words = st.text(st.sampled_from("tea 茶é☕\n"), max_size=300)


def a_hit(passage: str, why: tuple[str, ...], content: str) -> Hit:
    return replace(BARE, passage=passage, why=why, memory=a_memory(content) if content else None)


hits = st.builds(a_hit, words, st.lists(words, max_size=2).map(tuple), words)


@given(st.lists(hits, max_size=6), st.integers(1, 600))
@some_examples
def test_a_budget_is_never_exceeded(drawn_hits: list[Hit], max_tokens: int) -> None:
    fitting, spent = fit(drawn_hits, max_tokens=max_tokens)
    assert spent == sum(map(cost_of, fitting))
    assert spent <= max_tokens
    assert [hit.id for hit in fitting] == [hit.id for hit in drawn_hits[: len(fitting)]]


@given(st.lists(hits, max_size=6), st.integers(1, 600))
@some_examples
def test_nothing_is_left_out_that_would_fit(drawn_hits: list[Hit], max_tokens: int) -> None:
    fitting, spent = fit(drawn_hits, max_tokens=max_tokens)
    for hit in drawn_hits[len(fitting) : len(fitting) + 1]:
        assert spent + cost_of(hit) > max_tokens


@given(hits, st.integers(1, 600))
@some_examples
def test_the_first_hit_is_cut_rather_than_left_out(hit: Hit, max_tokens: int) -> None:
    fitting, _ = fit([hit], max_tokens=max_tokens)
    shortest = cost_of(replace(hit, passage=" …", memory=None))
    if max_tokens >= shortest + 3:
        assert len(fitting) == 1
        assert fitting[0] == hit or hit.passage.startswith(fitting[0].passage.removesuffix(" …"))


def test_a_cut_passage_ends_in_an_ellipsis_and_uses_its_room() -> None:
    for passage in ("tea with milk " * 100, "茶" * 500):
        (fitting,), spent = fit([replace(BARE, passage=passage)], max_tokens=100)
        assert fitting.passage.endswith(" …")
        assert 95 <= spent <= 100


def test_a_whole_memory_is_left_out_before_its_passage_is_cut() -> None:
    hit = replace(BARE, passage="tea", memory=a_memory("x" * 1000))
    (fitting,), _ = fit([hit], max_tokens=60)
    assert (fitting.passage, fitting.memory) == ("tea", None)


def test_every_shown_field_is_counted() -> None:
    observed = a_memory("tea", observations=(Observation(text="green " * 20, recorded_at=START),))
    cheaper = cost_of(BARE)
    for dearer in (
        replace(BARE, passage="tea with milk"),
        replace(BARE, title="A longer title"),
        replace(BARE, entities=("Sarah", "Acme")),
        replace(BARE, why=("words 2.00: tea",)),
        replace(BARE, memory=observed),
    ):
        assert cost_of(dearer) > cheaper
    assert cost_of(replace(BARE, memory=observed)) > cheaper + 20
