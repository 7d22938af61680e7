"""Answers that are kept for a while are those of one space."""

from tests.scenarios.asking_mcp import tool_call
from tests.scenarios.asking_rest import API, JSON
from tests.scenarios.company import Company, note, token_of
from tests.scenarios.parties import WORD, Ask
from tests.scenarios.worlds import Twins


def test_the_same_question_gets_no_neighbours_answer(twins: Twins) -> None:
    # As many changes in each space: nothing but the space itself tells the answers apart that are kept for a while.
    company, world = Company(twins=twins), twins.busy
    for _ in range(3):
        company.ann_notes()
        assert world.send(note(company.bob.fresh()[0]), token=token_of(company.bob, "write")).status == 201
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
            (token_of(company.bob, "write"), [company.bob.mark]),
            (company.ann_read, [company.ann.mark]),
            (company.both_read, [company.ann.mark, company.bob.mark]),
        ):
            told = world.send(ask, token=token)
            assert {found[1] for found in WORD.finditer(told.text)} == set(marks), told
        company.ann_sends([ask, ask])
