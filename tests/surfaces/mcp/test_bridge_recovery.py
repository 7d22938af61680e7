"""The daemon goes away during a session: the answers to the client, and the messages to the next daemon."""

import json
from pathlib import Path

import pytest
from tests.surfaces.mcp.fake_daemon import BridgeProcess, FakeDaemon

UNREACHABLE = {"error": {"code": "invalid_input", "message": "go away"}}


@pytest.mark.parametrize(
    ("committed", "words"),
    [
        (True, "are committed: do not repeat it"),
        (False, "nothing was written: it is safe to repeat it"),
        (None, "it is unknown whether it wrote anything: check before you repeat it"),
    ],
)
def test_a_call_in_flight_gets_its_outcome(
    data: Path, fake_daemon: FakeDaemon, committed: bool | None, words: str
) -> None:
    fake_daemon.committed = committed
    with BridgeProcess(data) as client:
        client.call("w", "die")
        answer = client.answer()
        assert answer["id"] == "w"
        assert answer["error"]["code"] == -31023
        assert words in answer["error"]["message"]
        assert answer["error"]["data"]["committed"] is committed
        client.call(2, "remember")
        assert client.answer()["result"]
    query = next(message for message in fake_daemon.received if message["method"] == "scrubjay/outcome")
    assert query["params"]["runs"] == [fake_daemon.calls("die")[0]["params"]["_meta"]["scrubjay/run"]]
    assert len(fake_daemon.calls("die")) == 1


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("remember", {"text": "t", "idempotency_key": "k"}, "a repeat with the same idempotency_key is safe"),
        ("remember", {"text": "t"}, "check before you repeat it"),
        ("forget", {"idempotency_key": "k"}, "check before you repeat it"),
    ],
)
def test_only_safe_calls_are_reported_as_repeatable(
    data: Path, fake_daemon: FakeDaemon, tool: str, arguments: dict[str, str], words: str
) -> None:
    fake_daemon.deadly["tools/call"] = 1
    with BridgeProcess(data) as client:
        client.request(1, "tools/call", name=tool, arguments=arguments)
        assert client.answer()["error"]["message"].endswith(f"whether it wrote anything: {words}")


def test_a_daemon_that_cannot_be_reached_leaves_the_outcome_open(data: Path, fake_daemon: FakeDaemon) -> None:
    fake_daemon.later_greeting = UNREACHABLE
    with BridgeProcess(data) as client:
        client.call(1, "hold")
        client.request(2, "ping")
        assert client.answer()["id"] == 2
        client.call(3, "die")
        answers = {answer["id"]: answer["error"] for answer in (client.answer(), client.answer())}
        assert set(answers) == {1, 3}
        for error in answers.values():
            assert error["data"]["committed"] is None
            assert "is unknown" in error["message"]
            assert "go away" in error["message"]
        assert client.close() == 69


def test_a_daemon_that_still_lives_may_still_be_writing(data: Path, fake_daemon: FakeDaemon) -> None:
    fake_daemon.committed = False
    with BridgeProcess(data) as client:
        client.call(1, "drop")
        assert client.answer()["error"]["data"]["committed"] is None


def test_the_clients_own_run_does_not_prove_that_this_call_wrote(data: Path, fake_daemon: FakeDaemon) -> None:
    fake_daemon.committed = True
    with BridgeProcess(data) as client:
        client.call(1, "die", _meta={"scrubjay/run": "morning"})
        assert client.answer()["error"]["data"]["committed"] is None


def test_the_next_daemon_hears_how_the_session_began(data: Path, fake_daemon: FakeDaemon) -> None:
    fake_daemon.committed = False
    with BridgeProcess(data) as client:
        began = [
            b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}\n',
            b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n',
        ]
        for line in began:
            client.write(line)
        client.request(1, "resources/subscribe", uri="memory://team/tea")
        client.request(2, "resources/subscribe", uri="memory://team/gone")
        client.request(3, "resources/unsubscribe", uri="memory://team/gone")
        assert [client.answer()["id"] for _ in range(4)] == [0, 1, 2, 3]
        client.call(4, "die")
        assert client.answer()["id"] == 4
        client.request(5, "tools/list")
        assert client.answer()["id"] == 5
    after = fake_daemon.lines[6:]
    assert after[:2] == began
    assert json.loads(after[2])["params"] == {"uri": "memory://team/tea"}
    assert fake_daemon.methods()[6:] == [
        "initialize",
        "notifications/initialized",
        "resources/subscribe",
        "scrubjay/outcome",
        "tools/list",
    ]
    assert len(fake_daemon.hellos) == 2


