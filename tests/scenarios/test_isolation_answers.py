"""Answers that are kept for a while are those of one space."""

from tests.scenarios.mcp_calls import tool_call
from tests.scenarios.paired_servers import Twins
from tests.scenarios.rest_calls import API, JSON
from tests.scenarios.tenant_data import WORD, Ask
from tests.scenarios.tenants import Tenants, note, token_of


def test_the_same_question_gets_no_neighbours_answer(twins: Twins) -> None:
    # As many changes in each space: nothing but the space itself tells the answers apart that are kept for a while.
    tenants, world = Tenants(twins=twins), twins.busy
    for _ in range(3):
        tenants.ann_notes()
        assert world.send(note(tenants.bob.fresh()[0]), token=token_of(tenants.bob, "write")).status == 201
    asks = (
        Ask(method="POST", path=f"{API}/search", headers=JSON, body={"query": "what did the jay hide?"}),
        Ask(
            method="POST", path="/call/recall", headers=JSON,
            body={"args": {"question": {"query": "what did the jay hide?"}}},
        ),
        tool_call("recall", {"query": "what did the jay hide?"}),
        tool_call("memory_recall", {"query": "what did the jay hide?"}, toolset="items"),
    )  # fmt: skip
    for ask in (*asks, *asks):
        for token, marks in (
            (token_of(tenants.bob, "write"), [tenants.bob.mark]),
            (tenants.ann_read, [tenants.ann.mark]),
            (tenants.both_read, [tenants.ann.mark, tenants.bob.mark]),
        ):
            reported = world.send(ask, token=token)
            assert {results[1] for results in WORD.finditer(reported.text)} == set(marks), reported
        tenants.ann_sends([ask, ask])
