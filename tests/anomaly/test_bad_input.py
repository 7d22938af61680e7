"""Invalid input is refused with a helpful message, before anything happens."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from scrubjay.client import MemoryClient
from scrubjay.errors import Ambiguous, InvalidInput, NotFound, StaleVersion, TooLarge
from scrubjay.model.query import Filter
from scrubjay.model.requests import ReviseRequest
from scrubjay.paths import database_file
from scrubjay.settings import Settings
from tests.scenarios.wiring import Wiring, run_command

Verb = Callable[..., Awaitable[object]]

NEVER_RIGHT: list[object] = [5.5, b"bytes", object(), {1, 2}, {"a": 1}, [5], [None], [["x"]], "\ud800", ["\ud800"]]
TEXT: list[object] = [*NEVER_RIGHT, None, 5, True, []]
TEXTS = [*NEVER_RIGHT, None, 5, True, "text"]
FLAG = [*NEVER_RIGHT, None, 0, 1, "yes", ""]
WHOLE = [*NEVER_RIGHT, None, True, "1", 0, -1, 10**30, float("nan")]
MAYBE_WHOLE = [value for value in WHOLE if value is not None]
MOMENT = [*NEVER_RIGHT, 5, True, "yesterday", datetime(2026, 1, 1), datetime(2026, 1, 1).time()]  # noqa: DTZ001
SHARE = [*NEVER_RIGHT, None, True, "0.5", -0.1, 1.1, float("nan")]
OBJECT = [value for value in NEVER_RIGHT if not isinstance(value, dict)]


def each(arguments: tuple[str, ...], refused: list[object]) -> dict[str, list[object]]:
    return {argument: refused for argument in arguments}  # noqa: C420 - the list is never changed


# The values that each argument of each verb must refuse.
REFUSED: dict[str, dict[str, list[object]]] = {
    "remember": {
        **each(
            ("text", "title", "kind", "name", "category", "project", "scope", "session_hint", "idempotency_key"), TEXT
        ),
        **each(("entities", "observations", "tags"), TEXTS),
        **each(("pinned", "dry_run"), FLAG),
        **each(("expires_at", "remind_at"), MOMENT),
        "intent": [*TEXT, "maybe"],
        "source": [*OBJECT, {"trust": "everybody"}, {"at": 5}, {"agent": 5}],
        "metadata": [*OBJECT, {"a": object()}, {"a": float("nan")}, {"a": "\ud800"}, {"a": "\0"}],
    },
    "recall": {
        **each(("entity", "kind", "category", "project", "scope", "tier", "session", "agent", "trust", "cursor"), TEXT),
        "query": [value for value in TEXT if value != "\ud800"],
        **each(("tags", "any_tags"), TEXTS),
        "limit": [value for value in WHOLE if value != 10**30],
        "max_tokens": [value for value in WHOLE if value not in (10**30, None)],
        **each(("since", "until"), MOMENT),
        "metadata": OBJECT,
        "state": [*TEXT, "gone"],
        "detail": [*TEXT, "everything"],
        "explain": FLAG,
    },
    "read": {
        "ids": [value for value in TEXT if value != []] + [[]],
        "format": [*TEXT, "html"],
        "version": MAYBE_WHOLE,
    },
    "revise": {
        **each(("id", "message", "title", "kind", "category", "project", "scope", "entity", "name"), TEXT),
        **each(("add_observations", "remove_observations", "observations", "tags"), TEXTS),
        "text": TEXT,
        "expected_version": MAYBE_WHOLE,
        "pinned": FLAG,
        "relevance": SHARE,
        "tier": [*TEXT, "golden"],
        "metadata": OBJECT,
        **each(("expires_at", "remind_at"), MOMENT),
    },
    **{
        verb: {
            "ids": [value for value in TEXT if value is not None],
            "filter": [value for value in [*TEXT, Filter()] if value is not None],
            "group": FLAG,
            "dry_run": FLAG,
            "reason": TEXT,
        }
        for verb in ("forget", "restore", "confirm", "purge")
    },
    "relate": {
        **each(("source", "target"), TEXT),
        "relation": [*TEXT, "", " "],
        "text": TEXT,
        "strength": SHARE,
        "metadata": OBJECT,
    },
    "unrelate": {**each(("source", "target"), TEXT), "relation": TEXT},
    "history": {
        "id": TEXT,
        "limit": WHOLE,
        "before": MAYBE_WHOLE,
        "diff": [*NEVER_RIGHT, 5, "12", [], [1], [1, 2, 3], ["1", "2"]],
    },
    "revert": {"id": TEXT, "to": WHOLE, "message": TEXT},
    "undo": {"run": TEXT},
    "write_note": {
        **each(("title", "content", "category", "project", "idempotency_key"), TEXT),
        "template": [value for value in TEXT if value not in (None, [])],
        "tags": TEXTS,
        "source": OBJECT,
    },
    "edit_note": {
        **each(("title", "content", "category"), [value for value in TEXT if value is not None]),
        **each(("id", "message", "idempotency_key"), TEXT),
        "tags": [text for text in TEXTS if text is not None],
        "expected_version": MAYBE_WHOLE,
    },
    "search_notes": {
        "query": [value for value in TEXT if value != "\ud800"],
        "limit": WHOLE,
        "category": TEXT,
        "tags": TEXTS,
    },
}
# The other arguments of a valid call of each verb.
SOUND: dict[str, dict[str, object]] = {
    "remember": {"text": "a new text"},
    "recall": {"query": "bird"},
    "read": {"ids": "one"},
    "revise": {"id": "one"},
    "forget": {"ids": "one"},
    "restore": {"ids": "one"},
    "confirm": {"ids": "one"},
    "purge": {"ids": "one"},
    "relate": {"source": "one", "target": "two"},
    "unrelate": {"source": "one", "target": "two"},
    "history": {"id": "one"},
    "revert": {"id": "one", "to": 1},
    "undo": {},
    "write_note": {"title": "A new note", "content": "a new text"},
    "edit_note": {"id": "one"},
    "search_notes": {"query": "bird", "semantic": True},
}


@pytest.mark.parametrize("verb", REFUSED)
async def test_arguments_of_the_wrong_kind_are_refused(wiring: Wiring, memory: MemoryClient, verb: str) -> None:
    await memory.remember("bird number one", name="one")
    await memory.remember("bird number two", name="two")
    call = cast("Verb", getattr(memory, verb))
    for argument, wrong in [(name, value) for name, values in REFUSED[verb].items() for value in values]:
        options = {**SOUND[verb], argument: wrong}
        if argument == "filter":
            options.pop("ids")
        try:
            await call(**options)
        except InvalidInput as error:
            assert error.message  # noqa: PT017 - the other branch names the argument
        else:
            pytest.fail(f"{verb} took {wrong!r} as its {argument}")
    assert (await memory.status()).memories == {"live": 2}
    assert [record.version for record in (await memory.read(["one", "two"])).memories] == [1, 1]


# ---- sizes ----------------------------------------------------------------------------------------


async def test_nothing_to_remember(memory: MemoryClient) -> None:
    for text in ("", " ", "\n\t \u3000"):
        with pytest.raises(InvalidInput, match="empty") as caught:
            await memory.remember(text, title="A title is not enough", tags=["x"])
        assert caught.value.fields["field"] == "text"
    await memory.remember("something", name="thing")
    with pytest.raises(InvalidInput, match="nothing of the memory"):
        await memory.revise("thing", text=" ")


async def test_a_text_over_the_limit_names_it(memory: MemoryClient) -> None:
    await memory.remember("x" * 1_000_000, name="long")
    with pytest.raises(TooLarge) as caught:
        await memory.remember("x" * 1_000_001)
    assert "1,000,000" in caught.value.message
    assert (caught.value.fields["limit"], caught.value.fields["size"]) == (1_000_000, 1_000_001)
    assert "SCRUBJAY_MAX_TEXT_BYTES" in caught.value.hint
    with pytest.raises(TooLarge):
        await memory.remember("é" * 500_001)
    with pytest.raises(TooLarge):
        await memory.revise("long", text="x" * 1_000_001)
    assert (await memory.read("long")).memories[0].content == "x" * 1_000_000


async def test_the_limit_is_a_setting(home: Path) -> None:
    async with MemoryClient(settings=Settings(home=str(home), embedder="none", max_text_bytes=10)) as memory:
        await memory.remember("0123456789")
        with pytest.raises(TooLarge, match="10"):
            await memory.remember("0123456789A")


async def test_too_many_of_anything(memory: MemoryClient) -> None:
    for argument, count in (("tags", 10_000), ("entities", 1_000), ("observations", 10_000)):
        with pytest.raises(TooLarge) as caught:
            await memory.remember("text", **{argument: [f"n{number}" for number in range(count)]})  # type: ignore[arg-type]
        assert argument in caught.value.message
        assert str(caught.value.fields["limit"]) in caught.value.message
    with pytest.raises(TooLarge, match="metadata"):
        await memory.remember("text", metadata={"a": "x" * 100_000})
    with pytest.raises(TooLarge, match="title"):
        await memory.remember("text", title="x" * 301)
    deep: dict[str, object] = {}
    for _ in range(5_000):
        deep = {"a": deep}
    with pytest.raises(InvalidInput, match="metadata"):
        await memory.remember("text", metadata=deep)  # type: ignore[arg-type]
    assert (await memory.status()).memories == {}


@pytest.mark.parametrize("field", ["state", "version", "space", "created_at", "nonsense"])
async def test_a_field_that_cannot_be_changed_is_refused_by_name(memory: MemoryClient, field: str) -> None:
    memory_id = (await memory.remember("a bird")).id
    with pytest.raises(InvalidInput, match=field):
        await memory.call(ReviseRequest.of(id=memory_id, **{field: "x"}))


@pytest.mark.parametrize("text", ["a\0b", "\0", "a\ud800b", "\udfff"])
async def test_invalid_text_is_refused_with_its_position(memory: MemoryClient, text: str) -> None:
    for argument in ("text", "title", "name", "kind"):
        with pytest.raises(InvalidInput, match="at character") as caught:
            await memory.remember(**{"text": "sound", argument: text})  # type: ignore[arg-type]
        assert caught.value.fields["field"] == argument
        assert caught.value.hint
    for argument in ("observations", "tags", "entities"):
        with pytest.raises(InvalidInput, match="at character"):
            await memory.remember("sound", **{argument: ["sound too", text]})  # type: ignore[arg-type]
    assert (await memory.status()).memories == {}


# ---- references -----------------------------------------------------------------------------------


async def test_an_unknown_reference_suggests_the_nearest_names(memory: MemoryClient) -> None:
    await memory.remember("how to reach her", name="sarah-phone-number")
    await memory.remember("the plan for the fourth quarter", name="q4-goals")
    (missing,) = (await memory.read(["sarah-fone-number"])).missing
    assert missing.suggestions[0] == "sarah-phone-number"
    for call in (
        memory.revise("sara phone", text="x"),
        memory.history("sara phone"),
        memory.relate("sara phone", "q4-goals"),
    ):
        with pytest.raises(NotFound) as caught:
            await call
        assert "sarah-phone-number" in caught.value.hint
    done = await memory.forget(["q4-goal", "nobody at all"])
    assert done.done == ()
    assert [reference.ref for reference in done.missing] == ["q4-goal", "nobody at all"]


async def test_the_suggestions_stay_in_their_space(wiring: Wiring, memory: MemoryClient) -> None:
    await wiring.client(space="elsewhere").remember("secret", name="sarah-phone-number")
    await memory.remember("nothing to do with it", name="other")
    (missing,) = (await memory.read(["sarah-phone-numbe"])).missing
    assert missing.suggestions == ()


async def test_an_ambiguous_reference_lists_its_matches(memory: MemoryClient) -> None:
    ids = [(await memory.remember(f"text {number}", title="The same title", name=f"n{number}")).id for number in (1, 2)]
    with pytest.raises(Ambiguous) as caught:
        await memory.read("the same title")
    assert set(cast("tuple[str, ...]", caught.value.fields["matches"])) == set(ids)


async def test_a_stale_version_carries_the_current_one(memory: MemoryClient) -> None:
    await memory.remember("one", name="note")
    await memory.revise("note", text="two")
    with pytest.raises(StaleVersion) as caught:
        await memory.revise("note", text="three", expected_version=1)
    assert (caught.value.fields["current"], caught.value.fields["expected"]) == (2, 1)
    with pytest.raises(StaleVersion):
        await memory.revise("note", text="three", expected_version=7)


@pytest.mark.parametrize(
    "options", [{"space": "\ud800"}, {"space": " "}, {"space": 5}, {"agent": "\ud800"}, {"run": 5}]
)
def test_a_caller_with_an_invalid_name(home: Path, options: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        MemoryClient(path=home, **options)  # type: ignore[arg-type]
    assert not home.exists()


# ---- the command line -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("remember", ""), 2, "empty"),
        (("recall", "x", "--since", "yesterday-ish"), 2, "since"),
        (("read", "nobody"), 3, "No memory is called 'nobody'"),
        (("revise", "nobody", "--text", "x"), 3, "no memory is called"),
        (("forget",), 2, "name the memories"),
        (("backup", "restore", "/nowhere/at/all"), 65, "no backup"),
    ],
)
def test_the_command_line_explains_errors(home: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    home.mkdir()
    # An empty file, in which a memory begins: without one, only a command that stores something new makes it.
    database_file(home).touch(mode=0o600)
    done = run_command(home, *arguments, SCRUBJAY_EMBEDDER="none")
    assert done.returncode == code
    assert message in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_naive_times_are_refused() -> None:
    assert datetime.now(UTC).tzinfo
    with pytest.raises(InvalidInput, match="zone"):
        Filter(since=datetime(2026, 1, 1))  # noqa: DTZ001


@pytest.mark.parametrize(("verb", "field"), [("revise", "message"), ("forget", "reason"), ("revert", "message")])
async def test_a_remark_as_long_as_a_page_is_refused(wiring: Wiring, verb: str, field: str) -> None:
    client = wiring.client()
    done = await client.remember("a jay")
    options = {"to": 1} if verb == "revert" else {}
    call = cast("Verb", getattr(client, verb))
    with pytest.raises(TooLarge) as caught:
        await call(done.id, **options, **{field: "x" * 1001})
    assert caught.value.fields["field"] == field
    assert len((await client.history(done.id)).versions) == 1


@pytest.mark.parametrize("field", ["tier", "trust"])
async def test_a_filter_with_an_unknown_value_names_the_known_ones(wiring: Wiring, field: str) -> None:
    recall = cast("Verb", wiring.client().recall)
    with pytest.raises(InvalidInput, match="must be one of"):
        await recall("a jay", **{field: "gold"})
