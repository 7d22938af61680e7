"""The lossless check, text by text."""

import pytest

from scrubjay.curation.lossless import find_unfaithful

TEXT = "Sarah moved the 14:30 review to 3 May 2026. The build `make check` fails with E1234. Do not deploy v2.1.0!"


@pytest.mark.parametrize(
    "answer",
    [
        TEXT,
        "The build `make check` fails with E1234; do not deploy v2.1.0. Sarah moved the 14:30 review to 3 May 2026.",
        "Sarah moved the 14:30 review to 3 May 2026\nThe build `make check` fails with E1234\nDo not deploy v2.1.0",
    ],
)
def test_the_same_in_another_order_is_faithful(answer: str) -> None:
    assert find_unfaithful([TEXT], answer) == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("14:30", "13:30"), ("3 May", "4 May"), ("2026", "2025"), ("Sarah", "Sara"), ("Sarah", "She"),
        ("E1234", "E1235"), ("make check", "make test"), ("not ", ""), ("v2.1.0", "v2.1.1"), ("v2.1.0", "it"),
        ("Sarah moved the 14:30 review to 3 May 2026. ", ""), ("fails", "never fails"),
        ("v2.1.0!", "v2.1.0! Ask Peter."), ("v2.1.0!", "v2.1.0! It has 7 bugs."),
    ],
)  # fmt: skip
def test_one_thing_changed_is_enough(before: str, after: str) -> None:
    assert before in TEXT
    assert find_unfaithful([TEXT], TEXT.replace(before, after)) != ""


def test_a_sentence_without_names_or_figures_must_come_back_too() -> None:
    first = " ".join(f"The heron number {number} stands in the reeds of the lake." for number in range(40))
    text = f"{first} Otters prefer colder water downstream."
    assert "downstream" in find_unfaithful([text], f"{first} Otters.")


def test_context_may_be_used() -> None:
    note, context_notes = "fixed the login", ["Keycloak logs people in. It runs on db1."]
    assert find_unfaithful([note], "Fixed the login. Keycloak logs people in.", context=context_notes) == ""
    assert find_unfaithful([note], "Fixed the login.", context=context_notes) == ""
    assert "keycloak" in find_unfaithful([note], "Fixed the login. Keycloak logs people in.")


def test_context_is_not_mixed_into_the_note() -> None:
    context_notes = ["Keycloak logs people in. It runs on db1."]
    for mixed in ("Fixed the login of Keycloak.", "Fixed the login on db1.", "Fixed the login. It runs on db1."):
        assert find_unfaithful(["fixed the login"], mixed, context=context_notes) != ""


@pytest.mark.parametrize(
    ("original", "answer"),
    [
        ("Acme owes Zenith 4,000 euros.", "Zenith owes Acme 4,000 euros."),
        ("Ann pays Bob 500 euros. Bob pays Cleo 300 euros.", "Ann pays Bob 300 euros. Bob pays Cleo 500 euros."),
        ("- staging: 10.0.0.5\n- production: 10.0.0.9", "- staging: 10.0.0.9\n- production: 10.0.0.5"),
        ("Staging is 10.0.0.5 and production is 10.0.0.9.", "Production is 10.0.0.5 and staging is 10.0.0.9."),
        ("The timeout was raised from 30 s to 60 s.", "The timeout was raised from 60 s to 30 s."),
        ("The mail from Ann to Ben was lost.", "The mail to Ann from Ben was lost."),
        ("The build failed on Linux and passed on Windows.", "The build passed on Linux and failed on Windows."),
        ("We must never deploy on Friday. We can deploy on Monday.",
         "We can deploy on Friday. We must never deploy on Monday."),
        ("Do not expose port 9090. Open port 8080.", "Do not expose port 8080. Open port 9090."),
        ("The token is in the keychain, the password is in the safe.",
         "The password is in the keychain, the token is in the safe."),
        ("It prefers dark mode in the editor and light mode in the shell.",
         "It prefers light mode in the editor and dark mode in the shell."),
        ("Redis is slow. It has 5 nodes. Postgres is fast.", "Redis is slow. Postgres is fast. It has 5 nodes."),
        ("Redis is slow. Restart it. Postgres is fast.", "Redis is slow. Postgres is fast. Restart it."),
        ("We deploy if tests pass. Ann approves.", "We deploy. If tests pass, Ann approves."),
        ("It does not log. It stores passwords.", "It does not log and store passwords."),
        ("Deploy if Ann agrees. Tests pass.", "Deploy if Ann agrees and tests pass."),
        ("Ute thinks it leaks. The disk is full.", "Ute thinks it leaks and the disk is full."),
        ("Is the server down? Restart it.", "The server is down. Restart it."),
        ("The latency is < 5 ms.", "The latency is > 5 ms."),
    ],
)  # fmt: skip
def test_facts_are_not_mixed_up(original: str, answer: str) -> None:
    assert find_unfaithful([original], original) == ""
    assert find_unfaithful([original], answer) != ""


@pytest.mark.parametrize(
    ("original", "answer"),
    [
        ("Some users saw it.", "All users saw it."),
        ("Only admins can delete projects.", "Admins can delete projects."),
        ("The service might be restarted.", "The service is restarted."),
        ("The pasta was good.", "The pasta was bad."),
        ("It was partially tested on staging.", "It was tested on staging."),
        ("The latency rose to 900 ms.", "The latency rose to 900 ms because of a slow query."),
        ("Carol will migrate the service.", "Carol migrated the service."),
        ("It drops the oldest ones first.", "It drops the newest ones first."),
        ("The key is stored in the vault.", "The key was stored in the vault."),
        ("Backups run nightly, encrypted, to the bucket.", "Backups run nightly to the bucket."),
        ("Marta restarted it.", "Marta restarted it successfully."),
        ("It takes up to 5 s.", "It takes 5 s."),
        ("The heater is on.", "The heater is."),
        ("Ann has a server.", "Ann is a server."),
        ("Marta restarted the server.", "Marta restarted the server this."),
        ("Sarah called Ben. She was ill.", "Sarah called Ben. He was ill."),
    ],
)
def test_small_words_matter(original: str, answer: str) -> None:
    assert find_unfaithful([original], original) == ""
    assert find_unfaithful([original], answer) != ""


@pytest.mark.parametrize(
    ("original", "answer"),
    [
        ("The server has 16 GB of RAM and two disks.", "The server has 16 GB RAM and 2 disks."),
        ("Users cannot log in.", "Users can't log in."),
        ("Nina doesn't eat meat.", "Nina does not eat meat."),
        ("The price is 1,500 dollars.", "The price is $1,500."),
        ("It was deployed on 7 May 2023.", "It was deployed on May 7, 2023."),
        ("fixed auth bug in cli", "The auth bug in the CLI was fixed."),
        ("Ann met Ben. Ann gave Ben a book. Ann went home.", "Ann met Ben, gave Ben a book, and went home."),
        ("Ann is in Oslo. Ben is in Rome.\n\nAnn is in Oslo.", "Ben is in Rome, and Ann is in Oslo."),
    ],
)
def test_the_same_in_other_words_is_faithful(original: str, answer: str) -> None:
    assert find_unfaithful([original], answer) == ""


def test_an_empty_answer_is_refused() -> None:
    assert find_unfaithful(["something"], " \n") == "it is empty"
