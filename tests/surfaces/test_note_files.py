"""Export and import of notes on the command line, through a daemon, and over REST."""

import json
import re
import shlex
from pathlib import Path
from urllib.parse import unquote

import pytest
from tests.scenarios.notes.obsidian import make_vault
from tests.surfaces.background_daemon import background_daemon
from tests.surfaces.rest.checked_client import open_client
from tests.surfaces.shell import run, run_json

from scrubjay import MemoryClient, Settings
from scrubjay.errors import InvalidInput

DOCS = Path(__file__).parents[2] / "docs" / "how-to"
_MIN_EXAMPLES = 6


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("named", [True, False])
def test_one_undo_takes_an_adoption_back(tmp_path: Path, named: bool) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Walnut.md").write_text("It is tall, see [[Oak]] and ![[leaf.png]].\n", encoding="utf-8")
    (vault / "Oak.md").write_text("It is old, see [[Walnut]].\n", encoding="utf-8")
    (vault / "leaf.png").write_bytes(b"\x89PNG\r\n\x1a\n leaf")
    (vault / "Elm.md").write_text("---\ntitle: [Elm\n---\nIt is broad.\n", encoding="utf-8")
    before = {file: file.read_bytes() for file in vault.glob("[!.]*")}
    warning = "  warning: Elm.md: its frontmatter cannot be read and stays in the text: "
    assert warning in run("notes", "adopt", str(vault), "--dry-run").out
    adopted = run("notes", "adopt", str(vault), "--yes")
    assert warning in adopted.out
    taken_back = adopted.out.partition("undo --run ")[2].split()[0]
    assert len(run("list").out.splitlines()) == 4
    undone = run("undo", *(("--run", taken_back) if named else ()))
    assert undone.out.count("undone ") == 4
    assert run("list").out == "there are no memories\n"
    assert {file: file.read_bytes() for file in vault.glob("[!.]*")} == before


