"""Every command: its output for people, its JSON, and its exit code."""

import json
import re
from dataclasses import fields

import pytest
from tests.surfaces.shell import remember, run, run_json

from scrubjay.errors import CODES, Ambiguous, InvalidInput, KeyReused, NameTaken, NotFound, StaleVersion, WrongState
from scrubjay.model.identity import is_id
from scrubjay.model.memory import Memory
from scrubjay.version import VERSION

pytestmark = pytest.mark.usefixtures("home")


def test_remember_prints_its_result() -> None:
    answer = run("remember", "Sarah prefers tea", "--title", "Tea")
    assert (answer.code, answer.err) == (0, "")
    assert re.match(r"created tea \([0-9a-f-]{36}\), version 1\n", answer.out)
    assert "warning: stored without vectors" in answer.out
    again = run("remember", "Sarah prefers tea")
    assert again.out.startswith("unchanged tea (")


def test_remember_as_json_has_the_documented_fields() -> None:
    results = run_json(
        "remember", "Sarah of Acme", "-e", "Sarah", "-e", "Acme", "-o", "likes tea", "-t", "#People", "--kind", "fact",
        "--name", "sarah", "--category", "c", "--project", "p", "--scope", "s", "--intent", "new", "--pinned",
        "--expires-at", "2099-01-01", "--remind-at", "2098-01-01", "--session", "s1", "--metadata", '{"a": [1]}',
    )  # fmt: skip
    assert set(results) == {
        "action", "id", "ids", "name", "version", "tags", "merged_into", "similarity", "similar", "conflicts",
        "suggested_entities", "flags", "warnings", "trace",
    }  # fmt: skip
    assert (results["action"], results["name"], results["version"], results["tags"]) == (
        "created",
        "sarah-sarah",
        1,
        ["people"],
    )
    ids = results["ids"]
    assert isinstance(ids, list)
    assert len(ids) == 2
    (memory,) = [json.loads(text) for text in _texts("read", str(ids[1]), "-f", "json")]
    assert (memory["entity"], memory["kind"], memory["category"], memory["project"]) == ("Acme", "fact", "c", "p")
    assert (memory["scope"], memory["pinned"], memory["metadata"]) == ("s", True, {"a": [1]})
    assert (memory["expires_at"], memory["remind_at"]) == ("2099-01-01T00:00:00Z", "2098-01-01T00:00:00Z")
    assert memory["source"] == {"session": "s1", "agent": "cli", "trust": "user"}
    assert memory["observations"][0]["text"] == "likes tea"


def test_remember_for_several_entities_lists_the_records() -> None:
    answer = run("remember", "Sarah of Acme", "-e", "Sarah", "-e", "Acme")
    assert "one record for each entity" in answer.out


def test_remember_from_standard_input_keeps_every_byte() -> None:
    text = "first\r\n\tsecond \\[bold] ☕ \x1b[31mred\x1b[0m :smile: C:\\"
    memory_id = str(run_json("remember", "-", stdin=text.encode())["id"])
    assert _texts("read", memory_id, "-f", "plain") == [text]
    assert run("read", memory_id, "-f", "plain").out == text.replace("\r\n", "\n") + "\n"


def test_standard_input_that_is_not_utf8_is_refused() -> None:
    for command in (["remember", "-"], ["revise", "x", "--text", "-"]):
        answer = run(*command, stdin=b"caf\xe9")
        assert answer.code == CODES[InvalidInput].exit
        assert "not UTF-8 at byte 3" in answer.err
        assert "iconv" in answer.err


def test_a_dry_run_stores_nothing() -> None:
    answer = run("remember", "tea", "--dry-run")
    assert "(dry run)" in answer.out
    assert run_json("status")["memories"] == {}


def test_an_idempotency_key_makes_a_retry_safe() -> None:
    first = remember("tea", "--idempotency-key", "k")
    assert remember("tea", "--idempotency-key", "k") == first
    reused = run("remember", "coffee", "--idempotency-key", "k", "--json")
    assert (reused.code, reused.error()["code"]) == (CODES[KeyReused].exit, "key_reused")


