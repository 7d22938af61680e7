"""Facts out of conversations, by REST."""

from typing import get_args

from tests.surfaces.rest.checked_client import Visitor

from scrubjay.extraction.extract import METHODS
from scrubjay.extraction.formats import FORMATS
from scrubjay.surfaces.rest.extract import Formats, Ways

LOG = "Ann: I prefer tea to coffee.\nBen: Wow!\nBen: I live in Rome."


async def test_a_log_is_read_stored_and_taken_back(visitor: Visitor) -> None:
    reported = await visitor.post("/extract", {"text": LOG, "store": False}, status=200)
    assert [(item["fact"]["type"], item["fact"]["turn"], item["action"]) for item in reported["facts"]] == [
        ("preference", "1", ""),
        ("identity", "3", ""),
    ]
    done = await visitor.post("/extract", {"text": LOG, "session": "s1"}, status=200)
    assert [item["action"] for item in done["facts"]] == ["created", "created"]
    again = await visitor.post("/extract", {"text": LOG, "session": "s1"}, status=200)
    assert [item["action"] for item in again["facts"]] == ["unchanged", "unchanged"]
    await visitor.post("/undo", {"run": done["run"]}, status=200)
    assert (await visitor.get("/search", params={"q": "tea"}))["hits"] == []


async def test_what_cannot_be_read_is_refused(visitor: Visitor) -> None:
    for body in ({"text": ""}, {"text": LOG, "format": "morse"}, {"text": LOG, "method": "magic"}, {"text": "{"}):
        problem = await visitor.post("/extract", body, status=422)
        assert problem["code"] == "invalid_input"


def test_the_description_names_every_form() -> None:
    assert set(get_args(Formats)) == set(FORMATS)
    assert set(get_args(Ways)) == set(METHODS)
