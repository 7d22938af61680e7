"""Attachments on the command line, from Python, and over REST, in a synchronized folder of notes."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from tests.surfaces.background_daemon import background_daemon
from tests.surfaces.rest.checked_client import open_client
from tests.surfaces.shell import run, run_json
from tests.unit.notes.files import docx, png

from scrubjay import MemoryClient, Settings
from scrubjay.errors import InvalidInput, TooLarge

SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><text>A walnut</text><script>alert(1)</script></svg>"


def test_a_file_is_attached_on_the_command_line(tmp_path: Path) -> None:
    options = ("--data", str(tmp_path / "data"))
    note = run_json("notes", "write", "Harvest", "What we know of the harvest of this year.", *options)
    document = tmp_path / "Report 2026.docx"
    document.write_bytes(docx("Walnuts were plenty"))
    done = run_json("notes", "attach", "Harvest", str(document), "--caption", "For the board", *options)
    stored = done["attachment"]
    assert isinstance(stored, dict)
    assert (done["action"], stored["caption"], stored["bytes"]) == ("created", "For the board", document.stat().st_size)
    assert Path(str(stored["path"])).read_bytes() == document.read_bytes()
    # The note embeds the file, and so does its Markdown file.
    read = run_json("notes", "read", str(note["id"]), *options)
    embed = f"![[{str(stored['file']).partition('/')[2]}|For the board]]"
    assert str(read["content"]).endswith(embed)
    assert embed in Path(str(read["file_path"])).read_text(encoding="utf-8")
    assert list(Path(str(read["file_path"])).parent.glob("*.md")) == [Path(str(read["file_path"]))]
    again = run("notes", "attach", "Harvest", str(document), *options)
    assert again.out.startswith("known Report 2026.docx (")
    # Another caption changes the existing embed.
    run_json("notes", "attach", "Harvest", str(document), "--caption", "For all", *options)
    content = str(run_json("notes", "read", "Harvest", *options)["content"])
    assert (content.count("![["), content.endswith("|For all]]")) == (1, True)
    run_json("notes", "attach", "Harvest", str(document), "--caption", "For the board", *options)
    assert run_json("notes", "attachments", "Harvest", *options)["note"] == note["id"]
    listed = run("notes", "attachments", "Harvest", *options)
    assert "Report 2026.docx" in listed.out
    assert "For the board" in listed.out
    assert "walnuts" in run("recall", "walnuts plenty", *options).out.lower()
    assert run("notes", "orphans", *options).out == "every attachment is embedded and has its file\n"
    run_json("forget", str(note["id"]), *options)
    assert "no note embeds it" in run("notes", "orphans", *options).out
    assert Path(str(stored["path"])).exists()
    refused = run("notes", "attach", "Harvest", str(tmp_path / "none"), "--json", *options)
    assert (refused.code, "cannot be read" in str(refused.error()["message"])) == (2, True)


async def test_a_file_is_sent_and_fetched_over_http(tmp_path: Path) -> None:
    settings = Settings(
        home=str(tmp_path / "data"), embedder="none", vector_index="scan", readers=1, max_attachment_bytes=50_000,
        notestore_path=str(tmp_path / "notes"), max_body_bytes=100_000,
    )  # fmt: skip
    with background_daemon(settings) as running:
        async with open_client(running.http) as client:
            note = await client.post("/notes", {"title": "Trees", "content": "All about our trees."}, status=201)
            path = f"/notes/{note['id']}/attachments"
            inputs: dict[str, Any] = {"params": {"name": "Köln \u202e.svg", "caption": "A tree"}, "content": SVG}
            made = (await client.request("POST", path, status=201, **inputs)).json()
            stored = made["attachment"]
            assert (stored["media_type"], stored["title"]) == ("image/svg+xml", "Köln .svg")
            assert (await client.request("POST", path, **inputs)).json()["action"] == "known"
            assert (await client.get(path))["attachments"] == [stored]
            got = await client.request("GET", f"/attachments/{stored['id']}")
            assert got.content == SVG
            assert got.headers["content-type"] == "application/octet-stream"
            assert got.headers["x-content-type-options"] == "nosniff"
            assert "sandbox" in got.headers["content-security-policy"]
            kind, _, name = got.headers["content-disposition"].partition("; filename*=UTF-8''")
            assert (kind, unquote(name)) == ('attachment; filename="K_ln .svg"', "Köln .svg")
            picture = await client.request("POST", path, status=201, params={"name": "a.png"}, content=png("x"))
            shown = await client.request("GET", f"/attachments/{picture.json()['attachment']['id']}")
            assert shown.headers["content-type"] == "image/png"
            head = await client.request("HEAD", f"/attachments/{stored['id']}")
            assert (head.content, head.headers["content-disposition"]) == (b"", got.headers["content-disposition"])
            await client.request("HEAD", "/attachments/nothing", status=404)
            nothing = await client.refused("GET", "/attachments/nothing", 404, "not_found")
            assert "no attachment is called 'nothing'" in str(nothing["detail"])
            assert "GET /api/v1/notes/{id}/attachments" in str(nothing)
            assert "recall" not in str(nothing)
            for name, caption, field in (("a\0.txt", "", "name"), (" ", "", "name"), ("a", "\0", "caption")):
                query = {"name": name, "caption": caption}
                refused = await client.refused("POST", path, 422, "invalid_input", params=query, content=b"new")
                assert refused["field"] == field
            for problem in (
                await client.refused("POST", path, 422, "invalid_input", params={"name": "a.txt"}),
                await client.refused("POST", path, 422, "invalid_input", content=b"x"),
                await client.refused("POST", path, 413, "too_large", params={"name": "a"}, content=bytes(60_000)),
                await client.refused("POST", path, 413, "too_large", params={"name": "a"}, content=bytes(200_000)),
                await client.refused(
                    "POST", "/notes/nobody/attachments", 404, "not_found", params={"name": "a"}, content=b"x"
                ),
                await client.refused("GET", f"/attachments/{note['id']}", 404, "not_found"),
                await client.refused("GET", "/attachments/..%2f..%2fetc%2fpasswd", 404, "no_such_path"),
            ):
                assert problem["detail"]
            assert (await client.get("/attachments/orphans"))["orphans"] == []
            # HTTP clients cannot make the server read its files.
            request = {"arguments": {"note": "Trees", "path": "/etc/passwd"}}
            assert (await client.web.post("/call/attach_path", json=request)).status_code == 403
        document_file = tmp_path / "b.txt"
        document_file.write_text("Words of a file", encoding="utf-8")
        # Over the socket the daemon reads the file itself; over HTTP the client sends the content.
        async with MemoryClient(settings=settings) as near:
            assert (await near.attach_path("Trees", document_file)).action == "created"
        async with MemoryClient(url=running.http, settings=Settings(home=str(tmp_path / "far"))) as far:
            assert (await far.attach_path("Trees", document_file, caption="Far")).action == "known"
            assert [attachment.title for attachment in (await far.note_attachments("Trees")).attachments][-1] == "b.txt"
            assert (await far.orphaned_files()).orphans == ()
            with pytest.raises(InvalidInput, match="base64"):
                await far.attach_file("Trees", "x.txt", "no base64!")
            with pytest.raises(TooLarge):
                await far.attach_file("Trees", "x.bin", bytes(60_000))
        assert "![[" in (tmp_path / "notes" / Path(note["file_path"]).name).read_text(encoding="utf-8")