def test_recall_shows_passages_ids_and_a_cursor() -> None:
    ids = [remember(f"tea number {number}") for number in range(3)]
    pinned = remember("always be kind", "--pinned", "-e", "Everybody")
    answer = run("recall", "tea", "-n", "2", "--explain")
    lines = answer.out.splitlines()
    assert lines[0].startswith("*. always-be-kind [Everybody]  20")
    assert lines[1] == "   always be kind"
    assert pinned in lines[2]
    assert lines[3].startswith("1. tea-")
    assert lines[4] == "   tea number 2"
    assert lines[5].startswith(f"   {ids[2]}  (words ")
    assert "note: searched by words only" in answer.out
    cursor = lines[-1].removeprefix("more: --cursor ")
    rest = run("recall", "tea", "--cursor", cursor)
    assert ids[0] in rest.out
    assert pinned not in rest.out
    assert "more:" not in rest.out


def test_recall_as_json_has_the_documented_fields() -> None:
    remember("green tea", "--title", "Tea", "-e", "Sarah")
    results = run_json("recall", "tea", "--detail", "full")
    assert set(results) == {"hits", "pinned", "cursor", "tokens", "degraded", "stale", "nothing_relevant", "notes"}
    hits = results["hits"]
    assert isinstance(hits, list)
    (hit,) = hits
    assert isinstance(hit, dict)
    assert {
        "id", "name", "title", "passage", "score", "entities", "date", "source", "trust", "why", "around",
    } <= set(hit)  # fmt: skip
    assert (hit["passage"], hit["entities"], hit["trust"]) == ("green tea", ["Sarah"], "user")
    memory = hit["memory"]
    assert isinstance(memory, dict)
    assert memory["content"] == "green tea"


def test_recall_shows_the_neighbours_of_each_hit() -> None:
    before, hit, after = (
        remember(text, "--session", "s1")
        for text in ("Shall we drink tea?", "Green, of course!", "It is\n on the table.")
    )
    remember("Green is another matter", "--session", "s2")
    answer = run("recall", "of course", "--around", "1", "-n", "1")
    head, passage, memory_id, *around = answer.out.splitlines()[:5]
    assert head.startswith("1. green  20")
    assert (passage, memory_id) == ("   Green, of course!", f"   {hit}")
    assert re.fullmatch(rf"      -1  20\d\d-\d\d-\d\d  Shall we drink tea\?  {before}", around[0])
    assert re.fullmatch(rf"      \+1  20\d\d-\d\d-\d\d  It is on the table\.  {after}", around[1])
    (results,) = json.loads(run("recall", "of course", "--around", "1", "-n", "1", "--json").out)["hits"]
    assert [(item["id"], item["place"]) for item in results["around"]] == [(before, -1), (after, 1)]
    (alone,) = json.loads(run("recall", "of course", "-n", "1", "--json").out)["hits"]
    assert alone["around"] == []