def test_without_a_session_nothing_is_repeated(data: Path, fake_daemon: FakeDaemon) -> None:
    """In the stateless revision every request is complete in itself."""
    fake_daemon.committed = False
    with BridgeProcess(data) as client:
        client.request(1, "server/discover")
        client.answer()
        client.call(2, "die")
        client.answer()
        client.request(3, "tools/list")
        client.answer()
    assert fake_daemon.methods() == ["server/discover", "tools/call", "scrubjay/outcome", "tools/list"]


def test_a_subscribed_client_is_reconnected_at_once(data: Path, fake_daemon: FakeDaemon) -> None:
    with BridgeProcess(data) as client:
        client.request(1, "resources/subscribe", uri="memory://team/tea")
        client.answer()
        fake_daemon.restart()
        fake_daemon.wait_until(lambda: fake_daemon.methods().count("resources/subscribe") == 2)
        news = b'{"jsonrpc":"2.0","method":"notifications/resources/updated"}\n'
        fake_daemon.push(news)
        assert client.line() == news


def test_an_idle_client_is_reconnected_at_its_next_request(data: Path, fake_daemon: FakeDaemon) -> None:
    with BridgeProcess(data) as client:
        client.request(1, "ping")
        client.answer()
        fake_daemon.restart()
        client.request(2, "ping")
        assert client.answer()["id"] == 2
    assert len(fake_daemon.hellos) == 2


@pytest.mark.parametrize(("deaths", "answer"), [(1, "result"), (2, "error")])
def test_reads_in_flight_are_asked_again_but_only_once(
    data: Path, fake_daemon: FakeDaemon, deaths: int, answer: str
) -> None:
    fake_daemon.deadly["resources/read"] = deaths
    with BridgeProcess(data) as client:
        client.request(1, "resources/read", uri="memory://team/tea")
        assert answer in client.answer()
        client.request(2, "ping")
        assert client.answer()["id"] == 2
    assert fake_daemon.methods() == ["resources/read", "resources/read", "ping"]


def test_a_stream_of_events_outlives_several_daemons(data: Path, fake_daemon: FakeDaemon) -> None:
    fake_daemon.deadly["subscriptions/listen"] = 5
    with BridgeProcess(data) as client:
        client.request("listen-1", "subscriptions/listen")
        assert "result" in client.answer()


def test_a_daemon_that_dies_of_the_greeting_of_a_session_is_given_up(data: Path, fake_daemon: FakeDaemon) -> None:
    with BridgeProcess(data) as client:
        client.request(1, "initialize")
        client.answer()
        fake_daemon.deadly["initialize"] = 3
        client.call(2, "die")
        error = client.answer()["error"]
        assert "keeps going away" in error["message"]
        assert error["data"]["committed"] is None
        client.request(3, "ping")
        assert client.answer()["result"]


def test_a_client_that_leaves_while_the_daemon_dies_hears_of_it(data: Path, fake_daemon: FakeDaemon) -> None:
    fake_daemon.committed = True
    with BridgeProcess(data) as client:
        client.call(1, "die")
        assert client.close() == 0
        assert client.answer()["error"]["data"]["committed"] is True


def test_unsent_messages_go_to_the_next_daemon(data: Path, fake_daemon: FakeDaemon) -> None:
    fake_daemon.committed = False
    with BridgeProcess(data) as client:
        client.call(1, "die")
        client.call(2, "remember", text="x" * 2_000_000)
        client.request(3, "ping")
        answers = {answer["id"]: answer for answer in (client.answer(), client.answer(), client.answer())}
    assert answers[1]["error"]["data"]["committed"] is False
    assert answers[3]["result"]
    # How far the second call got before the connection was lost is a race; it never runs twice.
    assert ("result" in answers[2]) == (len(fake_daemon.calls("remember")) == 1)
    if "error" in answers[2]:
        assert answers[2]["error"]["data"]["committed"] is False
