"""Notes over REST: every answer is held to the description."""

from pathlib import Path
from urllib.parse import quote

from tests.surfaces.background_daemon import background_daemon
from tests.surfaces.rest.checked_client import Visitor, visiting

from scrubjay.settings import Settings

TITLE = "How to reach Sarah"
CONTENT = "# Sarah\n\nShe prefers **voice calls** to mail, says [[Paul]].\n"


async def test_a_note_is_written_read_edited_and_found(visitor: Visitor) -> None:
    inputs = {"title": TITLE, "content": CONTENT, "tags": ["contact"], "category": "people/friends"}
    response = await visitor.ask("POST", "/notes", status=201, json=inputs, headers={"idempotency-key": "note-1"})
    made = response.json()
    assert (response.headers["etag"], made["file_path"]) == ('"1"', "")
    assert response.headers["location"].startswith(f"/api/v1/notes/{made['id']}?space=")
    again = await visitor.ask("POST", "/notes", status=201, json=inputs, headers={"idempotency-key": "note-1"})
    assert again.json()["id"] == made["id"]
    read = await visitor.get(f"/notes/{quote(TITLE)}")
    assert (read["id"], read["content"], read["category"]) == (made["id"], CONTENT, "people/friends")
    plain = await visitor.get("/notes/how-to-reach-sarah", params={"format": "plain"})
    assert plain["content"] == "Sarah\n\nShe prefers voice calls to mail, says Paul."
    changed = await visitor.ask(
        "PATCH", f"/notes/{made['id']}", json={"tags": ["phone"], "category": "people"}, headers={"if-match": '"1"'}
    )
    assert (changed.headers["etag"], changed.json()["success"]) == ('"2"', True)
    await visitor.refused(
        "PATCH", f"/notes/{made['id']}", 412, "stale_version", json={"title": "x"}, headers={"if-match": '"1"'}
    )
    results = await visitor.get("/notes/search", params={"q": '"voice calls"', "category": "people", "tags": ["phone"]})
    assert [(item["id"], "**voice calls**" in item["snippet"]) for item in results["results"]] == [(made["id"], True)]
    assert (await visitor.get("/notes/search", params={"q": "voice", "tags": ["mail"]}))["results"] == []


async def test_notes_are_linked_reviewed_and_looked_around_in(visitor: Visitor) -> None:
    sarah = await visitor.post("/notes", {"title": "Sarah", "content": CONTENT, "category": "people"}, status=201)
    ideas = await visitor.post("/notes", {"title": "Ideas", "content": "Bees by radio.", "category": "a/b"}, status=201)
    linked = await visitor.post("/notes/Sarah/links", {"target": "Ideas", "text": "hers"})
    assert (linked["source_links"], linked["target_links"]) == ([ideas["id"]], [sarah["id"]])
    assert linked["markdown_link"] == f"[[a-b-ideas-{ideas['id']}|hers]]"
    back = await visitor.get("/notes/Ideas/backlinks")
    assert [(item["id"], item["text"]) for item in back["backlinks"]] == [(sarah["id"], "hers")]
    lost = (await visitor.get("/notes/broken-links"))["links"]
    assert [(item["id"], item["target"]) for item in lost] == [(sarah["id"], "Paul")]
    gone = (await visitor.ask("DELETE", "/notes/Ideas/links", params={"target": "Sarah"})).json()
    assert (gone["action"], gone["source_links"]) == ("removed", [])
    assert {item["id"] for item in (await visitor.get("/notes/due", params={"days": 0}))["notes"]} == {
        sarah["id"],
        ideas["id"],
    }
    assert (await visitor.get("/notes/due"))["notes"] == []
    reviewed = await visitor.post("/notes/Ideas/review")
    assert (reviewed["id"], reviewed["version"]) == (ideas["id"], 2)
    assert [
        (item["path"], item["notes"], item["total"]) for item in (await visitor.get("/notes/categories"))["categories"]
    ] == [
        ("a", 0, 1),
        ("a/b", 1, 1),
        ("people", 1, 1),
    ]
    assert {"name": "meeting", "built_in": True} in (await visitor.get("/notes/templates"))["templates"]
    assert (await visitor.get("/notes/date", params={"format": "date_only", "timezone": "UTC"}))[
        "utc_offset"
    ] == "+00:00"


async def test_what_cannot_be_done_is_refused(visitor: Visitor) -> None:
    made = await visitor.post("/notes", {"title": TITLE, "content": CONTENT}, status=201)
    for body in ({"title": "x"}, {"title": "x", "content": " "}, {"title": "x", "content": "\0"}):
        assert (await visitor.refused("POST", "/notes", 422, "invalid_input", json=body))["field"] == "content"
    await visitor.refused("POST", "/notes", 422, "invalid_input", json={"title": "x", "content": "y", "kind": "z"})
    await visitor.refused("POST", "/notes", 404, "not_found", json={"title": "x", "template": "nothing"})
    problem = await visitor.refused("GET", "/notes/How%20to%20reach%20Sara", 404, "not_found")
    assert problem["suggestions"] == ["how-to-reach-sarah"]
    await visitor.refused("POST", f"/notes/{made['id']}/links", 422, "invalid_input", json={"target": made["id"]})
    await visitor.refused("PATCH", f"/notes/{made['id']}", 422, "invalid_input", json={"content": None})
    assert (await visitor.refused("POST", "/notes/sync", 422, "invalid_input"))["field"] == "space"
    problem = await visitor.refused("GET", "/notes/date", 422, "invalid_input", params={"timezone": "x"})
    assert problem["field"] == "timezone"
    await visitor.refused("GET", "/notes/search", 422, "invalid_input")


async def test_the_space_of_the_folder_has_files(settings: Settings, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    with background_daemon(settings.with_overrides(notestore_path=str(vault))) as running:
        async with visiting(running.http) as visitor:
            made = await visitor.post("/notes", {"title": TITLE, "content": CONTENT, "category": "people"}, status=201)
            file = Path(made["file_path"])
            assert file == vault / f"people-how-to-reach-sarah-{made['id']}.md"
            assert (await visitor.get(f"/notes/{file.name}"))["id"] == made["id"]
            assert (await visitor.get("/notes/templates"))["folder"] == str(vault / "templates")
            synced = await visitor.post("/notes/sync")
            assert (synced["folder"], synced["problems"]) == (str(vault), [])
            # What others write is in the folder, too.
            other = await visitor.remember("The jay hid an acorn.", title="Acorn")
            await visitor.post("/notes/sync")
            assert (await visitor.get(f"/notes/{other['id']}"))["file_path"] == str(vault / f"acorn-{other['id']}.md")
            assert (await visitor.get("/status"))["vault"]["files"] == 2