def test_recall_counts_days_from_the_given_date() -> None:
    remember("tea with Ann")
    for today in ("2026-05-31", "2026-05-31T14:00:00Z"):
        assert run_json("recall", "tea yesterday", "--today", today)["hits"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--around", "-1"), "around must be at least 0, not -1"),
        (("--around", "11"), "around must be at most 10, not 11"),
        (("--today", "someday"), "today: 'someday' is not a date or time"),
        (("--contains", "x" * 100_001), "contains has 100,001 bytes; the limit is 100,000"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_invalid_option_of_recall_is_refused(options: tuple[str, ...], words: str) -> None:
    answer = run("recall", "tea", *options)
    assert answer.code != 0
    assert words in answer.err


@pytest.mark.parametrize(
    "options",
    [
        ("--entity", "sarah"),
        ("--kind", "fact"),
        ("--category", "food"),
        ("-t", "hot", "-t", "drink"),
        ("--any-tag", "cold", "--any-tag", "hot"),
        ("--project", "jay"),
        ("--scope", "team"),
        ("--tier", "working"),
        ("--session", "s1"),
        ("--from-agent", "cli"),
        ("--trust", "document"),
        ("--contains", "GREEN t"),
        ("--metadata", '{"cups": 2}'),
        ("--since", "2000-01-01", "--until", "2100-01-01"),
        ("--state", "live"),
        ("--max-tokens", "200"),
    ],
)
def test_recall_can_be_narrowed(options: tuple[str, ...]) -> None:
    expected = remember(
        "green tea", "-e", "Sarah", "--kind", "fact", "--category", "food", "-t", "hot", "-t", "drink", "--project",
        "jay", "--scope", "team", "--session", "s1", "--metadata", '{"cups": 2}', "--source", "document",
    )  # fmt: skip
    results = run_json("recall", "tea", *options)["hits"]
    assert isinstance(results, list)
    assert [hit["id"] for hit in results if isinstance(hit, dict)] == [expected]


def test_an_empty_result_of_recall_is_no_error() -> None:
    run("forget", remember("coffee"))
    answer = run("recall", "tea")
    assert (answer.code, answer.out.splitlines()[0]) == (0, "nothing found")
    assert run("recall").out == "nothing found\n"


def test_read_prints_whole_memories_and_names_the_missing() -> None:
    memory_id = remember("green tea", "--title", "Tea", "-o", "no milk")
    answer = run("read", "tea")
    assert answer.code == 0
    assert answer.out.startswith("# Tea\n\n*note · ")
    assert "\n- no milk\n" in answer.out
    missing = run("read", "tee", memory_id, "-f", "plain")
    assert missing.code == CODES[NotFound].exit
    assert missing.out == "green tea\nno milk\nNo memory is called 'tee'. Did you mean tea?\n"
    assert run("read", "nothing-here").out == (
        "No memory is called 'nothing-here'. Run `scrubjay recall` with a few words to find its name.\n"
    )
    results = run("read", "tee", "--json")
    assert (results.code, results.json()["missing"]) == (3, [{"ref": "tee", "suggestions": ["tea"], "why": ""}])


def test_read_an_older_version() -> None:
    remember("green tea", "--name", "tea")
    run("revise", "tea", "--text", "black tea")
    assert run("read", "tea", "-f", "plain", "--version", "1").out == "green tea\n"
    assert run("read", "tea", "--version", "7").code == CODES[NotFound].exit


def test_revise_changes_what_is_named_and_nothing_else() -> None:
    memory_id = remember("green tea", "--name", "tea", "-t", "hot", "-o", "no milk")
    answer = run("revise", "tea", "--text", "-", "--title", "Tea", "-m", "she said so", stdin="black tea")
    assert answer.out.startswith(f"updated tea ({memory_id}), version 2\n")
    results = run_json(
        "revise", "tea", "--name", "drink", "--kind", "fact", "--category", "c", "--project", "p", "-t", "cold",
        "--pin", "--add-observation", "with lemon", "--remove-observation", "no milk", "--metadata", '{"a": 1}',
        "--remove-observation", "no sugar", "--expected-version", "2",
    )  # fmt: skip
    assert {"action", "id", "name", "version", "warnings", "branch", "conflicts"} == set(results)
    assert (results["action"], results["version"], results["name"]) == ("updated", 3, "drink")
    assert "no sugar" in str(results["warnings"])
    (memory,) = [json.loads(text) for text in _texts("read", "drink", "-f", "json")]
    assert (memory["content"], memory["title"], memory["kind"]) == ("black tea", "Tea", "fact")
    assert (memory["tags"], memory["pinned"], memory["metadata"]) == (["cold"], True, {"a": 1})
    assert [item["text"] for item in memory["observations"]] == ["with lemon"]
    assert run("revise", "drink", "--unpin").out.startswith("updated")
    assert run("revise", "drink").out.startswith("unchanged")


def test_a_typed_text_is_trusted_as_the_users_by_default() -> None:
    memory_id = remember("The ferry leaves at nine.", "--source", "document", "-o", "daily")
    run("revise", memory_id, "--add-observation", "from pier 4")
    (memory,) = [json.loads(text) for text in _texts("read", memory_id, "-f", "json")]
    assert memory["source"]["trust"] == "document"
    assert [item.get("source", {}).get("trust") for item in memory["observations"]] == [None, "user"]
    again = run_json("remember", "The ferry leaves at nine.")
    assert (again["action"], again["id"], again["version"]) == ("updated", memory_id, 3)
    (memory,) = [json.loads(text) for text in _texts("read", memory_id, "-f", "json")]
    assert memory["source"]["trust"] == "user"
    assert [item.get("source", {}).get("trust") for item in memory["observations"]] == ["document", "user"]
    answer = run("remember", "x", "--source", "nobody")
    assert (answer.code, "user, agent, document, unknown" in answer.err) == (CODES[InvalidInput].exit, True)


def test_a_stale_revision_is_refused_with_the_current_version() -> None:
    remember("green tea", "--name", "tea")
    run("revise", "tea", "--text", "black tea")
    answer = run("revise", "tea", "--text", "white tea", "--expected-version", "1", "--json")
    assert answer.code == CODES[StaleVersion].exit
    error = answer.error()
    assert (error["code"], error["current"], error["expected"]) == ("stale_version", 2, 1)


def test_forget_and_restore_and_forget_by_filter() -> None:
    memory_id = remember("green tea", "--name", "tea", "--kind", "drink", "-t", "hot", "--project", "jay")
    assert run("forget", "tea", "--reason", "cold").out == f"trashed tea ({memory_id})\n"
    assert run("recall", "tea").out.startswith("nothing found")
    assert run("restore", "tea").out == f"restored tea ({memory_id})\n"
    for option in (("--kind", "drink"), ("-t", "hot"), ("--project", "jay")):
        assert run("forget", *option, "--dry-run").out == f"would be trashed tea ({memory_id})\n"
    results = run_json("forget", "--kind", "drink")
    assert set(results) == {"done", "missing", "dry_run", "run"}
    assert run("forget", "--kind", "drink").out == "nothing to do\n"
    assert run("forget", "nobody").code == CODES[NotFound].exit
    assert run("forget").code == CODES[InvalidInput].exit


def test_forget_can_include_the_group() -> None:
    run("remember", "tea", "-e", "Sarah", "-e", "Acme", "--session", "s1")
    assert run("forget", "--entity", "Sarah", "--dry-run").out.count("trashed") == 1
    assert run("forget", "--session", "s1", "--dry-run").out.count("trashed") == 2
    assert run("forget", "tea-sarah", "--group").out.count("trashed") == 2
    assert run("restore", "tea-sarah", "--group").out.count("restored") == 2


def test_purge_asks_before_it_destroys() -> None:
    memory_id = remember("green tea", "--name", "tea")
    refused = run("purge", "tea", "--yes")
    assert refused.code == CODES[WrongState].exit
    assert "forget tea" in refused.err
    run("forget", "tea")
    assert run("purge", "tea", "--dry-run").out == f"would be purged tea ({memory_id})\n"
    no = run("purge", "tea", stdin="n\n")
    assert no.code == CODES[InvalidInput].exit
    assert "purged" not in no.out
    assert "Delete this memory for good?" in no.err
    assert "nothing was purged" in no.err
    unanswered = run("purge", "tea", stdin="")
    assert unanswered.code == CODES[InvalidInput].exit
    assert unanswered.err.endswith("error: nothing was purged. Answer y, or use --yes\n")
    assert run_json("status")["memories"] == {"trashed": 1}
    yes = run("purge", "tea", "nobody", stdin="y\n")
    missing = "No memory is called 'nobody'. Run `scrubjay recall` with a few words to find its name."
    assert yes.out.endswith(f"purged tea ({memory_id})\n{missing}\n")
    assert yes.code == CODES[NotFound].exit
    assert run_json("status")["memories"] == {}
    assert run("purge", "tea", "--yes").code == CODES[NotFound].exit


def test_purge_by_filter_does_not_ask_with_yes() -> None:
    for number in range(3):
        remember(f"tea {number}", "--kind", "drink")
    run("forget", "--kind", "drink")
    results = run_json("purge", "--kind", "drink", "--yes")
    done = results["done"]
    assert isinstance(done, list)
    assert len(done) == 3


def test_relate_and_unrelate() -> None:
    tea, jay = remember("tea", "--title", "Tea"), remember("jay", "--name", "jay")
    answer = run("relate", "tea", "jay", "--text", "drinks", "--strength", "0.9", "--metadata", '{"a": 1}')
    assert answer.out.splitlines()[0] == "created Tea -> jay"
    assert "jay has 1 relation: related_to" in answer.out
    results = run_json("relate", "jay", "tea", "-r", "likes")
    assert {"action", "source", "target", "source_links", "target_links"} <= set(results)
    assert (results["action"], results["source"], results["target"]) == ("created", jay, tea)
    assert run("unrelate", "jay", "tea").out.splitlines()[0] == "removed jay -> Tea"
    assert run("unrelate", "jay", "tea").out.splitlines()[0] == "unchanged jay -> Tea"
    assert run("unrelate", "jay", "tea", "-r", "likes").out.splitlines()[1] == "  jay has 0 relations: none"
    assert run("relate", "tea", "tea").code == CODES[InvalidInput].exit


def test_revert_and_undo() -> None:
    memory_id = remember("green tea", "--name", "tea")
    run("revise", "tea", "--text", "black tea")
    assert run("revert", "tea", "--to", "1", "-m", "back").out == f"updated tea ({memory_id}), version 3\n"
    assert run("read", "tea", "-f", "plain").out == "green tea\n"
    assert run("undo").out == f"undone tea ({memory_id}), now version 4\n"
    assert run("read", "tea", "-f", "plain").out == "black tea\n"
    assert run("undo", "--agent", "nobody").code == CODES[NotFound].exit
    assert run("undo", "--run", "no-such-run").code == CODES[NotFound].exit
    assert set(run_json("undo")) == {"run", "done", "skipped"}


def test_undo_reports_skipped_changes() -> None:
    memory_id = remember("green tea", "--name", "tea", "--agent", "alice")
    run("revise", "tea", "--text", "black tea", "--agent", "bob")
    answer = run("undo", "--agent", "alice")
    assert answer.out.startswith("skipped: 'tea' was changed since")
    assert answer.code == CODES[WrongState].exit
    assert run("read", memory_id, "-f", "plain").out == "black tea\n"


def test_undo_of_a_relation_alone() -> None:
    for name in ("tea", "jay"):
        remember(name, "--name", name)
    run("relate", "tea", "jay")
    assert re.fullmatch(r"undone run \S+, which had changed no memory, only relations\n", run("undo").out)
    assert "Related" not in run("read", "tea").out


def test_undo_goes_by_agent() -> None:
    remember("tea", "--name", "tea", "--agent", "alice")
    remember("jay", "--name", "jay", "--agent", "bob")
    assert "undone tea" in run("undo", "--agent", "alice").out
    assert "undone jay" in run("undo", "--agent", "bob").out


def test_status_shows_paths_and_counts() -> None:
    remember("tea")
    answer = run("status")
    rows = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in answer.out.splitlines() if "  " in line)
    assert (rows["space"], rows["memories"], rows["versions"]) == ("default", "live 1", "1")
    assert rows["scrubjay"] == VERSION
    assert "note: lexical search only" in answer.out
    results = run_json("status")
    assert {"space", "version", "data", "memories", "store", "embedding", "index", "compression", "degraded"} <= set(
        results
    )


def test_doctor_checks_the_store_and_sets_the_exit_code() -> None:
    remember("tea")
    answer = run("doctor", "--deep")
    assert "ok   store: every page and body read" in answer.out
    assert "FAIL embedding" in answer.out
    assert answer.code == 1
    checks = run("doctor", "--repair", "--json").json()["checks"]
    assert isinstance(checks, list)
    assert {"name", "ok", "detail", "fix"} == set(checks[0] if isinstance(checks[0], dict) else ())


def test_spaces_do_not_see_each_other() -> None:
    remember("tea", "--space", "work")
    assert run("recall", "tea").out.startswith("nothing found")
    assert "tea" in run("recall", "tea", "--space", "work").out
    assert run("recall", "--space", " ").code == CODES[InvalidInput].exit


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("remember", ""), InvalidInput),
        (("remember", "x" * 1_000_001), InvalidInput),
        (("remember", "tea", "--metadata", "{"), InvalidInput),
        (("remember", "tea", "--metadata", "[1]"), InvalidInput),
        (("remember", "tea", "--expires-at", "soon"), InvalidInput),
        (("remember", "tea", "--intent", "maybe"), InvalidInput),
        (("remember", "tea", "--name", "taken"), NameTaken),
        (("recall", "tea", "-n", "0"), InvalidInput),
        (("recall", "tea", "--state", "asleep"), InvalidInput),
        (("recall", "tea", "--detail", "all"), InvalidInput),
        (("recall", "tea", "--cursor", "x"), InvalidInput),
        (("read", "taken", "-f", "pdf"), InvalidInput),
        (("revise", "nobody", "--pin"), NotFound),
        (("revise", "twin", "--pin"), Ambiguous),
        (("relate", "taken", "nobody"), NotFound),
        (("history", "nobody"), NotFound),
        (("revert", "taken", "--to", "9"), NotFound),
    ],
)
def test_an_error_has_its_own_exit_code_and_is_json_when_asked(
    arguments: tuple[str, ...], error: type[InvalidInput]
) -> None:
    remember("first", "--name", "taken", "--title", "Twin")
    remember("second", "--name", "other", "--title", "twin")
    plain = run(*arguments)
    assert (plain.code, plain.out) == (CODES[error].exit, "")
    assert plain.err.startswith("error: ")
    as_json = run(*arguments, "--json")
    assert (as_json.code, as_json.out) == (CODES[error].exit, "")
    payload = as_json.error()
    assert str(payload["message"])[:40] in plain.err
    assert "Traceback" not in plain.err + as_json.err


