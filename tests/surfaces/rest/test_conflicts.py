"""Conflicts, by REST."""

from typing import get_args

import pytest
from tests.surfaces.rest.checked_client import Visitor

from scrubjay.model.conflict import ConflictStatus, Strategy
from scrubjay.surfaces.rest.conflicts import Statuses, Strategies

BERLIN, PARIS = "Ann lives in Berlin near the old harbour.", "Ann lives in Paris near the old harbour."


@pytest.fixture
async def torn(visitor: Visitor) -> Visitor:
    """Two facts that cannot both be so."""
    await visitor.remember(BERLIN, name="berlin")
    await visitor.remember(PARIS, name="paris")
    await visitor.post("/scan", {"limit": 1})
    return visitor


async def test_a_conflict_from_its_beginning_to_its_end(torn: Visitor) -> None:
    (results,) = (await torn.get("/conflicts", params={"memory": "berlin"}))["conflicts"]
    assert (results["memory"]["name"], results["other"]["name"], results["status"]) == ("paris", "berlin", "pending")
    path = f"/conflicts/{results['id']}"
    assert await torn.get(path) == results
    body = {"strategy": "supersede", "notes": "she moved"}
    done = await torn.post(f"{path}/resolve", body, headers={"idempotency-key": "once"})
    assert (done["action"], done["kept"]) == ("superseded", results["memory"]["id"])
    assert await torn.post(f"{path}/resolve", body, headers={"idempotency-key": "once"}) == done
    problem = await torn.refused("POST", f"{path}/resolve", 409, "wrong_state", json=body)
    assert problem["run"] == done["run"]
    assert (await torn.get("/conflicts"))["conflicts"] == []
    (settled,) = (await torn.get("/conflicts", params={"status": "resolved"}))["conflicts"]
    assert (settled["strategy"], settled["notes"]) == ("supersede", "she moved")
    await torn.post("/undo", {"run": done["run"]})
    assert (await torn.get(path))["status"] == "pending"


async def test_what_cannot_be_asked(torn: Visitor) -> None:
    await torn.refused("GET", "/conflicts", 422, "invalid_input", params={"status": "open"})
    await torn.refused("GET", "/conflicts/c-0000000000000000", 404, "not_found")
    await torn.refused("GET", "/conflicts/berlin", 404, "not_found")
    for body in ({"strategy": "delete"}, {"why": "so"}):
        await torn.refused("POST", "/conflicts/c-0/resolve", 422, "invalid_input", json=body)
    await torn.refused("POST", "/conflicts/c-0/resolve", 404, "not_found", json={})
    await torn.refused("POST", "/scan", 422, "invalid_input", json={"limit": -1})


def test_what_may_be_asked_is_what_there_is() -> None:
    assert set(get_args(Strategies)) == set(Strategy)
    assert set(get_args(Statuses)) == {*ConflictStatus, "all"}
