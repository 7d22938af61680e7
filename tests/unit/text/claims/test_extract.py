"""The claims of a text: the same for every spelling, and compared so that no difference is missed."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.text.claims.extract import added_claims, claims_of, count_extra_figures, find_differences, lost_claims


def differ(first: str, second: str) -> tuple[str, ...]:
    return find_differences(claims_of(first), claims_of(second))


@pytest.mark.parametrize(
    ("text", "kind", "claims"),
    [
        ("The target is $2M.", "numbers", ("2000000 usd",)),
        ("It costs 200 million USD or \u20ac1,000.50", "numbers", ("200000000 usd", "1000.5 eur")),
        ("about 3.5k requests, 20 ms and 68 percent of 5%", "numbers", ("3500", "20 ms", "68 %", "5 %")),
        ("three of twenty on the 2nd try, twice", "numbers", ("3", "20", "2th", "2")),
        ("a 3-year low after 10 years", "numbers", ("3 year", "10 year")),
        ("7 May 2023 and May 7th, 2023 and 2023-05-07", "dates", ("7 May 2023",) * 3),
        ("on Sept. 25 in 2003", "dates", ("25 September", "2003")),
        ("in March, next month, yesterday and on Friday", "dates", ("March", "next month", "yesterday", "friday")),
        ("it may march at 3:30 pm or 09:05", "dates", ("15:30", "09:05")),
        ("from v1.2.3 to 2.0.0-rc1", "versions", ("1.2.3", "2.0.0-rc1")),
        ("Yesterday the IT of Acme Corp met Maria's son.", "names", ("acme", "corp", "maria")),
        ("see https://a.example/x?y=1. Or ann@b.example", "links", ("https://a.example/x?y=1", "ann@b.example")),
        (
            "set foo_bar in ~/.config/a.toml and src/x.py, call run() with --force, camelCase, ABC-12, #7, `a b`",
            "identifiers",
            ("foo_bar", "~/.config/a.toml", "src/x.py", "run()", "--force", "camelCase", "ABC-12", "#7", "a b"),
        ),
        ('He said "well within standards" and \u201cso\u201d.', "quotes", ("well within standards", "so")),
        ("It does not work, never did; no longer", "negations", ("work longer", "longer", "longer")),
        ("turned on after it was enabled", "states", ("on", "after", "enabled")),
        ("Maria came. Deployed it.", "openings", ("maria", "deployed")),
    ],
)
def test_claims_are_read_in_one_form(text: str, kind: str, claims: tuple[str, ...]) -> None:
    assert getattr(claims_of(text), kind) == claims


@pytest.mark.parametrize(
    ("first", "second", "word"),
    [
        ("The target is $2M.", "The target is $3M.", "number: 2000000 usd or 3000000 usd"),
        ("It has two lanes.", "It has 3 lanes.", "number: 2 or 3"),
        ("We met on 7 May 2023.", "We met on 8 May 2023.", "date: 7 May 2023 or 8 May 2023"),
        ("She starts next week.", "She starts next month.", "date: next week or next month"),
        ("It broke in v1.2.3.", "It broke in v1.2.4.", "version: 1.2.3 or 1.2.4"),
        ("Maria likes tea.", "Anna likes tea.", "name: maria or anna"),
        ("We saw Maria and Tom.", "We saw Maria and Maria.", "name: tom or maria"),
        ("John helps Maria.", "Maria helps John.", "order: john, maria or maria, john"),
        ("Use 3 of 5.", "Use 5 of 3.", "order: 3, 5 or 5, 3"),
        ("Use 3 of it.", "Use of it.", "order: 3 or none"),
        ("Call `get_all`.", "Call `get_one`.", "identifier: get_all or get_one"),
        ("See https://a.example/1", "See https://a.example/2", "link: https://a.example/1 or https://a.example/2"),
        ('He said "yes, surely".', 'He said "of course".', "quotation: yes surely or of course"),
        ("He likes it.", "He does not like it.", "negation: one says not like"),
        ("It never fails on Linux.", "It fails on Linux.", "negation: one says not fails linux"),
        ("The flag is enabled.", "The flag is disabled.", "state: enabled or disabled"),
        ("It is legal in Spain.", "It is illegal in Spain.", "negation: legal or illegal"),
        ("Retries are unlimited.", "Retries are limited.", "negation: unlimited or limited"),
        ("The disk is encrypted.", "The disk is unencrypted.", "negation: encrypted or unencrypted"),
        ("The call is blocking.", "The call is non-blocking.", "negation: one says not blocking"),
        ("The call is blocking.", "The call is nonblocking.", "negation: blocking or nonblocking"),
        ("It is harmless.", "It is harmful.", "negation: harmless or harmful"),
        ("The light theme is on.", "The dark theme is on.", "state: light or dark"),
    ],
)
def test_contradictory_texts_differ_both_ways(first: str, second: str, word: str) -> None:
    assert word in differ(first, second)
    assert differ(second, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Google invests $200 million", "Google invests 200 million USD"),
        ("We met in May 2023.", "We met on 7 May 2023."),
        ("Bill Smith won in Texas.", "Smith won."),
        ("It is in Syria.", "It is Syrian."),
        ("The man without a shirt jumps.", "The man who jumps is not wearing a shirt."),
        ('They are "very sorry".', "They are very sorry."),
        ("Kenya Supreme Court upholds it", "Kenya SC upholds it"),
        ("It has one door.", "It has a door."),
        ("Legal and illegal copies are kept.", "Illegal copies and legal ones are kept."),
        ("It is on the side.", "It was put on the side."),
    ],
)
def test_the_same_in_other_words_and_more_of_it_is_no_difference(first: str, second: str) -> None:
    assert differ(first, second) == ()
    assert differ(second, first) == ()


def test_figures_and_days_of_one_text_alone_are_counted() -> None:
    assert count_extra_figures(claims_of("Two cats came on Friday."), claims_of("One cat came.")) == 1


INPUTS = ["The target is $2M by 7 May 2023. It does not work with `foo_bar`.", 'Anna said "go on" in v1.2.']


@pytest.mark.parametrize(
    ("output", "missing"),
    [
        ("\n".join(INPUTS), ()),
        ('By 7 May 2023 the target is 2 million dollars. Not working with foo_bar. "Go on", Anna said (1.2).', ()),
        (f"{INPUTS[0]} Anna said so in v1.2.", ("quotation: go on",)),
        (f"The target is $3M by 7 May 2023. It does not work with `foo_bar`. {INPUTS[1]}", ("number: 2000000 usd",)),
        (f"The target is $2M by May 2023. It does not work with `foo_bar`. {INPUTS[1]}", ("date: 7 May 2023",)),
        (f"The target is $2M by 7 May 2023. It works with `foo_bar`. {INPUTS[1]}", ("negation: not work",)),
        (f'{INPUTS[0]} She said "go on" in v1.2.', ("name: anna",)),
        (f"The target is $2M by 7 May 2023. It does not work with it. {INPUTS[1]}", ("identifier: foo_bar",)),
    ],
)
def test_lost_claims_are_reported(output: str, missing: tuple[str, ...]) -> None:
    assert lost_claims(INPUTS, output) == missing


@pytest.mark.parametrize(
    ("output", "invented"),
    [
        ("Summary: the target is 2 million dollars by May 2023.", ()),
        ("The target is $2M by 8 May 2023.", ("date: 8 May 2023",)),
        ("The target of Bob is $2M.", ("name: bob",)),
        ("The target is not $2M by far.", ("negation: not far",)),
        ("The target is $2M, see https://a.example/.", ("link: https://a.example/",)),
    ],
)
def test_invented_claims_are_reported(output: str, invented: tuple[str, ...]) -> None:
    assert added_claims(INPUTS, output) == invented


def test_a_state_that_is_turned_round_is_lost() -> None:
    assert lost_claims(["The flag is enabled."], "The flag is disabled.") == ("state: enabled became disabled",)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_can_be_read_and_loses_nothing_to_itself(first: str, second: str) -> None:
    assert differ(first, first) == ()
    assert lost_claims([first], first) == added_claims([first], first) == ()
    assert bool(differ(first, second)) is bool(differ(second, first))


@pytest.mark.parametrize(
    "piece",
    [
        "A. ",
        "0x",
        "1-",
        "a-",
        "--",
        "-",
        "1",
        "a",
        "AB-1",
        "sk-",
        "1a",
        "a/-",
        "a.b",
        "word ",
        "Acme ",
        "\u201ca",
        '"',
        "a@",
        "_a",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    # It takes a quarter of a second at most; with backtracking at each character it would take minutes.
    text = piece * (50_000 // len(piece))
    before = time.process_time()
    claims_of(text)
    assert time.process_time() - before < 5


def test_lists_of_figures_and_names_are_compared_without_trying_each_with_each() -> None:
    first = " ".join(f"{number} Zed{'q' * (number % 50)}" for number in range(8000))
    second = " ".join(f"{number} Yan{'r' * (number % 50)}" for number in range(8000, 16000))
    before = time.process_time()
    assert differ(first, second)
    assert lost_claims([first], second)
    assert time.process_time() - before < 5


def test_long_texts_are_not_kept_in_memory() -> None:
    text = "The login failed. " * 1000
    assert claims_of(text) is not claims_of(text)
    assert claims_of(text[:1000]) is claims_of(text[:1000])
    assert claims_of(text) == claims_of(text)


def test_a_less_exact_claim_is_part_of_a_more_exact_one() -> None:
    assert lost_claims(["We met in May 2023."], "We met on 7 May 2023.") == ()
    assert lost_claims(["We met on 7 May 2023."], "We met in May 2023.") == ("date: 7 May 2023",)
    assert lost_claims(["It took 5 minutes and 7 hours."], "It took 7 minutes and 5 hours.") == (
        "number: 5 minute",
        "number: 7 hour",
    )
