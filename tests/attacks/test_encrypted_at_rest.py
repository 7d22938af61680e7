"""With a key, no file holds a text in clear; a purge leaves nothing behind, and other users can read no file."""

import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from scrubjay import SyncMemoryClient
from scrubjay.paths import daemon_file
from scrubjay.settings import Settings
from tests.attacks.stolen_disk import Witness, find_words, new_word, open_files, words_in
from tests.patience import PATIENCE
from tests.surfaces.daemon_process import Daemon
from tests.surfaces.fork_server import fork_server

pytestmark = pytest.mark.embedded
API = "/api/v1"
_OWNER_ONLY = 0o077
_SURFACES = (
    "command", "command_note", "command_import", "rest", "rest_note", "rest_title", "rest_import", "core", "kg",
    "items", "write_mem", "edit", "python", "python_note", "attachment", "revision", "relation", "query",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Victim:
    """A user with a data folder, a temporary folder and a runtime folder; `outside` is another disk, with the key."""

    root: Path
    environment: Mapping[str, str]

    @property
    def home(self) -> Path:
        return self.root / "data"

    @property
    def outside(self) -> Path:
        return self.root / "outside"

    @property
    def is_encrypted(self) -> bool:
        return "SCRUBJAY_KEY_FILE" in self.environment

    def run(self, *arguments: str, fails: bool = False, **more: str) -> str:
        """Run a command as the user does, in a process of its own; return what it prints."""
        code, output = self._run(*arguments, **more)
        assert (code != 0) is fails, output
        return output

    def run_bridge(self, lines: str) -> str:
        """Run the bridge of an agent that sends lines; return the answers."""
        done = subprocess.run(
            [sys.executable, "-m", "scrubjay", "mcp", "--tools", "all"],
            env={**os.environ, **self.environment}, input=lines, capture_output=True, text=True, timeout=PATIENCE,
            check=True,
        )  # fmt: skip
        return done.stdout

    @contextmanager
    def daemon(self, *options: str, **more: str) -> Generator[tuple[Daemon, httpx2.Client]]:
        """Run a daemon, and kill it at the end as a power failure does."""
        with Daemon(self.home, *options, **{**self.environment, **more}) as daemon:
            daemon.wait_until(lambda: bool(json.loads(daemon_file(self.home).read_text())["http"]))
            address = json.loads(daemon_file(self.home).read_text())["http"]
            with httpx2.Client(base_url=address, timeout=PATIENCE, trust_env=False) as http:
                yield daemon, http
            daemon.stop(signal.SIGKILL)

    def find(self, words: Mapping[str, str] | list[str]) -> dict[str, list[str]]:
        """Search all that was ever written, except on the other disk."""
        all_words = words.values() if isinstance(words, Mapping) else words
        return find_words(all_words, self.root, skip=[self.outside])

    def doctor(self, **more: str) -> dict[str, dict[str, Any]]:
        """Return the checks of `doctor` by name."""
        # Its exit code says whether there is a problem.
        _, output = self._run("doctor", "--json", **more)
        return {check["name"]: check for check in json.loads(output)["checks"]}

    def _run(self, *arguments: str, **more: str) -> tuple[int, str]:
        output = self.outside / f"{new_word()}.out"
        environment = {**os.environ, **self.environment, **more}
        code = fork_server().start(arguments, environment=environment, log=output).wait(PATIENCE)
        return code, output.read_text(encoding="utf-8")


@pytest.fixture
def victim(tmp_path: Path) -> Victim:
    """A user without a key."""
    return _victim(tmp_path)


@pytest.fixture
def encrypted(tmp_path: Path) -> Victim:
    """A user with a key, on another disk."""
    return _victim(tmp_path, key=True)


def test_no_surface_leaves_a_word_in_any_file(encrypted: Victim) -> None:
    """With a key, no file holds a word that was stored through any surface, while the daemon runs or after a kill."""
    words = {surface: new_word() for surface in _SURFACES}
    with Witness(words.values(), encrypted.root, skip=[encrypted.outside]) as witness:
        with encrypted.daemon() as (_, http):
            _use_every_surface(encrypted, http, words)
            assert encrypted.find(words) == {}
        assert encrypted.find(words) == {}
        # Without a daemon, a command opens the store itself.
        encrypted.run("notes", "write", f"Once more {words['command_note']}", words["command_note"])
        assert words["command_note"] in encrypted.run("notes", "export", "--format", "json")
    assert encrypted.find(words) == {}
    assert witness.places == {}
    assert encrypted.doctor()["encryption"]["ok"]


def test_the_search_finds_every_word_without_a_key(victim: Victim) -> None:
    """The search of this attack is no bluff: it finds the words of every surface in a store without a key."""
    words = {surface: new_word() for surface in _SURFACES}
    with victim.daemon() as (_, http):
        _use_every_surface(victim, http, words)
    # A query is never stored.
    assert set(victim.find(words)) == set(words.values()) - {words["query"]}


@pytest.mark.skipif(sys.platform != "linux", reason="reads the open files of a process from /proc")
@pytest.mark.parametrize("has_key", [True, False])
def test_an_import_on_its_way_is_encrypted(tmp_path: Path, has_key: bool) -> None:
    """With a key, the lines of an import wait in an encrypted file, which has no name and whose key is in memory."""
    victim, word = _victim(tmp_path, key=has_key), new_word()
    seen: list[bytes] = []
    with victim.daemon() as (daemon, http):

        def upload() -> Iterator[bytes]:
            for number in range(3000):
                yield json.dumps({"line": number, "text": f"{word} {'and so on ' * 20}"}).encode() + b"\n"
            end = time.monotonic() + PATIENCE
            while not seen and time.monotonic() < end:
                time.sleep(0.05)
                nameless = (
                    data
                    for name, data in open_files(daemon.pid).items()
                    if name.startswith(f"{victim.root}/tmp/") and name.endswith("(deleted)")
                )
                seen.extend(data for data in nameless if len(data) > 100_000)

        http.post(f"{API}/import", content=upload())
    assert len(seen) == 1
    assert words_in(seen[0], [word]) == (set() if has_key else {word})


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the limits of another process")
def test_a_crash_leaves_no_core_dump(encrypted: Victim) -> None:
    """With a key, a crash of the daemon writes no copy of its memory to the disk."""
    server = fork_server()._process.pid
    _, most = resource.prlimit(server, resource.RLIMIT_CORE)
    if not most:
        pytest.skip("this system allows no core dumps")
    before = resource.prlimit(server, resource.RLIMIT_CORE, (most, most))
    try:
        with encrypted.daemon() as (daemon, _):
            assert resource.prlimit(daemon.pid, resource.RLIMIT_CORE)[0] == 0
    finally:
        resource.prlimit(server, resource.RLIMIT_CORE, before)


def test_a_folder_of_notes_needs_a_name(encrypted: Victim) -> None:
    """With a key, notes have no files unless the user names a folder for them; the ledger beside it is encrypted."""
    word, named = new_word(), encrypted.root / "named"
    encrypted.run("notes", "write", "A title", word)
    assert encrypted.find([word]) == {}
    assert not (encrypted.home / "notes").exists()
    assert word in encrypted.run("notes", "search", word)
    assert word in encrypted.run("notes", "export", "--format", "json")
    assert not (encrypted.home / "index").exists()

    setting = {"SCRUBJAY_NOTESTORE_PATH": str(named)}
    other = new_word()
    with encrypted.daemon(**setting) as (_, http):
        assert http.post(f"{API}/notes", json={"title": f"On {other}", "content": "Tea"}).is_success
        places = encrypted.find([word, other])
    assert {Path(path).parent for paths in places.values() for path in paths} == {named}
    assert (encrypted.home / "index" / "notes.db").read_bytes()[:6] != b"SQLite"
    # The daemon runs with the folder; a command without the setting leaves it alone.
    third = new_word()
    encrypted.run("notes", "write", f"On {third}", "Tea")
    assert encrypted.find([third]) == {}
    encrypted.run("notes", "sync", SCRUBJAY_NOTESTORE_PATH=str(named))
    assert {Path(path).parent for path in encrypted.find([third])[third]} == {named}
    checks = encrypted.doctor(**setting)
    assert "plain files" in checks["notes"]["detail"]
    assert checks["encryption"]["ok"]
    assert not encrypted.doctor()["encryption"]["ok"]


def test_doctor_names_what_is_left_in_clear(tmp_path: Path) -> None:
    """Turning on a key loses nothing, and `doctor` names each plain file that is left, until it is gone."""
    plain = _victim(tmp_path)
    word = new_word()
    with plain.daemon() as (_, http):
        assert http.post(f"{API}/notes", json={"title": f"On {word}", "content": word}).is_success
    plain.run("export", str(plain.outside / "export.jsonl"))
    (note,) = (plain.home / "notes").glob("*.md")
    before = note.read_bytes()
    for file in plain.home.glob("memory.db*"):
        file.rename(file.with_name(file.name.replace("memory.db", "memory.db.before-key")))

    encrypted = _victim(tmp_path, key=True)
    encrypted.run("import", str(encrypted.outside / "export.jsonl"))
    assert word in encrypted.run("notes", "search", word)
    check = encrypted.doctor()["encryption"]
    assert not check["ok"]
    for left in ("notes (1 file", "index/notes.db (", "memory.db.before-key (a database"):
        assert f"{encrypted.home}/{left}" in check["detail"], check
    assert f"SCRUBJAY_NOTESTORE_PATH={encrypted.home}/notes scrubjay notes sync" in check["fix"]
    assert note.read_bytes() == before

    # As the advice says: take over the last edits, then delete what is plain.
    edited = new_word()
    note.write_bytes(before.replace(word.encode(), edited.encode()))
    encrypted.run("notes", "sync", SCRUBJAY_NOTESTORE_PATH=str(encrypted.home / "notes"))
    assert edited in encrypted.run("notes", "read", f"On {edited}")
    shutil.rmtree(encrypted.home / "notes")
    for file in encrypted.home.glob("memory.db.before-key*"):
        file.unlink()
    assert encrypted.doctor()["encryption"]["ok"]
    assert encrypted.find([word, edited]) == {}


@pytest.mark.parametrize("has_daemon", [True, False])
def test_a_purge_erases_the_note_and_its_ledger(victim: Victim, has_daemon: bool) -> None:
    """After a purge, no file holds a word of the note: not its Markdown, the ledger, nor the ledger's log."""
    word = new_word()
    with victim.daemon() as (_, http):
        assert http.post(f"{API}/notes", json={"title": "Something that stays", "content": "Tea"}).is_success
        written = http.post(f"{API}/notes", json={"title": f"On {word}", "content": f"[[{word}]] is near"}).json()
        assert any("index/notes.db" in path for path in victim.find([word])[word])
        assert any(path.endswith(".md") for path in victim.find([word])[word])
        assert http.delete(f"{API}/memories/{written['id']}").is_success
        if has_daemon:
            assert http.post(f"{API}/memories/{written['id']}/purge").is_success
            assert victim.find([word]) == {}
    if not has_daemon:
        victim.run("purge", written["id"], "--yes")
    assert victim.find([word]) == {}
    assert [path.name for path in (victim.home / "notes").glob("something*.md")]


def test_no_other_user_can_read_a_file(tmp_path: Path) -> None:
    """Every file is for its user alone, wherever the index lies and whatever the user's own mask is."""
    victim = _victim(tmp_path)
    index = tmp_path / "shared"
    index.mkdir(mode=0o755)
    index.chmod(0o755)
    before = os.umask(0o022)
    try:
        with victim.daemon("--index_path", str(index), SCRUBJAY_EMBEDDER="bundled") as (daemon, http):
            assert http.post(f"{API}/notes", json={"title": "A note", "content": "Tea"}).is_success
            daemon.wait_until(lambda: any(index.glob("gen-*/**/*")))
            victim.run("export", str(victim.home / "export.jsonl"))
            victim.run("backup", "create", str(victim.home / "backup.db"))
            written = [path for folder in (victim.home, index) for path in folder.rglob("*")]
            modes = {str(path): path.stat().st_mode for path in written if not path.is_socket()}
    finally:
        os.umask(before)
    assert any("gen-" in path for path in modes)
    assert any(path.endswith("export.jsonl") for path in modes)
    assert {path for path, mode in modes.items() if stat.S_IMODE(mode) & _OWNER_ONLY} == set()


def _victim(root: Path, *, key: bool = False) -> Victim:
    for name in ("tmp", "run", "outside"):
        (root / name).mkdir(mode=0o700, exist_ok=True)
    environment = {
        "SCRUBJAY_HOME": str(root / "data"), "SCRUBJAY_EMBEDDER": "none", "SCRUBJAY_LOG_LEVEL": "debug",
        "TMPDIR": str(root / "tmp"), "XDG_RUNTIME_DIR": str(root / "run"), "NO_COLOR": "1",
        "SCRUBJAY_DATABASE_URL": "",
    }  # fmt: skip
    if key:
        (root / "outside" / "key").write_text("correct horse battery staple\n", encoding="utf-8")
        environment["SCRUBJAY_KEY_FILE"] = str(root / "outside" / "key")
    return Victim(root=root, environment=environment)


def _use_every_surface(victim: Victim, http: httpx2.Client, words: Mapping[str, str]) -> None:
    _use_command_line(victim, words)
    _use_rest(victim, http, words)
    _use_mcp(victim, words)
    _use_python(victim, words)


def _use_command_line(victim: Victim, words: Mapping[str, str]) -> None:
    victim.run("remember", f"The {words['command']} is green", "--tag", words["command"])
    victim.run("notes", "write", f"About {words['command_note']}", words["command_note"], "--category", "work")
    lines = victim.outside / "texts.jsonl"
    lines.write_text(json.dumps({"text": f"The {words['command_import']} is red"}) + "\n", encoding="utf-8")
    victim.run("import", str(lines))
    victim.run("recall", words["query"])
    victim.run("read", words["query"], fails=True)
    exported = victim.run("notes", "export", "--format", "json")
    assert words["command_note"] in exported
    backup = victim.root / f"backup-{new_word()}.db"
    victim.run("backup", "create", str(backup))
    assert backup.stat().st_size


def _use_rest(victim: Victim, http: httpx2.Client, words: Mapping[str, str]) -> None:
    made = http.post(
        f"{API}/memories", json={"text": f"A {words['rest']}", "entities": [words["rest"]]},
        headers={"idempotency-key": words["rest"]},
    )  # fmt: skip
    assert made.is_success
    note = http.post(f"{API}/notes", json={"title": f"On {words['rest_title']}", "content": words["rest_note"]})
    assert note.is_success
    edited = http.patch(f"{API}/notes/{note.json()['id']}", json={"title": f"[[{words['edit']}]]"})
    assert edited.is_success
    target = f"{API}/memories/{made.json()['id']}"
    assert http.patch(target, json={"text": f"Once more {words['revision']}"}).is_success
    link = {"target": note.json()["id"], "relation": "near", "text": words["relation"]}
    assert http.post(f"{target}/links", json=link).is_success
    exported = http.get(f"{API}/export").text.replace(words["rest"], words["rest_import"])
    assert http.post(f"{API}/import", content=exported, params={"space": "other"}).is_success
    assert http.post(f"{API}/search", json={"query": words["query"]}).is_success
    assert http.get(f"{API}/notes/search", params={"q": words["query"]}).is_success
    file = f"The text of the file {words['attachment']}".encode()
    attached = http.post(
        f"{API}/notes/{note.json()['id']}/attachments", content=file,
        params={"name": f"{words['attachment']}.txt"}, headers={"content-type": "application/octet-stream"},
    )  # fmt: skip
    assert attached.is_success is not victim.is_encrypted, attached.text


def _use_mcp(victim: Victim, words: Mapping[str, str]) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("remember", {"text": f"The agent saw {words['core']}"}),
        ("create_entities", {"entities": [{"name": words["kg"], "entityType": "bird", "observations": [words["kg"]]}]}),
        ("memory_store", {"text": f"An item {words['items']}"}),
        ("write_mem", {"title": f"On {words['write_mem']}", "content": words["write_mem"]}),
    ]
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
    messages = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        *(
            {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
            for number, (name, arguments) in enumerate(calls, start=1)
        ),
    ]
    lines = "".join(f"{json.dumps(message)}\n" for message in messages)
    answers = [json.loads(line) for line in victim.run_bridge(lines).splitlines()]
    results = {answer["id"]: answer["result"] for answer in answers if "id" in answer}
    assert not [result for result in results.values() if result.get("isError")], results
    assert set(results) == set(range(len(calls) + 1))


def _use_python(victim: Victim, words: Mapping[str, str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in victim.environment.items():
            patch.setenv(name, value)
        with SyncMemoryClient(settings=Settings.load()) as memory:
            memory.remember(f"Python knows {words['python']}", metadata={"why": words["python"]})
            memory.write_note(f"On {words['python_note']}", words["python_note"])
            assert memory.recall(words["python"]).hits
