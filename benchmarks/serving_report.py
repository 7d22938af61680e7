"""What was measured of the daemon and its clients, as tables, and whether the promises are kept."""

from benchmarks.figures import ConcurrentClients, Serving
from benchmarks.tables import Table, Verdict, at_most, both, ms
from benchmarks.timing import Spread

MOST_BRIDGE_MS = 100.0
MOST_BRIDGE_SHARE = 1 / 3
MOST_WAY_MS = 1.0
MOST_REST_MS = 3.0
LEAST_REQUESTS = 200.0
_NONE = ""


def serving_tables(serving: Serving) -> tuple[Table, ...]:
    """The tables of the part about serving."""
    return _starts(serving), _transports(serving), _requests(serving), _clients(serving)


def serving_facts(serving: Serving) -> tuple[str, ...]:
    """What the tables do not say."""
    bridges, cold, alone, crowd = serving.bridges, serving.cold_starts, serving.alone, serving.crowd
    starts = f"{bridges.start.count} starts of a bridge"
    if bridges.reference is not None:
        starts += f" and {bridges.reference.count} of the reference server, by turns"
    return (
        f"Serving, on {serving.size:,} memories: {starts}, {cold.daemon.count} cold starts",
        (
            f"Ways: {serving.recall.here.count} recalls and {serving.remember.here.count} remembers by each, by turns; "
            f"clients: {alone.all.count:,} operations by 1 and {crowd.all.count:,} by {crowd.clients}, a fifth writes"
        ),
        *(f"An operation of the crowd failed: {error}" for error in (*alone.errors, *crowd.errors)[:5]),
    )


def serving_verdicts(serving: Serving) -> tuple[Verdict, ...]:
    """The promises about serving, and whether this run keeps them."""
    bridges, crowd = serving.bridges, serving.crowd
    results = [at_most("a bridge until tools/list is answered, p50", bridges.start.p50, MOST_BRIDGE_MS, "ms")]
    if bridges.reference is not None:
        share = bridges.start.p50 / bridges.reference.p50
        results.append(
            (
                f"beside the reference server's start: {share:.2f} of it, a third at most",
                share <= MOST_BRIDGE_SHARE,
            )
        )
    for verb, ways in (("recall", serving.recall), ("remember", serving.remember)):
        results.append(at_most(f"the socket adds to a {verb}, p50", ways.socket_adds, MOST_WAY_MS, "ms"))
        results.append(at_most(f"REST adds to a {verb}, p50", ways.rest_adds, MOST_REST_MS, "ms"))
    requests = serving.requests
    results.append(
        (
            f"recalls by REST a second: {requests.per_second:,.0f}, {LEAST_REQUESTS:,.0f} at least, without an error",
            requests.per_second >= LEAST_REQUESTS and not requests.errors,
        )
    )
    wrong = len(crowd.errors) + crowd.lost
    results.append((f"{crowd.clients} clients at once: {wrong} errors or lost writes, 0 at most", wrong == 0))
    return tuple(results)


def _starts(serving: Serving) -> Table:
    bridges, cold = serving.bridges, serving.cold_starts
    rows = [("bridge until `tools/list` is answered, the daemon being up", both(bridges.start))]
    if bridges.reference is not None:
        rows += [
            ("reference server until `tools/list` is answered", both(bridges.reference)),
            ("- times the bridge", f"{bridges.reference.p50 / bridges.start.p50:.1f}"),
        ]
    rows += [
        ("daemon until it has let a client in", both(cold.open)),
        ("- until `status` is answered, which waits for the model", both(cold.daemon)),
        ("bridge that has to start a daemon, until `tools/list` is answered", both(cold.bridge)),
    ]
    return Table(title="Starting", head=("", "ms"), rows=tuple(rows))


def _transports(serving: Serving) -> Table:
    ways = (serving.recall, serving.remember)
    return Table(
        title="The way to the daemon, without embedding",
        head=("", "recall, ms", "remember, ms"),
        rows=(
            ("in this process", *(both(way.here) for way in ways)),
            ("over the socket", *(both(way.socket) for way in ways)),
            ("- adds", *(f"{way.socket_adds:.2f}" for way in ways)),
            ("over HTTP", *(both(way.web) for way in ways)),
            ("- adds", *(f"{way.web_adds:.2f}" for way in ways)),
            ("by REST", *(both(way.rest) for way in ways)),
            ("- adds", *(f"{way.rest_adds:.2f}" for way in ways)),
        ),
    )


def _requests(serving: Serving) -> Table:
    item = serving.requests
    return Table(
        title=f"Recalls by REST over {item.connections} connections, {item.questions} questions that are embedded",
        head=("", ""),
        rows=(
            ("recalls a second", f"{item.per_second:,.0f}"),
            ("a recall, p50 / p99, ms", _ends(item.recall)),
            ("the same where the answers are known too, a second", f"{item.repeated_per_second:,.0f}"),
            ("- p50 / p99, ms", _ends(item.repeated)),
            ("errors", str(len(item.errors))),
            ("cores used by the daemon / by the client", f"{item.daemon_busy:.1f} / {item.clients_busy:.1f}"),
        ),
    )


def _clients(serving: Serving) -> Table:
    crowds, resident = (serving.alone, serving.crowd), serving.residence
    rows = [
        ("operations a second", *(f"{crowd.per_second:,.0f}" for crowd in crowds)),
        ("an operation, p50 / p99, ms", *(_ends(crowd.all) for crowd in crowds)),
        ("- recall", *(_ends(crowd.recall) for crowd in crowds)),
        ("- remember", *(_ends(crowd.remember) for crowd in crowds)),
        ("errors", *(str(len(crowd.errors)) for crowd in crowds)),
        ("acknowledged writes that are not there", *(str(crowd.lost) for crowd in crowds)),
        ("cores used by the daemon / by the clients", *(_cores(crowd) for crowd in crowds)),
        ("daemon's resident memory, connected, MB", f"{resident.one_client:.0f}", f"{resident.clients:.0f}"),
        ("- with as many agents over MCP", _NONE, f"{resident.agents:.0f}"),
        ("- after all of these operations", _NONE, f"{resident.after_crowd:.0f}"),
        ("a bridge's resident memory, MB", f"{serving.bridges.resident:.0f}", _NONE),
    ]
    return Table(
        title="Clients at once, with the bundled model",
        head=("", "1", f"{serving.crowd.clients}"),
        rows=tuple(rows),
    )


def _ends(spread: Spread) -> str:
    return f"{ms(spread.p50)} / {ms(spread.p99)}"


def _cores(one: ConcurrentClients) -> str:
    return f"{one.daemon_busy:.1f} / {one.clients_busy:.1f}"
