"""Two spaces on one server: no series of requests to one reveals anything of the other.

Every request of Ann goes to two servers. On one of them Bob and Eve are busy, on the other they do not exist. Her
answers must be the same, so that no count, score, number, suggestion or error reveals other tenants.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast, get_args

import httpx2
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from scrubjay.model.verbs import VERBS
from scrubjay.surfaces.daemon.limiter import known_verbs
from scrubjay.surfaces.mcp.toolsets import TOOLSETS
from tests.backends import BACKENDS
from tests.scenarios.mcp_calls import METHODS, TOOLS, uri_of
from tests.scenarios.paired_servers import Answer, ServerPair, TenantServer
from tests.scenarios.rest_calls import PUBLIC, ROUTES
from tests.scenarios.streams import listen_by_mcp, read_events, read_websocket
from tests.scenarios.tenant_data import By, Operation, Turn, Whose
from tests.scenarios.tenants import Tenants, change_title, note
from tests.scenarios.verb_calls import CALLS

OPERATIONS: tuple[Operation, ...] = (*ROUTES, *TOOLS, *METHODS, *CALLS)
_BY_NAME = {operation.name: operation for operation in OPERATIONS}
_REMEMBER = _BY_NAME["POST /api/v1/memories"]
_RELATE = _BY_NAME["POST /api/v1/memories/{id}/links"]
_LOOKS = ("GET /api/v1/search", "GET /api/v1/status", "GET /api/v1/export", "kg/read_graph", "resources/list")

Watch = Callable[..., Answer]
Call = tuple[Operation, Turn]
# By number: a strategy is printed with all that it chooses from, and Hypothesis warns of so long a text.
operations = st.integers(0, len(OPERATIONS) - 1).map(lambda number: OPERATIONS[number])
turns = st.builds(Turn, by=st.sampled_from(get_args(By)), number=st.integers(min_value=0, max_value=40))
foreign_turns = st.builds(
    Turn,
    whose=st.sampled_from(cast("tuple[Whose, ...]", ("foreign", "foreign", "unknown"))),
    by=st.sampled_from(get_args(By)),
    number=st.integers(min_value=0, max_value=40),
)


def test_every_route_has_a_rule(pair: ServerPair) -> None:
    described = httpx2.get(f"{pair.quiet.url}/openapi.json", trust_env=False).json()
    operations = {f"{method.upper()} {path}" for path, methods in described["paths"].items() for method in methods}
    assert {operation.name for operation in (*ROUTES, *PUBLIC)} == operations


def test_every_tool_method_and_verb_has_a_rule() -> None:
    tools = {f"{toolset}/{tool.name}" for toolset, chosen in TOOLSETS.items() for tool in chosen}
    assert {operation.name for operation in TOOLS} == tools
    assert {operation.name for operation in CALLS} == {f"call/{verb}" for verb in VERBS}
    methods = known_verbs() - set(VERBS) - {tool.name for chosen in TOOLSETS.values() for tool in chosen}
    # A stream is no single answer, and only the owner's persistent connection subscribes.
    alone = {"subscriptions/listen", "resources/subscribe"}
    # Files are served over REST only, and its routes have rules.
    files = {"download_attachment", "export_note"}
    assert {operation.name for operation in METHODS} == methods - alone - files


class Isolation(RuleBasedStateMachine):
    """All tenants call any operation; Ann's answers do not depend on the others."""

    servers: ServerPair

    @initialize(number=st.integers(min_value=0, max_value=40))
    def fill_spaces(self, number: int) -> None:
        self.tenants = Tenants(pair=self.servers)
        for offset in range(3):
            turn = Turn(number=number + offset)
            self.tenants.ann_asks(_REMEMBER, turn)
            for tenant in (self.tenants.bob, self.tenants.bob, self.tenants.eve):
                self.tenants.stranger_does(_REMEMBER, turn, tenant=tenant)
        self.tenants.ann_asks(_RELATE)
        self.tenants.stranger_does(_RELATE)

    @rule(calls=st.lists(st.tuples(operations, turns), min_size=3, max_size=6))
    def ann_asks_about_her_own(self, calls: list[Call]) -> None:
        for operation, turn in calls:
            self.tenants.ann_asks(operation, turn)

    @rule(calls=st.lists(st.tuples(operations, foreign_turns), min_size=3, max_size=6))
    def ann_refers_to_foreign_memories(self, calls: list[Call]) -> None:
        for operation, turn in calls:
            self.tenants.ann_asks(operation, turn)

    @rule(calls=st.lists(st.tuples(operations, foreign_turns), min_size=3, max_size=6), exists=st.booleans())
    def ann_names_a_foreign_space(self, calls: list[Call], exists: bool) -> None:
        for operation, turn in calls:
            self.tenants.ann_asks(operation, turn, space=self.tenants.bob.space if exists else "unknown")

    @rule(calls=st.lists(st.tuples(operations, turns), min_size=3, max_size=6), is_eve=st.booleans())
    def others_are_busy(self, calls: list[Call], is_eve: bool) -> None:
        for operation, turn in calls:
            self.tenants.stranger_does(operation, turn, tenant=self.tenants.eve if is_eve else self.tenants.bob)

    @rule(calls=st.lists(st.tuples(operations, turns), min_size=3, max_size=6))
    def a_reader_of_ann_changes_nothing(self, calls: list[Call]) -> None:
        before = [self.tenants.place(server) for server in self.servers.both]
        for operation, turn in calls:
            answers = self.tenants.ann_asks(operation, turn, token=self.tenants.ann_read)
            assert not operation.writes or all(answer.is_refusal for answer in answers), answers
        assert [self.tenants.place(server) for server in self.servers.both] == before

    @rule(calls=st.lists(st.tuples(operations, turns), min_size=3, max_size=6))
    def a_reader_of_both_finds_no_third(self, calls: list[Call]) -> None:
        for operation, turn in calls:
            answer = self.tenants.reader_of_both_asks(operation, turn)
            assert not operation.writes or answer.is_refusal, answer

    @rule(watch=st.sampled_from([read_events, read_websocket]))
    def ann_watches_while_others_write(self, watch: Watch) -> None:
        tenants, (word, *_) = self.tenants, self.tenants.ann.new_words()
        received = [
            watch(server, token=tenants.ann_read, make_change=partial(tenants.ann_writes, server, note(word)))
            for server in self.servers.both
        ]
        tenants.require_same_news(received)

    @rule()
    def an_agent_of_ann_listens_while_others_write(self) -> None:
        tenants, name, (word, *_) = self.tenants, self.tenants.ann_notes(), self.tenants.ann.new_words()
        theirs = self.servers.busy.knowledge(tenants.bob).names
        uris = [uri_of(tenants.ann.space, name), *(uri_of(tenants.bob.space, their) for their in theirs[:1])]

        def change(server: TenantServer) -> str:
            tenants.ann_writes(server, change_title(name, word))
            return "notifications/resources/updated"

        received = [
            listen_by_mcp(server, token=tenants.ann_write, uris=uris, make_change=partial(change, server))
            for server in self.servers.both
        ]
        tenants.require_same_news(received)

    def teardown(self) -> None:
        """Check that Ann's view of everything is the same on both servers."""
        if hasattr(self, "tenants"):
            for name in _LOOKS:
                for number in (0, 1):
                    self.tenants.ann_asks(_BY_NAME[name], Turn(number=number))


@pytest.mark.slow
@pytest.mark.parametrize("on", BACKENDS)
def test_no_series_of_calls_reveals_another_space(tmp_path: Path, on: str) -> None:
    with ServerPair.open(tmp_path, on=on) as pair:
        Isolation.servers = pair
        _walk(Isolation, walks=3 if on == "sqlite" else 2)


def _walk(machine: type[Isolation], *, walks: int) -> None:
    run_state_machine_as_test(
        machine,
        # The same series on every run, and no shrinking: a step takes several requests to real servers.
        settings=settings(
            max_examples=walks,
            stateful_step_count=15,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
        ),
    )
