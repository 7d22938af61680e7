"""Every backend gives the same answers after the same operations."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import count, zip_longest

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.congruence.backends import Backend, every_backend
from tests.congruence.operations import Operation, OperationSequence, operations, questions

from scrubjay.model.caller import Caller
from scrubjay.model.requests import RecallRequest

_SPACES = count(1)
# Vectors are stored in half precision; one engine computes in single precision, another in half.
_CLOSE = 0.02


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as opened:
        yield opened


@pytest.fixture(scope="module")
def backends(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Backend]]:
    context = every_backend(tmp_path_factory.mktemp("backends"))
    backends_ = runner.run(context.__aenter__())
    yield backends_
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
    before=st.lists(operations, min_size=5, max_size=40),
    sampled_questions=st.lists(questions, min_size=3, max_size=8),
    after=st.lists(operations, max_size=5),
)
def test_every_backend_gives_the_same_answers(
    backends: list[Backend],
    runner: asyncio.Runner,
    before: list[Operation],
    sampled_questions: list[RecallRequest],
    after: list[Operation],
) -> None:
    runner.run(_compare(backends, before, sampled_questions, after))


async def _compare(
    backends: list[Backend], before: list[Operation], sampled_questions: list[RecallRequest], after: list[Operation]
) -> None:
    who = Caller(space=f"space-{next(_SPACES)}", agent="tester")
    sequences = [OperationSequence(engine=backend.engine, who=who, made=[]) for backend in backends]
    for several in (before, after):
        for operation in several:
            _require_same(backends, [await sequence.apply(operation) for sequence in sequences], of=operation)
        for question in sampled_questions:
            first, *others = [await sequence.recall(question) for sequence in sequences]
            for backend, other in zip(backends[1:], others, strict=True):
                if question.query:
                    _require_close(first, other, of=f"{backend.name}: {question}")
                else:
                    assert first == other, (backend.name, question)
            words = [str(await sequence.search(question.query)) for sequence in sequences]
            _require_same(backends, words, of=f"the words of {question.query!r}")
    for lines in zip_longest(*[await sequence.state() for sequence in sequences]):
        _require_same(backends, lines, of="the state in the end")


def _require_same(backends: list[Backend], outcomes: Sequence[str | None], *, of: object) -> None:
    by_backend = dict(zip([backend.name for backend in backends], outcomes, strict=True))
    assert len(set(by_backend.values())) == 1, (of, by_backend)


def _require_close(hits: list[tuple[int, str, float]], other: list[tuple[int, str, float]], *, of: str) -> None:
    """Require the same hits with nearly the same scores; hits with nearly the same scores may swap places."""
    # Whether a hit without any evidence appears at all depends on the last digit.
    hits, other = ([hit for hit in side if hit[2] > _CLOSE] for side in (hits, other))
    assert len(hits) == len(other), (of, hits, other)
    for (_, _, score), (_, _, theirs) in zip(hits, other, strict=True):
        assert abs(score - theirs) < _CLOSE, (of, hits, other)
    cut = min((score for *_, score in hits), default=0.0)
    sure = [{hit[:2] for hit in side if hit[2] > cut + 2 * _CLOSE} for side in (hits, other)]
    assert sure[0] == sure[1], (of, hits, other)
