"""The health of a memory for people: its figures, its days, its agents, and the alerts with what to do."""

from collections.abc import Sequence

from scrubjay.lazy import dataclass
from scrubjay.model.health import Alert, HealthReport, ServerDay, ServerHealth, SpaceHealth, WriteCounts
from scrubjay.surfaces.cli.console import say

_MAX_AGENTS = 10
_MAX_DAYS = 14
_MAX_VERBS = 3
_MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """The alerts alone; `ok` decides about the exit code."""

    ok: bool
    alerts: tuple[Alert, ...] = ()


def show_health_check(result: HealthCheck) -> None:
    """Print one line for each alert."""
    for alert in result.alerts:
        say(_alert_line(alert))
    if result.ok:
        say("ok")


def show_health(result: HealthReport) -> None:
    """Print the alerts first, then the figures of each space, then those of the store."""
    for alert in result.alerts:
        say(_alert_line(alert))
    if result.alerts:
        say("")
    for space in result.spaces:
        _show_space(space, since=result.since)
    if not result.spaces:
        say("there are no spaces yet")
    if result.server is not None:
        _show_server(result.server)


def _alert_line(alert: Alert) -> str:
    where = f" in {alert.space}" if alert.space else ""
    return f"ALERT {alert.name}{where}: {alert.message}. {alert.fix}"


def _show_space(space: SpaceHealth, *, since: str) -> None:
    say(f"space      {space.space}")
    flow = ", ".join(f"{count:,} {step}" for step, count in space.flow.items())
    for name, value in (
        ("memories", _listed(space.memories)),
        ("tiers", _listed(space.tiers) + (f" (in 30 days: {flow})" if flow else "")),
        ("kinds", _listed(space.kinds)),
        ("thin", f"{space.thin:,} ({space.thin_rate:.0%})"),
        ("tags", f"{space.tags:,}, entropy {space.tag_entropy:.2f} bits"),
        ("conflicts", f"{space.conflicts:,} wait for a decision"),
        ("vectors", f"{space.unembedded:,} memories wait for one"),
        ("writes", f"since {since}: {_writes(space.writes)}; {space.duplicate_rate:.0%} said what was known"),
    ):
        say(f"{name:<9}  {value or 'none'}")
    for day in space.days[-_MAX_DAYS:]:
        say(f"  {day.date}  {_writes(day.writes)}")
    for agent in space.agents[:_MAX_AGENTS]:
        rates = f"{agent.duplicate_rate:.0%} known, {agent.thin_rate:.0%} thin, {agent.writes.conflicts:,} conflicts"
        say(f"  {agent.agent or '(no name)'}: {_writes(agent.writes)}; {rates}")
    say("")


def _show_server(server: ServerHealth) -> None:
    store = f"{server.store_bytes / _MEBIBYTE:,.1f} MB, bodies {server.saved:.0%} smaller than plain JSON"
    say(f"store      {store}; {server.disk_free_bytes / _MEBIBYTE:,.0f} MB free on the disk")
    say(f"index      {server.lag:,} changes behind")
    calls, tokens, failures = (server.llm.get(f"{name}_today", 0) for name in ("calls", "tokens", "failures"))
    cost = f", cost {server.llm['cost_today']:g}" if "cost_today" in server.llm else ""
    say(f"llm        {f'today {calls} calls, {tokens} tokens{cost}, {failures} failed' if server.llm else 'off'}")
    for day in server.days[-_MAX_DAYS:]:
        say(f"  {day.date}  {_server_day(day)}")
    for verb in server.latencies:
        say(f"  {verb.verb}: {verb.count:,} times, p50 {verb.p50:g} ms, p95 {verb.p95:g} ms, p99 {verb.p99:g} ms")


def _server_day(day: ServerDay) -> str:
    parts = [
        f"{latency.verb} {latency.count:,} times, p95 {latency.p95:g} ms" for latency in day.latencies[:_MAX_VERBS]
    ]
    if day.llm.calls:
        cost = f", cost {day.llm.cost:.4g}" if day.llm.cost else ""
        parts.append(f"llm {day.llm.calls:,} calls, {day.llm.tokens:,} tokens{cost}, {day.llm.failures:,} failed")
    return "; ".join(parts)


def _writes(counts: WriteCounts) -> str:
    names: Sequence[str] = ("created", "merged", "updated", "unchanged", "rejected")
    numbers = {name: int(getattr(counts, name)) for name in names}
    return ", ".join(f"{number:,} {name}" for name, number in numbers.items() if number) or "no writes"


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())