@pytest.mark.usefixtures("home")
def test_of_two_notes_with_a_title_a_path_means_one_and_so_does_a_link(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    for path, text in {
        "a/One.md": "See [[Dup]].", "b/Two.md": "See [[a/Dup]].", "a/Dup.md": "The first.", "b/Dup.md": "The second.",
    }.items():  # fmt: skip
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_text(text, encoding="utf-8")
    run("notes", "adopt", str(vault), "--yes")
    for ref in ("a/Dup", "[[a/Dup]]", "a/Dup.md"):
        assert "The first." in run("notes", "read", ref).out
    assert "The second." in run("notes", "read", "b/Dup").out
    linking = {ref: run_json("notes", "backlinks", ref)["backlinks"] for ref in ("a/Dup", "b/Dup")}
    assert [link["title"] for link in linking["a/Dup"]] == ["One", "Two"]  # type: ignore[index,union-attr,call-overload]
    assert linking["b/Dup"] == []


@pytest.mark.usefixtures("home")
def test_the_file_of_an_attachment_in_the_trash_is_no_riddle(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Leaf.md").write_text("![[leaf.png]]\n", encoding="utf-8")
    (vault / "leaf.png").write_bytes(b"\x89PNG\r\n\x1a\n leaf")
    run("notes", "import", str(vault))
    run("undo")
    (line,) = run("notes", "orphans").out.splitlines()
    assert ": its memory is in the trash, " in line


@pytest.mark.usefixtures("home")
def test_notes_are_exported_and_imported_on_the_command_line(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / "trees").mkdir(parents=True)
    (vault / "trees" / "Walnut.md").write_text("It is tall, see [[Oak]].\n", encoding="utf-8")
    (vault / "trees" / "Oak.md").write_text("It is old, see [[Elm]].\n", encoding="utf-8")
    options = ("--data", str(tmp_path / "data"))
    tried = run("notes", "import", str(vault), "--dry-run", "--category", "park", *options)
    assert "2 notes found" in tried.out
    assert "2 would be created" in tried.out
    assert "broken link: trees/Oak.md: [[Elm]]" in tried.out
    done = run_json("notes", "import", str(vault), "--category", "park", *options)
    assert (done["created"], done["linked"], done["skipped"]) == (2, 1, [])
    assert run_json("notes", "import", str(vault), "--category", "park", *options)["unchanged"] == 2
    lines = run("notes", "export", "--format", "json", *options).out.splitlines()
    assert sorted(json.loads(line)["title"] for line in lines) == ["Oak", "Walnut"]
    assert "It is tall, see [[Oak]]." in run("notes", "export", "Walnut", *options).out
    text = run("notes", "export", "--format", "html", "--to", str(tmp_path / "web"), "--category", "park", *options)
    assert text.out.startswith("exported 2 notes to ")
    assert (tmp_path / "web" / "index.html").exists()
    refused = run("notes", "export", "--json", *options)
    assert (refused.code, "several files" in str(refused.error()["message"])) == (2, True)


async def test_a_daemon_imports_and_exports_notes(tmp_path: Path) -> None:
    settings = Settings(
        home=str(tmp_path / "data"), embedder="none", vector_index="scan", readers=1,
        notestore_path=str(tmp_path / "notes"),
    )  # fmt: skip
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Größe.md").write_text("<script>alert(1)</script> matters\n", encoding="utf-8")
    with background_daemon(settings) as running:
        async with MemoryClient(settings=settings) as near:
            reports: list[tuple[int, int]] = []
            taken = await near.import_notes(vault, progress=lambda done, total: reports.append((done, total)))
            assert (taken.created, bool(reports)) == (1, True)
            wrote = await near.export_notes(tmp_path / "all.csv", format="csv")
            assert (wrote.notes, (tmp_path / "all.csv").stat().st_size) == (1, wrote.bytes)
        async with MemoryClient(url=running.http, settings=Settings(home=str(tmp_path / "far"))) as far:
            with pytest.raises(InvalidInput, match="machine of the daemon"):
                await far.import_notes(vault)
            with pytest.raises(InvalidInput, match="machine of the daemon"):
                await far.export_notes(tmp_path / "far.csv", format="csv")
        async with open_client(running.http) as client:
            for chosen, kind in (("md", "text/markdown"), ("html", "text/html"), ("pdf", "application/pdf")):
                got = await client.request("GET", "/notes/Größe/export", params={"format": chosen})
                assert got.headers["content-type"].partition(";")[0] == kind
                assert got.headers["x-content-type-options"] == "nosniff"
                assert "sandbox" in got.headers["content-security-policy"]
                assert "<script>" not in got.text or chosen == "md"
                place, _, name = got.headers["content-disposition"].partition("; filename*=UTF-8''")
                assert place == f'attachment; filename="Gr__e.{chosen}"'
                assert unquote(name) == f"Größe.{chosen}"
            await client.refused("GET", "/notes/nobody/export", 404, "not_found")
            await client.refused("GET", "/notes/Größe/export", 422, "invalid_input", params={"format": "exe"})


_EXAMPLE = re.compile(r"^(?:\$ )?scrubjay (notes .+)$", re.MULTILINE)


@pytest.mark.parametrize("page", ["notes.md", "notes-files.md"])
def test_the_examples_of_the_docs_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_vault(tmp_path / "Documents/vault")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    options = ("--data", str(tmp_path / "data"))
    examples = [shlex.split(line, comments=True) for line in _EXAMPLE.findall((DOCS / page).read_text())]
    assert len(examples) >= _MIN_EXAMPLES
    if page == "notes-files.md":
        # The page takes the notes of the other one for granted.
        examples.insert(0, ["notes", "write", "Meeting with John", "About the goals.", "--tag", "q4"])
    for words in examples:
        arguments = [word.replace("~", str(tmp_path), 1) if word.startswith("~") else word for word in words]
        arguments = arguments[: arguments.index(">")] if ">" in arguments else arguments
        asks = words[1] == "adopt" and "--dry-run" not in words
        done = run(*arguments, *(["--yes"] if asks else []), *options)
        assert done.code == 0, (words, done.err)
