"""Which sentences state a fact, of what sort, about whom; and which do not."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.extraction.patterns import facts_of
from scrubjay.extraction.sentences import rejection_reason, split_sentences
from scrubjay.model.fact import FactType, Turn


def turns_of(*lines: tuple[str, str]) -> list[Turn]:
    return [Turn(speaker=speaker, text=text, id=str(number)) for number, (speaker, text) in enumerate(lines, 1)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I prefer tabs over spaces.", FactType.PREFERENCE),
        ("I like dark mode.", FactType.PREFERENCE),
        ("My favorite editor is Helix.", FactType.PREFERENCE),
        ("always use pnpm", FactType.REQUIREMENT),
        ("Never commit directly to main.", FactType.REQUIREMENT),
        ("Use tabs, not spaces", FactType.REQUIREMENT),
        ("From now on, answer in German.", FactType.REQUIREMENT),
        ("The API must support pagination.", FactType.REQUIREMENT),
        ("The build must finish in under ten minutes.", FactType.REQUIREMENT),
        ("All endpoints need authentication.", FactType.REQUIREMENT),
        ("We need to support Python 3.9.", FactType.REQUIREMENT),
        ("You must never push to main.", FactType.REQUIREMENT),
        ("You must not commit secrets to the repository.", FactType.REQUIREMENT),
        ("We must keep the audit log for ten years.", FactType.REQUIREMENT),
        ("I want dark mode in every editor.", FactType.REQUIREMENT),
        ("I want you to answer briefly.", FactType.REQUIREMENT),
        ("I want dark mode in the app.", FactType.REQUIREMENT),
        ("We want weekly reports.", FactType.REQUIREMENT),
        ("I want the reports as PDF.", FactType.REQUIREMENT),
        ("The users want dark mode.", FactType.REQUIREMENT),
        ("Sarah wants the report in PDF.", FactType.REQUIREMENT),
        ("They employ nginx as proxy.", FactType.HABIT),
        ("We require two reviews for every pull request.", FactType.REQUIREMENT),
        ("I need a wheelchair ramp at every venue.", FactType.REQUIREMENT),
        ("You need to ask before deleting anything.", FactType.REQUIREMENT),
        ("Run the linter every time you change a file.", FactType.REQUIREMENT),
        ("We utilize Kafka for all events.", FactType.HABIT),
        ("Our company employs forty people.", FactType.HABIT),
        ("I work from home on Fridays.", FactType.HABIT),
        ("I always write the tests first.", FactType.HABIT),
        ("I run every morning before work.", FactType.HABIT),
        ("I used to smoke.", FactType.HABIT),
        ("We decided to go with Postgres.", FactType.DECISION),
        ("Let's use Redis for caching.", FactType.DECISION),
        ("We moved from MySQL to Postgres last year.", FactType.DECISION),
        ("My timezone is PST", FactType.IDENTITY),
        ("I live in Berlin.", FactType.IDENTITY),
        ("I'm allergic to peanuts.", FactType.IDENTITY),
        ("I'm a backend developer at a bank.", FactType.IDENTITY),
        ("I have two kids.", FactType.IDENTITY),
        ("I bought a new bike yesterday.", FactType.EVENT),
        ("Remember that the staging server is 10.0.0.3.", FactType.EVENT),
        # What is otherwise by now.
        ("I no longer drink coffee.", FactType.HABIT),
        ("I no longer like olives.", FactType.PREFERENCE),
        ("I'm no longer with Siemens.", FactType.IDENTITY),
        ("Anna no longer works at Bosch.", FactType.IDENTITY),
        ("We no longer support Python 3.9.", FactType.HABIT),
        ("The API no longer supports XML.", FactType.HABIT),
        ("I am not a vegetarian anymore.", FactType.IDENTITY),
        ("I don't live in Berlin anymore.", FactType.IDENTITY),
        ("I'm not using Docker any more, it was too slow.", FactType.HABIT),
        ("I quit my job at Siemens.", FactType.EVENT),
        ("I quit smoking.", FactType.HABIT),
        ("I stopped smoking.", FactType.HABIT),
        ("I haven't smoked since 2019.", FactType.HABIT),
        ("We stopped using Jenkins.", FactType.HABIT),
        ("We replaced Redis with Valkey.", FactType.DECISION),
        ("I moved to Rome.", FactType.EVENT),
        ("I'm moving to Munich.", FactType.EVENT),
        ("My brother has moved back to Spain.", FactType.EVENT),
        ("The meeting was moved to Thursday.", FactType.EVENT),
        ("I got divorced.", FactType.EVENT),
        ("I'm retired now.", FactType.IDENTITY),
        ("We broke up.", FactType.EVENT),
        ("My father passed away.", FactType.EVENT),
        ("I lost my job.", FactType.EVENT),
        ("I sold my car.", FactType.EVENT),
        ("I turned 40 last week.", FactType.EVENT),
        ("My new phone number is 555-1234.", FactType.IDENTITY),
        ("My new boss is Carla.", FactType.IDENTITY),
        ("Our standup is on Tuesday.", FactType.HABIT),
        ("Our retro takes place at 10:30.", FactType.HABIT),
        ("The deadline is now Friday.", FactType.EVENT),
        ("The API now runs on port 9090.", FactType.IDENTITY),
        ("We are now on Kubernetes.", FactType.IDENTITY),
        # A wish or a doubt at its end does not make a guess of what was said before.
        ("I usually take the train to work, so something short would be great.", FactType.HABIT),
        ("I use a paper notebook for all my tasks, but I'm not sure it is any good.", FactType.HABIT),
        ("By the way, I ran a marathon in 4h 22min.", FactType.EVENT),
    ],
)
def test_an_explicit_request_to_remember_is_taken(text: str, kind: FactType) -> None:
    (fact,) = facts_of(turns_of(("user", text), ("assistant", "Noted.")))
    assert (fact.type, fact.statement, fact.speaker, fact.turn) == (kind, f"user: {text}", "user", "1")
    assert fact.confidence >= 0.75


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Ich bevorzuge Tabs statt Leerzeichen.", FactType.PREFERENCE),
        ("Am liebsten trinke ich Tee.", FactType.PREFERENCE),
        ("Meine Lieblingsfarbe ist Blau.", FactType.PREFERENCE),
        ("Bitte antworte immer auf Deutsch.", FactType.REQUIREMENT),
        ("Die API muss Pagination unterstützen.", FactType.REQUIREMENT),
        ("Ich gehe jeden Morgen laufen.", FactType.HABIT),
        ("Ich esse kein Fleisch.", FactType.HABIT),
        ("Ich trinke keinen Kaffee mehr.", FactType.HABIT),
        ("Früher habe ich geraucht.", FactType.HABIT),
        ("Wir haben uns für PostgreSQL entschieden.", FactType.DECISION),
        ("Wir sind von npm auf pnpm umgestiegen.", FactType.DECISION),
        ("Ich wohne in Berlin.", FactType.IDENTITY),
        ("Seit Mai wohne ich in Graz.", FactType.IDENTITY),
        ("Ich arbeite nicht mehr bei Siemens.", FactType.IDENTITY),
        ("Ich bin Softwareentwicklerin.", FactType.IDENTITY),
        ("Ich bin allergisch gegen Nüsse.", FactType.IDENTITY),
        ("Mein neuer Chef heißt Paul.", FactType.IDENTITY),
        ("Unser Standup ist am Dienstag.", FactType.IDENTITY),
        ("Ich bin nach München gezogen.", FactType.EVENT),
        ("Ich habe meinen Job gekündigt.", FactType.EVENT),
        ("Ich habe mich scheiden lassen.", FactType.EVENT),
    ],
)
def test_facts_in_german_are_taken(text: str, kind: FactType) -> None:
    (fact,) = facts_of(turns_of(("user", text), ("assistant", "Gut.")))
    assert (fact.type, fact.statement) == (kind, f"user: {text}")


@pytest.mark.parametrize(
    "text",
    [
        "The test no longer works.",
        "You must be kidding.",
        "It must be the network.",
        "I must say, that looks great.",
        "I need help with this error.",
        "I want to see the log.",
        "I want help with this error.",
        "I want it now.",
        "I want a break from this.",
        "It requires a lot of patience.",
        "We must catch up soon!",
        "My code stopped working after the update.",
        "I don't get the error anymore.",
        "I can't reproduce it anymore.",
        "I moved to the next step.",
        "I moved the function into a new module.",
        "The file was moved to lib.",
        "The tests are now passing.",
        "The function is now called twice.",
        "My new test is broken.",
        "Our new endpoint is returning 500.",
        "I got a new error.",
        "I started a new branch.",
        "I quit the app and restarted it.",
        "I took the job id from the log.",
        "We closed the ticket.",
        "I became aware of it.",
        "my database is in a weird state",
        "By the way, my tests are failing again.",
        "Mein Code funktioniert nicht mehr.",
        "Ich bekomme immer einen Fehler.",
        "Ich habe den Server gestartet.",
        "Das liebe ich!",
        "Zeig mir die Datei.",
    ],
)
def test_a_passing_state_of_work_is_no_fact(text: str) -> None:
    assert not facts_of(turns_of(("user", text), ("assistant", "Well.")))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("What do you think about Rust?", "question"),
        ("how do you do it", "question"),
        ("Maybe I should switch to vim.", "hedge"),
        ("I think I might move to Berlin.", "hedge"),
        ("I'm not sure I like it there.", "hedge"),
        ("If I had time I would rewrite it.", "hypothetical"),
        ("It would be nice to have dark mode.", "hypothetical"),
        ("I wish I had a dog.", "hypothetical"),
        ('She said "I hate Java".', "quotation"),
        ("My boss says he hates Mondays.", ""),
        ("Anna said she moved to Rome.", "quotation"),
        ("Hello there!", "small talk"),
        ("Thanks, that works great!", "small talk"),
        ("Wow, so cool!", "small talk"),
        ("Please fix the failing test.", "order"),
        ("Run the tests again.", "order"),
        ("Can you add a test", "question"),
        ("I want you to add a test.", "order"),
        ("Vielleicht ziehe ich nach Berlin.", "hedge"),
        ("Ich weiß nicht mehr weiter.", "hedge"),
        ("Wenn ich Zeit hätte, würde ich nach Rom ziehen.", "hypothetical"),
        ("Ich würde gern in Rom wohnen.", "hypothetical"),
        ("Anna sagt, sie wohnt in Berlin.", "quotation"),
        ("Bitte schreib einen Test.", "order"),
        ("Danke, das funktioniert!", "small talk"),
    ],
)
def test_a_sentence_that_states_no_fact_is_rejected(text: str, reason: str) -> None:
    (sentence,) = split_sentences(text)
    assert rejection_reason(sentence) == reason
    if reason:
        assert not facts_of(turns_of(("user", text), ("assistant", "Well.")))


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("I moved to Rome last week with my sister.", "Ann"),
        ("Our team has won the cup in Rome this year.", "Ann"),
        ("Marco moved to China in 1271.", "Marco"),
        ("The API must support pagination.", "API"),
        ("The staging server must be restarted each night.", "staging server"),
        ("Never commit directly to main.", "Ann"),
        ("The API now runs on port 9090.", "API"),
        ("The backup job no longer runs on Sundays.", "backup job"),
        ("Die API muss Pagination unterstützen.", "API"),
    ],
)
def test_the_subject_of_a_fact_is_its_speaker_or_the_thing_that_it_names(text: str, subject: str) -> None:
    (fact,) = facts_of(turns_of(("Ann", text)))
    assert fact.subject == subject


def test_facts_of_people_are_found_among_reactions() -> None:
    facts = facts_of(
        turns_of(
            ("Ann", "Hey Ben! Good to see you! How have you been?"),
            ("Ben", "Great! I started a pottery class on Monday. It was hard but I made my first bowl."),
            ("Ann", "Wow, that's so cool! You are so talented."),
            ("Ben", "Thanks, Ann! What about you?"),
            ("Ann", "My sister moved to Lisbon, so I look after her two cats."),
        )
    )
    assert [fact.turn for fact in facts] == ["2", "5"]
    # A sentence that points back is joined to the one before it.
    assert facts[0].statement.startswith("Ben: I started a pottery class on Monday.")


def test_facts_of_people_in_german_are_found_among_reactions() -> None:
    facts = facts_of(
        turns_of(
            ("Ann", "Hallo Ben! Wie geht es dir?"),
            ("Ben", "Super, danke! Ich habe am Montag einen Töpferkurs angefangen."),
            ("Ann", "Das ist ja toll!"),
            ("Ann", "Meine Schwester ist nach Lissabon gezogen, deshalb passe ich auf ihre zwei Katzen auf."),
            ("Ben", "Wie schön, das ist lieb von dir."),
            ("Ann", "Wenn ich mehr Platz hätte, würde ich sie behalten."),
            ("Ben", "Ja, der Himmel ist blau und die Sonne scheint."),
            ("Ann", "Ich muss los, bis später!"),
        )
    )
    assert [(fact.turn, fact.type) for fact in facts] == [("2", FactType.EVENT), ("4", FactType.EVENT)]


def test_programs_are_not_taken_for_people() -> None:
    facts = facts_of(
        turns_of(
            ("system", "You always answer in German. I prefer short answers."),
            ("assistant", "I fixed the bug yesterday and I love my new car."),
            ("assistant", "We decided to go with Postgres."),
            ("tool", "I live in Berlin."),
            ("user", "I'm getting an error."),
        )
    )
    assert [(fact.speaker, fact.type) for fact in facts] == [("assistant", FactType.DECISION)]


def test_code_tables_and_quoted_lines_state_no_fact() -> None:
    text = "> I live in Rome.\n\n```\nI live in Oslo.\n```\n\n| I live in | Bonn |\n\n- I live in **Bern**."
    (fact,) = facts_of(turns_of(("", text)))
    assert (fact.statement, fact.subject) == ("I live in Bern.", "")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["Ann", "user", "assistant", ""]), st.text(max_size=200)), max_size=8))
def test_every_fact_has_its_turn(lines: list[tuple[str, str]]) -> None:
    turns = turns_of(*lines)
    for fact in facts_of(turns):
        turn = turns[int(fact.turn) - 1]
        assert (fact.speaker, 0 < fact.confidence < 1) == (turn.speaker, True)
        assert fact.statement


@pytest.mark.parametrize(
    "piece",
    [
        "I ",
        "if ",
        "a? ",
        '"',
        "I prefer ",
        "the team ",
        "we have ",
        "A. ",
        "my a b c ",
        "- ",
        "no longer ",
        "Ich habe nicht mehr ",
    ],
)
def test_long_lines_are_read_in_no_time(piece: str) -> None:
    start = time.process_time()
    facts_of(turns_of(("user", piece * (200_000 // len(piece))), ("user", (piece * 60 + "\n") * 200)))
    assert time.process_time() - start < 5
