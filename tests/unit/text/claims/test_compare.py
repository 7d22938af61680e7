"""The relation of two statements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.model.conflict import ConflictType, Strategy
from scrubjay.text.claims.compare import compare, compare_lists, overlap_ratio
from scrubjay.text.claims.parse import parse_statement, plain_words_of

NEAR = 0.8


def label_of(first: str, second: str, *, cosine: float | None = NEAR) -> str:
    finding, reverse = compare(first, second, cosine=cosine), compare(second, first, cosine=cosine)
    assert (finding and finding.type) == (reverse and reverse.type), "which of them comes first says nothing"
    return finding.type.value if finding else "none"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Dalia has two children.", "Dalia has three kids."),
        ("The API listens on port 8080.", "The API listens on port 9090."),
        ("The budget is 2 million euros.", "The budget is 3 million euros."),
        ("Python 3.11 is required.", "Python 3.12 is required."),
        ("Ada is 34 years old.", "Ada is 35 years old."),
    ],
)
def test_another_number_contradicts(first: str, second: str) -> None:
    assert label_of(first, second) == "contradiction"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The release goes out on Friday.", "The release will go out on Monday."),
        ("The deadline is March 3.", "The deadline is March 10."),
        ("The wedding is on June 12, 2025.", "The wedding is on July 4, 2025."),
        ("The backup runs at 02:00.", "The backup runs at 03:30."),
        ("Ada went to the lake last week.", "Ada went to the lake last month."),
        ("The team moved the release to Friday.", "The release was moved to Monday by the team."),
    ],
)
def test_another_day_contradicts(first: str, second: str) -> None:
    assert label_of(first, second) == "contradiction"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Ada lives in Rome.", "Ada lives in Paris."),
        ("Ada lives in Rome.", "Ada moved to Berlin last month."),
        ("The user works at Initech.", "The user works for Globex now."),
        ("The user's name is Anna.", "The user's name is Maria."),
        ("The server is in Frankfurt.", "The server is in Dublin."),
        ("The CEO is Alice.", "The CEO is Bob."),
        ("Our office is in Berlin.", "Our office moved to Potsdam."),
        ("Ada's boss is Mr Klein.", "Ada's new boss is Mrs Gross."),
    ],
)
def test_another_name_or_place_contradicts(first: str, second: str) -> None:
    assert label_of(first, second) == "contradiction"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Ada lives in Rome.", "Ada no longer lives in Rome."),
        ("Ada lives in Rome.", "Ada used to live in Rome."),
        ("Ada lives in Rome with her two dogs and a parrot.", "Ada no longer lives in Rome."),
        ("I like cilantro.", "I don't like cilantro."),
        ("Boris smokes.", "Boris quit smoking."),
        ("Boris stopped drinking coffee.", "Boris drinks coffee."),
        ("Boris drinks coffee in the morning.", "Boris gave up coffee."),
        ("Ada plays tennis every Monday.", "Ada quit tennis."),
        ("I live in Rome.", "I left Rome."),
        ("Ada drives a Golf.", "Ada sold her Golf."),
        ("Ada does not like tea but likes coffee.", "Ada likes tea but does not like coffee."),
    ],
)
def test_a_denial_contradicts_the_statement(first: str, second: str) -> None:
    assert label_of(first, second) == "contradiction"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The user likes dark mode.", "The user hates dark mode."),
        ("The shop is open on Sundays.", "The shop is closed on Sundays."),
        ("Login is enabled for guests.", "Login is disabled for guests."),
        ("Turn the heater on at night.", "Turn the heater off at night."),
        ("The parcel is complete.", "The parcel is incomplete."),
        ("Ada is married.", "Ada is single."),
        ("Ada likes jazz.", "Ada can't stand jazz."),
        ("My mother is alive.", "My mother died."),
        ("User prefers tea over coffee.", "User prefers coffee over tea."),
    ],
)
def test_an_opposite_state_contradicts(first: str, second: str) -> None:
    assert label_of(first, second) == "contradiction"


@pytest.mark.parametrize(
    ("first", "second", "differs"),
    [
        ("The project has PostgreSQL.", "The project moved from PostgreSQL to SQLite.", "state: PostgreSQL or SQLite"),
        ("We use Redis as a cache.", "We replaced Redis with Valkey last week.", "state: Redis or Valkey"),
        ("My favourite food is pizza.", "My favorite food is sushi.", "favourite: pizza or sushi"),
        ("Uses vim as main editor", "Uses emacs as main editor", "uses as: vim or emacs"),
        ("Ada lives in Rome.", "Ada recently relocated to Oslo for work.", "lives in: Rome or Oslo"),
    ],
)  # fmt: skip
def test_a_relation_has_one_value_at_a_time(first: str, second: str, differs: str) -> None:
    finding = compare(first, second, cosine=NEAR)
    assert finding is not None
    assert finding.type is ConflictType.CONTRADICTION
    assert finding.differs == (differs,)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # Both may hold.
        ("Ada has a cat.", "Boris has a cat."),
        ("Ada plays the violin.", "Ada plays the piano."),
        ("Ada likes tea.", "Ada likes coffee."),
        ("Ada lives in Rome.", "Boris lives in Paris."),
        ("He has two cats at home.", "She has two cats at home."),
        ("John helps Maria.", "Maria helps John."),
        ("Ada moved to Rome with her dog last year.", "Boris moved to Paris with his dog last year."),
        # Two of many.
        ("Task 12 is done.", "Task 13 is done."),
        ("Paid invoice 1001.", "Paid invoice 1002."),
        ("Step 1: install the tool.", "Step 2: install the tool."),
        # Two times.
        ("On Monday Ada ran 5 km.", "On Tuesday Ada ran 7 km."),
        # Possibilities, questions, and statements without content.
        ("Ada will visit Rome with Boris.", "Ada visited Rome with Boris."),
        ("Is Ada in Rome?", "Ada is not in Rome."),
        ("It is so.", "He was."),
        ("", ""),
        ("...", "Ada lives in Rome."),
        # The same day in two wordings, and a name cut short.
        ("The shop opens on Friday.", "The shop opens tomorrow."),
        ("FACT OAK ABOUT THE THING", "FACT ELM ABOUT THE THING"),
        ("Jonathan leads the choir.", "Jon leads the choir."),
        ("Ada quit chess.", "Ada plays tennis."),
        ("Ada's old boss is Mr Klein.", "Ada's new boss is Mrs Gross."),
        ("Our team is in Bonn.", "Our team moved to Scrum."),
        ("The current version is 3.", "The new version is 4."),
        ("Ada can't stand up.", "Ada likes to get up."),
        ("I left Rome for a trip.", "I work at Globex."),
        ("Data point 1", "Data point 2"),
        ("First daughter plays the piano", "Second daughter plays the piano"),
        ("Ada's first car was a Golf.", "Ada's second car was a Golf."),
    ],
)
def test_statements_that_may_both_hold_are_no_contradiction(first: str, second: str) -> None:
    assert label_of(first, second) == "none"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # Relations that can have many values.
        ("Dalia speaks Greek.", "Dalia speaks Turkish."),
        ("Dalia visited Oslo.", "Dalia visited Bergen."),
        ("User likes Haskell.", "User likes Erlang."),
        ("Dalia has a son named Omar.", "Dalia has a son named Samir."),
        ("The app depends on Flask.", "The app depends on Celery."),
        ("The library supports Python 3.11.", "The library supports Python 3.12."),
        ("The firm has offices in Lyon.", "The firm has offices in Lille."),
        ("Dalia works with Omar.", "Dalia works with Samir."),
        ("Dalia swims on Mondays.", "Dalia swims on Thursdays."),
        # An event that may have happened twice.
        ("Dalia ran 5 km.", "Dalia ran 12 km."),
        ("The build took 40 seconds.", "The build took 55 seconds."),
        ("Fixed a bug in parser.py.", "Fixed a bug in lexer.py."),
        ("Commit 1a2b3c4 fixed the leak.", "Commit 9f8e7d6 fixed the leak."),
        ("Dalia moved to Lyon in 2015.", "Dalia moved to Lille in 2021."),
        ("Dalia joined the Rowing Club.", "Dalia joined the Chess Club."),
        ("Dalia started Monday.", "Dalia works at Initech."),
        ("Omar joined Dalia for lunch.", "Omar works at Initech."),
        # A denial of one thing goes with a statement about another, and an end with the past.
        ("Dalia no longer works at Initech.", "Dalia works at Globex."),
        ("Dalia isn't from Athens.", "Dalia is from Patras."),
        ("We don't use Oracle.", "We use PostgreSQL."),
        ("Login works in Firefox.", "Login does not work in Opera."),
        ("Dalia lived in Athens.", "Dalia does not live in Athens."),
        ("Dalia loves hot days.", "Dalia hates cold days."),
        ("Always test before pushing.", "Never push without testing."),
        # Another thing is meant.
        ("Dalia's brother is called Omar.", "Dalia's sister is called Samira."),
        ("Dalia's cat is 3 years old.", "Dalia's dog is 5 years old."),
        ("The old server runs Debian 11.", "The new server runs Debian 12."),
        ("Team A has 5 members.", "Team B has 7 members."),
        ("The API runs on port 8080.", "The web UI runs on port 9090."),
        ("Customer Omar paid 100 euros.", "Customer Samira paid 200 euros."),
        ("Ann: I like tea.", "Bob: I hate tea."),
        # Another kind of value, or the same value in other words.
        ("Dalia works in Lyon.", "Dalia works for Initech."),
        ("Dalia lives in Greece.", "Dalia lives in Athens."),
        ("Dalia lives in New York.", "Dalia lives in NYC."),
        ("The main file is app.py.", "The main file is in src."),
        ("Boris saw a doctor.", "Boris saw a lawyer."),
        ("The database is slow.", "The database is PostgreSQL."),
        ("Ich mag Tee.", "Ich mag Saft."),
        ("Er trinkt keinen Wein.", "Er trinkt Bier."),
    ],
)
def test_one_of_many_values_is_no_contradiction_to_another(first: str, second: str) -> None:
    assert label_of(first, second) == "none"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # Records of an entity without a subject.
        ("Lives in Athens", "Lives in Patras"),
        ("Lives in Athens", "Moved to Patras"),
        ("Works at Initech", "Works at Globex"),
        ("Uses npm", "No longer uses npm"),
        ("Prefers voice communication", "Prefers text communication"),
        ("Timezone: CET", "Timezone: PST"),
        # With the speaker before it.
        ("user: I live in Athens.", "user: I moved to Patras last month."),
        ("Ann: I live in Athens.", "Ann lives in Patras."),
        ("The API runs on port 8080.", "user: The API now runs on port 9090."),
        # German.
        ("Ich wohne in Wien.", "Ich bin nach Graz gezogen."),
        ("Dalia mag Kaffee.", "Dalia mag keinen Kaffee."),
        ("Ich rauche.", "Ich rauche nicht mehr."),
        ("Wir fahren freitags.", "Wir fahren nie freitags."),
        ("Das Treffen ist am Montag.", "Das Treffen ist am Dienstag."),
        ("Meine Lieblingsfarbe ist blau.", "Meine Lieblingsfarbe ist gelb."),
        ("Dalia hat zwei Kinder.", "Dalia hat drei Kinder."),
        ("Mein Hund heißt Bello.", "Mein Hund heißt Waldi."),
        # Relations with one value.
        ("The package manager is npm.", "The package manager is pnpm."),
        ("Use npm for the web part.", "Use pnpm instead of npm for the web part."),
        ("The admin is dalia.", "The admin is omar."),
        ("Omar is the treasurer of the club.", "Samir is the treasurer of the club."),
        ("The deadline is March 3.", "The deadline was moved to March 10."),
        ("The cache is stored in Redis.", "The cache is stored in Memcached."),
        ("Boris is a plumber.", "Boris is a pilot."),
        ("Mia is Dalia's sister.", "Mia is Dalia's cousin."),
        ("The user prefers tabs.", "The user prefers spaces."),
        ("Boris weighs 70 kg.", "Boris weighs 75 kg."),
        # Relations that ended.
        ("Dalia works at Initech.", "Dalia left Initech and joined Globex."),
        ("Dalia works at Initech.", "Dalia quit her job at Initech."),
        ("Boris has a boat.", "Boris sold his boat."),
        ("Boris drinks coffee every morning.", "Boris no longer drinks coffee."),
        # Always and never, passes and fails.
        ("Never push to main.", "Always push to main."),
        ("The build passes on main.", "The build fails on main."),
        ("Commits must be signed.", "Commits need not be signed."),
    ],
)
def test_one_value_excludes_another_in_any_wording(first: str, second: str) -> None:
    assert label_of(first, second) == "contradiction"
    finding = compare(first, second, cosine=NEAR)
    assert finding is not None
    assert finding.suggested is Strategy.SUPERSEDE


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Dalia calls Boris.", "Boris calls Dalia."),
        ("Service auth calls service billing.", "Service billing calls service auth."),
        ("the gateway feeds the ledger", "the ledger feeds the gateway"),
        ("Dalia lived in Athens.", "Dalia lives in Athens."),
    ],
)
def test_subject_object_and_time_matter(first: str, second: str) -> None:
    assert label_of(first, second) == "none"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Dalia has a dog and two cats.", "Dalia owns two cats and a dog."),
        ("A man is climbing a rope.", "A man climbs a rope."),
        ("The nightly copy goes to the cellar", "the nightly  copy goes to the cellar."),
        ("Boris isn't a vegetarian.", "Boris is not a vegetarian."),
    ],
)
def test_the_same_in_other_words_is_a_duplicate(first: str, second: str) -> None:
    assert label_of(first, second) == "duplicate"
    finding = compare(first, second, cosine=NEAR)
    assert finding is not None
    assert finding.suggested is Strategy.MERGE


def test_a_high_cosine_makes_a_duplicate_unless_a_name_or_figure_differs() -> None:
    first, second = "The ferry to the island was cancelled.", "The boat to the island was called off."
    assert label_of(first, second, cosine=0.95) == "duplicate"
    assert label_of(first, second, cosine=0.7) == "none"
    assert label_of(first, second, cosine=None) == "none"
    assert label_of(f"{first[:-1]} in Oslo.", second, cosine=0.95) != "duplicate"


def test_a_statement_that_says_more_is_an_update() -> None:
    finding = compare("User prefers voice", "User prefers voice and uses Bluetooth", cosine=NEAR)
    assert finding is not None
    assert (finding.type, finding.suggested) == (ConflictType.UPDATE, Strategy.UPDATE)
    assert label_of("Ada lives in Rome.", "Ada lives in Rome with two dogs and a parrot.") == "update"
    assert label_of("Prefers voice", "Prefers voice and uses Bluetooth") == "update"


def test_statements_with_a_low_cosine_are_unrelated() -> None:
    assert label_of("Ada feeds three cats.", "Ada feeds four cats.", cosine=0.1) == "none"
    # Except for a relation with one value.
    assert label_of("The password is walnut.", "The password is lighthouse.", cosine=0.1) == "contradiction"


def test_the_closer_the_statements_the_surer_it_is() -> None:
    exact = compare("Ada feeds three cats at home.", "Ada feeds four cats at home.", cosine=0.95)
    loose = compare("Ada feeds three cats at home.", "Ada now also feeds four big cats at home.", cosine=0.7)
    others = compare(
        "Ada painted the old garden fence with green paint.", "Boris painted the old garden fence with green paint.",
        cosine=0.7,
    )  # fmt: skip
    assert exact is not None
    assert exact.differs == ("number: three or four",)
    assert (exact.confidence, exact.suggested) == (0.95, Strategy.SUPERSEDE)
    assert loose is None or loose.confidence < exact.confidence
    # Two people may have done the very same thing: it is reported, and no change is suggested.
    assert others is not None
    assert others.confidence < 0.6
    assert others.suggested is Strategy.IGNORE
    # The same for an event that may have happened twice.
    twice = compare("Ada went to the lake last week.", "Ada went to the lake last month.", cosine=0.9)
    assert twice is not None
    assert twice.suggested is Strategy.IGNORE


@pytest.mark.parametrize(
    ("first", "second", "ratio", "expected"),
    [
        (["a b", "C"], ["A  B", "c"], 1.0, ConflictType.DUPLICATE),
        ([str(n) for n in range(10)], [str(n) for n in range(9)], 0.9, ConflictType.DUPLICATE),
        (["a", "b", "c"], ["a", "x", "y"], 1 / 3, ConflictType.UPDATE),
        ([str(n) for n in range(20)], [str(n) for n in range(17)], 0.85, ConflictType.UPDATE),
        (["a", "b", "c", "d"], ["a", "x", "y", "z"], 0.25, None),
        (["a", "a", "a"], ["a"], 1.0, ConflictType.DUPLICATE),
        ([], [], 0.0, None),
    ],
)
def test_lists_of_observations_are_compared_by_the_share_in_common(
    first: list[str], second: list[str], ratio: float, expected: ConflictType | None
) -> None:
    assert overlap_ratio(first, second) == pytest.approx(ratio)
    finding = compare_lists(first, second)
    assert (finding and finding.type) == expected


@pytest.mark.parametrize("text", ["a" * 100_000, "- " * 50_000, "Ada moved from " * 8_000, "1 " * 50_000, "\x00\ud800"])
def test_hostile_texts_are_compared_as_any_other(text: str) -> None:
    assert compare(text, "Ada lives in Rome.", cosine=0.9) is None
    finding = compare(text, f"{text} not 7", cosine=None)
    assert finding is None or finding.type is not ConflictType.CONTRADICTION or finding.confidence < 1


_WORDS = (
    "Ada Syrians USA team B user I my lives goes does moved to no longer used never not fails failed cannot two second "
    "the a of and by was is kids running camelCase e well-known server SERVER friday May last week Germans s"
).split()


@given(
    st.lists(st.tuples(st.sampled_from(_WORDS), st.sampled_from((" ", ", ", ". ", "-", ": ", " (", "\n"))), min_size=1)
)
def test_what_plain_words_show_holds_of_the_parsed_statement(parts: list[tuple[str, str]]) -> None:
    text = "".join(word + sign for word, sign in parts).rstrip("-( ")
    words, parsed = plain_words_of(text), parse_statement(text)
    if words is not None:
        assert parsed.counted.keys() <= words.keys
        assert words.least <= len(parsed.tokens)
        assert words.most_shared(parsed) == len(parsed.tokens)
