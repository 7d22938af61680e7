"""The breaker: who fails too often rests, and one alone decides when that is over."""

import pytest

from scrubjay.llm.breaker import Breaker


class Clock:
    """A clock that stands still until it is told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_calls_that_fail_together_make_one_rest(clock: Clock) -> None:
    breaker = Breaker(clock=clock)
    for attempt in [breaker.trying() for _ in range(6)]:
        attempt.failed()
        attempt.left()
    assert breaker.rest == 60


def test_only_the_one_who_decides_makes_it_longer(clock: Clock) -> None:
    breaker = Breaker(clock=clock)
    old, *others = [breaker.trying() for _ in range(4)]
    for attempt in others:
        attempt.failed()
    clock.now = 61
    deciding = breaker.trying()
    old.failed()
    assert breaker.rest == 1
    deciding.failed()
    assert breaker.rest == 240
    clock.now += 241
    breaker.trying().failed()
    assert breaker.rest == 960


def test_an_old_call_that_leaves_does_not_let_another_in(clock: Clock) -> None:
    breaker = Breaker(clock=clock)
    old, *others = [breaker.trying() for _ in range(4)]
    for attempt in others:
        attempt.failed()
    clock.now = 61
    deciding = breaker.trying()
    old.left()
    assert breaker.rest == 1
    deciding.left()
    assert breaker.rest == 0


def test_what_works_again_begins_anew(clock: Clock) -> None:
    breaker = Breaker(clock=clock)
    for _ in range(3):
        breaker.trying().failed()
    clock.now = 61
    breaker.trying().failed()
    clock.now += 241
    breaker.trying().succeeded()
    for _ in range(3):
        assert breaker.rest == 0
        breaker.trying().failed()
    assert breaker.rest == 60
