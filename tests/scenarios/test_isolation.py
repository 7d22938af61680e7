"""Two spaces on one server: whatever one is asked, in whatever order, nothing of the other comes along.

Every request of Ann's goes to two servers. On one of them Bob and Eve are busy, on the other they do not exist. Her
answers must be the same, so that no count, score, number, suggestion or error can tell her that there is anybody else.
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

from scrubjay.rpc.names import VERBS
from scrubjay.surfaces.daemon.limiter import KNOWN
from scrubjay.surfaces.mcp.toolsets import TOOLSETS
from tests.backends import BACKENDS
from tests.scenarios.mcp_calls import METHODS, TOOLS, uri_of
from tests.scenarios.paired_servers import ServerPair, Told, Twins
from tests.scenarios.rest_calls import OPEN, ROUTES
from tests.scenarios.streams import by_websocket, listening, server_sent
from tests.scenarios.tenant_data import By, Deed, Turn, Whose
from tests.scenarios.tenants import Tenants, note, retitled
from tests.scenarios.verb_calls import CALLS

DEEDS: tuple[Deed, ...] = (*ROUTES, *TOOLS, *METHODS, *CALLS)
_BY_NAME = {deed.name: deed for deed in DEEDS}
_REMEMBER = _BY_NAME["POST /api/v1/memories"]
_RELATE = _BY_NAME["POST /api/v1/memories/{id}/links"]
_LOOKS = ("GET /api/v1/search", "GET /api/v1/status", "GET /api/v1/export", "kg/read_graph", "resources/list")

Watch = Callable[..., Told]
Asked = tuple[Deed, Turn]
deeds = st.sampled_from(DEEDS)
turns = st.builds(Turn, by=st.sampled_from(get_args(By)), number=st.integers(min_value=0, max_value=40))
foreign_turns = st.builds(
    Turn,
    whose=st.sampled_from(cast("tuple[Whose, ...]", ("foreign", "foreign", "nobody"))),
    by=st.sampled_from(get_args(By)),
    number=st.integers(min_value=0, max_value=40),
)


def test_every_route_has_a_rule(twins: Twins) -> None:
    described = httpx2.get(f"{twins.quiet.url}/openapi.json", trust_env=False).json()
    operations = {f"{method.upper()} {path}" for path, methods in described["paths"].items() for method in methods}
    assert {deed.name for deed in (*ROUTES, *OPEN)} == operations


def test_every_tool_method_and_verb_has_a_rule() -> None:
    tools = {f"{toolset}/{tool.name}" for toolset, chosen in TOOLSETS.items() for tool in chosen}
    assert {deed.name for deed in TOOLS} == tools
    assert {deed.name for deed in CALLS} == {f"call/{verb}" for verb in VERBS}
    methods = KNOWN - VERBS - {tool.name for chosen in TOOLSETS.values() for tool in chosen}
    # A stream is no single answer, and only a lasting connection, which is the owner's, subscribes.
    alone = {"subscriptions/listen", "resources/subscribe"}
    # Files are handed out over REST alone, whose routes have rules of their own.
    files = {"download_attachment", "export_note"}
    assert {deed.name for deed in METHODS} == methods - alone - files


class Isolation(RuleBasedStateMachine):
    """Anybody does anything; what Ann is told does not depend on it."""

    servers: Twins

    @initialize(number=st.integers(min_value=0, max_value=40))
    def move_in(self, number: int) -> None:
        self.tenants = Tenants(twins=self.servers)
        for at in range(3):
            turn = Turn(number=number + at)
            self.tenants.ann_asks(_REMEMBER, turn)
            for tenant in (self.tenants.bob, self.tenants.bob, self.tenants.eve):
                self.tenants.stranger_does(_REMEMBER, turn, tenant=tenant)
        self.tenants.ann_asks(_RELATE)
        self.tenants.stranger_does(_RELATE)

    @rule(several=st.lists(st.tuples(deeds, turns), min_size=3, max_size=6))
    def ann_asks_about_her_own(self, several: list[Asked]) -> None:
        for deed, turn in several:
            self.tenants.ann_asks(deed, turn)

    @rule(several=st.lists(st.tuples(deeds, foreign_turns), min_size=3, max_size=6))
    def ann_asks_about_what_is_not_hers(self, several: list[Asked]) -> None:
        for deed, turn in several:
            self.tenants.ann_asks(deed, turn)

    @rule(several=st.lists(st.tuples(deeds, foreign_turns), min_size=3, max_size=6), is_there=st.booleans())
    def ann_names_a_space_that_is_not_hers(self, several: list[Asked], is_there: bool) -> None:
        for deed, turn in several:
            self.tenants.ann_asks(deed, turn, space=self.tenants.bob.space if is_there else "nobody's")

    @rule(several=st.lists(st.tuples(deeds, turns), min_size=3, max_size=6), is_eve=st.booleans())
    def others_are_busy(self, several: list[Asked], is_eve: bool) -> None:
        for deed, turn in several:
            self.tenants.stranger_does(deed, turn, tenant=self.tenants.eve if is_eve else self.tenants.bob)

    @rule(several=st.lists(st.tuples(deeds, turns), min_size=3, max_size=6))
    def a_reader_of_ann_changes_nothing(self, several: list[Asked]) -> None:
        before = [self.tenants.place(world) for world in self.servers.both]
        for deed, turn in several:
            reported = self.tenants.ann_asks(deed, turn, token=self.tenants.ann_read)
            assert not deed.writes or all(item.is_refusal for item in reported), reported
        assert [self.tenants.place(world) for world in self.servers.both] == before

    @rule(several=st.lists(st.tuples(deeds, turns), min_size=3, max_size=6))
    def a_reader_of_both_finds_no_third(self, several: list[Asked]) -> None:
        for deed, turn in several:
            reported = self.tenants.reader_of_both_asks(deed, turn)
            assert not deed.writes or reported.is_refusal, reported

    @rule(way=st.sampled_from([server_sent, by_websocket]))
    def ann_watches_while_others_write(self, way: Watch) -> None:
        tenants, (word, *_) = self.tenants, self.tenants.ann.fresh()
        received = [
            way(world, token=tenants.ann_read, act=partial(tenants.ann_does, world, note(word)))
            for world in self.servers.both
        ]
        tenants.require_same_news(received)

    @rule()
    def an_agent_of_ann_listens_while_others_write(self) -> None:
        tenants, name, (word, *_) = self.tenants, self.tenants.ann_notes(), self.tenants.ann.fresh()
        theirs = self.servers.busy.knowledge(tenants.bob).names
        uris = [uri_of(tenants.ann.space, name), *(uri_of(tenants.bob.space, their) for their in theirs[:1])]

        def change(world: ServerPair) -> str:
            tenants.ann_does(world, retitled(name, word))
            return "notifications/resources/updated"

        received = [
            listening(world, token=tenants.ann_write, uris=uris, act=partial(change, world))
            for world in self.servers.both
        ]
        tenants.require_same_news(received)

    def teardown(self) -> None:
        """All that Ann can see at once is as it would be without the others."""
        if hasattr(self, "company"):
            for name in _LOOKS:
                for number in (0, 1):
                    self.tenants.ann_asks(_BY_NAME[name], Turn(number=number))


@pytest.mark.slow
@pytest.mark.parametrize("on", BACKENDS)
def test_whatever_anybody_does_nobody_sees_what_is_not_theirs(tmp_path: Path, on: str) -> None:
    with Twins.open(tmp_path, on=on) as twins:
        Isolation.servers = twins
        _walk(Isolation, walks=3 if on == "sqlite" else 2)


def _walk(machine: type[Isolation], *, walks: int) -> None:
    run_state_machine_as_test(
        machine,
        # The same series every time, and no shrinking: a step is a handful of requests to real servers.
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
