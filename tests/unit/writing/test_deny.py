"""Texts that are never stored, because they or the rules of the space say so."""

from dataclasses import replace

import pytest
from tests.fakes.build import a_memory

from scrubjay.errors import InvalidInput
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Source
from scrubjay.model.rules import Rules
from scrubjay.writing.deny import deny, require_allowed_edit

RULES = Rules()


@pytest.mark.parametrize(
    "text",
    [
        "Do not remember this.",
        "Please don\u2019t store this: I earn 5.",
        "I earn 5. Don't save that!",
        "Off the record: he is leaving.",
        "He is leaving (off the record).",
        "forget this",
        "- do not remember this",
        "I earn 5, please don't store this.",
        "Please do not remember this conversation.",
        "This is not to be stored.",
        "Merk dir das nicht: 123",
        "Bitte nicht speichern.",
        "Ne retiens pas \u00e7a",
        "No recuerdes esto.",
        "\u8bf7\u4e0d\u8981\u8bb0\u4f4f\u8fd9\u4e9b\u5185\u5bb9",
        "\u3053\u308c\u306f\u899a\u3048\u306a\u3044\u3067\u304f\u3060\u3055\u3044",
        "x " * 50_000 + "\nDo not remember this.",
    ],
)
def test_a_text_may_say_itself_that_it_is_not_to_be_kept(text: str) -> None:
    denied = deny(Draft(text=text), rules=RULES)
    assert denied.rejected == "the text itself says that it must not be remembered"
    assert denied.trace[-1].outcome == "rejected"


@pytest.mark.parametrize(
    "text",
    [
        "He asked not to remember this as a defeat.",
        "He told me off the record that he is leaving.",
        "Don't forget this: milk.",
        "Do not store this in git.",
        "Forget this idea, it is bad.",
        'She said "do not remember this" and laughed.',
        "I do not remember this place at all.",
        "I don't remember that.",
        "We do not store it.",
        "Don't keep it warm.",
        "- never store it, use the vault",
        "- never store it.",
        "TODO: do not log this, it is PII",
        "Policy: don't keep that.",
        "Bob said: don't remember this.",
        "Bob said: please don't remember this.",
        "We decided: never store it.",
        "do not remember",
        "",
    ],
)
def test_a_text_about_remembering_is_stored(text: str) -> None:
    draft = deny(Draft(text=text), rules=RULES)
    assert (draft.rejected, draft.trace[-1].outcome) == ("", "allowed")


@pytest.mark.parametrize(
    "draft",
    [
        Draft(text="The SALARY is high"),
        Draft(text="a", observations=("my  salary",)),
        Draft(text="a", title="Salary"),
        Draft(text="a", tags=("salary",)),
        Draft(text="a", entities=("Salary",)),
        Draft(text="a", metadata={"x": [{"y": "salary"}]}),
    ],
)
def test_words_of_a_rule_are_looked_for_in_every_text(draft: Draft) -> None:
    denied = deny(draft, rules=Rules(never=("tea", "salary")))
    assert denied.rejected == "pattern 2 of this space's rule `never` matches it"
    assert deny(Draft(text="a salaryman"), rules=Rules(never=("salary",))).rejected == ""


@pytest.mark.parametrize(
    "draft",
    [
        Draft(text="I read config/.env today."),
        Draft(text="a", metadata={"path": "/app/.env"}),
        Draft(text="a", metadata={"where": {"file": ".ENV"}}),
        Draft(text="a", source=Source(tool=".env")),
        Draft(text="a", source=Source(conversation="x/.env")),
    ],
)
def test_files_of_a_rule_are_looked_for_where_files_are_named(draft: Draft) -> None:
    denied = deny(draft, rules=Rules(never_paths=("*.pem", ".env")))
    assert "pattern 2 of this space's rule `never_paths`" in denied.rejected
    assert deny(Draft(text="the environment"), rules=Rules(never_paths=(".env",))).rejected == ""


def test_a_refusal_repeats_neither_the_text_nor_the_pattern() -> None:
    denied = deny(Draft(text="it is hunter2"), rules=Rules(never=("hunter2",)))
    assert denied.rejected
    assert "hunter2" not in denied.rejected
    assert "hunter2" not in repr(denied.trace)


def test_words_of_two_texts_are_not_read_together() -> None:
    rules = Rules(never=("project falcon",))
    assert deny(Draft(text="a", tags=("project", "falcon")), rules=rules).rejected == ""
    assert deny(Draft(text="project\nfalcon"), rules=rules).rejected


def test_an_edit_must_not_add_a_denied_text() -> None:
    rules = Rules(never=("falcon",), never_paths=(".env",))
    before = a_memory("tea")
    for after in (
        replace(before, content="the falcon flies"),
        replace(before, tags=("falcon",)),
        replace(before, metadata={"falcon": 1}),
        replace(before, content="see config/.env"),
        replace(before, content="Do not remember this."),
    ):
        with pytest.raises(InvalidInput, match=r"rule `never|itself"):
            require_allowed_edit(before, after, rules=rules)
    require_allowed_edit(before, replace(before, content="milk"), rules=rules)


def test_a_memory_older_than_a_rule_may_be_edited() -> None:
    before = a_memory("the falcon flies")
    require_allowed_edit(before, replace(before, content="the falcon sleeps"), rules=Rules(never=("falcon",)))
