"""A text that makes no statement gets a warning that names what it lacks."""

import pytest

from scrubjay.model.draft import Draft
from scrubjay.model.rules import Rules
from scrubjay.writing.density import check_density

RULES = Rules()
DENSE = "Sarah fixed the login bug on 3 May 2024 because the cookie had expired after an hour of no use."


def test_a_text_that_says_enough_is_left_alone() -> None:
    checked = check_density(Draft(text=DENSE), rules=RULES)
    assert (checked.flags, checked.warnings, checked.trace[-1].outcome) == ((), (), "dense")


@pytest.mark.parametrize(
    "text",
    [
        "Deploys happen on Thursdays.", "The orders table has about 40 million rows.", "Redis is version 7.2.",
        "Never force-push to main.", "Use uv.", "Port 8080", "Marta: vegetarian",
        "Paul mag keine Pilze.", "Bitte immer auf Deutsch antworten.", "M\u00fcllabfuhr ist dienstags.",
        "Luc\u00eda habla portugu\u00e9s.", "Somos tres hermanos.", "No llamar antes de las diez.",
        "Claire g\u00e8re les factures.", "J'ai deux chats.", "Le contrat expire en mars.",
        "Preferisco risposte brevi.", "Giulia lavora a Torino.", "A Joana gosta de ch\u00e1.",
        "Usamos Terraform para tudo.", "Pieter houdt van vissen.", "Wij gebruiken geen npm.",
        "\u4f1a\u8bae\u5728\u5468\u56db\u3002",
        "\u4f1a\u8b70\u306f\u6728\u66dc\u65e5\u3067\u3059",
    ],
)  # fmt: skip
def test_a_complete_statement_is_never_thin_however_short(text: str) -> None:
    assert check_density(Draft(text=text), rules=RULES).flags == ()


@pytest.mark.parametrize(
    "text",
    [
        "ok", "ok, done", "fixed it", "see above", "same as yesterday", "continue tomorrow", "I'll look into it", "42",
        "erledigt", "siehe oben", "das hat geklappt", "noch mal das Gleiche", "ich schau mir das morgen an",
        "vale", "ya est\u00e1 arreglado", "lo mismo que ayer", "c'est fait", "voir ci-dessus", "\u00e7a marche",
        "fatto", "vedi sopra", "feito", "igual a ontem", "gedaan", "zie hierboven", "\u597d\u7684",
    ],
)  # fmt: skip
def test_a_scrap_that_only_its_writer_understands_is_thin(text: str) -> None:
    checked = check_density(Draft(text=text), rules=RULES)
    assert (checked.flags, checked.rejected) == (("thin",), "")
    assert len(checked.warnings) == 1


@pytest.mark.parametrize(
    ("draft", "lacks"),
    [
        (Draft(text="fixed it"), "thin: say who or what it is about"),
        (Draft(text="fixed it", entities=("login",)), "thin: say what is known about it"),
        (Draft(text="Sarah"), "thin: say what is known about it"),
        (Draft(text="Sarah", entities=("Sarah",)), "thin: say what is known about it"),
    ],
)
def test_the_warning_names_one_thing_and_never_one_that_is_there(draft: Draft, lacks: str) -> None:
    assert check_density(draft, rules=RULES).warnings == (lacks,)


def test_a_field_says_whom_it_is_about_as_well_as_the_text_does() -> None:
    assert check_density(Draft(text="vegetarian"), rules=RULES).flags == ("thin",)
    assert check_density(Draft(text="vegetarian", entities=("Marta",)), rules=RULES).flags == ()
    assert check_density(Draft(text="Thursdays", name="deploy-day"), rules=RULES).flags == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Deploys happen on Thursdays.", "28 of 80 characters, say why or how"),
        ("The cookie expired because of rain.", "35 of 80 characters, say when it was"),
        ("It rained on 3 May 2024 because of a low.", "41 of 80 characters, say what follows from it"),
    ],
)
def test_a_rule_can_ask_for_so_many_characters(text: str, problem: str) -> None:
    checked = check_density(Draft(text=text), rules=Rules(least_characters=80))
    assert (checked.flags, checked.warnings) == (("thin",), (f"thin: {problem}",))


def test_observations_count_and_the_title_does_not() -> None:
    assert check_density(Draft(text="", observations=(DENSE[:50], DENSE[50:])), rules=RULES).flags == ()
    assert check_density(Draft(text="fixed it", title=DENSE), rules=RULES).flags == ("thin",)


def test_words_without_meaning_are_thin_however_many() -> None:
    checked = check_density(Draft(text="and so it was that it is " * 9), rules=RULES)
    assert checked.flags == ("thin",)


def test_a_character_that_is_a_word_counts_as_one() -> None:
    sentence = (
        "\u6211\u4eec\u51b3\u5b9a\u5728\u660e\u5e74\u4e09\u6708\u628a\u6570\u636e\u5e93\u4ece"
        "\u65e7\u670d\u52a1\u5668\u8fc1\u79fb\u5230\u65b0\u7684\u4e91\u5e73\u53f0\u4e0a\u53bb\u4e86\u3002"
    )
    assert len(sentence) < 40
    rules = Rules(least_characters=80)
    assert check_density(Draft(text=sentence), rules=rules).flags == ()
    assert check_density(Draft(text=sentence[:9]), rules=rules).flags == ("thin",)


def test_a_rule_decides_about_thin_texts() -> None:
    thin = Draft(text="fixed it")
    rejected = check_density(thin, rules=Rules(density="reject"))
    assert rejected.rejected.startswith("too thin to be useful later: say who")
    later = check_density(thin, rules=Rules(density="reconstruct"))
    assert (later.flags, later.trace[-1].outcome, later.rejected) == (("thin",), "reconstruct", "")
    assert check_density(thin, rules=Rules(density="off")) is thin


def test_something_with_a_name_and_a_kind_may_be_all_there_is() -> None:
    checked = check_density(Draft(text="", name="acme", kind="firm"), rules=Rules(density="reject"))
    assert (checked.rejected, checked.flags) == ("", ())
