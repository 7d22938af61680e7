"""Notes on the command line, from Python, and over MCP by a pipe and by HTTP."""

import json
import re
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.background_daemon import background_daemon
from tests.surfaces.daemon_process import Daemon
from tests.surfaces.mcp.fake_daemon import BridgeProcess
from tests.surfaces.shell import run, run_json

from scrubjay import MemoryClient, Settings, SyncMemoryClient
from scrubjay.errors import InvalidInput, NotFound, StaleVersion
from scrubjay.paths import daemon_file

TITLE = "Meeting with John about Q4 goals"
CONTENT = "# Q4 Goals Discussion\n\n**Date:** 2024-01-15\n\n- Revenue target: $2M\n- *New* product launch in March\n"

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tester", "version": "0"}}

# Requests as users write them; only the port is replaced.
CALLS = (
    """curl -X POST http://localhost:3000/mcp \\
  -H "Content-Type: application/json" \\
  -d '{
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {
      "name": "write_mem",
      "arguments": {
        "title": "Project Ideas",
        "content": "# My Project Ideas\\n\\n1. AI-powered note-taking\\n2. Memory management system\\n3. Knowledge graph builder",
        "tags": ["ideas", "projects"],
        "category": "personal"
      }
    }
  }'""",  # noqa: E501
    """curl -X POST http://localhost:3000/mcp \\
  -H "Content-Type: application/json" \\
  -d '{
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {
      "name": "link_mem",
      "arguments": {
        "source_id": "550e8400-e29b-41d4-a716-446655440000",
        "target_id": "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        "link_text": "Related project ideas"
      }
    }
  }'""",
    """curl -X POST http://localhost:3000/mcp \\
  -H "Content-Type: application/json" \\
  -d '{
    "jsonrpc": "2.0",
    "id": 3,
    "method": "tools/call",
    "params": {
      "name": "search_mem",
      "arguments": {
        "query": "project ideas",
        "limit": 5,
        "category": "personal"
      }
    }
  }'""",
    """curl -X POST http://localhost:3000/mcp \\
  -H "Content-Type: application/json" \\
  -d '{
    "jsonrpc": "2.0",
    "id": 4,
    "method": "tools/call",
    "params": {
      "name": "get_current_date",
      "arguments": {
        "format": "iso"
      }
    }
  }'""",
)


def run_untyped(*arguments: str, stdin: str | None = None) -> Any:
    """Return the JSON output of a command without a type, for nested lookups."""
    return run_json(*arguments, stdin=stdin)


def wait_for_result(agent: BridgeProcess, number: int) -> Any:
    """Return the result of a request, and skip other messages."""
    while True:
        text: Any = agent.answer()
        if text.get("id") == number:
            return text["result"]


