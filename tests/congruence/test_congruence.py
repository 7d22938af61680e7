"""Whatever happens, and whatever is asked then, the answer does not tell what the memory stands on."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import count, zip_longest

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.congruence.backends import Backend, every_backend
from tests.congruence.operations import Deed, OperationSequence, deeds, questions

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
def backends(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Backend]]:
    context = every_backend(tmp_path_factory.mktemp("houses"))
    results = runner.run(context.__aenter__())
    yield results
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
    backends: list[Backend], runner: asyncio.Runner, lived: list[Deed], asked: list[Question], later: list[Deed]
) -> None:
    runner.run(_compare(backends, lived, asked, later))


async def _compare(backends: list[Backend], lived: list[Deed], asked: list[Question], later: list[Deed]) -> None:
    who = Caller(space=f"life-{next(_SPACES)}", agent="tester")
    lives = [OperationSequence(engine=backend.engine, who=who, made=[]) for backend in backends]
    for several in (lived, later):
        for deed in several:
            _require_same(backends, [await operations.lead(deed) for operations in lives], of=deed)
        for question in asked:
            first, *others = [await operations.found(question) for operations in lives]
            for backend, other in zip(backends[1:], others, strict=True):
                if question.query:
                    _require_close(first, other, of=f"{backend.name}: {question}")
                else:
                    assert first == other, (backend.name, question)
            words = [str(await operations.searched(question.query)) for operations in lives]
            _require_same(backends, words, of=f"the words of {question.query!r}")
    for lines in zip_longest(*[await operations.state() for operations in lives]):
        _require_same(backends, lines, of="the state in the end")


def _require_same(backends: list[Backend], told: Sequence[str | None], *, of: object) -> None:
    results = dict(zip([backend.name for backend in backends], told, strict=True))
    assert len(set(results.values())) == 1, (of, results)


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
