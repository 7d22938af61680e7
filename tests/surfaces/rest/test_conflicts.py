"""Conflicts, by REST."""

import pytest
from tests.surfaces.rest.checked_client import CheckedClient
from tests.surfaces.rest.openapi_document import choices_of

from scrubjay.model.conflict import ConflictStatus, Strategy
from scrubjay.model.requests import ConflictsRequest, ResolveConflictRequest

BERLIN, PARIS = "Ann lives in Berlin near the old harbour.", "Ann lives in Paris near the old harbour."


@pytest.fixture
async def conflicting_client(client: CheckedClient) -> CheckedClient:
    """Two contradictory facts."""
    await client.remember(BERLIN, name="berlin")
    await client.remember(PARIS, name="paris")
    await client.post("/scan", {"limit": 1})
    return client


async def test_a_conflict_is_listed_resolved_and_undone(conflicting_client: CheckedClient) -> None:
    (results,) = (await conflicting_client.get("/conflicts", params={"memory": "berlin"}))["conflicts"]
    assert (results["memory"]["name"], results["other"]["name"], results["status"]) == ("paris", "berlin", "pending")
    path = f"/conflicts/{results['id']}"
    assert await conflicting_client.get(path) == results
    body = {"strategy": "supersede", "notes": "she moved"}
    done = await conflicting_client.post(f"{path}/resolve", body, headers={"idempotency-key": "once"})
    assert (done["action"], done["kept"]) == ("superseded", results["memory"]["id"])
    assert await conflicting_client.post(f"{path}/resolve", body, headers={"idempotency-key": "once"}) == done
    problem = await conflicting_client.refused("POST", f"{path}/resolve", 409, "wrong_state", json=body)
    assert problem["run"] == done["run"]
    assert (await conflicting_client.get("/conflicts"))["conflicts"] == []
    (settled,) = (await conflicting_client.get("/conflicts", params={"status": "resolved"}))["conflicts"]
    assert (settled["strategy"], settled["notes"]) == ("supersede", "she moved")
    await conflicting_client.post("/undo", {"run": done["run"]})
    assert (await conflicting_client.get(path))["status"] == "pending"


async def test_invalid_requests_are_refused(conflicting_client: CheckedClient) -> None:
    await conflicting_client.refused("GET", "/conflicts", 422, "invalid_input", params={"status": "open"})
    for unknown in ("c-0000000000000000", "berlin", "no-such"):
        problem = await conflicting_client.refused("GET", f"/conflicts/{unknown}", 404, "not_found")
        assert (problem["detail"], problem["hint"]) == (
            f"there is no conflict {unknown!r}", "GET /conflicts lists them",
        )  # fmt: skip
    for body in ({"strategy": "delete"}, {"why": "so"}):
        await conflicting_client.refused("POST", "/conflicts/c-0/resolve", 422, "invalid_input", json=body)
    await conflicting_client.refused("POST", "/conflicts/c-0/resolve", 404, "not_found", json={})
    await conflicting_client.refused("POST", "/scan", 422, "invalid_input", json={"limit": -1})


def test_the_choices_are_those_of_the_model() -> None:
    assert set(choices_of(ResolveConflictRequest, "strategy")) == set(Strategy)
    assert set(choices_of(ConflictsRequest, "status")) == {*ConflictStatus, "all"}
