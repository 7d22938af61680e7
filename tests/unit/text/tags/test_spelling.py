"""Which spellings are one tag, and which are two."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.text.tags.spelling import TAG_WORDS, fold_tag, is_foldable, normalize_tag, tag_key


@pytest.mark.parametrize(
    "spellings",
    [
        ("ci cd", "ci-cd", "ci_cd", "CI/CD", "CiCd", "ci - cd"),
        ("bug", "bugs", "Bugs"),
        ("query", "queries"),
        ("class", "classes"),
        ("colour", "color", "colours"),
        ("optimisation", "optimization"),
        ("serialise", "serialize"),
        ("analyse", "analyze"),
        ("behaviours", "behavior"),
        ("licence", "license"),
        ("modelling", "modeling"),
        ("data-centre", "data center"),
        ("requireAuth", "require-auth", "require_auth", "requireauth"),
        ("node.js", "nodejs", "node-js"),
        ("python3", "python-3", "python 3.0", "python-3.x", "python v3"),
        ("c++", "C++"),
        (".net", ".NET", "dotnet"),
        ("asp.net", "ASP.NET"),
    ],
)
def test_spellings_of_one_tag_are_one(spellings: tuple[str, ...]) -> None:
    assert len({tag_key(spelling) for spelling in spellings}) == 1


@pytest.mark.parametrize(
    "tags",
    [
        ("java", "javascript", "javascripts-not"),
        ("c", "c++", "c#", "objective-c", "r", "f#", "d"),
        ("sql", "nosql", "mysql", "sqlite"),
        ("test", "latest", "contest"),
        ("window", "windows"),
        ("new", "news"),
        ("http", "https"),
        ("io", "ios"),
        ("python-2", "python-3", "python-3.1", "python-31", "python"),
        (".net", "net", "asp.net", "asp.net-core"),
        ("go", "google", "goo"),
        ("gdi", "gdi+"),
        ("release-1.10", "release-11.0", "release-110"),
        ("filing", "filling"),
        ("a/b", "ab:c"),
    ],
)
def test_distinct_tags_are_never_one(tags: tuple[str, ...]) -> None:
    assert len({tag_key(tag) for tag in tags}) == len(tags)


@pytest.mark.parametrize(
    ("tag", "written"),
    [
        ("Machine Learning", "machine-learning"),
        ("#Release_Notes", "release-notes"),
        ("CI/CD", "ci-cd"),
        ("I/O", "i-o"),
        ("project/alpha", "project/alpha"),
        ("user:7", "user:7"),
        ("C++", "c++"),
        (".NET", ".net"),
        ("node.js", "node.js"),
        ("R&D", "r-d"),
        ("客户 反馈", "客户 反馈"),
        ("Протокол", "протокол"),
        ("2026-05-31", "2026-05-31"),
        ("--", "--"),
    ],
)
def test_a_tag_is_spelt_in_one_way(tag: str, written: str) -> None:
    assert normalize_tag(tag) == written
    assert normalize_tag(written) == written


@pytest.mark.parametrize("tag", ["客户", "протокол", "user:7", "a=b", "naïve", "2026", "x" * 200, "🦜"])
def test_a_tag_without_a_latin_spelling_does_not_change(tag: str) -> None:
    assert not is_foldable(tag)
    assert tag_key(tag) == tag


@given(st.text(max_size=40))
def test_any_text_can_be_a_tag(tag: str) -> None:
    assert normalize_tag(normalize_tag(tag)) == normalize_tag(tag)
    assert tag_key(normalize_tag(tag)) == tag_key(normalize_tag(normalize_tag(tag)))
    assert fold_tag(tag).parts


def test_the_built_in_synonyms_do_not_contradict_each_other() -> None:
    tables = [TAG_WORDS.table("synonyms"), TAG_WORDS.table("specific")]
    variants = [tag_key(variant) for table in tables for its in table.values() for variant in its.split()]
    primaries = {tag_key(primary) for table in tables for primary in table}
    groups = [{tag_key(name) for name in line.split()} for line in TAG_WORDS.lines("names")]
    assert len(set(variants)) == len(variants)
    assert primaries.isdisjoint(variants)
    assert all(primaries.isdisjoint(group) for group in groups)
    assert all(not group & other for at, group in enumerate(groups) for other in groups[:at])
    assert all(len(set(pair)) == 2 for pair in TAG_WORDS.pairs("distinct"))
