"""`scrubjay tokens`: made once, listed without secrets, ended for good, with or without a daemon."""

from pathlib import Path
from typing import cast

import pytest
from tests.surfaces.background_daemon import background_daemon
from tests.surfaces.shell import remember, run, run_json

from scrubjay import Settings
from scrubjay.model.memory import Json


def made(name: str = "laptop", *options: str) -> dict[str, Json]:
    return run_json("tokens", "create", "--name", name, *options)


def listed() -> list[dict[str, Json]]:
    return cast("list[dict[str, Json]]", run_json("tokens", "list")["tokens"])


def token_of(answer: dict[str, Json]) -> dict[str, Json]:
    return cast("dict[str, Json]", answer["token"])


def test_a_token_from_its_making_to_its_end(home: Path) -> None:
    new = made(
        "laptop", "--spaces", "work, home", "--access", "write", "--expires", "90d", "--requests-per-minute", "60",
        "--max-body", "1000",
    )  # fmt: skip
    token = token_of(new)
    assert str(new["secret"]).startswith("sj_")
    (row,) = listed()
    assert (row["id"], row["name"], row["state"], row["access"]) == (token["id"], "laptop", "live", "write")
    assert (row["spaces"], row["requests_per_minute"], row["body_bytes"]) == (["work", "home"], 60, 1000)
    assert (row["expires_at"], row["revoked_at"]) == (token["expires_at"], None)
    ended = token_of(run_json("tokens", "revoke", "laptop"))
    assert ended["revoked_at"]
    (row,) = listed()
    assert (row["state"], row["revoked_at"]) == ("revoked", ended["revoked_at"])
    assert token_of(run_json("tokens", "revoke", str(token["id"]))) == ended


def test_a_person_sees_the_secret_once_with_what_to_do(home: Path) -> None:
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


def test_the_list_is_a_table(home: Path) -> None:
    assert "scrubjay tokens create" in run("tokens", "list").out
    made("laptop", "--spaces", "*", "--access", "write", "--expires", "2030-01-31")
    made("figures", "--access", "metrics")
    lines = run("tokens", "list").out.splitlines()
    assert lines[0].split() == ["NAME", "STATE", "ACCESS", "SPACES", "EXPIRES", "ID"]
    assert lines[1].split()[:5] == ["laptop", "live", "write", "*", "2030-01-31"]
    assert lines[2].split()[:5] == ["figures", "live", "metrics", "-", "never"]


def test_without_spaces_a_token_opens_that_of_the_command(home: Path) -> None:
    assert token_of(made("one"))["spaces"] == ["default"]
    assert token_of(made("two", "--space", "work, really"))["spaces"] == ["work, really"]
    assert token_of(made("three", "--access", "metrics"))["spaces"] == []
    assert [row["access"] for row in listed()] == ["read", "read", "metrics"]


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
def test_a_wish_that_makes_no_sense_is_told_by_its_field(home: Path, options: tuple[str, ...], field: str) -> None:
    answer = run("tokens", "create", "--name", "laptop", *options, "--json")
    assert (answer.code, answer.error()["field"]) == (2, field)
    assert answer.error()["message"]
    assert listed() == []


def test_a_name_is_needed_and_taken_once(home: Path) -> None:
    assert run("tokens", "create").code == 2
    made()
    answer = run("tokens", "create", "--name", "laptop", "--json")
    assert (answer.code, answer.error()["code"]) == (4, "name_taken")
    assert "revoke" in str(answer.error()["hint"])


def test_who_is_not_there_cannot_be_ended(home: Path) -> None:
    made()
    answer = run("tokens", "revoke", "lapdog")
    assert answer.code == 3
    assert "laptop" in answer.err


def test_by_a_daemon_it_is_the_same(settings: Settings) -> None:
    with background_daemon(settings, http=""):
        new = made("laptop", "--spaces", "work")
        assert [row["name"] for row in listed()] == ["laptop"]
        assert run("tokens", "create", "--name", "laptop").code == 4
        assert run("tokens", "create", "--name", "x", "--access", "admin", "--json").error()["field"] == "access"
        assert token_of(run_json("tokens", "revoke", str(new["secret"])))["revoked_at"]
        assert run("tokens", "revoke", "lapdog").code == 3
    (row,) = listed()
    assert row["state"] == "revoked"


@pytest.mark.embedded
def test_no_file_and_no_export_has_a_secret_and_a_backup_brings_tokens_back(home: Path, tmp_path: Path) -> None:
    remember("tea at four")
    new = made()
    secret = str(new["secret"])
    assert run("export", str(tmp_path / "all.jsonl")).code == 0
    assert run("backup", "create", str(tmp_path / "copy.db")).code == 0
    assert str(token_of(new)["id"]) not in (tmp_path / "all.jsonl").read_text()
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or secret[3:].encode() not in file.read_bytes(), file
    run_json("tokens", "revoke", "laptop")
    assert run("backup", "restore", str(tmp_path / "copy.db"), "--force").code == 0
    assert [row["state"] for row in listed()] == ["live"]
