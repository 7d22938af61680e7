"""The comparison of the conformance suite's results with the list of expected failures."""

import re
import tomllib

import pytest

from interop.conformance import Finding, Results, disagreements, expected_failures, results_from
from interop.paths import ROOT
from interop.processes import Failed
from interop.servers import NEWER, OLDER

LIST = """
[[failure]]
reason = "no pictures"
checks = ["* tools-call-image/image", "2025-11-25 prompts-get/image"]

[[failure]]
reason = "no log"
checks = ["2026-07-28 logging/level"]
"""


def test_results_are_read_from_the_suites_files() -> None:
    results = results_from(
        [
            (
                "server-ping-2026-01-02T03-04-05-678Z",
                [{"id": "ping", "status": "SUCCESS"}, {"id": "x", "status": "INFO"}],
            ),
            (
                "server-tools-call-image-2026-01-02T03-04-05-678Z",
                [
                    {"id": "image", "status": "FAILURE", "errorMessage": "no such tool"},
                    {"id": "stream", "status": "WARNING", "details": {"message": "no session"}},
                    {"id": "rest", "status": "SKIPPED"},
                ],
            ),
        ]
    )
    assert results.passed == {"ping": 1, "tools-call-image": 0}
    assert results.findings == (
        Finding("tools-call-image", "image", "FAILURE", "no such tool"),
        Finding("tools-call-image", "rest", "SKIPPED", ""),
        Finding("tools-call-image", "stream", "WARNING", "no session"),
    )
    assert results.only(frozenset({"ping"})) == Results(passed={"ping": 1}, findings=())


def test_an_unknown_folder_is_refused() -> None:
    with pytest.raises(Failed, match="ping is no folder"):
        results_from([("ping", [])])


def test_the_list_is_read_for_one_revision() -> None:
    assert expected_failures(LIST, era=OLDER) == {
        ("tools-call-image", "image"): "no pictures",
        ("prompts-get", "image"): "no pictures",
    }
    assert expected_failures(LIST, era=NEWER) == {
        ("tools-call-image", "image"): "no pictures",
        ("logging", "level"): "no log",
    }


def test_an_invalid_line_of_the_list_is_refused() -> None:
    with pytest.raises(Failed, match="invalid line: tools-call-image"):
        expected_failures('[[failure]]\nreason = "x"\nchecks = ["tools-call-image"]', era=NEWER)


def test_failures_and_the_list_must_agree() -> None:
    failed = Finding("tools-call-image", "image", "FAILURE", "no such tool")
    results = Results(passed={}, findings=(failed, Finding("ping", "ping", "FAILURE", "silence")))
    assert disagreements(results, {failed.key: "no pictures", ("ping", "ping"): "never mind"}) == []
    assert disagreements(results, {failed.key: "no pictures", ("caching", "hint"): "no cache"}) == [
        "ping/ping: FAILURE silence",
        "caching/hint: passes now, remove it from expected_failures.toml",
    ]


def test_the_page_names_every_scenario_of_the_list_and_no_other() -> None:
    listed = (ROOT / "interop" / "expected_failures.toml").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "how-to" / "interop.md").read_text(encoding="utf-8")
    table = page.partition("## What the suite asks for")[2].partition("\n## ")[0]
    named = {
        name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`([\w-]+)`", row)
    }
    named |= set(re.findall(r"checks of `([\w-]+)`", table))
    expected = {key[0] for era in (OLDER, NEWER) for key in expected_failures(listed, era=era)}
    assert named == expected


def test_every_line_of_the_list_is_there_once() -> None:
    text = (ROOT / "interop" / "expected_failures.toml").read_text(encoding="utf-8")
    lines = [line for entry in tomllib.loads(text)["failure"] for line in entry["checks"]]
    assert len(lines) == len(set(lines))
