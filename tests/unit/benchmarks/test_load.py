"""The simulation of load: queues match the theory, and a day of requests matches its scenario."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.load import (
    Clock,
    Scenario,
    Station,
    Work,
    ceilings,
    hourly,
    mean_wait_mg1,
    mean_wait_mmc,
    shard_of,
    simulate,
    space_sizes,
    varied,
)

MANY = 60_000
SCENARIO = Scenario(
    recall=Work(embedding=6.0, server=4.0, database=4.0),
    remember=Work(embedding=6.0, server=3.0, database=4.0, alone=2.0),
    requests_per_second=100.0,
    servers=4,
    shards=2,
    spaces=2_000,
    requests=8_000,
)


@pytest.mark.parametrize(("lanes", "busy"), [(1, 0.5), (1, 0.8), (4, 0.7), (8, 0.9)])
def test_waiting_matches_erlang(lanes: int, busy: float) -> None:
    rate = busy * lanes
    expected = mean_wait_mmc(per_second=rate, seconds=1.0, lanes=lanes)
    assert _mean_wait(rate=rate, lanes=lanes, variation=1.0) == pytest.approx(expected, rel=0.12)


@pytest.mark.parametrize("variation", [0.0, 0.5, 1.0])
def test_waiting_matches_pollaczek_and_khinchine(variation: float) -> None:
    expected = mean_wait_mg1(per_second=0.7, seconds=1.0, variation=variation)
    assert _mean_wait(rate=0.7, lanes=1, variation=variation) == pytest.approx(expected, rel=0.08)


def test_the_formulas_agree_where_both_hold() -> None:
    wait = mean_wait_mmc(per_second=0.6, seconds=1.0, lanes=1)
    assert wait == pytest.approx(mean_wait_mg1(per_second=0.6, seconds=1.0, variation=1.0)) == pytest.approx(1.5)


def test_an_idle_cluster_takes_as_long_as_the_work() -> None:
    quiet = simulate(replace(SCENARIO, requests_per_second=0.5, variation=0.0, requests=2_000))
    assert quiet.recall_p50 == pytest.approx(14.0)
    assert quiet.remember_p50 == pytest.approx(15.0)


def test_cores_are_as_busy_as_arithmetic_says() -> None:
    outcome = simulate(SCENARIO)
    peak = SCENARIO.requests_per_second * SCENARIO.peak
    assert outcome.embedding_busy == pytest.approx(peak * 0.006 / 4, rel=0.1)
    assert outcome.server_busy == pytest.approx(peak * (0.8 * 0.004 + 0.2 * 0.003) / 4, rel=0.1)
    assert outcome.shard_busy == pytest.approx(peak * 0.004 / 16, rel=0.1)
    assert outcome.hottest_shard_busy >= outcome.shard_busy


def test_a_cluster_is_saturated_at_its_ceiling() -> None:
    limits = ceilings(SCENARIO, machine_cores=2)
    assert min(limits, key=lambda name: limits[name]) == "machine"
    least = min(limits["embedding"], limits["server"], limits["database"])
    assert least == limits["embedding"] == pytest.approx(4 / 0.006)
    full = simulate(replace(SCENARIO, requests_per_second=least / SCENARIO.peak))
    assert full.embedding_busy == pytest.approx(1.0, abs=0.08)
    assert simulate(replace(SCENARIO, requests_per_second=least / SCENARIO.peak / 2)).embedding_busy < 0.55


def test_a_day_can_be_repeated() -> None:
    assert simulate(SCENARIO) == simulate(SCENARIO)
    assert simulate(SCENARIO) != simulate(replace(SCENARIO, seed=8))


def test_fewer_servers_and_busier_hours_increase_latency() -> None:
    usual = simulate(SCENARIO)
    assert simulate(replace(SCENARIO, servers=2)).recall_p99 > usual.recall_p99
    assert simulate(replace(SCENARIO, peak=4.0)).recall_p99 > usual.recall_p99


def test_writes_to_one_space_are_serialized() -> None:
    slow = replace(SCENARIO, remember=replace(SCENARIO.remember, alone=20.0), writes=0.5, servers=16, shard_cores=64)
    one_space, many_spaces = simulate(replace(slow, spaces=1)), simulate(replace(slow, spaces=100_000, tail=0.1))
    assert one_space.remember_p50 > 5 * many_spaces.remember_p50
    assert one_space.recall_p50 == pytest.approx(many_spaces.recall_p50, rel=0.2)


def test_the_hours_of_a_day_have_the_expected_mean_and_peak() -> None:
    for peak in (1.5, 2.5, 3.0):
        assert hourly(peak).max() == pytest.approx(peak)
        assert hourly(peak).mean() == pytest.approx(1.0, abs=0.06)


def test_spaces_have_a_long_tail_and_are_spread_evenly() -> None:
    sizes = space_sizes(10_000, 0.8)
    assert sizes.sum() == pytest.approx(1.0)
    assert sizes[:100].sum() > 20 * sizes[-100:].sum()
    counts = np.bincount(shard_of(np.arange(10_000), 8))
    assert counts.max() / counts.mean() < 1.1


def _mean_wait(*, rate: float, lanes: int, variation: float) -> float:
    """Return the mean wait at a station that takes a second for each request."""
    source = np.random.default_rng(3)
    clock = Clock()
    station = Station(clock, lanes)
    taken = varied(source, MANY, variation).tolist()
    arrivals = np.cumsum(source.exponential(1 / rate, MANY)).tolist()
    waited: list[float] = []
    for arrival, seconds in zip(arrivals, taken, strict=True):
        clock.run_until(arrival)
        station.take(seconds, lambda began=arrival, took=seconds: waited.append(clock.now - began - took))
    clock.run_until(float("inf"))
    assert len(waited) == MANY
    return sum(waited) / MANY
