"""Notes by REST."""

from pathlib import Path
from urllib.parse import quote

from tests.surfaces.background_daemon import background_daemon
from tests.surfaces.rest.checked_client import CheckedClient, open_client

from scrubjay.settings import Settings

TITLE = "How to reach Sarah"
CONTENT = "# Sarah\n\nShe prefers **voice calls** to mail, says [[Paul]].\n"


async def test_a_note_is_written_read_edited_and_found(client: CheckedClient) -> None:
    inputs = {"title": TITLE, "content": CONTENT, "tags": ["contact"], "category": "people/friends"}
    response = await client.request("POST", "/notes", status=201, json=inputs, headers={"idempotency-key": "note-1"})
    written = response.json()
    assert (response.headers["etag"], written["file_path"]) == ('"1"', "")
    assert response.headers["location"].startswith(f"/api/v1/notes/{written['id']}?space=")
    again = await client.request("POST", "/notes", status=201, json=inputs, headers={"idempotency-key": "note-1"})
    assert again.json()["id"] == written["id"]
    read = await client.get(f"/notes/{quote(TITLE)}")
    assert (read["id"], read["content"], read["category"]) == (written["id"], CONTENT, "people/friends")
    plain = await client.get("/notes/how-to-reach-sarah", params={"format": "plain"})
    assert plain["content"] == "Sarah\n\nShe prefers voice calls to mail, says Paul."
    changed = await client.request(
        "PATCH", f"/notes/{written['id']}", json={"tags": ["phone"], "category": "people"}, headers={"if-match": '"1"'}
    )
    assert (changed.headers["etag"], changed.json()["success"]) == ('"2"', True)
    await client.refused(
        "PATCH", f"/notes/{written['id']}", 412, "stale_version", json={"title": "x"}, headers={"if-match": '"1"'}
    )
    results = await client.get("/notes/search", params={"q": '"voice calls"', "category": "people", "tags": ["phone"]})
    assert [(hit["id"], "**voice calls**" in hit["snippet"]) for hit in results["results"]] == [(written["id"], True)]
    assert (await client.get("/notes/search", params={"q": "voice", "tags": ["mail"]}))["results"] == []


async def test_notes_are_linked_reviewed_and_listed(client: CheckedClient) -> None:
    sarah = await client.post("/notes", {"title": "Sarah", "content": CONTENT, "category": "people"}, status=201)
    ideas = await client.post("/notes", {"title": "Ideas", "content": "Bees by radio.", "category": "a/b"}, status=201)
    linked = await client.post("/notes/Sarah/links", {"target": "Ideas", "text": "hers"})
    assert (linked["source_links"], linked["target_links"]) == ([ideas["id"]], [sarah["id"]])
    assert linked["markdown_link"] == f"[[a-b-ideas-{ideas['id']}|hers]]"
    back = await client.get("/notes/Ideas/backlinks")
    assert [(backlink["id"], backlink["text"]) for backlink in back["backlinks"]] == [(sarah["id"], "hers")]
    lost = (await client.get("/notes/broken-links"))["links"]
    assert [(item["id"], item["target"]) for item in lost] == [(sarah["id"], "Paul")]
    gone = (await client.request("DELETE", "/notes/Ideas/links", params={"target": "Sarah"})).json()
    assert (gone["action"], gone["source_links"]) == ("removed", [])
    assert {note["id"] for note in (await client.get("/notes/due", params={"days": 0}))["notes"]} == {
        sarah["id"],
        ideas["id"],
    }
    assert (await client.get("/notes/due"))["notes"] == []
    reviewed = await client.post("/notes/Ideas/review")
    assert (reviewed["id"], reviewed["version"]) == (ideas["id"], 2)
    assert [
        (category["path"], category["notes"], category["total"])
        for category in (await client.get("/notes/categories"))["categories"]
    ] == [
        ("a", 0, 1),
        ("a/b", 1, 1),
        ("people", 1, 1),
    ]
    assert {"name": "meeting", "built_in": True} in (await client.get("/notes/templates"))["templates"]
    assert (await client.get("/notes/date", params={"format": "date_only", "timezone": "UTC"}))[
        "utc_offset"
    ] == "+00:00"


async def test_impossible_requests_are_refused(client: CheckedClient) -> None:
    written = await client.post("/notes", {"title": TITLE, "content": CONTENT}, status=201)
    for body in ({"title": "x"}, {"title": "x", "content": " "}, {"title": "x", "content": "\0"}):
        assert (await client.refused("POST", "/notes", 422, "invalid_input", json=body))["field"] == "content"
    await client.refused("POST", "/notes", 422, "invalid_input", json={"title": "x", "content": "y", "kind": "z"})
    await client.refused("POST", "/notes", 404, "not_found", json={"title": "x", "template": "nothing"})
    problem = await client.refused("GET", "/notes/How%20to%20reach%20Sara", 404, "not_found")
    assert problem["suggestions"] == ["how-to-reach-sarah"]
    await client.refused("POST", f"/notes/{written['id']}/links", 422, "invalid_input", json={"target": written["id"]})
    await client.refused("PATCH", f"/notes/{written['id']}", 422, "invalid_input", json={"content": None})
    assert (await client.refused("POST", "/notes/sync", 422, "invalid_input"))["field"] == "space"
    problem = await client.refused("GET", "/notes/date", 422, "invalid_input", params={"timezone": "x"})
    assert problem["field"] == "timezone"
    await client.refused("GET", "/notes/search", 422, "invalid_input")


async def test_the_space_of_the_folder_has_files(settings: Settings, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    with background_daemon(settings.with_overrides(notestore_path=str(vault))) as running:
        async with open_client(running.http) as client:
            written = await client.post(
                "/notes", {"title": TITLE, "content": CONTENT, "category": "people"}, status=201
            )
            file = Path(written["file_path"])
            assert file == vault / f"people-how-to-reach-sarah-{written['id']}.md"
            assert (await client.get(f"/notes/{file.name}"))["id"] == written["id"]
            assert (await client.get("/notes/templates"))["folder"] == str(vault / "templates")
            synced = await client.post("/notes/sync")
            assert (synced["folder"], synced["problems"]) == (str(vault), [])
            # Memories of other surfaces are in the folder too.
            other = await client.remember("The jay hid an acorn.", title="Acorn")
            await client.post("/notes/sync")
            assert (await client.get(f"/notes/{other['id']}"))["file_path"] == str(vault / f"acorn-{other['id']}.md")
            assert (await client.get("/status"))["vault"]["files"] == 2
