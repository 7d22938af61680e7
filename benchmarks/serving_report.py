"""The measurements of the daemon and its clients as tables, and the check of the targets."""

from benchmarks.figures import ConcurrentClients, Requests, Serving
from benchmarks.tables import Check, Table, at_most, both, ms
from benchmarks.timing import Spread

MAX_BRIDGE_MS = 100.0
MAX_BRIDGE_SHARE = 1 / 3
MAX_SOCKET_MS = 0.6
MAX_REST_MS = 1.5
MIN_REQUESTS = 200.0
_NONE = ""


def serving_tables(serving: Serving) -> tuple[Table, ...]:
    """Return the tables about serving."""
    return _starts(serving), _transports(serving), _requests(serving), _clients(serving)


def serving_facts(serving: Serving) -> tuple[str, ...]:
    """Return the facts about the run that the tables do not have."""
    bridges, cold, alone, crowd = serving.bridges, serving.cold_starts, serving.alone, serving.crowd
    starts = f"{bridges.start.count} starts of a bridge"
    if bridges.reference is not None:
        starts += f" and {bridges.reference.count} of the reference server, in turn"
    return (
        f"Serving, on {serving.size:,} memories: {starts}, {cold.daemon.count} cold starts",
        (
            f"Transports: {serving.recall.here.count} recalls and {serving.remember.here.count} remembers by each; "
            f"clients: {alone.all.count:,} operations by 1 and {crowd.all.count:,} by {crowd.clients}, a fifth writes"
        ),
        *(f"An operation of a client failed: {error}" for error in (*alone.errors, *crowd.errors)[:5]),
    )


def serving_checks(serving: Serving) -> tuple[Check, ...]:
    """Return the targets for serving, and whether this run meets them."""
    bridges, crowd = serving.bridges, serving.crowd
    targets = [at_most("a bridge until it answers tools/list, p50", bridges.start.p50, MAX_BRIDGE_MS, "ms")]
    if bridges.reference is not None:
        share = bridges.start.p50 / bridges.reference.p50
        targets.append(
            (
                f"compared with the reference server's start: {share:.2f} of it, at most a third",
                share <= MAX_BRIDGE_SHARE,
            )
        )
    for verb, transports in (("recall", serving.recall), ("remember", serving.remember)):
        targets.append(at_most(f"the socket adds to a {verb}, p50", transports.socket_adds, MAX_SOCKET_MS, "ms"))
        targets.append(at_most(f"REST adds to a {verb}, p50", transports.rest_adds, MAX_REST_MS, "ms"))
    requests = serving.requests
    targets.append(
        (
            f"recalls by REST a second: {requests.per_second:,.0f}, at least {MIN_REQUESTS:,.0f}, without an error",
            requests.per_second >= MIN_REQUESTS and not requests.errors,
        )
    )
    wrong = len(crowd.errors) + crowd.lost
    targets.append((f"{crowd.clients} concurrent clients: {wrong} errors or lost writes, at most 0", wrong == 0))
    return tuple(targets)


def _starts(serving: Serving) -> Table:
    bridges, cold = serving.bridges, serving.cold_starts
    rows = [("bridge until it answers `tools/list`, with a running daemon", both(bridges.start))]
    if bridges.reference is not None:
        rows += [
            ("reference server until it answers `tools/list`", both(bridges.reference)),
            ("- times the bridge", f"{bridges.reference.p50 / bridges.start.p50:.1f}"),
        ]
    rows += [
        ("daemon until it accepts a client", both(cold.open)),
        ("- until it answers `status`, which waits for the model", both(cold.daemon)),
        ("bridge that starts a daemon, until it answers `tools/list`", both(cold.bridge)),
    ]
    return Table(title="Starting", head=("", "ms"), rows=tuple(rows))


def _transports(serving: Serving) -> Table:
    transports = (serving.recall, serving.remember)
    return Table(
        title="Transports to the daemon, without embedding",
        head=("", "recall, ms", "remember, ms"),
        rows=(
            ("in this process", *(both(transport.here) for transport in transports)),
            ("over the socket", *(both(transport.socket) for transport in transports)),
            ("- adds", *(f"{transport.socket_adds:.2f}" for transport in transports)),
            ("over HTTP", *(both(transport.web) for transport in transports)),
            ("- adds", *(f"{transport.web_adds:.2f}" for transport in transports)),
            ("by REST", *(both(transport.rest) for transport in transports)),
            ("- adds", *(f"{transport.rest_adds:.2f}" for transport in transports)),
        ),
    )


def _requests(serving: Serving) -> Table:
    runs, requests = (serving.requests, serving.requests_with_readers), serving.requests
    return Table(
        title=f"Recalls by REST over {requests.connections} connections, {requests.questions} embedded questions",
        head=("", "without reader", "with it"),
        rows=(
            ("recalls a second", *(f"{run.per_second:,.0f}" for run in runs)),
            ("a recall, p50 / p99, ms", *(_ends(run.recall) for run in runs)),
            ("the same with cached answers, a second", *(f"{run.repeated_per_second:,.0f}" for run in runs)),
            ("- p50 / p99, ms", *(_ends(run.repeated) for run in runs)),
            ("errors", *(str(len(run.errors)) for run in runs)),
            ("cores used by the daemon / by the client", *(_cores(run) for run in runs)),
        ),
    )


def _clients(serving: Serving) -> Table:
    crowds, resident = (serving.alone, serving.crowd, serving.crowd_with_readers), serving.residence
    rows = [
        ("operations a second", *(f"{crowd.per_second:,.0f}" for crowd in crowds)),
        ("an operation, p50 / p99, ms", *(_ends(crowd.all) for crowd in crowds)),
        ("- recall", *(_ends(crowd.recall) for crowd in crowds)),
        ("- remember", *(_ends(crowd.remember) for crowd in crowds)),
        ("errors", *(str(len(crowd.errors)) for crowd in crowds)),
        ("acknowledged writes that are lost", *(str(crowd.lost) for crowd in crowds)),
        ("cores used by the daemon / by the clients", *(_cores(crowd) for crowd in crowds)),
        ("daemon's resident memory, connected, MB", f"{resident.one_client:.0f}", f"{resident.clients:.0f}", _NONE),
        ("- with as many agents over MCP", _NONE, f"{resident.agents:.0f}", _NONE),
        ("- after all of these operations", _NONE, f"{resident.after_crowd:.0f}", _NONE),
        ("a bridge's resident memory, MB", f"{serving.bridges.resident:.0f}", _NONE, _NONE),
    ]
    return Table(
        title="Concurrent clients, with the bundled model",
        head=("", "1", f"{serving.crowd.clients}", f"{serving.crowd.clients} with reader and pair model"),
        rows=tuple(rows),
    )


def _ends(spread: Spread) -> str:
    return f"{ms(spread.p50)} / {ms(spread.p99)}"


def _cores(clients: ConcurrentClients | Requests) -> str:
    return f"{clients.daemon_busy:.1f} / {clients.clients_busy:.1f}"
