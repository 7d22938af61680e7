"""Extraction of facts by REST."""

from tests.surfaces.rest.checked_client import CheckedClient
from tests.surfaces.rest.openapi_document import choices_of

from scrubjay.extraction.extract import METHODS
from scrubjay.extraction.formats import FORMATS
from scrubjay.model.requests import ExtractRequest

LOG = "Ann: I prefer tea to coffee.\nBen: Wow!\nBen: I live in Rome."


async def test_a_log_is_read_stored_and_undone(client: CheckedClient) -> None:
    result = await client.post("/extract", {"text": LOG, "store": False}, status=200)
    assert [(fact["fact"]["type"], fact["fact"]["turn"], fact["action"]) for fact in result["facts"]] == [
        ("preference", "1", ""),
        ("identity", "3", ""),
    ]
    done = await client.post("/extract", {"text": LOG, "session": "s1"}, status=200)
    assert [fact["action"] for fact in done["facts"]] == ["created", "created"]
    again = await client.post("/extract", {"text": LOG, "session": "s1"}, status=200)
    assert [fact["action"] for fact in again["facts"]] == ["unchanged", "unchanged"]
    await client.post("/undo", {"run": done["run"]}, status=200)
    assert (await client.get("/search", params={"q": "tea"}))["hits"] == []


async def test_an_unreadable_log_is_refused(client: CheckedClient) -> None:
    for body in ({"text": ""}, {"text": LOG, "format": "morse"}, {"text": LOG, "method": "magic"}, {"text": "{"}):
        problem = await client.post("/extract", body, status=422)
        assert problem["code"] == "invalid_input"


def test_the_description_lists_every_format_and_method() -> None:
    assert set(choices_of(ExtractRequest, "format")) == set(FORMATS)
    assert set(choices_of(ExtractRequest, "method")) == set(METHODS)