def test_the_id_in_a_result_works_in_the_next_command() -> None:
    assert is_id(remember("tea"))


def _texts(*arguments: str) -> list[str]:
    texts = run_json(*arguments)["texts"]
    assert isinstance(texts, list)
    return [str(text) for text in texts]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("remember", "tea", "--entity", "x" * 301), "--entity has 301 characters"),
        (("recall", "tea", "-n", "0"), "--limit must be at least 1"),
        (("remember", "tea", "--source", "rumour"), "--source must be one of user"),
        (("forget", "--trust", "nobody"), "--trust must be one of user"),
        (("revise", "tea", "--expires-at", "someday"), "--expires-at: 'someday' is not a date or time"),
    ],
)
def test_errors_name_the_option(command: tuple[str, ...], words: str) -> None:
    answer = run(*command)
    assert answer.code == CODES[InvalidInput].exit
    assert words in answer.err
    assert not str(run(*command, "--json").error()["field"]).startswith("-")


def test_every_field_can_be_revised() -> None:
    memory_id = remember("tea", "--expires-at", "2099-01-01", "-o", "hot")
    run_json(
        "revise", memory_id, "--entity", "Sarah", "--scope", "team", "--tier", "semantic", "--relevance", "0.25",
        "--expires-at", "never", "-o", "cold", "-o", "sweet",
    )  # fmt: skip
    (memory,) = [json.loads(text) for text in _texts("read", memory_id, "-f", "json")]
    assert (memory["entity"], memory["scope"], memory["tier"], memory["relevance"]) == (
        "Sarah",
        "team",
        "semantic",
        0.25,
    )
    assert "expires_at" not in memory
    assert [item["text"] for item in memory["observations"]] == ["cold", "sweet"]


def test_memories_are_selected_by_every_condition() -> None:
    other = remember("tea", "--category", "kitchen/hot")
    forgotten = remember("coffee", "--category", "kitchen", "--metadata", '{"cups": 2}')
    (done,) = json.loads(run("forget", "--category", "kitchen", "--metadata", '{"cups": 2}', "--json").out)["done"]
    assert done["id"] == forgotten
    assert run_json("read", other)["missing"] == []


def test_read_as_json_has_every_field_of_a_memory() -> None:
    remember("tea", "--name", "tea")
    (memory,) = json.loads(run("read", "tea", "--json").out)["memories"]
    assert set(memory) == {field.name for field in fields(Memory)}
    assert (memory["title"], memory["tags"], memory["expires_at"], memory["state"]) == ("", [], None, "live")
