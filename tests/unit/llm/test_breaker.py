"""The circuit breaker: it opens after several failures, and a single probe decides when it closes."""

import pytest

from scrubjay.llm.breaker import CircuitBreaker


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_calls_that_fail_together_cause_a_single_pause(clock: Clock) -> None:
    breaker = CircuitBreaker(clock=clock)
    for attempt in [breaker.start_attempt() for _ in range(6)]:
        attempt.fail()
        attempt.finish()
    assert breaker.retry_after == 60


def test_only_the_probe_makes_the_pause_longer(clock: Clock) -> None:
    breaker = CircuitBreaker(clock=clock)
    old, *others = [breaker.start_attempt() for _ in range(4)]
    for attempt in others:
        attempt.fail()
    clock.now = 61
    probe = breaker.start_attempt()
    old.fail()
    assert breaker.retry_after == 1
    probe.fail()
    assert breaker.retry_after == 240
    clock.now += 241
    breaker.start_attempt().fail()
    assert breaker.retry_after == 960


def test_an_old_call_that_ends_does_not_allow_a_second_probe(clock: Clock) -> None:
    breaker = CircuitBreaker(clock=clock)
    old, *others = [breaker.start_attempt() for _ in range(4)]
    for attempt in others:
        attempt.fail()
    clock.now = 61
    probe = breaker.start_attempt()
    old.finish()
    assert breaker.retry_after == 1
    probe.finish()
    assert breaker.retry_after == 0


def test_a_success_resets_the_pause(clock: Clock) -> None:
    breaker = CircuitBreaker(clock=clock)
    for _ in range(3):
        breaker.start_attempt().fail()
    clock.now = 61
    breaker.start_attempt().fail()
    clock.now += 241
    breaker.start_attempt().succeed()
    for _ in range(3):
        assert breaker.retry_after == 0
        breaker.start_attempt().fail()
    assert breaker.retry_after == 60