def test_curl_and_an_agent_over_a_pipe_share_a_folder_of_notes(home: Path, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not on this machine")
    vault = tmp_path / "memories"
    options = ("--tools", "notes", f"--notestore_path={vault}", "--index-path", str(tmp_path / "rebuilt"))
    with Daemon(home, *options) as daemon:
        address = json.loads(daemon_file(home).read_text())["http"]
        port = address.rpartition(":")[2]

        def curl(line: str) -> Any:
            done = subprocess.run(
                ["sh", "-c", line.replace("localhost:3000", f"localhost:{port}")],
                capture_output=True, text=True, encoding="utf-8", check=True,
            )  # fmt: skip
            return json.loads(done.stdout)["result"]

        written, unknown, results, now = (curl(line) for line in CALLS)
        made = written["structuredContent"]
        file = Path(made["file_path"])
        assert file == vault / f"personal-project-ideas-{made['id']}.md"
        assert "3. Knowledge graph builder" in file.read_text()
        assert made["created_at"].endswith("Z")
        assert unknown["isError"]
        assert "no note is called '550e8400" in unknown["content"][0]["text"]
        (hit,) = results["structuredContent"]["results"]
        assert (hit["id"], hit["title"], hit["file_path"]) == (made["id"], "Project Ideas", str(file))
        assert hit["score"] > 0
        assert "**Project** **Ideas**" in hit["snippet"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d", now["structuredContent"]["date"])
        assert now["structuredContent"]["timezone"]
        with BridgeProcess(home, "--tools", "notes", "--notestore_path", str(vault)) as agent:
            agent.request(0, "initialize", **HELLO)
            wait_for_result(agent, 0)
            agent.notify("notifications/initialized")
            agent.request(1, "tools/call", name="write_mem", arguments={"title": TITLE, "content": CONTENT})
            other = wait_for_result(agent, 1)["structuredContent"]
            # The second of the four requests again, with existing ids.
            ids = {
                "550e8400-e29b-41d4-a716-446655440000": other["id"],
                "6ba7b810-9dad-11d1-80b4-00c04fd430c8": made["id"],
            }
            line = CALLS[1]
            for old, new in ids.items():
                line = line.replace(old, new)
            linked = curl(line)["structuredContent"]
            assert linked["success"] is True
            assert (linked["source_links"], linked["target_links"]) == ([made["id"]], [other["id"]])
            assert linked["markdown_link"] == f"[[{file.stem}|Related project ideas]]"
            agent.request(2, "tools/call", name="read_mem", arguments={"identifier": file.name})
            assert wait_for_result(agent, 2)["structuredContent"]["links"] == [other["id"]]
        assert linked["markdown_link"] in Path(other["file_path"]).read_text()
        assert f"[[{Path(other['file_path']).stem}|" in file.read_text()
        assert (tmp_path / "rebuilt" / "notes.db").exists()
        # The daemon watches the folder, so an edited file is found.
        file.write_text(file.read_text().replace("Knowledge graph builder", "Beekeeping by radio"))
        daemon.wait_until(lambda: bool(run_untyped("notes", "search", "beekeep*")["results"]))
        assert run_untyped("history", made["id"])["versions"][0]["agent"] == "file"
        assert daemon.stop() == 0
    assert "Traceback" not in daemon.log


def test_the_command_line_keeps_notes_without_a_daemon(home: Path, tmp_path: Path) -> None:
    (tmp_path / "goals.md").write_text(CONTENT, encoding="utf-8")
    made = run_untyped(
        "notes", "write", TITLE, "--file", str(tmp_path / "goals.md"), "-t", "q4", "--category", " work / meetings/"
    )
    file = Path(str(made["file_path"]))
    assert (made["action"], made["category"], made["tags"]) == ("created", "work/meetings", ["q4"])
    assert file.parent == home / "notes"
    assert file.name == f"work-meetings-meeting-with-john-about-q4-goals-{made['id']}.md"
    assert (stat.S_IMODE(file.stat().st_mode), stat.S_IMODE(file.parent.stat().st_mode)) == (0o600, 0o700)
    idea = run_untyped("notes", "write", "Project ideas", "-", stdin="Bees, by radio.")
    for ref in (str(made["id"]), TITLE, "meeting-with-john-q4-goals", file.name, f"[[{file.stem}|the goals]]"):
        assert run_untyped("notes", "read", ref)["id"] == made["id"], ref
    assert run("notes", "read", TITLE).out == CONTENT
    plain = run_untyped("notes", "read", TITLE, "--format", "plain")["content"]
    assert plain == "Q4 Goals Discussion\n\nDate: 2024-01-15\n\n- Revenue target: $2M\n- New product launch in March"
    whole = json.loads(str(run_untyped("notes", "read", TITLE, "--format", "json")["content"]))
    assert (whole["content"], whole["category"], whole["file_path"]) == (CONTENT, "work/meetings", str(file))
    linked = run_untyped("notes", "link", TITLE, "project ideas", "--text", "What else")
    assert linked["target_links"] == [made["id"]]
    assert str(linked["markdown_link"]) in file.read_text()
    (results,) = run_untyped("notes", "search", '"revenue target"', "--category", "work")["results"]
    assert (results["id"], results["file_path"]) == (made["id"], str(file))
    changed = run_untyped("notes", "edit", TITLE, "--title", "Goals of Q4", "--tag", "goals", "--expected-version", "1")
    moved = Path(str(changed["file_path"]))
    assert (changed["success"], changed["version"], moved.name.startswith("work-meetings-goals-of-q4-")) == (
        True,
        2,
        True,
    )
    assert not file.exists()
    assert f"[[{moved.stem}" in Path(str(idea["file_path"])).read_text()
    assert [item["id"] for item in run_untyped("notes", "backlinks", "Goals of Q4")["backlinks"]] == [idea["id"]]
    assert run_untyped("notes", "unlink", "Goals of Q4", "Project ideas")["source_links"] == []
    assert "[[" not in moved.read_text()
    assert {item["id"] for item in run_untyped("notes", "due", "--days", "0")["notes"]} == {made["id"], idea["id"]}
    reviewed = run_untyped("notes", "review", "Goals of Q4")
    assert str(reviewed["last_reviewed"])[:19] in moved.read_text()
    assert "meeting  (built in)" in run("notes", "templates").out
    assert "work\n  meetings" in re.sub(r"  \d+", "", run("notes", "categories").out)
    daily = run_untyped("notes", "write", "Weekly", "--template", "meeting", "--category", "work")
    assert "## Agenda" in run_untyped("notes", "read", daily["id"])["content"]
    elsewhere = run("notes", "sync", "--space", "elsewhere", "--json")
    assert (elsewhere.code, "has no folder of notes" in elsewhere.err) == (2, True)
    assert run_untyped("notes", "write", TITLE, CONTENT, "--space", "elsewhere")["file_path"] == ""
    assert "UTC" in run("notes", "date", "--timezone", "UTC").out
    assert run("notes", "date", "--format", "timestamp").out.strip().isdecimal()


def test_changes_made_without_a_daemon_are_found_and_synchronized(home: Path) -> None:
    made = run_untyped("notes", "write", TITLE, CONTENT)
    file = Path(str(made["file_path"]))
    file.write_text(file.read_text().replace("$2M", "$3M, see [[Nobody knows]]"))
    by_hand = file.parent / "sub" / "By hand.md"
    by_hand.parent.mkdir()
    by_hand.write_text("---\ntitle: Pen and paper\n---\nWritten with a pen.\n")
    (file.parent / "broken.md").write_bytes(b"---\ntitle: [\n---\n\xff")
    sick: Any = run("doctor", "--json").json()
    (check,) = [item for item in sick["checks"] if item["name"] == "notes"]
    assert check["ok"] is False
    assert "By hand.md" in str(check)
    done = run_untyped("notes", "sync")
    assert (done["taken"], done["created"], done["checked"]) == (1, 1, 3)
    assert "broken.md" in str(done["problems"])
    assert f"checked 3 files in {file.parent}: all others in sync\n  skipped: broken.md" in run("notes", "sync").out
    assert "$3M" in str(run_untyped("notes", "read", TITLE)["content"])
    for ref in ("Pen and paper", "sub/By hand.md", "[[sub/By hand]]", str(by_hand)):
        assert run_untyped("notes", "read", ref)["content"] == "Written with a pen.", ref
    (lost,) = run_untyped("notes", "broken")["links"]
    assert (lost["id"], lost["target"]) == (made["id"], "Nobody knows")
    (file.parent / "broken.md").unlink()
    file.unlink()
    assert f"ok   notes: 1 file in {home / 'notes'}, in sync" in run("doctor", "--repair").out
    assert run_untyped("read", str(made["id"]))["memories"][0]["state"] == "trashed"
    assert f"notes      path {home / 'notes'}, space default, files 1" in run("status").out
    assert run_untyped("status")["vault"]["files"] == 1


def test_bad_input_is_refused_with_a_message(home: Path) -> None:
    for arguments, words in (
        (("write", " ", "x"), "a note needs a title"),
        (("write", "x"), "a note needs content"),
        (("write", "x", "--template", "nothing"), "there is no template"),
        (("write", "x", "y", "--file", "z"), "given twice"),
        (("write", "x", "--file", "/nowhere"), "cannot be read"),
        (("read", "x", "--format", "html"), "format must be one of"),
        (("read", "nobody"), "no note is called 'nobody'"),
        (("edit", "nobody", "--title", "x"), "no note is called"),
        (("edit", "nobody"), "say what to change"),
        (("edit", "nobody", "--message", "why"), "say what to change"),
        (("date", "--format", "roman"), "format must be one of"),
        (("date", "--timezone", "../../etc/passwd"), "there is no time zone"),
        (("due", "--days", "-1"), "days must be at least 0"),
    ):
        answer = run("notes", *arguments, "--json")
        assert answer.code in (2, 3), arguments
        assert words in str(answer.error()["message"]), arguments
    hint = run("notes", "read", "nobody", "--json").error()["hint"]
    assert hint == "Find it with `scrubjay notes search` or `GET /api/v1/notes/search`"
    assert not (home / "notes").exists()


def test_a_title_with_a_path_stays_in_the_folder(home: Path, tmp_path: Path) -> None:
    for number, title in enumerate(
        ("../../escape", "/etc/passwd", "CON", "a\\..\\b", "..%2f..%2fx", "\uff0e\uff0e\uff0fwide", "é" * 300)
    ):
        made = run_untyped("notes", "write", title, f"Note {number} is about a bird.", "--category", "../up/ /")
        assert Path(str(made["file_path"])).parent == home / "notes"
        assert Path(str(made["file_path"])).exists()
    assert {path.name for path in tmp_path.iterdir()} <= {"data"}


def test_another_space_has_notes_without_files(home: Path, settings: Settings) -> None:
    with background_daemon(settings) as running, SyncMemoryClient(url=running.http, space="work") as memory:
        made = memory.write_note(TITLE, CONTENT, category="work")
        assert (made.action, made.file_path) == ("created", "")
        assert memory.read_note(made.id).file_path == ""
        with SyncMemoryClient(url=running.http, space="default") as own:
            assert own.write_note(TITLE, CONTENT).file_path.startswith(str(home / "notes"))
            assert own.sync_notes().folder == str(home / "notes")
        with pytest.raises(InvalidInput, match="has no folder"):
            memory.sync_notes()
        target = memory.write_note("Ideas", "Bees, by radio.")
        linked = memory.link_notes(made.id, target.id)
        assert linked.markdown_link == f"[[ideas-{target.id}|Ideas]]"


async def test_a_library_keeps_notes_in_its_own_process(settings: Settings, tmp_path: Path) -> None:
    chosen = settings.with_overrides(notestore_path=str(tmp_path / "vault"))
    async with MemoryClient(path=settings.home, settings=chosen) as memory:
        made = await memory.write_note(TITLE, CONTENT, idempotency_key="once")
        again = await memory.write_note(TITLE, CONTENT, idempotency_key="once")
        assert (again.id, again.file_path) == (made.id, made.file_path)
        # Two notes may have the same content: a note is never merged into another.
        assert (await memory.write_note(TITLE, CONTENT)).id != made.id
        await memory.edit_note(made.id, category="home")
        with pytest.raises(StaleVersion):
            await memory.edit_note(made.id, content="x", expected_version=1)
        with pytest.raises(NotFound) as caught:
            await memory.read_note("Meeting with Jon about Q4")
        assert caught.value.fields["suggestions"]
        await memory.forget(made.id)
        assert (await memory.read_note(made.id)).state == "trashed"
        await memory.sync_notes()
        assert (await memory.read_note(made.id)).file_path == ""


def test_notes_can_be_written_without_a_usable_folder(home: Path, tmp_path: Path, settings: Settings) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("not a folder")
    chosen = settings.with_overrides(notestore_path=str(in_the_way))
    with background_daemon(chosen) as running, SyncMemoryClient(url=running.http) as memory:
        made = memory.write_note(TITLE, CONTENT)
        assert made.file_path == ""
        assert any("has no file" in warning and str(in_the_way) in warning for warning in made.warnings)
        assert "problem" in memory.status().vault
        (check,) = [check for check in memory.doctor().checks if check.name == "notes"]
        assert not check.ok
    assert in_the_way.read_text() == "not a folder"


@pytest.mark.usefixtures("home")
def test_a_sync_counts_the_files_that_it_removes() -> None:
    made = run_untyped("notes", "write", TITLE, CONTENT)
    run("forget", str(made["id"]))
    done = run("notes", "sync").out
    assert done.endswith(": 1 removed\n"), done
    assert not Path(str(made["file_path"])).exists()
    assert run("notes", "sync").out.endswith(": all in sync\n")


def test_commands_use_the_folder_of_the_last_daemon(home: Path, tmp_path: Path) -> None:
    vault = tmp_path / "memories"
    with Daemon(home, f"--notestore_path={vault}") as daemon:
        made = run_untyped("notes", "write", TITLE, CONTENT)
        assert daemon.stop() == 0
    done = run_untyped("notes", "sync")
    assert (done["folder"], done["checked"], done["written"], done["problems"]) == (str(vault), 1, 0, [])
    with Daemon(home) as daemon:
        assert run_untyped("notes", "read", made["id"])["file_path"] == made["file_path"]
        assert daemon.stop() == 0
    away = vault.rename(tmp_path / "away")
    failed = run("notes", "sync", "--json").error()
    assert failed["code"] == "vault_unavailable"
    assert str(vault) in str(failed["message"])
    away.rename(vault)
    assert run_untyped("notes", "sync")["folder"] == str(vault)
    assert not (home / "notes").exists()
