"""Whatever happens, and whatever is asked then, the answer does not tell what the memory stands on."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import count, zip_longest

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.congruence.houses import House, every_house
from tests.congruence.lives import Deed, Life, deeds, questions

from scrubjay.model.draft import Caller
from scrubjay.model.query import Question

_SPACES = count(1)
# Vectors are kept in half precision, and one engine computes in single, another in half.
_CLOSE = 0.02


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as opened:
        yield opened


@pytest.fixture(scope="module")
def houses(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[House]]:
    context = every_house(tmp_path_factory.mktemp("houses"))
    found = runner.run(context.__aenter__())
    yield found
    runner.run(context.__aexit__(None, None, None))


@settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
@given(
    lived=st.lists(deeds, min_size=5, max_size=40),
    asked=st.lists(questions, min_size=3, max_size=8),
    later=st.lists(deeds, max_size=5),
)
def test_every_house_tells_the_same(
    houses: list[House], runner: asyncio.Runner, lived: list[Deed], asked: list[Question], later: list[Deed]
) -> None:
    runner.run(_compare(houses, lived, asked, later))


async def _compare(houses: list[House], lived: list[Deed], asked: list[Question], later: list[Deed]) -> None:
    who = Caller(space=f"life-{next(_SPACES)}", agent="tester")
    lives = [Life(engine=house.engine, who=who, made=[]) for house in houses]
    for several in (lived, later):
        for deed in several:
            _require_same(houses, [await life.lead(deed) for life in lives], of=deed)
        for question in asked:
            first, *others = [await life.found(question) for life in lives]
            for house, other in zip(houses[1:], others, strict=True):
                if question.query:
                    _require_close(first, other, of=f"{house.name}: {question}")
                else:
                    assert first == other, (house.name, question)
            words = [str(await life.searched(question.query)) for life in lives]
            _require_same(houses, words, of=f"the words of {question.query!r}")
    for lines in zip_longest(*[await life.state() for life in lives]):
        _require_same(houses, lines, of="the state in the end")


def _require_same(houses: list[House], told: Sequence[str | None], *, of: object) -> None:
    found = dict(zip([house.name for house in houses], told, strict=True))
    assert len(set(found.values())) == 1, (of, found)


def _require_close(one: list[tuple[int, str, float]], other: list[tuple[int, str, float]], *, of: str) -> None:
    """The same hits with nearly the same scores; those whose scores are nearly the same may change places."""
    # Whether there is a hit at all that nothing speaks for is a matter of the last digit.
    one, other = ([hit for hit in hits if hit[2] > _CLOSE] for hits in (one, other))
    assert len(one) == len(other), (of, one, other)
    for (_, _, score), (_, _, theirs) in zip(one, other, strict=True):
        assert abs(score - theirs) < _CLOSE, (of, one, other)
    cut = min((score for *_, score in one), default=0.0)
    sure = [{hit[:2] for hit in hits if hit[2] > cut + 2 * _CLOSE} for hits in (one, other)]
    assert sure[0] == sure[1], (of, one, other)
