"""The daemon's log: one line per record, the id of the request, and no secrets."""

import json
import logging
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.surfaces.daemon_process import Daemon

from scrubjay import telemetry
from scrubjay.client import MemoryClient
from scrubjay.surfaces.daemon.logs import REDACTED, JsonFormatter, log_access, redact

_PLAIN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_CHARACTERS = st.text(alphabet=f"{_PLAIN}_-", min_size=24, max_size=60)
_SECRETS = st.one_of(
    _CHARACTERS.map(lambda text: (f"sj_{text}", text)),
    _CHARACTERS.map(lambda text: (f"eyJhbGciOiJIUzI1NiJ9.{text}.{text}", text)),
    _CHARACTERS.map(lambda text: (f"eyJhbGciOiJub25lIn0.{text}.", text)),
    _CHARACTERS.map(lambda text: (f"Bearer {text}", text)),
    _CHARACTERS.map(lambda text: (f"authorization: bearer {text}", text)),
    _CHARACTERS.map(lambda text: (f"api_key={text}", text)),
    _CHARACTERS.map(lambda text: (f'"api-key": "{text}"', text)),
    _CHARACTERS.map(lambda text: (f"https://example.org/?access_token={text}&b=1", text)),
)
# Text around a secret must not be able to hide it; letters would only make it another word.
_AROUND = st.text(st.characters(exclude_characters=f"{_PLAIN}_-", exclude_categories=["Cs"]), max_size=30)


def line(message: object, *arguments: object, **fields: object) -> str:
    record = logging.LogRecord("scrubjay.test", logging.INFO, __file__, 1, message, arguments, None)
    record.__dict__["fields"] = fields
    return JsonFormatter().format(record)


def format_line(message: object, *arguments: object, **fields: object) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(line(message, *arguments, **fields)))


def test_a_line_has_time_level_logger_and_event() -> None:
    results = format_line("listening on %s", "a socket", pid=3, share=0.5, spaces=["a"], none=None, flag=True)
    assert results.pop("time").endswith("+00:00")
    assert results == {
        "level": "info", "logger": "scrubjay.test", "event": "listening on a socket",
        "pid": 3, "share": 0.5, "spaces": ["a"], "none": None, "flag": True,
    }  # fmt: skip


def test_the_request_id_is_logged_during_a_request() -> None:
    assert "request" not in format_line("one")
    with telemetry.incoming_request(caller_id="0b6f3f0c-77f1"):
        assert format_line("one")["request"] == "0b6f3f0c-77f1"
    with telemetry.request("recall"):
        assert format_line("one")["request"] == telemetry.request_id.get()


@given(message=st.text(), field=st.text(), name=st.text())
@example(message='x"}\n{"level": "error"', field="\x1b[2J\x9b1m\x85\u2028\u2029\x7f", name="\r\n")
def test_any_message_is_one_line_of_plain_json(message: str, field: str, name: str) -> None:
    written = line("%s", message, **{name: {"deep": [field]}})
    assert len(written.splitlines()) == 1
    assert written.isascii()
    assert all(character.isprintable() or character == "\x7f" for character in written)
    assert isinstance(json.loads(written), dict)


@given(secret=_SECRETS, before=_AROUND, after=_AROUND)
def test_no_secret_gets_into_a_line(secret: tuple[str, str], before: str, after: str) -> None:
    shown, hidden = secret
    text = f"{before} {shown} {after}"
    for written in (
        line(text),
        line("%s", text),
        line("x", a=text),
        line("x", a={"b": [text]}),
        line("x", **{text: 1}),
    ):
        assert hidden not in written
        assert REDACTED in written


@given(st.text(max_size=200))
def test_a_hidden_text_stays_hidden(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@pytest.mark.parametrize("name", ["Authorization", "api_key", "api-key", "password", "cookie"])
def test_a_field_with_the_name_of_a_secret_is_hidden(name: str) -> None:
    assert format_line("x", **{name: "short"})[name] == REDACTED
    assert format_line("x", deep={name: "short"})["deep"] == {name: REDACTED}


@pytest.mark.parametrize(
    "text",
    [
        "the bearer of bad news",
        "sj_short",
        "0197f3c2-6d3e-7bb0-b8a5-9f4c1e2d3a4b",
        "/home/somebody/.local/share/scrubjay/run/daemon.sock",
        "http://127.0.0.1:7272/api/v1/memories",
        "StoreError: the disk is full",
    ],
)
def test_a_harmless_text_is_not_changed(text: str) -> None:
    assert redact(text) == text


def test_a_text_that_resembles_secrets_is_fast() -> None:
    for text in ("eyJ" * 100_000, "eyJa." * 50_000, "sj_" * 100_000, "secret" + " " * 300_000, "bearer " * 50_000):
        redact(text)


def test_traces_of_errors_hide_secrets_too() -> None:
    secret = "A" * 30
    with pytest.raises(ValueError, match="invalid literal") as caught:
        int(f"Bearer {secret}")
    error = (caught.type, caught.value, caught.tb)
    record = logging.LogRecord("scrubjay.test", logging.ERROR, __file__, 1, "failed", (), error)
    written = JsonFormatter().format(record)
    assert "Bearer [hidden]" in json.loads(written)["trace"]
    assert secret not in written


def test_numbers_without_a_json_form_are_text() -> None:
    assert format_line("x", a=float("nan"), b=float("inf"), c=Path("/tmp"))["a"] == "nan"


def test_an_http_request_is_a_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="scrubjay"), telemetry.incoming_request(caller_id="0b6f3f0c-77f1"):
        log_access(method="GET", route="/api/v1/memories/{id}", status=404, seconds=0.0123456, token="tok-1")
        log_access(method="GET", route="/metrics", status=200, seconds=0.001)
        log_access(method="GET", route="/api/v1/healthz", status=200, seconds=0.001)
        log_access(method="GET", route="/metrics", status=401, seconds=0.001)
        first, second = (json.loads(JsonFormatter().format(record)) for record in caplog.records)
    assert {name: first[name] for name in ("logger", "event", "request", "level")} == {
        "logger": "scrubjay.access", "event": "request", "request": "0b6f3f0c-77f1", "level": "info",
    }  # fmt: skip
    assert (first["method"], first["route"], first["status"]) == ("GET", "/api/v1/memories/{id}", 404)
    assert (first["ms"], first["token"]) == (12.346, "tok-1")
    assert (second["route"], second["status"], "token" in second) == ("/metrics", 401, False)


async def test_at_level_debug_the_daemon_logs_every_request(home: Path) -> None:
    with Daemon(home, "--log-level", "debug") as daemon:
        async with MemoryClient() as memory:
            await memory.remember("a secret plan: sj_" + "A" * 40)
            await memory.recall("what plan?")
        daemon.wait_until(lambda: '"verb": "recall"' in daemon.log)
        lines = [json.loads(line) for line in daemon.log.splitlines() if line.startswith("{")]
        written = daemon.log
        daemon.stop()
    served = [line for line in lines if line["event"] == "served"]
    assert {line["verb"] for line in served} >= {"remember", "recall"}
    assert all(line["outcome"] == "ok" and line["ms"] >= 0 for line in served)
    assert len({line["request"] for line in served}) == len(served)
    assert "plan" not in written
