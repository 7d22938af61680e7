"""`scrubjay tokens`: create, list without secrets, and revoke, with or without a daemon."""

import json
from pathlib import Path
from typing import cast

import pytest
from tests.surfaces.background_daemon import background_daemon
from tests.surfaces.daemon_process import Daemon
from tests.surfaces.shell import remember, run, run_json

from scrubjay import Settings
from scrubjay.model.memory import Json
from scrubjay.paths import daemon_file


def create_token(name: str = "laptop", *options: str) -> dict[str, Json]:
    return run_json("tokens", "create", "--name", name, *options)


def list_tokens() -> list[dict[str, Json]]:
    return cast("list[dict[str, Json]]", run_json("tokens", "list")["tokens"])


def token_of(answer: dict[str, Json]) -> dict[str, Json]:
    return cast("dict[str, Json]", answer["token"])


def test_a_token_is_created_listed_and_revoked(home: Path) -> None:
    new = create_token(
        "laptop", "--spaces", "work, home", "--access", "write", "--expires", "90d", "--requests-per-minute", "60",
        "--max-body", "1000",
    )  # fmt: skip
    token = token_of(new)
    assert str(new["secret"]).startswith("sj_")
    (row,) = list_tokens()
    assert (row["id"], row["name"], row["state"], row["access"]) == (token["id"], "laptop", "live", "write")
    assert (row["spaces"], row["requests_per_minute"], row["body_bytes"]) == (["work", "home"], 60, 1000)
    assert (row["expires_at"], row["revoked_at"]) == (token["expires_at"], None)
    ended = token_of(run_json("tokens", "revoke", "laptop"))
    assert ended["revoked_at"]
    (row,) = list_tokens()
    assert (row["state"], row["revoked_at"]) == ("revoked", ended["revoked_at"])
    assert token_of(run_json("tokens", "revoke", str(token["id"]))) == ended


def test_the_secret_is_shown_once_with_the_next_step(home: Path) -> None:
    answer = run("tokens", "create", "--name", "laptop", "--expires", "12h")
    assert answer.code == 0
    (secret,) = [line.strip() for line in answer.out.splitlines() if line.strip().startswith("sj_")]
    assert "cannot show it again" in answer.out
    assert 'curl -s -H "Authorization: Bearer $SCRUBJAY_TOKEN" http://127.0.0.1:7272/api/v1/status' in answer.out
    assert answer.out.count(secret) == 1
    shown = run("tokens", "list").out + run("tokens", "list", "--json").out + run("status").out
    assert secret not in shown
    assert "laptop" in shown
    assert run("tokens", "revoke", "laptop").out.startswith("revoked laptop (")


def test_the_next_step_has_the_address_of_the_daemon(home: Path) -> None:
    with Daemon(home):
        address = json.loads(daemon_file(home).read_text())["http"]
        assert not address.endswith(":7272")
        assert f"{address}/api/v1/status" in run("tokens", "create", "--name", "laptop").out
        assert f"--url {address}/mcp" in run("tokens", "create", "--name", "claude", "--mcp-only").out


def test_the_list_is_a_table(home: Path) -> None:
    assert "scrubjay tokens create" in run("tokens", "list").out
    create_token("laptop", "--spaces", "*", "--access", "write", "--expires", "2030-01-31")
    create_token("figures", "--access", "metrics")
    lines = run("tokens", "list").out.splitlines()
    assert lines[0].split() == ["NAME", "STATE", "ACCESS", "SPACES", "EXPIRES", "ID"]
    assert lines[1].split()[:5] == ["laptop", "live", "write", "*", "2030-01-31"]
    assert lines[2].split()[:5] == ["figures", "live", "metrics", "-", "never"]


def test_without_spaces_a_token_gets_the_space_of_the_command(home: Path) -> None:
    assert token_of(create_token("one"))["spaces"] == ["default"]
    assert token_of(create_token("two", "--space", "work, really"))["spaces"] == ["work, really"]
    assert token_of(create_token("three", "--access", "metrics"))["spaces"] == []
    assert [row["access"] for row in list_tokens()] == ["read", "read", "metrics"]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (("--access", "admin"), "access"),
        (("--spaces", ""), "spaces"),
        (("--spaces", ",,"), "spaces"),
        (("--spaces", "work", "--access", "metrics"), "spaces"),
        (("--expires", "yesterday"), "expires"),
        (("--expires", "2001-01-01"), "expires"),
        (("--requests-per-minute", "-1"), "requests_per_minute"),
        (("--max-body", "-1"), "body_bytes"),
    ],
)
def test_an_invalid_option_is_reported_by_its_field(home: Path, options: tuple[str, ...], field: str) -> None:
    answer = run("tokens", "create", "--name", "laptop", *options, "--json")
    assert (answer.code, answer.error()["field"]) == (2, field)
    assert answer.error()["message"]
    assert list_tokens() == []


def test_a_name_is_required_and_unique(home: Path) -> None:
    assert run("tokens", "create").code == 2
    create_token()
    answer = run("tokens", "create", "--name", "laptop", "--json")
    assert (answer.code, answer.error()["code"]) == (4, "name_taken")
    assert "revoke" in str(answer.error()["hint"])


def test_an_unknown_token_cannot_be_revoked(home: Path) -> None:
    create_token()
    answer = run("tokens", "revoke", "lapdog")
    assert answer.code == 3
    assert "laptop" in answer.err


def test_a_daemon_gives_the_same_results(settings: Settings) -> None:
    with background_daemon(settings, http=""):
        new = create_token("laptop", "--spaces", "work")
        assert [row["name"] for row in list_tokens()] == ["laptop"]
        assert run("tokens", "create", "--name", "laptop").code == 4
        assert run("tokens", "create", "--name", "x", "--access", "admin", "--json").error()["field"] == "access"
        assert token_of(run_json("tokens", "revoke", str(new["secret"])))["revoked_at"]
        assert run("tokens", "revoke", "lapdog").code == 3
    (row,) = list_tokens()
    assert row["state"] == "revoked"


@pytest.mark.embedded
def test_no_file_or_export_has_a_secret_and_a_backup_restores_tokens(home: Path, tmp_path: Path) -> None:
    remember("tea at four")
    new = create_token()
    secret = str(new["secret"])
    assert run("export", str(tmp_path / "all.jsonl")).code == 0
    assert run("backup", "create", str(tmp_path / "copy.db")).code == 0
    assert str(token_of(new)["id"]) not in (tmp_path / "all.jsonl").read_text()
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or secret[3:].encode() not in file.read_bytes(), file
    run_json("tokens", "revoke", "laptop")
    assert run("backup", "restore", str(tmp_path / "copy.db"), "--force").code == 0
    assert [row["state"] for row in list_tokens()] == ["live"]
