"""Cached answers belong to one space."""

from tests.scenarios.mcp_calls import tool_call
from tests.scenarios.paired_servers import ServerPair
from tests.scenarios.rest_calls import API, JSON
from tests.scenarios.tenant_data import WORD, HttpRequest
from tests.scenarios.tenants import Tenants, note, token_of


def test_the_same_question_gets_no_neighbours_answer(pair: ServerPair) -> None:
    # The same number of changes in each space, so that cached answers differ by their space only.
    tenants, server = Tenants(pair=pair), pair.busy
    for _ in range(3):
        tenants.ann_notes()
        assert server.send(note(tenants.bob.new_words()[0]), token=token_of(tenants.bob, "write")).status == 201
    requests = (
        HttpRequest(method="POST", path=f"{API}/search", headers=JSON, body={"query": "what did the jay hide?"}),
        HttpRequest(
            method="POST", path="/call/recall", headers=JSON,
            body={"args": {"query": "what did the jay hide?"}},
        ),
        tool_call("recall", {"query": "what did the jay hide?"}),
        tool_call("memory_recall", {"query": "what did the jay hide?"}, toolset="items"),
    )  # fmt: skip
    for request in (*requests, *requests):
        for token, marks in (
            (token_of(tenants.bob, "write"), [tenants.bob.mark]),
            (tenants.ann_read, [tenants.ann.mark]),
            (tenants.both_read, [tenants.ann.mark, tenants.bob.mark]),
        ):
            answer = server.send(request, token=token)
            assert {match[1] for match in WORD.finditer(answer.text)} == set(marks), answer
        tenants.ann_sends([request, request])
