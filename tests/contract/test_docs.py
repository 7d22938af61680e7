"""The documents: links resolve, generated pages are up to date, and decisions have the required sections."""

import json
import re
import runpy
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from scripts.examples import TARGET, record
from scrubjay.model import rules
from scrubjay.model.memory import Json
from scrubjay.model.ranking import STAGES, Weights
from scrubjay.model.rules import Rules
from scrubjay.version import VERSION
from tests.contract.source import ROOT, pages

_SCORE = re.compile(r"\b\d\.\d\d\b")
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ (?P<title>.+)$", re.MULTILINE)
DECISIONS = sorted((ROOT / "docs" / "adr").glob("*.md"))


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_internal_link_resolves(page: Path) -> None:
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    broken = [results["target"] for results in _LINK.finditer(text) if not _resolves(results["target"], page)]
    assert not broken


def test_the_generated_pages_are_up_to_date(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["reference.py", "--check"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "scripts" / "reference.py"), run_name="__main__")
    assert ended.value.code == 0, capsys.readouterr().out


@pytest.mark.slow
async def test_the_examples_of_rest_are_up_to_date() -> None:
    recorded, stored = await record(), json.loads(TARGET.read_bytes())
    # The file itself differs only in the last digits of what a model computes, which depend on the processor.
    differing = [
        f"{section}: {name}"
        for section in recorded
        for name in {**recorded[section], **stored[section]}
        if not _is_similar(recorded[section].get(name), stored[section].get(name))
    ]
    assert differing == [], "run `make docs`"


def _is_similar(new: Json, old: Json) -> bool:
    """Return whether two answers are the same, except for digits of scores."""
    if isinstance(new, dict) and isinstance(old, dict):
        return new.keys() == old.keys() and all(_is_similar(new[name], old[name]) for name in new)
    if isinstance(new, list) and isinstance(old, list):
        return len(new) == len(old) and all(map(_is_similar, new, old))
    if isinstance(new, str) and isinstance(old, str):
        return _SCORE.sub("", new) == _SCORE.sub("", old)
    return new == pytest.approx(old, abs=0.05) if isinstance(new, float) and isinstance(old, float) else new == old


def test_every_page_can_be_reached_from_the_index() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "docs" / "index.md"]
    while waiting:
        page = waiting.pop()
        if page not in seen and page.exists():
            seen.add(page)
            waiting += _neighbours(page)
    assert set(pages()) - seen - {ROOT / "README.md"} == set()


def test_decisions_are_numbered_without_a_gap() -> None:
    assert [path.name[:4] for path in DECISIONS] == [f"{number:04}" for number in range(1, len(DECISIONS) + 1)]


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_is_complete_and_under_a_page(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    number = int(path.name[:4])
    assert text.startswith(f"# {number}. ")
    assert [results["title"] for results in _HEADING.finditer(text)][1:] == ["Context", "Decision", "Consequences"]
    assert re.search(r"^Status: (proposed|accepted|superseded by \[)", text, re.MULTILINE)
    assert len(text.split()) <= 450


def test_the_changelog_has_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## [Unreleased]" in changelog
    assert f"## [{VERSION}]" in changelog


def _resolves(target: str, page: Path) -> bool:
    if re.match(r"[a-z]+:", target):
        return True
    name, _, anchor = target.partition("#")
    path = (page.parent / name).resolve() if name else page
    return path.exists() and (not anchor or anchor in _anchors(path))


def _anchors(path: Path) -> set[str]:
    text = _FENCED.sub("", path.read_text(encoding="utf-8"))
    titles = (results["title"].replace("`", "").lower() for results in _HEADING.finditer(text))
    return {re.sub(r"[^\w\- ]", "", title).strip().replace(" ", "-") for title in titles}


def _neighbours(page: Path) -> list[Path]:
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    targets = (results["target"].partition("#")[0] for results in _LINK.finditer(text))
    return [(page.parent / target).resolve() for target in targets if target.endswith(".md") and ":" not in target]


def test_every_weight_of_recall_is_documented_with_its_default() -> None:
    page = (ROOT / "docs" / "explanation" / "recall.md").read_text(encoding="utf-8")
    for field in fields(Weights):
        assert f"| `{field.name}` | {field.default:g} | {field.metadata['doc']} |" in page


def test_every_stage_of_recall_is_documented() -> None:
    page = (ROOT / "docs" / "explanation" / "recall.md").read_text(encoding="utf-8")
    assert not [stage for stage in STAGES if f"`{stage}`" not in page]


def test_every_rule_of_writing_is_documented_with_its_default_and_its_values() -> None:
    page = (ROOT / "docs" / "explanation" / "write-path.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| [^|]+ \|$", page, re.MULTILINE)
    choices: dict[str, tuple[str, ...]] = rules.CHOICES
    bounds: dict[str, tuple[int, int]] = rules.BOUNDS
    documented = {name: (default, values) for name, default, values in rows}
    assert list(documented) == list(Rules().as_json)
    for name, usual in Rules().as_json.items():
        default, values = documented[name]
        assert default == (f"`{usual}`" if usual != [] else "none"), name
        if name in choices:
            assert values == ", ".join(f"`{item}`" for item in choices[name]), name
        if name in bounds:
            assert values == "{} to {:,}".format(*bounds[name]), name
