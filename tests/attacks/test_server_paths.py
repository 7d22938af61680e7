"""A token tells its holder nothing about the machine of the server."""

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from scrubjay import MemoryClient
from scrubjay.model.requests import CreateTokenRequest
from scrubjay.model.verbs import VERBS
from scrubjay.settings import Settings
from tests.patience import PATIENCE
from tests.surfaces.background_daemon import background_daemon

_NOTE = {"title": "Path", "content": "About paths."}


@pytest.fixture
async def tenants(settings: Settings, home: Path, tmp_path: Path) -> AsyncGenerator[list[httpx2.AsyncClient]]:
    """Holders of a token for one space, and of one for all, of a daemon that keeps notes as files."""
    chosen = replace(settings, notestore_path=str(tmp_path / "notes"), require_token=True)
    with background_daemon(chosen) as running:
        async with MemoryClient(settings=chosen) as owner:
            made = [
                await owner.call(CreateTokenRequest(name=f"to {spaces[0]}", spaces=spaces, access="write"))
                for spaces in (("default",), ("*",))
            ]
        clients = [
            httpx2.AsyncClient(
                base_url=running.http,
                headers={"authorization": f"Bearer {token.secret}"},
                timeout=PATIENCE,
                trust_env=False,
            )
            for token in made
        ]
        yield clients
        for client in clients:
            await client.aclose()


async def test_no_answer_names_a_folder_of_the_server(tenants: list[httpx2.AsyncClient], tmp_path: Path) -> None:
    """No answer, status, diagnosis, job, note or error names a folder of the server, on any surface."""
    answers: list[str] = []
    for web in tenants:
        answers.append((await web.post("/api/v1/notes", json=_NOTE)).text)
        for name, verb in VERBS.items():
            answers.append((await web.post(f"/call/{name}", json={"args": {}})).text)
            answers.append((await web.post(f"/call/{name}", json={"args": {"id": "path", "identifier": "path"}})).text)
            method, _, path = verb.route.partition(" ")
            if path:
                place = path.replace("{id}", "path").replace("{name}", "main")
                answers.append((await web.request(method, f"/api/v1{place}", json={})).text)
        for tool in ("write_note", "search_notes", "read_note", "list_notes"):
            params = {"name": tool, "arguments": {"title": "a", "content": "b", "query": "path", "identifier": "path"}}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            answers.append((await web.post("/mcp/notes", json=message)).text)
    assert any('"ok"' in answer or "checks" in answer for answer in answers)
    assert any(".md" in answer for answer in answers), answers[:3]
    for answer in answers:
        assert str(tmp_path) not in answer, answer[:2000]
        assert json.dumps(str(tmp_path))[1:-1] not in answer


async def test_an_error_of_the_store_names_no_folder(tenants: list[httpx2.AsyncClient], tmp_path: Path) -> None:
    """Where the notes or the store fail, the error names the file, and not the folder that it lies in."""
    web = tenants[0]
    await web.post("/api/v1/notes", json=_NOTE)
    folder = tmp_path / "notes"
    moved = folder.rename(tmp_path / "moved")
    try:
        answers = [
            await web.post("/api/v1/notes", json={"title": "Two", "content": "More about paths."}),
            await web.post("/call/sync_notes", json={}),
            await web.get("/api/v1/status"),
        ]
    finally:
        if not folder.exists():
            moved.rename(folder)
    for answer in answers:
        assert str(tmp_path) not in answer.text
